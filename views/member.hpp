// One member of a group, as a pure protocol object: it finds the others, founds or joins the group, runs the multicast of
// every subgroup in view after view, and leaves. Stepped by a poller thread in production and by the simulator in tests;
// reads no clock, takes no lock, starts no thread.
//
// The invariant to remember: everything of a view lives in its Epoch: rows, rings, counts, decree. A view's end is decided
// once (view_change.hpp), delivered up to the decree's trim, and only then does the next Epoch begin, in fresh memory.
//
// Its parts know nothing of each other beyond values: founding, links, watch over silence, sends, deliveries, transfers of
// states, installation. What follows from one for another passes through here.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/counters.hpp>
#include <spindrift/core/view.hpp>
#include <spindrift/fabric/fabric.hpp>
#include <spindrift/views/deliveries.hpp>
#include <spindrift/views/epoch.hpp>
#include <spindrift/views/founding.hpp>
#include <spindrift/views/installation.hpp>
#include <spindrift/views/links.hpp>
#include <spindrift/views/messages.hpp>
#include <spindrift/views/own_record.hpp>
#include <spindrift/views/present_watch.hpp>
#include <spindrift/views/roster_exchange.hpp>
#include <spindrift/views/sends.hpp>
#include <spindrift/views/silence_watch.hpp>
#include <spindrift/views/transfer.hpp>
#include <spindrift/views/upcalls.hpp>

namespace spindrift::views {

struct MemberOptions {
  NodeId self;
  /// Not 0, and differs from start to start of the same node. If it grows, others see at once which start is the later one;
  /// if not, they have to wait until the one in their view gives no sign of life.
  /// Not below `next_incarnation` of what `memory` has.
  std::uint64_t incarnation = 0;
  /// The nodes that may be in the group that this process founds, this one included; a group that is there tells its own.
  Roster roster;
  /// The group's, as a contact has just told it: comes before what `memory` has. Nothing: nobody was asked, or knew.
  std::optional<Roster> told{};
  /// The nodes that must all be present to found the first view, in rank order. If these are not the whole roster, they can
  /// found a second group while the others of the first run out of their sight: an operator who configures so must know that
  /// none runs. Empty: the founder's word is taken for who they are.
  std::vector<NodeId> founders;
  /// By whom the first view is founded instead: `present` needs a fabric that knows who is there, and takes no `founders`.
  FoundedBy founded_by = FoundedBy::named;
  /// The node's record of views, where founders are named; outlives the member. Null: it remembers nothing.
  ViewMemory* memory = nullptr;
  /// The node's logs, beside that record; outlive the member. Null: its logged subgroups are kept by nobody.
  SubgroupLogs* logs = nullptr;
  GroupIdentity identity;  ///< what all members must agree on
  LayoutFunction layout;
  /// How multicasts are stepped, and how much they do at once.
  struct Multicasting {
    smc::Policy policy;
    std::shared_ptr<smc::Stepper> stepper = std::make_shared<smc::Stepper>();
  };
  Multicasting multicasting{};
  Duration suspect_after{};                        ///< without a sign of life; 0: silence is no ground for suspicion
  Mandate::Terms terms{};                          ///< with whom it goes on, and what becomes of it where it cannot
  /// A message that this member could deliver may wait so long for its own application, which is behind; then it ends. 0: as
  /// long as it takes.
  Duration lagging_after{};
  std::uint64_t table_bytes = 0;                   ///< of each row, for the program's own tables; the same at all members
  std::uint64_t backlog_bytes_max = 64ULL << 20U;  ///< per subgroup, of deliveries kept while its state is on the way
};

enum class MemberState : std::uint8_t {
  idle,        ///< not started
  looking,     ///< for the founders, or for a group that takes this node in
  installing,  ///< a view is agreed; its rows are being exchanged
  active,      ///< sending and delivering
  changing,    ///< the view is ending: wedged, until its successor is decided
  stranded,    ///< the same without a majority: it keeps what it has, until it hears how the view ended, or that is revived
  concluding,  ///< the successor is decided, and the application is still at work on the view that ends
  departing,   ///< the successor is without this node, on its own wish; the others are still to learn it
  left,        ///< done, in order
  failed,      ///< removed, refused, or without a majority; `failure()` says which
};

/// The nodes that a process without a view waits for.
struct Awaited {
  /// Those that are here and in a view: their group takes in who has a connection with all of its members, unless it has
  /// lost the majority of its own. None: no group is there.
  std::vector<NodeId> members;
  /// Without a connection: founders; or, if a group is there, any that may run, be they members of it or not.
  std::vector<NodeId> nodes;
  std::vector<Apart> apart;   ///< processes that are here, and cannot be in a group with this one
  std::string memory;  ///< for people: for whom those that remember the last view wait; empty: for nobody
};

/// For people, to whom a view that is changing, concluding or departed from is one that changes.
[[nodiscard]] std::string_view to_string(MemberState state) noexcept;

/// A view is ending, or the next one not there yet.
[[nodiscard]] constexpr bool is_between_views(MemberState state) noexcept {
  return state >= MemberState::installing && state <= MemberState::departing && state != MemberState::active;
}

class Member final {
 public:
  struct Step {
    bool progress = false;  ///< step again at once; otherwise sleep until woken or `wake_at`
    Time wake_at = never;
  };

  /// `fabric`, which listens already, `upcalls` and `counters` outlive the member.
  Member(MemberOptions options, fabric::Fabric& fabric, Upcalls& upcalls, CounterBlock& counters);

  /// Starts to look for the others. Errors: unsupported (a trait is missing), resource.
  [[nodiscard]] Result<void> start();

  /// One pass: events, view change, predicates of the subgroups with news, one push. What an upcall throws goes through;
  /// then call `stop`.
  Step step(Time now);

