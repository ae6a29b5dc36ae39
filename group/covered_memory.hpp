// A node's record of views whose stores are covered up: a disk that takes long is no reason to take the member for dead.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <spindrift/group/upcall_heartbeats.hpp>
#include <spindrift/views/view_memory.hpp>

namespace spindrift::group {

/// The poller's; as what it wraps. While a store waits the member shows that it lives, and nothing else: what others read of
/// it rests on what is stored.
class CoveredMemory final : public views::ViewMemory {
 public:
  /// `heartbeats` outlives all calls.
  CoveredMemory(std::unique_ptr<views::ViewMemory> memory, UpcallHeartbeats& heartbeats) noexcept
      : memory_(std::move(memory)), heartbeats_(heartbeats) {}

  Result<std::optional<views::ViewRecord>> load() override { return memory_->load(); }
  Result<void> store(const views::ViewRecord& record) override {
    const UpcallHeartbeats::Upcall upcall(heartbeats_, UpcallHeartbeats::Whose(UpcallHeartbeats::HeldBy::disk));
    return memory_->store(record);
  }
  Result<std::vector<Neighbor>> neighbors() override { return memory_->neighbors(); }
  void close() override { memory_->close(); }

 private:
  std::unique_ptr<views::ViewMemory> memory_;
  UpcallHeartbeats& heartbeats_;
};

}  // namespace spindrift::group
