// The endpoint of two parts. A peer's id says which part has it; all else that names something means the same to both.
//
// The invariant to remember: a node is reached in one way only. The part that is not to have it turns it away.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <spindrift/fabric/connected/endpoint.hpp>
#include <spindrift/fabric/mixed/mixed.hpp>
#include <spindrift/fabric/shm/part.hpp>

namespace spindrift::fabric::mixed {

class MixedFabric final : public Fabric {
 public:
  MixedFabric(std::unique_ptr<shm::LocalPart> near, std::unique_ptr<connected::Endpoint> far);

  [[nodiscard]] const Traits& traits() const noexcept override { return traits_; }
  [[nodiscard]] Result<Region> allocate(std::size_t bytes, std::string_view name) override;
  void release(RegionKey region) override { far_->release(region); }
  [[nodiscard]] Result<void> listen(const Address& self) override;
  [[nodiscard]] Result<void> connect(const Address& peer) override;
  void disconnect(PeerId peer) override { part_of(peer).disconnect(inner(peer)); }
  [[nodiscard]] Result<void> expose(PeerId peer, RegionKey region, Access access) override;
  [[nodiscard]] Result<std::span<const std::byte>> map(PeerId peer, RegionKey region) override {
    return part_of(peer).map(inner(peer), region);
  }
  void unmap(PeerId peer, RegionKey region) override { part_of(peer).unmap(inner(peer), region); }
  [[nodiscard]] Result<void> post(std::span<const Operation> operations) override;
  [[nodiscard]] std::uint64_t unsent_bytes(PeerId peer) const noexcept override {
    return part_of(peer).unsent_bytes(inner(peer));
  }
  void count_in(CounterBlock* block) override {
    near_->count_in(block);
    far_->count_in(block);
  }
  [[nodiscard]] std::size_t poll(std::span<Event> events) override;
  void notify() noexcept override { near_->notify(); }
  void prepare_sleep() noexcept override;
  void sleep(Time deadline) noexcept override;
  void cancel_sleep() noexcept override;
  void wake() noexcept override { near_->wake(); }

 private:
  enum class Way : std::uint32_t { near, far };

  [[nodiscard]] static PeerId outer(PeerId inner, Way way) noexcept {
    return PeerId(inner.value() << 1U | static_cast<std::uint32_t>(way));
  }
  [[nodiscard]] static PeerId inner(PeerId outer) noexcept { return PeerId(outer.value() >> 1U); }
  [[nodiscard]] static Way way_of(PeerId outer) noexcept { return static_cast<Way>(outer.value() & 1U); }
  [[nodiscard]] Part& part(Way way) const noexcept {
    return way == Way::near ? static_cast<Part&>(*near_) : static_cast<Part&>(*far_);
  }
  [[nodiscard]] Part& part_of(PeerId peer) const noexcept { return part(way_of(peer)); }

  [[nodiscard]] Result<Way> decide(const Address& peer);
  [[nodiscard]] Error why_not(NodeId node, Way way) const;
  [[nodiscard]] bool far_is_due() noexcept;
  void take_signals() noexcept;

  const std::string name_;
  const std::unique_ptr<shm::LocalPart> near_;  // has the memory: ends last
  const std::unique_ptr<connected::Endpoint> far_;
  const Traits traits_;
  Address self_;
  bool listening_ = false;
  std::map<NodeId, Way> ways_;
  bool far_has_news_ = false;  ///< that no descriptor need tell again
  std::uint32_t passes_ = 0;   ///< since the far part was polled while it has no connection
  std::vector<Operation> near_operations_;
  std::vector<Operation> far_operations_;
};

}  // namespace spindrift::fabric::mixed