  /// Shows the others that this member lives, while the poller's thread is in an upcall in the middle of a pass and its
  /// application is at work on what that brought, of this subgroup; or, of none, on the view itself, or its memory on a
  /// store. Another thread's, which keeps the upcall from returning meanwhile.
  void show_life(std::optional<SubgroupId> at_work);

  /// Ends at once and tells the others why; nothing, if it has ended. The poller's thread.
  void stop(Error reason);

  /// Asks for a graceful leave; any thread. Sends are refused from now on; when everything sent before is delivered
  /// everywhere, the others agree on a view without this node, and the state becomes `left`.
  void request_leave() noexcept { waiting_.to_leave.store(true, std::memory_order_seq_cst); }
  [[nodiscard]] bool leave_requested() const noexcept { return waiting_.to_leave.load(std::memory_order_seq_cst); }

  /// Wants the roster of the present view changed so, until it is, or until that is impossible: each view says (`check`,
  /// `in_effect`). A member that is removed or drained leaves first. Not before the first view. The poller's thread.
  void change_roster(const std::vector<RosterChange>& changes);

  /// Those who run the group say that these members of the present view go on without the rest, this one among them: tells
  /// the others. `force`: also if the rest may be a majority, which may have gone on elsewhere. The view that comes of it is
  /// told as any other. In no view yet: as `Founding::force`. The poller's. Errors: bad_argument, refused, unsupported.
  [[nodiscard]] Result<void> revive(std::span<const NodeId> members, bool force);

  /// Sends one message to one member of the present view, in order with others to the same; poller's thread. Dropped if it
  /// is not there. Errors: bad_argument (larger than `payload_bytes_max` of the fabric).
  [[nodiscard]] Result<void> send_private(NodeId to, std::span<const std::byte> message);
  /// The application found bytes of this member that no correct one sends; poller's thread.
  void accuse(NodeId node, const std::string& what);

  /// The gate for application threads of a subgroup of the present view, or, before there is one, of the layout; null: there
  /// is no such place. They may share it for longer than the subgroup is there. The poller's; the gate is any thread's.
  [[nodiscard]] std::shared_ptr<SendGate> gate(SubgroupId id) const { return sends_.gate(id); }
  /// Name, mode, profile and topics of every subgroup of the layout.
  [[nodiscard]] const std::vector<SubgroupView>& shapes() const noexcept { return shapes_; }

  // The rest: the poller's thread.
  [[nodiscard]] MemberState state() const noexcept { return state_; }
  /// Set in state `failed`.
  [[nodiscard]] const std::optional<Error>& failure() const noexcept { return failure_; }
  [[nodiscard]] NodeId self() const noexcept { return options_.self; }
  /// While looking: the nodes that it waits for.
  [[nodiscard]] Awaited awaited() const;
  /// The present view's epoch; null before the first.
  [[nodiscard]] Epoch* epoch() const noexcept { return installation_.present(); }
  [[nodiscard]] const Links& links() const noexcept { return links_; }
  /// Epochs whose memory is still here, oldest first, the present one last.
  [[nodiscard]] const std::vector<std::unique_ptr<Epoch>>& epochs() const noexcept { return installation_.epochs(); }
  /// States on their way to newcomers, and from others.
  [[nodiscard]] const Transfers& transfers() const noexcept { return transfers_; }
  /// By subgroup: whether its state is still on its way here, and whether the application has all that was delivered.
  [[nodiscard]] const Deliveries& deliveries() const noexcept { return deliveries_; }

 private:
  /// The parts that matter until the first view, and the record from which the node's next process begins.
  struct Beginning {
    OwnRecord record;
    Founding founding;
    PresentWatch present;  ///< where those present found
  };

  struct Waiting {
    std::atomic<bool> to_leave{false};
    Time departing_since{};  ///< in state `departing`
    Time stranded_since{};   ///< in state `stranded`
    Time ask_again{};        ///< likewise
  };

  // member.cpp: passes
  bool step_installing(Time now);
  bool step_departing(Time now);
  bool look(Time now);
  [[nodiscard]] bool goes_on(Time now, bool& progress);
  bool run(Time now);
  bool conclude(Time now);
  bool change_view(Time now);
  bool advance_leave();
  void push();
  [[nodiscard]] Time next_wake(Time now) const;
  void enter(MemberState state);

  // member_views.cpp: what passes between the parts
  void settle_links();
  void on_event(LinkEvent& event);
  void on_message(const PeerConnection& from, Message& message);
  void meet(const PeerConnection& member);
  bool step_looking(Time now);
  void install(ViewNotice begun, NewView news, Time now);
  bool exchange_states();

  MemberOptions options_;
  fabric::Fabric& fabric_;
  Upcalls& upcalls_;
  std::vector<SubgroupView> shapes_;  // every subgroup's name, mode, profile and topics
  Beginning beginning_;
  Links links_;
  RosterExchange rosters_;
  SilenceWatch watch_;
  Sends sends_;
  Deliveries deliveries_;
  Transfers transfers_;
  Installation installation_;
  MemberState state_ = MemberState::idle;
  std::optional<Error> failure_;
  Waiting waiting_;
  std::vector<SubgroupId> state_lost_;  // as the present view's members were told
};

/// Those who run the group say that it goes on with the log of that subgroup that this node has; told to the member that
/// leads the view. The view that comes of it is told as any other. The poller's. Errors: as LogClaims::adopt; refused (it is
/// in no view that goes on, or does not lead it: then the fix names who does), bad_argument (no such subgroup).
[[nodiscard]] Result<void> adopt_log(const Member& leader, const std::string& subgroup, NodeId from, bool force);

}  // namespace spindrift::views
