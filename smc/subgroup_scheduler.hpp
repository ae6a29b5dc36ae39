// The subgroups of one view at one member, and which of them a pass looks at: of many subgroups with few busy ones, a pass
// costs what the busy ones cost. Each of these has one turn in it, of `Policy::turn`, or less where handlers are slow
// (turn_pacer.hpp), and what its receivers have room for (`publish_bytes`). Pure; stepped by the poller.
//
// The invariant to remember: acknowledgements are pushed before the upcalls, so that a slow handler holds up nobody's
// stability; what the upcalls advance goes out with the next pass, which follows at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/counters.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/fabric/fabric.hpp>
#include <spindrift/smc/multicast.hpp>
#include <spindrift/smc/turn_pacer.hpp>
#include <spindrift/sst/table.hpp>

namespace spindrift::smc {

/// The two halves of a subgroup's pass and the push between them. The functions here are the product's; a model overrides
/// them to pay for each in virtual time.
class Stepper {
 public:
  virtual ~Stepper() = default;
  virtual bool send_and_receive(Multicast& multicast, std::uint64_t publish_bytes_max) {
    return multicast.send_and_receive(publish_bytes_max);
  }
  [[nodiscard]] virtual Result<void> push(sst::Table& table, fabric::Fabric& fabric) { return table.push(fabric); }
  virtual bool deliver(Multicast& multicast, const TurnLimits& turn) { return multicast.deliver(turn); }
};

class SubgroupScheduler {
 public:
  /// `table` outlives this object.
  SubgroupScheduler(sst::Table& table, const Policy& policy);

  /// Makes the multicast of a subgroup that this member is in. `sink` and `counters` outlive this object.
  void add(SubgroupId id, DeliverySink& sink, CounterBlock& counters);
  /// Null if this member is not in that subgroup.
  [[nodiscard]] Multicast* multicast(SubgroupId id) const { return multicasts_.at(id.value()).get(); }
  /// By subgroup; null where not a member.
  [[nodiscard]] std::span<const std::unique_ptr<Multicast>> multicasts() const noexcept { return multicasts_; }

  /// One pass, which begins at `now`, over the predicates of the subgroups with news, each of which was started, by the
  /// steps of `stepper`. True if anything changed. Nobody waits for more than all the passes that it takes to look at all
  /// subgroups, and a pass that finds nothing to do has looked at all.
  [[nodiscard]] Result<bool> run(fabric::Fabric& fabric, Stepper& stepper, Time now);
  /// The last pass left messages unpublished because earlier ones still wait for their receivers: run again soon.
  [[nodiscard]] bool holds_back() const noexcept { return holds_back_; }
  /// Every subgroup is looked at in the next pass, whether its members told of news or not.
  void look_at_all();
  /// Calls `report` with the fault of each subgroup in which a peer's bytes were impossible.
  template <typename Report>
  void for_each_fault(Report&& report) const {
    for (const std::uint32_t s : warm_) {
      if (multicasts_[s]->fault()) report(*multicasts_[s]->fault());
    }
  }

 private:
  static constexpr std::uint8_t warm_passes = 64;  // without news, after which a subgroup is not looked at in every pass
  static constexpr std::size_t cold_looks = 2;     // at such subgroups, in a pass

  void hear_peers();
  void note_news(std::size_t subgroup);
  bool look_at_cold(std::size_t count);
  [[nodiscard]] Result<bool> pass(fabric::Fabric& fabric, Stepper& stepper, Time now);
  void cool_down();

  sst::Table& table_;
  Policy policy_;
  std::vector<std::unique_ptr<Multicast>> multicasts_;     // by subgroup; null where not a member
  std::vector<std::uint8_t> active_;                       // by subgroup: to be run in this pass
  std::vector<std::uint8_t> warmth_;                       // by subgroup: passes in which it will be looked at
  std::vector<std::uint32_t> warm_;                        // subgroups with any
  std::size_t next_cold_ = 0;
  std::vector<std::vector<std::uint64_t>> activity_seen_;  // by rank, by activity word
  bool holds_back_ = false;
  TurnPacer pacer_;
  std::size_t own_subgroups_ = 0;  // in which this member is
};

}  // namespace spindrift::smc
