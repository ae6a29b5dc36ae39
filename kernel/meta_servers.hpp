// Which members keep the meta tables, and whom of them a node asks first. (KRCore, section 4.2: a few global meta servers,
// each node connected to nearby ones.)
//
// Pure functions and plain data; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <spindrift/core/ids.hpp>

namespace spindrift::kernel {

struct MetaMember {
  NodeId node;
  std::uint64_t host = 0;  ///< equal for nodes of one host and for no others; any numbering that all members share
  friend bool operator==(const MetaMember&, const MetaMember&) = default;
};

/// The members that keep tables: `count` of them, or all if they are fewer, in rank order. Chosen are first the lowest rank
/// of each host, in the order of those ranks, so that a host's death takes as few as possible; then the lowest ranks of the
/// rest. `members` is in rank order, and newcomers have the highest ranks: so who is a server stays one while the servers
/// live, unless a newcomer's host has none and another host has two.
[[nodiscard]] std::vector<MetaMember> meta_servers_of(std::span<const MetaMember> members, std::size_t count);

/// The order in which `self` asks `servers`, each of them once: those on its own host, then the others; each of the two in
/// rank order, rotated by self's id so that the nodes' first choices spread.
[[nodiscard]] std::vector<NodeId> lookup_order(std::span<const MetaMember> servers, const MetaMember& self);

/// The outcome of asking one server.
enum class MetaAnswer : std::uint8_t {
  found,
  absent,
  no_answer,  ///< the read failed, was contended or met a bad table, or the server is lost
};

/// One key's way from server to server. A table may not have heard of a node that others have, so that "absent" is asked on;
/// for a region of memory, which is in every table before anybody hears of it, the first "absent" is enough.
class MetaSearch {
 public:
  enum class State : std::uint8_t {
    asking,
    found,
    absent,      ///< every server said so
    unanswered,  ///< nobody has it of those who answered, and somebody did not, or there are no servers
  };

  /// `order` as from lookup_order. `absent_is_final`: the first "absent" ends the search.
  explicit MetaSearch(std::vector<NodeId> order, bool absent_is_final = false);

  [[nodiscard]] State state() const noexcept { return state_; }
  /// The server to ask; nobody when the search is over.
  [[nodiscard]] std::optional<NodeId> server() const noexcept;
  /// That server has answered; only while asking.
  void on_answer(MetaAnswer answer) noexcept;

 private:
  std::vector<NodeId> order_;
  bool absent_is_final_;
  std::size_t position_ = 0;
  bool all_answered_ = true;
  State state_ = State::asking;
};

}  // namespace spindrift::kernel
