// The public face: a process joins its group, sends to subgroups and receives what they deliver, in view after view.
//
// One poller thread per Group runs the protocol and calls the handlers. Errors are thrown as spindrift::Exception, here and
// nowhere below; every message names what failed, why and what to do.
#pragma once

#include <cstring>
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/config/config.hpp>
#include <spindrift/core/counters.hpp>
#include <spindrift/core/view.hpp>
#include <spindrift/group/shards.hpp>
#include <spindrift/smc/delivery.hpp>
#include <spindrift/views/new_view.hpp>
#include <spindrift/views/send_claim.hpp>

namespace spindrift {

class Group;
class GroupCore;
class ObjectChannel;
class ReplicaBase;
class ReplicaChannel;
template <class T>
class ProgramTable;
template <class T>
class Replicated;
namespace group {
class Channel;
class TableCore;
struct Probe;
struct TableForm;
}  // namespace group
namespace views {
class SendGate;
}
struct ObjectHandlers;

using views::NewView;
using views::Removal;

/// The thread on which a subgroup's delivery handler runs.
enum class HandlerThread : std::uint8_t {
  shared,  ///< on the poller thread, with all others that share it: never two at a time, and the payloads lie in the rings
  own,     ///< on one of its own: for a handler that may take long, so that it holds up its subgroup alone. At the price of
           ///< a copy, and beside other handlers; still never beside on_view, or its own subgroup's save and load
};

/// The rule for the rows of a program's table.
enum class TableRows : std::uint8_t {
  latest,    ///< any value may follow any other
  monotone,  ///< numbers of 64 bits, none of which ever falls
};

/// A subgroup of the layout as this process sees it, whether it is a member now or not. Lives as long as its Group. All
/// functions are thread-safe.
class Subgroup {
 public:
  using DeliveryHandler = std::function<void(std::span<const Delivery>)>;  ///< takes a batch, in delivery order
  using StateSaver = std::function<void(std::ostream&)>;                   ///< writes the state; any bytes
  using StateLoader = std::function<void(std::istream&)>;                  ///< reads what a saver wrote

  [[nodiscard]] const std::string& name() const noexcept { return name_; }  ///< as the layout has it
  /// Members, senders, mode and profile in the present view.
  [[nodiscard]] SubgroupView description() const;
  /// Whether this process may send here in the present view.
  [[nodiscard]] bool is_sender() const;
  /// Largest payload in bytes.
  [[nodiscard]] std::uint64_t message_bytes_max() const noexcept { return message_bytes_max_; }
  /// Why a send would have to wait now for more than space: the view is changing, or cannot give the subgroup its minimum of
  /// members. Empty: it would not.
  [[nodiscard]] std::string blocked() const;

  /// Sets who takes the deliveries, once. Until then messages wait (and finally the senders: nothing is lost). The handler
  /// gets batches in delivery order. On the poller thread it should return soon, for it holds up this process's protocol
  /// and, with full windows, all senders; one that may take longer gets a thread of its own. The view cannot change while it
  /// runs, on either: all members wait, for [SPINDRIFT] handler_stuck_after_ms at most, then its own one ends. It may send;
  /// where a `send` would have to wait it throws would_block instead. An exception that leaves it ends this member. Throws
  /// bad_argument, group_closed (this member leaves, as it does without a call when the group's roster is to be without it).
  void on_delivery(DeliveryHandler handler, HandlerThread thread = HandlerThread::shared);

  /// Until `resume` the handler gets no more batches, but for one that may be on its way: for an application that cannot
  /// take more now, such as one whose own receiver has stopped. Nothing is lost: deliveries wait, and finally all senders of
  /// the subgroup. The view changes meanwhile, and other subgroups go on, which a handler that does not return prevents;
  /// what a view leaves behind waits in this process, and more up to [SPINDRIFT] state_buffer_size. A member that leaves,
  /// and a drop of the subgroup, wait for `resume`; [SPINDRIFT] lagging_member counts it as slow. From handlers, too. Throws
  /// bad_argument before on_delivery.
  void pause();
  void resume();  ///< also when it is not paused

