// The roster: the nodes that may be in a group, and where each listens. A group begins with the one that its founders' files
// say; from then on it is a part of the view, and changes by the members' agreement. Plain data.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <spindrift/core/digest.hpp>
#include <spindrift/core/ids.hpp>
#include <spindrift/core/result.hpp>

namespace spindrift {

/// The address at which a process of a node listens. `endpoint` is the fabric's own form, "host:port" between hosts; shm
/// derives it from the node id and ignores it.
struct NodeAddress {
  NodeId node;           ///< any
  std::string endpoint;  ///< at most `endpoint_bytes_max` printable characters
  bool operator==(const NodeAddress&) const noexcept = default;
};

inline constexpr std::size_t endpoint_bytes_max = 255;
/// Most nodes of a roster.
inline constexpr std::size_t roster_count_max = 128;

struct Roster {
  std::uint64_t edition = 0;       ///< grows by one with each change that a group agrees on; 0: as the founders began
  std::vector<NodeAddress> nodes;  ///< at most `roster_count_max`, no node twice; empty only where no group is meant

  [[nodiscard]] const NodeAddress* find(NodeId node) const noexcept;  ///< null: not in it
  [[nodiscard]] bool contains(NodeId node) const noexcept { return find(node) != nullptr; }
  /// The node's address; empty: it has none, or is not in it.
  [[nodiscard]] std::string endpoint_of(NodeId node) const;
  [[nodiscard]] Digest digest() const;  ///< of all of it
  bool operator==(const Roster&) const noexcept = default;
};

/// A wish for another roster.
struct RosterChange {
  enum class Kind : std::uint8_t {
    add,     ///< the node may be in the group, at this address
    remove,  ///< it may not; a member leaves first, in order
    move,    ///< it is called at this address from now on
  };
  Kind kind = Kind::add;
  NodeId node;
  std::string endpoint;  ///< empty for `remove`; as NodeAddress::endpoint
  bool operator==(const RosterChange&) const noexcept = default;
};

/// Whether the roster is already as that change wants it.
[[nodiscard]] bool in_effect(const Roster& roster, const RosterChange& change);
/// Errors: bad_argument: the roster cannot be changed so (the node to be added is in it at another address, one to be
/// removed or moved is not, it would have too many nodes or none, the address is none), with what to do instead.
[[nodiscard]] Result<void> check(const Roster& roster, const RosterChange& change);
/// The next edition, with every change that is possible and not in effect; the same edition if there is none.
[[nodiscard]] Roster next_edition(const Roster& roster, std::span<const RosterChange> changes);

}  // namespace spindrift
