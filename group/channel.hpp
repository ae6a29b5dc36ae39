// One subgroup between the application's threads, which set handlers and wait for space, and the poller, which delivers.
//
// The invariant to remember: handlers are set once, before `accepting` becomes true, and the poller looks at them only then.
// A subgroup that was created while the group runs takes deliveries without them, and discards these: nobody can be expected
// to know its name beforehand.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <spindrift/core/audit.hpp>
#include <spindrift/core/clock.hpp>
#include <spindrift/core/counters.hpp>
#include <spindrift/fabric/fabric.hpp>
#include <spindrift/group/awaited_call.hpp>
#include <spindrift/group/call_list.hpp>
#include <spindrift/group/durable_frontiers.hpp>
#include <spindrift/group/group.hpp>
#include <spindrift/group/handler_threads.hpp>
#include <spindrift/group/handler_worker.hpp>
#include <spindrift/group/histories.hpp>
#include <spindrift/group/logged_subgroups.hpp>
#include <spindrift/group/objects.hpp>
#include <spindrift/group/paused_subgroups.hpp>
#include <spindrift/group/shared_state.hpp>
#include <spindrift/group/space_queue.hpp>
#include <spindrift/group/state_work.hpp>
#include <spindrift/group/unloadable_state.hpp>
#include <spindrift/views/send_gate.hpp>
#include <spindrift/views/view_memory.hpp>

namespace spindrift::group {

/// The surroundings that the parts of a group have in common; they outlive them.
struct Environment {
  Environment(NodeId self, std::shared_ptr<AuditTrail> trail) : state(self), audit(std::move(trail)) {}

  SystemClock clock;
  std::unique_ptr<fabric::Fabric> fabric;  ///< from joining on
  std::shared_ptr<NodeJournal> journal;       ///< likewise, where a subgroup is logged
  std::unique_ptr<views::ViewMemory> memory;  ///< likewise, where founders are named
  std::unique_ptr<LoggedSubgroups> logged;    ///< with the journal
  DurableFrontiers durable;                   ///< the same
  std::unique_ptr<Histories> histories;       ///< with the member, where a subgroup keeps one
  CallList<TrimCall> trims;                   ///< of logs
  CallList<AwaitedCall> awaited;
  SharedState state;
  const std::shared_ptr<const HandlerThreads> handler_threads = std::make_shared<HandlerThreads>();
  std::shared_ptr<AuditTrail> audit;
  std::atomic<bool> has_workers{false};  ///< some handler runs on a thread of its own
  PausedSubgroups paused;

  // The poller:
  /// The application is still to get messages from before of that subgroup, or of any.
  [[nodiscard]] bool lacks_messages(SubgroupId id) const {
    return (logged && logged->at_work(id)) || (histories && histories->at_work(id));
  }
  [[nodiscard]] bool lacks_messages() const {
    return (logged && logged->at_work()) || (histories && histories->at_work());
  }
  /// Gives what it lacks to those that take it, as LoggedSubgroups::step. Errors: likewise.
  template <class Accepts, class Begins, class Deliver, class Busy>
  [[nodiscard]] Result<bool> give_lacking(const Accepts& accepts, const Begins& begins, const Deliver& deliver,
                                          const Busy& busy) {
    const bool of_history = histories && histories->step(accepts, deliver, busy);
    if (!logged) return of_history;
    SPINDRIFT_TRY_ASSIGN(const bool of_log, logged->step(accepts, begins, deliver, busy));
    return of_history || of_log;
  }
  /// Trims logs at the word of those who run this member. `use(id)`: the use that the application makes of one.
  template <class Use>
  void trim_logs(const Use& use) {
    if (!logged) return;
    const auto trim = [&](TrimCall& call) {
      const SubgroupId id = call.subgroup;
      call.outcome = logged->trim(id, call.below, durable.version(id), use(id));
    };
    if (trims.any()) trims.take(trim);
    logged->trim_further();
  }
  [[nodiscard]] bool keeps_history(SubgroupId id) const { return histories && histories->covers(id); }
  /// A view begins. `loaded`: by subgroup, the members that have its state.
  void on_view(const views::NewView& news, NodeId self, const std::vector<views::RankSet>& loaded) {
    state.on_view(news.view);
    if (histories) histories->on_view(news, self, loaded);
  }
};

class Channel {
 public:
  using Claim = views::SendGate::Claim;

  /// An added one was created while the group runs. `discarded` counts messages that nobody takes.
  enum class Origin : std::uint8_t { layout, added };
  /// The handler of deliveries is still to come, gets them, or will go on getting them later.
  enum class Taking : std::uint8_t { unset, taking, paused };
  Channel(Environment& environment, std::shared_ptr<views::SendGate> gate, SubgroupId id, const SubgroupView& shape,
          Origin origin = Origin::layout, Counter discarded = {});