  /// The members that hold up sends of this process here, this one, too: those whose applications have most of what it sent
  /// still before them, because their handlers are slow or paused. For people: it is out of date at once. Empty: nobody.
  /// Throws bad_argument (called from a handler), timed_out (a handler here does not return), group_closed (this member
  /// leaves or has left), and what ended it otherwise.
  [[nodiscard]] std::vector<NodeId> awaited() const;

  /// Sets how the application's state of this subgroup is saved for newcomers and loaded by one, once, before on_delivery.
  /// `save` writes what all deliveries so far have made, `load` replaces it. Both run on a thread of their own, from the
  /// boundary of two views on, beside on_view and the handlers of other subgroups, for as long as they take; never beside
  /// each other or this subgroup's handler, which gets nothing meanwhile. They must not wait for the group: as in handlers,
  /// `send` throws would_block. An exception that leaves `load` ends this member; one that leaves `save` does not: the
  /// newcomers that are to get the state from here are removed, and the log here and NewView::failed say why; only where
  /// the rest is no majority, as of two members, this one ends, too. A subgroup without them has no state to transfer.
  /// Throws as on_delivery does; bad_argument also where newcomers get the history, unsupported in a created subgroup.
  void on_state(StateSaver save, StateLoader load);

  /// Logged subgroups: messages whose version is lower are in the logs of all members, on their disks. What is durable stays
  /// through any crash of any number of members; a delivery's version is in `Delivery`. Others: 0. Any thread.
  [[nodiscard]] std::uint64_t durable_version() const;
  /// Waits until the message of that version is durable so. False: not within `limit`. Throws bad_argument (the subgroup is
  /// not logged; called from a handler), group_closed (this member leaves or has left), and what ended it otherwise.
  bool await_durable(std::uint64_t version, std::optional<Duration> limit = {}) const;
  /// Sets who hears `durable_version` whenever it has grown, and first what it is already: on the poller thread, so it
  /// should return soon. A message can be durable before the delivery handler is given it. To be set once. Throws
  /// bad_argument (it is set, or the subgroup is not logged).
  void on_durable(std::function<void(std::uint64_t version)> handler);
  /// Trims messages of lower versions off this member's log, for room on its disk: ones that are durable so and that the
  /// handler was given here, and where a replicated object is made of the log ones before its last checkpoint. Others keep
  /// theirs; but a member that comes without a log gets none that its source has not. Segments of the journal go as
  /// soon as no log needs them, so some messages before `below` stay. Returns the version of the first one that is kept.
  /// A history in the layout does the same by itself. Throws bad_argument (the log ends before `below`; an object is made of
  /// it and the subgroup has no history; it is not logged; called from a handler), refused (some of these are not durable
  /// so, not given to the handler, or in no checkpoint), timed_out, group_closed (this member leaves or has left), and what
  /// ended it otherwise.
  std::uint64_t trim_log(std::uint64_t below, std::optional<Duration> limit = {});

  /// Sends one message of `bytes`: `build(std::span<std::byte>)` fills it in place in the ring, on this thread. Waits while
  /// the window is full, the view changes or the subgroup is inadequate. If `build` throws, nothing is sent and the
  /// exception goes on. Returns when the message is on its way; delivery here and elsewhere follows in order, if need be in
  /// a later view. A change of the view waits for `build` to return. Throws: bad_argument (too large, not a sender),
  /// would_block (from a handler), group_closed (this member leaves or has left), and what ended it otherwise: removed,
  /// no_majority, lagging (its handlers were behind, and [SPINDRIFT] lagging_member is remove), handler_failed (a handler
  /// threw), resource; and disk_full: the subgroup is logged, and the disk of this node's journal is full. Nothing was sent
  /// then, this member goes on, and sends are taken again when there is space.
  template <class Build>
  void send(std::uint64_t bytes, Build&& build) {
    fill(reserve(bytes), build);
  }
  /// The same for bytes that exist already: copies them.
  void send(std::span<const std::byte> payload) {
    send(payload.size(), [&](std::span<std::byte> to) {
      if (!to.empty()) std::memcpy(to.data(), payload.data(), payload.size());
    });
  }
  /// The same for text.
  void send(std::string_view text) { send(std::as_bytes(std::span(text))); }

