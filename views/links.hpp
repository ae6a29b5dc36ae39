// Connections with the other processes of the roster: hellos, the nodes that could be taken into the next view, which of a
// node's connections counts, and how one ends. No memory is shown to a peer before its hello was checked.
//
// The invariant to remember: what follows for others of this member is told as an event, in order, and done before the next
// event is taken.
//
// The poller's. An event is valid until the next one is taken. What the constructor takes by reference outlives this object.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <spindrift/core/view.hpp>
#include <spindrift/fabric/fabric.hpp>
#include <spindrift/views/founding.hpp>
#include <spindrift/views/installation.hpp>
#include <spindrift/views/messages.hpp>
#include <spindrift/views/partings.hpp>
#include <spindrift/views/peers.hpp>
#include <spindrift/views/view_change.hpp>

namespace spindrift::views {

/// Something happened on a connection, and was taken care of there.
struct LinkHandled {};
/// A member of the present view is to be suspected.
struct LinkSuspects {
  Rank rank;
  std::string reason;
  bool turned_away = false;  ///< it suspected this member first
};
/// A member of the present view is here.
struct LinkAgreed {
  PeerConnection with;
};
/// A process is in that view, which is later than the present one here.
struct LinkOvertaken {
  Join by;
  ViewId view;
  bool apart = false;  ///< this process does not count it in its own view: the two have parted, or it never was there
};
/// Somebody whose hello agrees said something that is not about the connection.
struct LinkHeard {
  PeerConnection from;
  Message message;
};
struct LinkExposed {
  PeerConnection from;
  Installation::Offer offer;
};
/// A connection is over.
struct LinkOver {
  PeerConnection with;
  bool dying = false;  ///< the process at its other end is about to be dead: LinkDied may follow
};
/// The process at the other end of a connection that is over is dead for certain.
struct LinkDied {
  fabric::PeerId id;
  bool complete = false;  ///< all that it said to this process was heard
};
/// This process cannot be in the group.
struct LinkRefused {
  Error error;
};
/// A process of that node, which is in no view, is not taken for one that could be.
struct LinkTurnedAway {
  NodeId node;
  std::string reason;
};
using LinkEvent =
    std::variant<LinkHandled, LinkSuspects, LinkAgreed, LinkHeard, LinkExposed, LinkOver, LinkDied, LinkRefused,
                 LinkTurnedAway, LinkOvertaken>;

/// The fabric's events, batch by batch, behind those that were kept of connections that have just taken another's place.
class FabricEvents {
 public:
  explicit FabricEvents(fabric::Fabric& fabric) noexcept : fabric_(fabric) {}
  /// Null: nothing waits at the moment. It is said once.
  [[nodiscard]] fabric::Event* next();
  void hear_first(std::vector<fabric::Event> events);
  void forget_kept() noexcept { kept_.clear(); }

 private:
  fabric::Fabric& fabric_;
  std::deque<fabric::Event> kept_;
  fabric::Event of_kept_;
  std::array<fabric::Event, 16> polled_;
  std::size_t at_ = polled_.size();     // all taken of a full batch: there may be more
  std::size_t count_ = polled_.size();
};

class Links {
 public:
  enum class State : std::uint8_t {
    looking,  ///< for a first view
    member,   ///< of the present view
    ended,    ///< a process that comes finds nobody
  };
  /// Processes that are here and not in a roster.
  enum class Outsiders : std::uint8_t {
    stay,  ///< a group's members told of the roster, and some of them may have gone on to another
    go,    ///< a view has it: only a member of the present view keeps its connection, until it is over
  };

  Links(Join self, std::span<const fabric::Address> roster, const GroupIdentity& identity,
        const std::vector<SubgroupView>& shapes, fabric::Fabric& fabric, const Founding& founding);
  /// Asks for connections with everybody. Errors: the fabric's.
  [[nodiscard]] Result<void> start();
  /// These nodes may call from now on, beside those that may already. Nobody is asked for a connection.
  void expect(const Roster& also) { peers_.expect(also); }
  /// As these nodes other processes run, be they in the roster or not, while this one looks for a group: asks for
  /// connections with those that it does not know.
  void seek(std::span<const NodeId> present);
  /// If nothing binds this process any more, which looks for a group: ends its connections with those whom it had told so,
  /// and meets them anew, for a hello is said once.
  void tell_unbound();
  /// Asks for connections with all of the roster that are away, also with those from which this process has parted: they may
  /// know of a later view, or of none of this process's.
  void reach_out();
  /// The nodes that may be here, and where they are, are these from now on: asks for connections with those that are new or
  /// elsewhere, and with others no more.
  void set_roster(const Roster& roster, Outsiders outsiders);

