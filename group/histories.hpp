// The histories of this process between the protocol, which moves them as states of their subgroups, and the application,
// which gets the messages of one that it has not got before any that is delivered now.
//
// The invariant to remember: a message becomes a part of the history when the application is given it, and then has its
// version. So what a newcomer gets, the history as of the boundary of two views and what its source had kept behind it, is
// what the source has been given and will be, and versions are the same at both.
//
// The poller's.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/counters.hpp>
#include <spindrift/core/view.hpp>
#include <spindrift/group/history_stream.hpp>
#include <spindrift/group/message_history.hpp>
#include <spindrift/smc/delivery.hpp>
#include <spindrift/views/new_view.hpp>
#include <spindrift/views/rank_set.hpp>
#include <spindrift/views/upcalls.hpp>

namespace spindrift::group {

class Histories {
 public:
  /// Counters of each history; a CounterBlock needs room for them.
  static constexpr std::size_t counters_each = 2;

  /// Those of `layout`, all subgroups of it, that keep one. `clock` outlives it.
  Histories(const std::vector<SubgroupView>& layout, const Clock& clock, CounterBlock& counters);
  /// The same; null if none of them does.
  [[nodiscard]] static std::unique_ptr<Histories> of(const std::vector<SubgroupView>& layout, const Clock& clock,
                                                     CounterBlock& counters);

  [[nodiscard]] bool covers(SubgroupId id) const { return histories_.contains(id); }
  /// The application is given these messages of a subgroup, now: they are kept, and have versions in what is returned, which
  /// is valid until the next call. Throws UnloadableState: what is before them was never sent here.
  [[nodiscard]] std::span<const Delivery> take(SubgroupId id, std::span<const Delivery> batch);
  /// The state of a subgroup that keeps a history: what was taken so far.
  [[nodiscard]] std::unique_ptr<views::StateReader> save(SubgroupId id);
  /// For the same of another member: it takes the place of what is here, and the application is to get what it lacks of it.
  [[nodiscard]] std::unique_ptr<views::StateWriter> load(SubgroupId id);
  /// A view begins. `loaded`: by subgroup, the members that have its state.
  void on_view(const views::NewView& news, NodeId self, const std::vector<views::RankSet>& loaded);
  /// Behind a pass: drops what is too old.
  void expire(Time now);

  /// Some messages are still to be given to the application.
  [[nodiscard]] bool at_work(SubgroupId id) const {
    if (!at_work()) return false;
    const auto at = histories_.find(id);
    return at != histories_.end() && at->second.walk.has_value();
  }
  [[nodiscard]] bool at_work() const noexcept { return walks_ != 0; }
  /// Gives them to those that take them, as LoggedSubgroups::step. True if anything was given.
  template <class Accepts, class Deliver, class Busy>
  bool step(const Accepts& accepts, const Deliver& deliver, const Busy& busy) {
    bool any = false;
    for (auto& [id, each] : histories_) {
      if (!each.walk || !accepts(id)) continue;
      if (const auto batch = each.walk->next(); !batch.empty()) {
        deliver(id, batch);
        each.given = batch.back().version + 1;
        any = true;
      }
      if (each.walk->done() && !busy(id)) end_walk(each);
    }
    return any;
  }

 private:
  struct Each {
    ExpectedHistory form;
    MessageHistory history;
    Counter messages;
    Counter bytes;
    std::optional<HistoryWalk> walk{};  ///< what the application still lacks of what came
    std::uint64_t given = 0;            ///< it has got messages of versions below, as far as they were there
    bool awaited = false;               ///< a history is on its way here
  };
  void begin_anew(Each& each);
  void end_walk(Each& each);
  void on_loaded(Each& each, MessageHistory history);
  static void count(Each& each);

  const Clock& clock_;
  std::map<SubgroupId, Each> histories_;
  std::size_t walks_ = 0;  // that are not over
  std::vector<Delivery> batch_;
};

}  // namespace spindrift::group