  /// The same, and waits no longer than `limit` for room: false if there was none, and nothing was sent. Throws as `send`.
  template <class Build>
  [[nodiscard]] bool send_within(Duration limit, std::uint64_t bytes, Build&& build) {
    Claim claim;
    if (!reserve_within(limit, bytes, claim)) return false;
    fill(claim, build);
    return true;
  }

  /// The same without waiting: false if it would have to. Throws as `send`, but not would_block.
  template <class Build>
  [[nodiscard]] bool try_send(std::uint64_t bytes, Build&& build) {
    Claim claim;
    if (!try_reserve(bytes, claim)) return false;
    fill(claim, build);
    return true;
  }

  Subgroup(const Subgroup&) = delete;
  Subgroup& operator=(const Subgroup&) = delete;

 private:
  friend class group::Channel;
  Subgroup(group::Channel& channel, views::SendGate& gate, const SubgroupView& shape, std::uint32_t generation)
      : channel_(channel),
        storage_(shape.storage),
        gate_(gate),
        name_(shape.name),
        message_bytes_max_(shape.profile.message_bytes_max),
        ring_payload_max_(shape.profile.ring_payload_max()),
        generation_(generation) {}

  using Claim = views::SendClaim;
  [[nodiscard]] Claim reserve(std::uint64_t bytes);
  [[nodiscard]] bool try_reserve(std::uint64_t bytes, Claim& claim);
  [[nodiscard]] bool reserve_within(Duration limit, std::uint64_t bytes, Claim& claim);
  void commit(const Claim& claim) noexcept;
  void abandon(const Claim& claim) noexcept;

  template <class Build>
  void fill(const Claim& claim, Build& build) {
    try {
      build(claim.reservation.payload);
    } catch (...) {
      abandon(claim);
      throw;
    }
    commit(claim);
  }

  void require_logged(const char* call) const;

