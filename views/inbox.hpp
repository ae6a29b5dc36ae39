// What stands between a subgroup's multicast and the application at one member. Usually nothing: deliveries pass through.
// While the subgroup's state is still on its way, or the application takes nothing at the end of a view, they are kept here,
// in order, and handed over afterwards.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include <spindrift/smc/delivery.hpp>
#include <spindrift/smc/multicast.hpp>

namespace spindrift::views {

class Inbox {
 public:
  explicit Inbox(std::uint64_t bytes_max) : bytes_max_(bytes_max) {}

  /// The state is on its way; whatever is kept belongs to a past that it includes.
  void begin_loading() {
    loading_ = true;
    clear();
  }
  void end_loading() noexcept { loading_ = false; }
  [[nodiscard]] bool loading() const noexcept { return loading_; }

  [[nodiscard]] bool passes() const noexcept { return !loading_ && kept_.empty(); }
  [[nodiscard]] bool has_space() const noexcept { return bytes_ < bytes_max_; }
  [[nodiscard]] bool empty() const noexcept { return kept_.empty(); }

  void keep(std::span<const Delivery> batch);
  void clear() noexcept;
  /// How many of the kept deliveries are of this sender.
  [[nodiscard]] std::uint64_t count_of(NodeId sender) const;
  /// Hands over up to one batch; true if anything was.
  bool flush(SubgroupId id, smc::DeliverySink& to);

  /// What is kept, as bytes for a newcomer whose source has not yet handed it over; empty if nothing is.
  [[nodiscard]] std::vector<std::byte> encode() const;
  /// Takes what a source had kept, before everything kept here. False if the bytes are impossible.
  [[nodiscard]] bool prepend(std::span<const std::byte> bytes);

 private:
  struct Kept {
    Delivery delivery;  ///< payload points into bytes
    std::vector<std::byte> bytes;
  };
  std::uint64_t bytes_max_;
  std::uint64_t bytes_ = 0;
  bool loading_ = false;
  std::deque<Kept> kept_;
  std::vector<Delivery> batch_;
};

}  // namespace spindrift::views
