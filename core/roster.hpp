// The roster: the nodes that may be in a group, and where each listens, and the subgroups that it has beyond those of its
// configuration. A group begins with the one that its founders' files say; from then on it is a part of the view, and
// changes by the members' agreement. Plain data.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <spindrift/core/added_subgroup.hpp>
#include <spindrift/core/digest.hpp>
#include <spindrift/core/ids.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/core/ring_sizes.hpp>

namespace spindrift {

struct View;

/// The address at which a process of a node listens. `endpoint` is the fabric's own form, "host:port" between hosts; shm
/// derives it from the node id and ignores it.
struct NodeAddress {
  NodeId node;           ///< any
  std::string endpoint;  ///< at most `endpoint_bytes_max` printable characters
  bool operator==(const NodeAddress&) const noexcept = default;
};

inline constexpr std::size_t endpoint_bytes_max = 255;
/// Most nodes of a roster, and so most members of a view. Each has a row and a connection at each other one, and sets of
/// ranks have a word for 64 of them.
inline constexpr std::size_t roster_count_max = 256;
/// Most of them as long as the group speaks an earlier version of the protocol than `large_rosters_since`.
inline constexpr std::size_t small_roster_count_max = 128;
inline constexpr std::uint32_t large_rosters_since = 19;
/// Most changes that are wanted by one call or message.
inline constexpr std::size_t roster_changes_max = 128;
/// Most nodes of a roster of that version of the protocol; of 0, which is none, too.
[[nodiscard]] constexpr std::size_t roster_count_max_in(std::uint32_t version) noexcept {
  return version != 0 && version < large_rosters_since ? small_roster_count_max : roster_count_max;
}

struct Roster {
  std::uint64_t edition = 0;       ///< grows by one with each change that a group agrees on; 0: as the founders began
  std::vector<NodeAddress> nodes;  ///< at most `roster_count_max_in(version)`, no node twice; empty where no group is meant
  /// Those of them that are asked to leave, and are not let in again until that is undone: ascending, each once, not all.
  std::vector<NodeId> drained;
  /// Behind the layout's subgroups, by place: no later roster has fewer places. See `possible`.
  std::vector<AddedSubgroup> added{};
  /// Every view with this roster has the layout's subgroups in these sizes, whatever files say: in the layout's order. None
  /// where no group is meant.
  std::vector<RingSizes> sizes{};
  /// The digest of those that the files of all members said when they last said the same, or the founder's did. Zeros:
  /// somebody wanted these sizes, and what files say counts no more.
  Digest filed{};
  std::uint32_t version = 0;  ///< of the protocol, which every view with this roster speaks; 0 where no group is meant

  [[nodiscard]] const NodeAddress* find(NodeId node) const noexcept;  ///< null: not in it
  [[nodiscard]] bool contains(NodeId node) const noexcept { return find(node) != nullptr; }
  [[nodiscard]] bool is_drained(NodeId node) const noexcept;
  /// Whether a process of the node may be in a view that has this roster.
  [[nodiscard]] bool admits(NodeId node) const noexcept { return contains(node) && !is_drained(node); }
  /// The node's address; empty: it has none, or is not in it.
  [[nodiscard]] std::string endpoint_of(NodeId node) const;
  [[nodiscard]] const AddedSubgroup* find_added(std::string_view name) const noexcept;  ///< null: none has that name
  [[nodiscard]] const RingSizes* find_sizes(std::string_view name) const noexcept;  ///< null: it is none of the layout's
  [[nodiscard]] Digest digest() const;  ///< of all of it
  bool operator==(const Roster&) const noexcept = default;
};

/// A wish for another roster.
struct RosterChange {
  enum class Kind : std::uint8_t {
    add,      ///< the node may be in the group, at this address
    remove,   ///< it may not; a member leaves first, in order
    move,     ///< it is called at this address from now on
    drain,    ///< it stays in the roster, and is not let in until that is undone; a member leaves first, in order
    undrain,  ///< it is let in again
    create,   ///< the subgroup is there from now on
    drop,     ///< the subgroup of that name is not; what was sent there before is delivered first
    change,   ///< the subgroup of that name, which is there, has these values from now on
    resize,   ///< the layout's subgroup of that name has rings of these sizes from now on
  };
  Kind kind = Kind::add;
  NodeId node{};            ///< unless it is about a subgroup
  std::string endpoint{};   ///< for `add` and `move`, as NodeAddress::endpoint; else empty
  AddedSubgroup subgroup{};  ///< for `create` and `change`; for `drop` its name alone
  RingSizes sizes{};         ///< for `resize`
  bool operator==(const RosterChange&) const noexcept = default;
  /// Whether the kind says where the node is.
  [[nodiscard]] bool has_endpoint() const noexcept { return kind == Kind::add || kind == Kind::move; }
  [[nodiscard]] bool is_of_subgroup() const noexcept {
    return kind == Kind::create || kind == Kind::drop || kind == Kind::change || kind == Kind::resize;
  }
};

/// Whether the roster is already as that change wants it.
[[nodiscard]] bool in_effect(const Roster& roster, const RosterChange& change);
/// `view`: the one whose next roster this is to be; one without members or subgroups where there is none.
/// Errors: bad_argument: the roster cannot be changed so, with what to do instead. The node to be added is in it at another
/// address, or drained; one to be removed, moved, drained or let in again is not; it would have too many nodes, or none,
/// or no member, that may be in the group; the address is none, or is given where there is none to give; a member is to be
/// drained, and those that stay would be no majority: they could not go on if the others died before they have left; or a
/// subgroup is to be created that is impossible by itself, is there with other values, is one of the layout's, or is one too
/// many; one of the layout's is to be dropped or changed; one is to be changed that is not there, or in what it keeps; or
/// one is to have rings of other sizes that is none of the layout's, or whose largest message these do not hold.
[[nodiscard]] Result<void> check(const Roster& roster, const RosterChange& change, const View& view);
/// One call makes at most `roster_changes_max` changes. Errors: bad_argument.
[[nodiscard]] Result<void> check_count(std::span<const RosterChange> changes);
/// Whether all these changes that are not in effect can be made, one behind the other. Errors: as of the first that cannot.
[[nodiscard]] Result<void> check(const Roster& roster, std::span<const RosterChange> changes, const View& view);
/// The next edition, with every change that is possible and not in effect; the same edition if there is none. A subgroup is
/// created at the first place that is empty in this edition, too, or behind all.
[[nodiscard]] Roster next_edition(const Roster& roster, std::span<const RosterChange> changes, const View& view);

}  // namespace spindrift