  group::Channel& channel_;
  SubgroupStorage storage_;
  views::SendGate& gate_;
  std::string name_;
  std::uint64_t message_bytes_max_;
  std::uint64_t ring_payload_max_;
  std::uint32_t generation_;  // of the process that is the member
};

/// The options that a Group may be given before it joins.
struct GroupOptions {
  /// In place of the configuration's layout: which members are in which subgroup. Must be pure, the same at all members, and
  /// always give the same subgroups in the same order. Members compare what theirs give for all founders, and for all
  /// but any one of them, so the files of all members name the same ones: a process whose layout gives something else there
  /// is refused. Called before this process
  /// joins, too.
  LayoutFunction layout;
  /// While this process looks for its group: the nodes that it waits for, whenever they are others; none, when only the view
  /// is still to come. On the poller thread, before the constructor of this Group has returned; on the constructor's, before
  /// that, with this node alone: the name of its own host has no address yet.
  std::function<void(const std::vector<NodeId>& missing)> on_waiting;
  /// While this process looks for its group, and some node here remembers one: for which nodes of its last view all wait, in
  /// words for people, whenever these are others; empty: for none any more. Likewise which members of a group are here and
  /// have not taken this process in, and where to look for the reason. On the poller thread, likewise.
  std::function<void(const std::string& words)> on_last_view_awaited;
  /// Called on the poller thread for every subgroup that was created, in the first view of this process that has it, ahead
  /// of on_view and of all that is delivered there: a program that sets on_delivery here misses nothing. Until the
  /// constructor of Group has returned, the first view may be lost: then what was given here is gone, and given again.
  std::function<void(Subgroup&)> on_created;
  /// Called on the poller thread for every view that this process is in, the first included: after the last delivery of the
  /// view before and before the first of the new one. May send as a delivery handler may. Where the first view is lost
  /// before the constructor of Group has returned, the views in which this process begins again follow.
  std::function<void(const NewView&)> on_view;
  /// This many own messages of an ended view may not have reached every survivor (unordered subgroups). On the poller
  /// thread; may send as a delivery handler may, where `send` throws would_block as long as the view changes.
  std::function<void(Subgroup&, std::uint64_t messages)> on_dropped;
  /// A private message of another member. On the poller thread; may send as a delivery handler may. Also before the
  /// constructor of this Group has returned.
  std::function<void(NodeId from, std::span<const std::byte>)> on_private;
};

/// A process's membership in its group. Views and the order are those of virtual synchrony (Spindle, section 2.1). It is of
/// the process that made it: in a child that this forks, calls that may throw throw bad_argument.
class Group {
 public:
  /// Joins: returns when this process is in an active view: the first one, founded with all [SPINDRIFT] founders, or that of
  /// a running group, whose subgroups' states may then still be to come: see `loaded`. Throws: bad_config, resource,
  /// unsupported, refused (a peer's configuration differs, the id is in use, or its keys do not do), timed_out (nobody was
  /// there within [SPINDRIFT] join_timeout_ms; the message names who is missing), handler_failed (`on_view` or another of
  /// the options threw), and removed, where others end the first view before it is active. Where its majority is lost
  /// before that, this process begins again, within join_timeout_ms, as a new incarnation.
  explicit Group(const Config& config, GroupOptions options = {});
  /// Joins the group of this user on this host for which nobody wrote a file, config_without_file(); the first process
  /// founds it. It has the subgroups that its processes create: create_subgroup. Throws likewise.
  explicit Group(GroupOptions options = {});
  /// The same, for experiments alone (group/probe.hpp, which is not installed).
  Group(const Config& config, GroupOptions options, const group::Probe& probe);
  /// Leaves first, if `leave` was not called, and waits as that does. Never throws, but logs. Handlers run until it returns:
  /// what they use must outlive this Group. One that destroys it ends the process. In a forked child it does nothing.
  ~Group();
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  /// The subgroup of that name, of the layout or created; it may be used as long as this Group, and refuses sends once it
  /// was dropped. Throws bad_argument, naming the known ones, if there is none.
  [[nodiscard]] Subgroup& subgroup(std::string_view name);
  /// The shards of the subgroup of that name, which is the first one's; a subgroup that the layout does not cut has one.
  /// Throws bad_argument, naming the known ones, if there is none.
  [[nodiscard]] Shards shards(std::string_view name);
  /// The names of all subgroups: of the layout, shards among them, and those that were created.
  [[nodiscard]] std::vector<std::string> subgroup_names() const;

  /// An object of type T that all members of the subgroup change in the same order, made from `arguments`; once per
  /// subgroup, in place of on_delivery and on_state. Include <spindrift/replicated.hpp>. Throws bad_argument (unknown
  /// subgroup, unordered, it has handlers or an object already, or it is not logged and T has a Persistent field),
  /// unsupported (its state is with other members, and T gives no way to take it), group_closed.
  template <class T, class... Arguments>
  [[nodiscard]] Replicated<T> replicated(std::string_view subgroup, Arguments&&... arguments);

  /// Objects of any size through that subgroup, and messages among their pieces; once per subgroup, in place of on_delivery.
  /// Include <spindrift/objects.hpp>. Throws bad_argument (unknown subgroup, unordered, it has a handler already).
  [[nodiscard]] ObjectChannel& objects(std::string_view subgroup, ObjectHandlers handlers);

  /// The program's own table of that name, made if there is none: a row of type T for every member, which its owner alone
  /// writes and all see. T is trivially copyable; with TableRows::monotone it is std::uint64_t, or a struct of these.
  /// Members make their tables when they like; rows of another type or rule belong to another table. Any thread; outside of
  /// handlers it waits until the poller has looked at the others' rows, so hold no lock that a handler takes. Include
  /// <spindrift/table.hpp>. Throws bad_argument (no name, another type or rule than before, or one that is not monotone),
  /// resource (no room in [SPINDRIFT] table_bytes), group_closed, and what ended this member otherwise.
  template <class T>
  [[nodiscard]] ProgramTable<T> table(std::string_view name, TableRows rows = TableRows::latest);

