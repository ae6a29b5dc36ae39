// The messages between two processes outside of rows: who they are, which view there is, which memory belongs to it, a
// newcomer's state. Little-endian, validated field by field; a peer's bytes become one of these types or nothing.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include <spindrift/core/added_subgroup.hpp>
#include <spindrift/core/ids.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/core/roster.hpp>
#include <spindrift/core/view.hpp>
#include <spindrift/views/decree.hpp>
#include <spindrift/views/log_point.hpp>
#include <spindrift/views/mandate.hpp>
#include <spindrift/views/rank_set.hpp>
#include <spindrift/views/versions.hpp>
#include <spindrift/views/view_record.hpp>

namespace spindrift::views {

/// All members of a group must have this in common, and any two of them a version.
struct GroupIdentity {
  std::string group_name;
  std::array<std::uint64_t, 2> config_digest{};  ///< of everything group-wide in the config
  Versions versions{message_form, message_form};
};

/// The words that the two ends of a connection have said when it was made; see fabric::Event.
struct ConnectionWords {
  std::uint64_t own = 0;
  std::uint64_t peer = 0;
};

/// The first words on every connection, before any memory is exposed. It travels with a proof, see hello_proof.hpp.
struct Hello {
  NodeId node;
  std::uint64_t incarnation = 0;  ///< not 0
  bool fresh = true;              ///< was in no view yet
  ViewId view;                    ///< the present one; of a fresh process bound to a founding by force, that one's
  Versions versions{message_form, message_form};
};
/// A peer's hello that differs from ours in what must be equal.
struct Mismatch {
  Error error;
  std::uint64_t fresh_as = 0;  ///< its incarnation, if it says that it is in no view; 0: it is, or unknown
};
/// The peer will not talk to this process.
/// The reason for a process whose node is not in the roster of the refusing one's group.
inline constexpr std::string_view unknown_node = "this group knows no node with your id";
/// So begins that for a process that does not speak the version of the refusing one's group.
inline constexpr std::string_view group_speaks = "this group speaks version ";
struct Refusal {
  std::string reason;
};
/// The peer suspects this process: it will be out of the next view.
struct Removed {
  std::string reason;
};
/// The peer ends for reasons of its own.
struct Stopped {
  std::string reason;
};
/// A view that contains the receiver.
struct ViewNotice {
  View view;
  std::vector<RankSet> loaded;  ///< by subgroup: members that have its state when the view begins
  std::vector<SubgroupId> state_lost;  ///< see NewView
  RankSet newcomers{};                 ///< members that have been in no active view before, among others that have
};
/// The founder asks all founders, who are all fresh, to promise that they go into no other first view than this.
struct PromiseRequest {
  std::uint64_t ballot = 0;  ///< not 0; grows with every attempt of any start of the founder
  std::vector<NodeId> members;
  std::vector<std::uint64_t> incarnations;  ///< parallel to members, none 0
  ViewId view{};                            ///< the id of the first view
  std::vector<std::uint64_t> basis{};  ///< likewise: digests of what they have said that they remember; empty: of nothing
  Roster roster{};                     ///< of the first view; empty: the founder's file says it
  std::vector<RecordedLog> logs{};     ///< of the first view
  /// One of them remembers a view, or somebody beside them does, as its id tells: these found by that, whoever the
  /// configured founders are.
  [[nodiscard]] bool by_memory() const noexcept {
    return view != ViewId(0) || std::ranges::any_of(basis, [](std::uint64_t each) { return each != 0; });
  }
  friend bool operator==(const PromiseRequest&, const PromiseRequest&) = default;
};
/// Which founding the peer has promised itself to, in answer to `PromiseRequest`.
struct Promise {
  std::uint64_t ballot = 0;
  std::uint64_t founder = 0;  ///< its incarnation
};
/// The peer, which had said that it was fresh, is in a view now: no other may take it in.
struct Settled {
  ViewId view;
};
/// All candidates that the peer has a connection with; it replaces what was said before. To the leader, which takes in
/// nobody whom a member cannot reach.
struct LinkedCandidates {
  std::vector<Join> candidates;  ///< of different nodes
};
/// The next region that the peer exposes belongs to this view: its row, or a mirror for the receiver's.
struct RowNotice {
  ViewId view;
};
/// The same of a subgroup's bulk rings: the peer's own, to be read in place, or its mirrors of all others'.
struct BulkNotice {
  ViewId view;
  SubgroupId subgroup;
};
/// The same of the ring in which the peer sends to a subgroup, to be read in place: it is split off the row.
struct RingNotice {
  ViewId view;
  SubgroupId subgroup;
};
/// The place of no subgroup, for messages about one, with a layout of so many. A view that has all places has it, too: then
/// people are told of that.
[[nodiscard]] constexpr SubgroupId no_subgroup_among(std::size_t subgroups) noexcept {
  return SubgroupId(static_cast<std::uint32_t>(subgroups + added_place_count_max - 1));
}

/// How that view ends is decided, and the peer's application is still at work on it in this subgroup: the next view waits
/// for the peer. A sign of life, said again and again.
struct Concluding {
  ViewId view;
  SubgroupId subgroup;
};
/// A piece of a subgroup's state for a newcomer; travels with a digest.
struct StatePiece {
  ViewId view;
  SubgroupId subgroup;
  std::uint64_t offset = 0;
  std::uint64_t state_bytes = 0;  ///< of the application's state; deliveries follow in the stream, see KeptDeliveries
  std::uint64_t total_bytes = 0;
  std::span<const std::byte> bytes;  ///< points into the message
};
/// How much of a state has arrived.
struct StateAck {
  ViewId view;
  SubgroupId subgroup;
  std::uint64_t offset = 0;
};
/// The peer, a member, wants the roster changed; to the leader of its view.
struct RosterRequest {
  std::vector<RosterChange> changes;  ///< at most `roster_changes_max`
};
/// The leader proposes the roster of the next view to all members of this one.
struct RosterProposal {
  ViewId view;
  Roster roster;
};
/// The peer holds the roster that the receiver proposed, and could go into a view with it.
struct RosterHeld {
  ViewId view;
  Digest roster;
};
/// The sizes of rings that the peer's own file or program gives the layout's subgroups, to the leader of its view.
struct FileSizes {
  ViewId view;
  std::vector<RingSizes> sizes;
};
/// The peer's group has drained the receiver's node, and takes no process of it until that is undone.
struct Drained {};
/// The roster of the peer's group, to a process that is in no view yet.
struct RosterNotice {
  Roster roster;
};
/// The views that the peer, which is in none yet, remembers from its node's processes before.
struct Remembered {
  ViewRecord own;
  std::optional<RecordedView> beside;  ///< the last one of its host's other nodes, if that is a later one
  std::vector<KnownLog> logs{};        ///< that are not empty, by subgroup
  friend bool operator==(const Remembered&, const Remembered&) = default;
};
/// Those who run the group told the peer, a member of that view, that it is to be revived; to each other one that is named.
struct ReviveRequest {
  ViewId view;
  Revival revival;
};
/// The peer, a newcomer of a logged subgroup, has its log up to there, and is to get what follows.
struct LogRequest {
  ViewId view;
  SubgroupId subgroup;
  LogPoint end;
};
/// The peer's node is a holder of a log that nobody in that view has: since when its disk has had its logs, and where they
/// end; to the leader of the view.
struct OwnLogs {
  ViewId view;
  std::uint64_t since = 0;       ///< as ViewRecord::logs_since() says; not 0
  std::vector<KnownLog> logs{};  ///< that are not empty, by subgroup
};
struct PrivateMessage {
  std::span<const std::byte> bytes;  ///< points into the message
};
/// One of several pieces of a message that is larger than the fabric's largest.
struct MessagePart {
  std::uint64_t left = 0;            ///< bytes that follow in later parts
  std::span<const std::byte> bytes;  ///< points into the message
};

/// An encoded message and who is to have it.
struct Addressed {
  NodeId to;
  std::vector<std::byte> message;
};

/// The number of a message's kind on its way is its place in this list.
using Message = std::variant<Mismatch, Hello, Refusal, Removed, ViewNotice, RowNotice, StatePiece, StateAck, PrivateMessage,
                             Stopped, MessagePart, PromiseRequest, Promise, Settled, BulkNotice, RingNotice,
                             LinkedCandidates, Concluding, RosterRequest, RosterProposal, RosterHeld, RosterNotice,
                             Drained, Remembered, FileSizes, ReviveRequest, LogRequest, OwnLogs>;

/// For that node, on the connection of these words: taken on no other.
[[nodiscard]] std::vector<std::byte> encode(const GroupIdentity& identity, const Hello& hello, NodeId to,
                                            const ConnectionWords& words);
/// The bytes of every other message but `Mismatch`, which nobody sends. Reasons are cut at 512 bytes.
[[nodiscard]] std::vector<std::byte> encode(const Message& message);

/// The step against two configurations that differ.
[[nodiscard]] std::string how_to_compare();

/// Bytes that a message with a payload (a state's piece, a private message) takes beside it.
inline constexpr std::size_t message_overhead_bytes = 64;

/// The largest message that is taken in parts: what is remembered of as many views as a node may have accepted, with the
/// most nodes and subgroups that there can be; a view notice takes less.
inline constexpr std::size_t parted_message_bytes_max = 8U << 20U;

/// Checks every byte. `shapes`: the layout's subgroups, of which a view notice gives the members, as of those that the
/// view's roster adds. A subgroup that is named is one that there may be in some view. Nothing: no message of this protocol.
/// `self` and `words`: of who hears it on which connection; a hello whose proof is for another is a mismatch.
[[nodiscard]] std::optional<Message> decode(std::span<const std::byte> bytes, const GroupIdentity& ours,
                                            const std::vector<SubgroupView>& shapes, NodeId self = NodeId(),
                                            const ConnectionWords& words = {});

}  // namespace spindrift::views