  /// The next event, of the fabric if none follows from the last one. Nothing: none waits at the moment.
  [[nodiscard]] std::optional<LinkEvent> next();
  /// The next event that follows from what was done.
  [[nodiscard]] std::optional<LinkEvent> next_consequence();

  /// That view is the present one, and outlives its being that. Members of it that are here follow as events.
  void begin_view(const View& view);
  /// Behind the first view's events: tells all who took this process for one without a view.
  void tell_settled();
  /// Parts from who is suspected in the present view, as far as it has not; before these suspicions are pushed.
  void revoke(std::span<const ViewChange::Suspicion> suspicions);
  /// That node said or wrote what no correct one does.
  void accuse(NodeId node, std::string reason);
  /// Ends all connections; with a reason, the others are told.
  void end(const std::optional<std::string>& reason);

  /// To a process whose hello agrees; dropped if it is not here.
  void send(NodeId to, std::vector<std::byte> message);
  /// Tells a newcomer of the view that takes it in, once: from then on it is nobody's candidate.
  void notify(NodeId newcomer, const std::function<ViewNotice()>& notice);
  /// Lets a peer at memory.
  [[nodiscard]] Result<void> show(const PeerConnection& to, const Showing& showing);

  /// Processes that could be taken into the next view, and which members are linked with them, as far as they told this one.
  [[nodiscard]] const std::vector<Candidate>& candidates() const noexcept { return candidates_; }
  /// Tells the leader of the present view, unless it knows, which candidates this process is linked with.
  void tell_candidates(NodeId leader);
  /// Members of the present view whose hello agrees.
  [[nodiscard]] std::vector<PeerConnection> members() const;
  [[nodiscard]] const Peers& peers() const noexcept { return peers_; }
  [[nodiscard]] const Partings& partings() const noexcept { return partings_; }

 private:
  void ask(const Peer& peer);
  void note_candidates();

  // links.cpp
  void on_event(fabric::Event& event);
  void on_connected(const fabric::Event& event);
  void on_message(Peer& peer, std::span<const std::byte> bytes);
  void on_part(Peer& peer, const MessagePart& part);
  void on_hello(Peer& peer, const Hello& hello);
  bool on_refusal(Peer& peer, const Message& message);
  /// The connections' ends.
  enum class End : std::uint8_t {
    here,      ///< this process has ended it
    broke,     ///< it broke
    died,      ///< it broke when the process at its other end began to end
    for_good,  ///< this process has ended it, and wants no other with that one
  };
  void on_lost(Peer& peer, const std::string& reason, End end = End::broke);
  void part_from(Peer& peer, std::string reason, bool turned_away);
  void refuse(Peer& peer, std::string_view reason);
  void turn_away(Peer& peer, const Message& refusal, std::string reason, End end = End::here);
  void accuse(Peer& peer, std::string reason);
  void hang_up(Peer& peer, End end = End::here);

  // links_pending.cpp
  bool on_pending(fabric::Event& event);
  [[nodiscard]] bool outranks(const Peer& peer, const PendingConnection& pending) const;
  void prefer_pending(Peer& peer);
  void adopt_pending(Peer& peer);

  Join self_;
  GroupIdentity identity_;
  Decoder decode_;
  fabric::Fabric& fabric_;
  const Founding& founding_;
  State state_ = State::looking;
  const View* view_ = nullptr;    // the present one
  FabricEvents events_;
  std::deque<LinkEvent> consequences_;
  std::vector<std::byte> whole_;  // a message that came in parts
  std::optional<NodeId> met_;     // its hello has just agreed, and its pending connections are to be looked at
  std::size_t to_meet_ = ~std::size_t{0};  // the peer that a view's beginning is to be looked at with next
  Peers peers_;
  Partings partings_;
  std::vector<Candidate> candidates_;
  std::size_t revoked_ = 0;       // of the present view's suspicions, how many were acted upon
};

/// Whether that process has ended for certain: the kernel or it itself said so, or a later one of its node is here.
[[nodiscard]] bool is_over(const Links& links, const Join& who);

}  // namespace spindrift::views
