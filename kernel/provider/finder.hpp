// How a process of a group finds the others, and lets itself and others be found: the meta table that it keeps, what it has
// learned from others' tables, and which way each link begins.
//
// Remember: what a table says is used for a call and for nothing else. A process that answers says which start of which node
// it is, and a call that meets another start than the table's comes to nothing; rights to memory are given by the links
// alone.
//
// Threading: the poller's. Lifetime: the clock outlives it, and it outlives the pool that it was opened with.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/counters.hpp>
#include <spindrift/core/ids.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/fabric/fabric.hpp>
#include <spindrift/fabric/refused_callers.hpp>
#include <spindrift/kernel/directory.hpp>
#include <spindrift/kernel/provider/routes.hpp>
#include <spindrift/kernel/provider/vq_fabric.hpp>
#include <spindrift/kernel/meta_keeper.hpp>

namespace spindrift::kernel::vq {

/// One side of a link says this of itself with its greeting: the table that it keeps, and its device.
struct Introduction {
  MetaTableName table;
  Metadata metadata;
};
[[nodiscard]] std::vector<std::byte> encode(const Introduction& introduction);
/// Nothing if it is none. A peer's; the metadata may lead nowhere.
[[nodiscard]] std::optional<Introduction> decode_introduction(std::span<const std::byte> bytes) noexcept;

/// One link, as both sides have said that it is.
struct Acquaintance {
  NodeId node;
  NodeRecord record;      ///< of the other side, by its own word
  MetaTableName table;    ///< likewise
  Metadata reached_by{};  ///< what this side's pairs to it are bound by
  Route::Way way{};       ///< of this side's call; wait: the other side has called
};

class Finder {
 public:
  /// Whether the node's device can be what these metadata name, as far as this process knows without anybody.
  using Plausible = std::function<bool(NodeId, const Metadata&)>;

  /// Uses `self`, `roster`, `meet_max` and `lookup_max` of the options, and no others.
  Finder(const VqOptions& options, Plausible plausible, const Clock& clock);
  Finder(const Finder&) = delete;
  Finder& operator=(const Finder&) = delete;

  /// How large this process's table is, in whole pages.
  [[nodiscard]] Result<std::size_t> table_bytes() const;
  /// Makes the table in `memory`, which has `table_bytes` and stays. From now on nodes are called. Once. Errors: as
  /// MetaKeeper::open and Directory::open.
  [[nodiscard]] Result<void> open(Pool& pool, std::span<std::byte> memory, const NodeRecord& own);
  /// To be read by those with whom there is a link, or about to be.
  [[nodiscard]] const MetaKeeper& table() const { return *keeper_; }

  /// How to call the node now; logs when that is its address, once for each reason.
  [[nodiscard]] Route route_to(NodeId node);
  void on_linked(const Acquaintance& peer);
  /// A link with that start of the node has ended.
  void on_unlinked(NodeId node, std::uint64_t incarnation);
  /// A call by `cached` or `looked_up` came to nothing. `stale`: another start of the node has answered.
  void on_call_failed(NodeId node, bool stale);

  /// After the pool's progress. Returns the nodes that are to be called anew.
  [[nodiscard]] std::vector<NodeId> progress();
  /// Whether the next `progress` has something to do even if nothing comes.
  [[nodiscard]] bool is_due() const noexcept { return directory_.is_due(); }
  [[nodiscard]] Time deadline() const noexcept { return routes_.deadline(); }

  /// As Fabric::count_in. Names begin with "vq.".
  void count_in(CounterBlock* block);
  [[nodiscard]] const Directory& directory() const noexcept { return directory_; }

 private:
  struct Counters {
    Counter cached, looked_up, by_address, called_by, reads, faults, stale, silent, table_nodes;
  };
  [[nodiscard]] std::set<NodeId> kept_here() const;
  void tell_unfit(NodeId node, const std::string& why);

  const NodeId self_;
  const Clock& clock_;
  const std::vector<NodeId> servers_;
  const std::set<NodeId> others_;  ///< of the roster
  const Plausible plausible_;
  Directory directory_;
  Routes routes_;
  std::optional<MetaKeeper> keeper_;
  std::map<NodeId, std::uint64_t> admitted_;        ///< servers that are asked, and which start of them
  std::map<NodeId, std::string_view> last_reason_;  ///< for which it was called at its address
  fabric::RefusedCallers<NodeId> refused_;
  Counters counters_;
};

}  // namespace spindrift::kernel::vq
