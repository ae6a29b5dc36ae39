// Steps of a multicast cut short, left out or measured: how experiments and the simulator reach into a pass. Not installed,
// and nothing of it is in the product's own steps.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <spindrift/core/clock.hpp>
#include <spindrift/smc/subgroup_scheduler.hpp>

namespace spindrift::smc {

namespace relay {

/// Each member writes to the next.
[[nodiscard]] std::uint32_t chain(std::uint32_t members, std::uint32_t sender, std::uint64_t ordinal,
                                  std::uint32_t member) noexcept;
/// A binomial tree (RDMC, section 4.3, without blocks: messages are the blocks).
[[nodiscard]] std::uint32_t tree(std::uint32_t members, std::uint32_t sender, std::uint64_t ordinal,
                                 std::uint32_t member) noexcept;

}  // namespace relay

/// Says what time it is. No Clock, which compilers that know of one alone would call directly: the objects of the protocol
/// name no clock of the machine.
using LapClock = Time (*)();

/// A policy, and what an experiment changes besides.
struct Ablation : Policy {
  std::uint64_t send_batch_max = ~std::uint64_t{0};     ///< records collected per step
  std::uint64_t receive_batch_max = ~std::uint64_t{0};  ///< messages of one sender taken per step
  bool null_sends = true;
  LapClock clock = nullptr;  ///< takes the time of each part of a pass

  [[nodiscard]] static Ablation of_batches(std::uint64_t send, std::uint64_t receive, std::uint64_t delivery);
  /// The product's steps do what it says.
  [[nodiscard]] bool changes_nothing() const noexcept;
};

enum class PassPart : std::uint8_t { receive, null_sends, send, stability, delivery, push };
inline constexpr std::size_t pass_parts = 6;

class AblatedStepper final : public Stepper {
 public:
  /// With a clock: of groups with as many subgroups at most.
  explicit AblatedStepper(const Ablation& ablation, std::size_t subgroups = 0) : ablation_(ablation), spent_ns_(subgroups) {}
  bool send_and_receive(Multicast& multicast, std::uint64_t publish_bytes_max) override;
  [[nodiscard]] Result<void> push(sst::Table& table, fabric::Fabric& fabric) override;
  bool deliver(Multicast& multicast, const TurnLimits& turn) override;
  /// Nanoseconds so far. Pushes are those of all subgroups, and counted under the first. Any thread.
  [[nodiscard]] std::uint64_t spent_ns(SubgroupId subgroup, PassPart part) const {
    return spent_ns_.at(subgroup.value())[static_cast<std::size_t>(part)].load(std::memory_order_relaxed);
  }

 private:
  using Spent = std::array<std::atomic<std::uint64_t>, pass_parts>;
  class Step;

  [[nodiscard]] Spent* spent(SubgroupId id) { return ablation_.clock == nullptr ? nullptr : &spent_ns_.at(id.value()); }

  Ablation ablation_;
  std::vector<Spent> spent_ns_;
};

/// The product's, unless there is something to change.
[[nodiscard]] std::shared_ptr<Stepper> stepper_of(const Ablation& ablation);

}  // namespace spindrift::smc