  // Any thread.
  [[nodiscard]] Subgroup& handle() noexcept { return handle_; }
  [[nodiscard]] const std::string& name() const noexcept { return handle_.name(); }
  [[nodiscard]] SubgroupView description() const;
  [[nodiscard]] std::string blocked() const;
  /// The subgroup is not in the group any more; another may be at its place.
  [[nodiscard]] bool dropped() const noexcept { return life_.dropped.load(std::memory_order_seq_cst); }
  [[nodiscard]] SubgroupId id() const noexcept { return id_; }
  [[nodiscard]] Environment& environment() const noexcept { return environment_; }
  /// Waits for space, if need be, up to that time; false if there was none.
  [[nodiscard]] bool reserve(std::uint64_t bytes, Claim& claim, Time limit = never);
  [[nodiscard]] bool try_reserve(std::uint64_t bytes, Claim& claim);
  /// Something was committed or abandoned.
  void wake() noexcept { environment_.fabric->wake(); }
  void set_handler(Subgroup::DeliveryHandler handler, HandlerThread thread);
  /// Pauses or resumes. Throws bad_argument where there is nothing to pause.
  void set_taking(Taking to);
  void set_state(Subgroup::StateSaver save, Subgroup::StateLoader load);
  /// This member leaves: if nobody takes the deliveries here, they are dropped from now on, so that it can.
  void discard_if_unhandled();
  /// A replicated object takes the place of the application's handlers; its delivery handler is set next.
  void set_replica(Subgroup::StateSaver save, Subgroup::StateLoader load);
  [[nodiscard]] ObjectChannel& attach_objects(ObjectHandlers handlers, ObjectChannel::Accuse accuse);
  /// All threads that wait for space look what is the matter.
  void let_all_go() noexcept { space_.let_all_go(); }

  // The poller.
  /// The present view drops the subgroup: who waits for space hears of it.
  void drop();
  /// Returns how long the handler took on this thread.
  Duration deliver(std::span<const Delivery> batch);
  [[nodiscard]] bool accepts() const;
  [[nodiscard]] bool carries_replica() const noexcept { return accepting() && carries_ == Carries::replica; }
  /// The step to take against a handler that is slow here.
  [[nodiscard]] std::string_view cure_of_slowness() const noexcept;
  [[nodiscard]] bool busy() const;
  /// To a handler on a thread of its own, so far.
  [[nodiscard]] std::uint64_t batches_given() const { return accepting() && worker_ ? worker_->given() : 0; }
  /// Throws what a handler on a thread of its own has thrown, as if it had been thrown here.
  void rethrow() const;
  /// Null: the subgroup carries none, or has no handlers yet.
  [[nodiscard]] ObjectChannel* objects() const noexcept { return accepting() ? objects_.get() : nullptr; }
  [[nodiscard]] std::unique_ptr<views::StateReader> save_state();
  [[nodiscard]] std::unique_ptr<views::StateWriter> load_state();
  /// The application's saving and loading of its state.
  [[nodiscard]] const StateWork& state_work() const noexcept { return state_; }
  /// Some thread waits for space.
  [[nodiscard]] bool sends_wait() const noexcept { return space_.has_waiters(); }
  /// Space became free; whether a turn at it is out, so that `offer_space` is to be called.
  [[nodiscard]] bool on_space();
  /// Ends a turn that is over although no space became free since. Returns when to look again.
  [[nodiscard]] Time offer_space(Time now);

 private:
  [[nodiscard]] bool accepting() const noexcept { return taking_.load(std::memory_order_seq_cst) != Taking::unset; }
  [[nodiscard]] bool worth_waking() const noexcept { return gate_->half_free() || !gate_->is_open(); }
  [[nodiscard]] views::SendGate::Outcome reserve_once(std::uint64_t bytes, Claim& claim);
  [[nodiscard]] views::SendGate::Outcome reserve_large(std::uint64_t bytes, Claim& claim);
  [[nodiscard]] bool reserve_asleep(std::uint64_t bytes, Claim& claim, Time limit);

  enum class Carries : std::uint8_t { messages, objects, replica };
  void refuse_second_handler(std::string_view call) const;
  void set_state_functions(Subgroup::StateSaver save, Subgroup::StateLoader load);

  Environment& environment_;
  const std::shared_ptr<views::SendGate> gate_;
  const SubgroupId id_;
  const bool logged_;
  Subgroup handle_;
  SpaceQueue space_;
  std::mutex large_;  // one thread at a time reserves a large message
  std::mutex setting_;
  // Set behind the mutex, before `taking_`.
  Subgroup::DeliveryHandler handler_;
  StateWork state_;
  std::unique_ptr<ObjectChannel> objects_;  // if the subgroup carries objects
  std::unique_ptr<HandlerWorker> worker_;   // if the handler runs on a thread of its own
  std::atomic<Taking> taking_{Taking::unset};
  Carries carries_ = Carries::messages;
  bool discards_ = false;  // set like the handler
  /// The part of it that is about subgroups which come and go.
  struct Life {
    const Origin origin;
    Counter discarded;  // messages that nobody takes; the poller's
    std::atomic<bool> dropped{false};
  };
  Life life_;
};

/// Says that handlers hold up the protocol: counts every slow one, and logs at most one a second. The poller's.
class SlowHandlers {
 public:
  SlowHandlers(const Clock& clock, Counter count) noexcept : clock_(clock), count_(count) {}
  void on_delivery(const Channel& channel, Duration took);

 private:
  const Clock& clock_;
  Counter count_;
  std::optional<Time> reported_;
};

}  // namespace spindrift::group