  [[nodiscard]] NodeId self() const noexcept;  ///< this process's id
  /// The present view; it may be another one when this returns.
  [[nodiscard]] View view() const;
  /// Changes which nodes may be in the group, and where they are called: nodes are added, removed, moved to another address,
  /// drained, which leaves them in the roster and lets none of their processes in, or let in again. All members agree on it
  /// as on a view, and the next one has it (`view().roster`), with all other changes that members want at that time. A
  /// member that is removed or drained leaves first, in order; so does this one. Changes that are in effect already cost
  /// nothing. Returns the roster of the first view that has all of them. Without `limit` it waits as long as it takes; what
  /// it has not waited for is still wanted. Throws bad_argument (a change is impossible, or others have made it so, for the
  /// reasons that `check` in <spindrift/core/roster.hpp> knows: among others, a member is drained and those that stay would
  /// be no majority of the view; an address is none of the group's fabric; or it is called from a handler), refused
  /// (this member has lost the majority of its view, and waits), timed_out, group_closed (this member leaves or has left,
  /// also because the change removes or drains it), and what ended it otherwise.
  Roster change_roster(const std::vector<RosterChange>& changes, std::optional<Duration> limit = {});
  /// Creates a subgroup while the group runs, by the agreement of all members as change_roster does; many are created by
  /// one call of that (RosterChange::Kind::create), in one change of the view. What is 0 of its profile is as
  /// [SUBGROUP/DEFAULT] has it. Returns when all members have it: `subgroup` finds it then, here and there. A program that
  /// has not set on_delivery there discards what is delivered, which the counter subgroup.NAME.discarded tells; whoever is
  /// to miss nothing sets it in GroupOptions::on_created. It has no state that newcomers get:
  /// on_state and replicated objects are refused. Creating what is there already costs nothing, if it is the same. Throws
  /// as change_roster; bad_argument also where a subgroup of that name is in the layout, or is there with other values.
  Subgroup& create_subgroup(const AddedSubgroup& subgroup, std::optional<Duration> limit = {});
  /// Changes one that was created so: its window, its rings or its senders. What is 0 of the profile stays. All else is
  /// meant as it is here, and has to be as it was: name, members, mode, sizes of messages; no senders are all members. Take
  /// what is there from `view().roster`. The next view has all of it. Nothing is lost: who is no sender any more waits until
  /// what it sent is delivered, while its threads that send wait, and throw bad_argument then. One of the layout's changes
  /// its window and its ring alone, whatever files say of them; its mode need not be given, and no nodes are. Throws as
  /// change_roster; bad_argument also where none is named so.
  Subgroup& change_subgroup(const AddedSubgroup& subgroup, std::optional<Duration> limit = {});
  /// Drops a subgroup that was created so, when all that was sent there before is delivered; sends wait meanwhile, and are
  /// refused afterwards: `refused`. Throws as change_roster; bad_argument also where none is named so, or the layout has
  /// it.
  void drop_subgroup(std::string_view name, std::optional<Duration> limit = {});
  /// Revives a view that has lost its majority, where this member waits for that ([SPINDRIFT] majority_lost): the members
  /// that are named, this one among them, go on without the rest, with their state. All of them must wait so and have a
  /// connection with each other; they are told by this one. The next view has them alone, and a process of a node that was
  /// given up is taken in as a newcomer. What the rest has agreed on without them is lost; one of the rest that still runs
  /// ends when it hears of this, and must not be started out of sight before. `force`: also if the rest may be a majority,
  /// which may have gone on. Returns the view that came of it, or a later one; without `limit` it waits as long as it takes.
  /// Throws bad_argument (none is named, one twice, one that is no member, one from which this member has parted,
  /// not this one; called from a handler), refused (this member has not lost the majority; or the rest may be a majority),
  /// unsupported (members of an earlier release are in the view), timed_out, and what ended this member otherwise.
  View revive(const std::vector<NodeId>& members, bool force = false, std::optional<Duration> limit = {});
  [[nodiscard]] std::vector<CounterValue> counters() const;  ///< any thread

