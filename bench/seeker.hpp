// A seeker connects virtual queue pairs to nodes of which it knows nothing but their number: it asks a meta server that it
// has spoken to before (KRCore, section 4.2). Measured with what it knows, and without.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/ids.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/kernel/directory.hpp>
#include <spindrift/kernel/pool.hpp>

namespace spindrift::bench {

/// Threading: one thread; the keeper of the table polls in another. Errors of all: timed_out, member_lost (no answer, or the
/// node is not in the table), and those of the pool.
class Seeker {
 public:
  /// The seeker has room for this much; a node that is one too many drives out the one that was used longest ago.
  struct Sizes {
    std::uint32_t nodes_max = 0;  ///< remembered, at least 1
    std::uint32_t pairs_max = 0;  ///< made by `connect`
    bool yields = false;          ///< while it waits, offers its CPU: where more threads take part than there are CPUs
  };
  /// A pool on `device`, which outlives this. The way to the table is open when it returns.
  [[nodiscard]] static std::unique_ptr<Seeker> start(kernel::PhysicalDevice& device, const kernel::MetaServer& server,
                                                     const Sizes& sizes);

  /// Looks up `count` nodes from `first` on, of which none is known, with up to `lookups_max` asked for at a time.
  void look_up(NodeId first, std::uint32_t count);
  /// The same of any nodes, and connects a new pair to each as it is found.
  void look_up_and_connect(std::span<const NodeId> nodes);
  static constexpr std::uint32_t lookups_max = 32;
  /// Null if it was not looked up. Valid until the next call.
  [[nodiscard]] const kernel::Metadata* find(NodeId node) {
    const kernel::NodeRecord* const known = directory_.find(node);
    return known == nullptr ? nullptr : &known->metadata;
  }
  /// Makes and connects a pair to a node that was looked up. It stays until `close_all`.
  void connect(NodeId node, bool messages);

  /// The same without messages, and writes `value`, 8 bytes, to the node's memory.
  void connect_and_write(NodeId node, const kernel::MemoryKeys& memory, std::uint64_t value = 1);

  struct Found {
    std::uint64_t ns = 0;     ///< from before the lookup until a new pair is connected
    std::uint64_t reads = 0;  ///< of the table
  };
  /// Connects a new pair to a node that was not looked up before.
  [[nodiscard]] Found connect_unknown(NodeId node);
  /// Times the least that a lookup needs: a cluster read, and an entry after it, as the lookups read them. In nanoseconds.
  [[nodiscard]] std::uint64_t read_twice();

  /// Looks up `count` nodes as `look_up` does, and connects a new pair to each as it is found. Pairs per second.
  [[nodiscard]] double connect_unknown_per_second(NodeId first, std::uint32_t count);
  /// The same to nodes that are known, `count` pairs by turns: found in the cache, made and connected. Pairs per second.
  [[nodiscard]] double connect_known_per_second(NodeId first, std::uint32_t nodes, std::uint32_t count);

  /// The pairs that `connect` made; what is known stays.
  void close_all();
  /// The number of pairs.
  [[nodiscard]] std::size_t pairs() const noexcept { return pairs_.size(); }
  /// Takes what has come and does what follows, once: for a process that others reach meanwhile.
  void progress();

 private:
  Seeker(const kernel::MetaServer& server, const Sizes& sizes);
  void open(kernel::PhysicalDevice& device);
  template <class NodeAt, class OnFound>
  void look_up_each(std::uint32_t count, NodeAt node_at, OnFound on_found);
  [[nodiscard]] kernel::Directory::Answer await_answer(Time start);
  void read(std::uint64_t offset, std::size_t bytes);
  /// Until it is over; while its memory is looked up, it is posted again.
  void carry_out(kernel::PairId pair, const kernel::Request& request);

  SystemClock clock_;
  const kernel::MetaServer server_;
  const Sizes sizes_;
  std::array<std::byte, 128> bytes_{};
  kernel::MemoryKeys bytes_keys_;
  kernel::CompletionQueue completions_;
  kernel::Directory directory_;
  std::unique_ptr<kernel::Pool> pool_;  // goes before what it asks and reads into
  kernel::PairId reader_;
  std::vector<kernel::PairId> pairs_;
};

}  // namespace spindrift::bench
