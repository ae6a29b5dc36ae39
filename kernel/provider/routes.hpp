// Which way a link to a node begins: by what is remembered of it, by a lookup in the meta servers' tables, or at its
// configured address. (KRCore's `connect`, algorithm 1.)
//
// Remember: the configured address is always right, and the tables are only faster. So an address is taken when no server
// answers, when none has heard of the node, and when what a lookup gave led nowhere; and somebody has to be met at the
// address first: the servers one after another in the order in which this node asks them, everybody else after those.
//
// Threading: one thread. Pure: time comes in. Lifetime: the directory outlives it.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/ids.hpp>
#include <spindrift/kernel/directory.hpp>

namespace spindrift::kernel::vq {

struct Route {
  enum class Way : std::uint8_t { wait, cached, looked_up, by_address };
  Way way = Way::wait;        ///< wait: `take_ready` has the node later
  NodeRecord record{};        ///< cached, looked_up
  std::string_view reason{};  ///< by_address: why; a literal
};

class Routes {
 public:
  /// `order`: the servers as this node asks them. `roster`: everybody; others are called at once. `meet_max`: so long a
  /// server is given to answer at its address before the next one is met at its own.
  Routes(Directory& directory, std::vector<NodeId> order, std::set<NodeId> roster, Duration meet_max)
      : directory_(directory), order_(std::move(order)), roster_(std::move(roster)), meet_max_(meet_max) {}

  /// From now on nodes are called.
  void begin(Time now) noexcept { begun_ = now; }
  /// How to call the node now. Each answer of a lookup is good for one call.
  [[nodiscard]] Route route_to(NodeId node, Time now);
  /// Nodes that were told to wait and need not any more. After the directory's progress.
  [[nodiscard]] std::vector<NodeId> take_ready(Time now);
  /// When there is one though nothing comes; `never`: at no such time.
  [[nodiscard]] Time deadline() const noexcept;

  /// A call that began with a record came to nothing: that was of no use, and the next call is at the address.
  void on_misled(NodeId node);
  /// There is a link with the node, or was: what was asked for it is over.
  void on_linked(NodeId node);

 private:
  /// The state of the way to a node: the lookup under way, or its answer.
  struct Waiting {
    bool asked = false;  ///< a lookup is under way, or over
    bool ready = false;  ///< `take_ready` has said so
    MetaSearch::State answer = MetaSearch::State::asking;
  };
  /// Until when the node waits for somebody who keeps a table.
  [[nodiscard]] Time patience_for(NodeId node) const;

  Directory& directory_;
  const std::vector<NodeId> order_;
  const std::set<NodeId> roster_;
  const Duration meet_max_;
  Time begun_{};
  std::map<NodeId, Waiting> waiting_;
  std::set<NodeId> misled_;
};

}  // namespace spindrift::kernel::vq