  /// Private messages of up to so many bytes, each counted with 264 more, may be on their way to one member before it has
  /// taken them: `on_private` has returned there.
  static constexpr std::size_t private_window_bytes = std::size_t{1} << 20;

  /// Sends to one member of the present view alone, in order with other private messages to it; dropped if it is not there,
  /// or goes before it has taken it. Waits while `private_window_bytes` are on their way to that member, and for no other;
  /// `leave` waits until what was sent before is on its way. Any thread. Throws bad_argument (larger than
  /// private_bytes_max), would_block (from a handler that would have to wait), and as Subgroup::send when this member
  /// leaves, has left or was ended.
  void send_private(NodeId to, std::span<const std::byte> message);
  /// The same without waiting: false if it would have to.
  [[nodiscard]] bool try_send_private(NodeId to, std::span<const std::byte> message);
  [[nodiscard]] std::size_t private_bytes_max() const noexcept;  ///< of send_private

  /// Leaves gracefully: sends are refused from now on, everything sent before is delivered at every member, then the others
  /// go on without this one, and this returns. Waits for the handlers of all members of its subgroups; the log says for
  /// whom, if that takes long. What would still be delivered here in a subgroup without on_delivery is discarded, so that a
  /// program which gives up before it has set its handlers holds up nobody. Returns at once if this member has left already.
  /// Throws what ended this member if that came first: removed, no_majority, lagging, handler_failed (a handler threw),
  /// resource, refused, unsupported or bad_input (a replicated object could not take its subgroup's state, so that this
  /// member left); and bad_argument from a handler, whose return it would wait for.
  void leave();
  /// The same for a member that others are not to hold up for long. Whenever it has waited for `patience`, it has the view
  /// changed, by creating the subgroup `handover`, in which nobody sends anything, or by dropping it where it is there: at
  /// the end of a view what is on its way is handed over to the processes whose handlers are paused, and is given to them
  /// when they go on. So nothing is lost but with those. A handler that does not return holds up the view, and this. Throws
  /// as `leave`.
  void leave(Duration patience, const std::string& handover);

  /// Waits until this member has the states of all its subgroups that have one to give, by replicated objects and by
  /// on_state alike: the functions that load them have returned; and until its delivery handlers have returned from what
  /// logs and histories had for it, at founders too. A member that joins a running group gets states from others,
  /// once it has set its handlers: a subgroup without any waits for ever. Where there is none of these, it returns
  /// at once. Throws timed_out, would_block in a handler that would have to wait, and what ended this member if that came
  /// first: also refused, unsupported or bad_input, where a replicated object could not take its state.
  void loaded(std::optional<Duration> limit = {}) const;
  /// Whether `loaded` would return at once.
  [[nodiscard]] bool is_loaded() const noexcept;

  /// Blocks until this member has left: returns after a graceful leave. Throws as `leave`.
  void wait();
  /// Whether this member is in the group and does not leave.
  [[nodiscard]] bool open() const noexcept;
  /// Whether the calling thread is this group's poller or a handler's own, which must not wait for the group.
  [[nodiscard]] bool on_poller_thread() const noexcept;

  /// Called once when this member stops because of an error (removed, no majority, …): on the poller thread, or at once on
  /// this one if that has happened already. `wait` reports the same. It takes the place of one that was given before; what
  /// it throws on the poller thread is logged. Throws bad_argument: there is no function in it.
  void on_failure(std::function<void(const Error&)> handler);

 private:
  using ReplicaMaker = std::function<std::unique_ptr<ReplicaBase>(ReplicaChannel&)>;
  /// `again`: as `make`, also later; null: it can be made once.
  [[nodiscard]] ReplicaBase& attach_replica(std::string_view subgroup, const ReplicaMaker& make, ReplicaMaker again);
  [[nodiscard]] group::TableCore& attach_table(std::string_view name, const group::TableForm& form);
  [[nodiscard]] GroupCore& core() const;

  std::unique_ptr<GroupCore> core_;
};

}  // namespace spindrift
