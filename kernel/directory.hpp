// How a node's peers are reached and which memory they have, found out by one-sided reads of meta servers and remembered:
// what makes connecting a virtual queue pair a look into a cache, or two reads. (KRCore, sections 4.2 and 4.4.)
//
// Remember: nothing here waits. What is not known is asked for, and the answer comes with `progress`.
//
// Threading: one thread, the pool's. Lifetime: the clock outlives it, and it outlives the pool, which asks it before each
// post and reads into its memory.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include <spindrift/core/clock.hpp>
#include <spindrift/kernel/memory_leases.hpp>
#include <spindrift/kernel/meta_layout.hpp>
#include <spindrift/kernel/meta_reader.hpp>
#include <spindrift/kernel/meta_servers.hpp>
#include <spindrift/kernel/metadata_cache.hpp>
#include <spindrift/kernel/pool.hpp>

namespace spindrift::kernel {

/// A process that keeps a meta table, and where in its memory; what is said of a table is checked as it is read.
struct MetaServer {
  NodeId node;
  Metadata metadata;
  MetaGeometry geometry;      ///< from `MetaGeometry::from_peer` if a peer told it
  std::uint64_t address = 0;  ///< of the table, as its registration's remote_base
  std::uint64_t key = 0;      ///< its registration's remote_key
};

struct DirectoryOptions {
  std::uint32_t nodes_max = 1024;            ///< remembered, 64 bytes each
  std::uint32_t records_max = 1024;          ///< of memory, 80 bytes each
  std::uint32_t lookups_max = 32;            ///< at a time; the others wait for their turn
  Duration lease = std::chrono::seconds(1);  ///< the same in the whole group
};

class Directory final : public RemoteMemory {
 public:
  Directory(const Clock& clock, const DirectoryOptions& options);
  ~Directory() override;

  /// Connects to the servers, to be asked in this order (see `lookup_order`), and again to who was lost when it is to be
  /// asked next. Once. Errors: those of the pool.
  [[nodiscard]] Result<void> open(Pool& pool, std::vector<MetaServer> servers);

  /// How to reach the node; null if that is not known: `look_up`. Valid until the next call.
  [[nodiscard]] const Metadata* find(NodeId node);
  /// Asks, unless that is under way. The answer comes from `take_answer`.
  void look_up(NodeId node);
  struct Answer {
    NodeId node;
    MetaSearch::State state = MetaSearch::State::unanswered;  ///< found: `find` has it, unless too many others came since
  };
  /// The next answer to `look_up`.
  [[nodiscard]] std::optional<Answer> take_answer();

  /// What a pool asks before it posts. Unknown memory is looked up; nodes that were never found are unknown too.
  [[nodiscard]] Verdict check(const Metadata& peer, std::uint64_t key, std::uint64_t address, std::size_t bytes,
                              fabric::Access access) override;
  /// Its next start is another: forgets how it is reached, and its memory.
  void on_lost(NodeId node);

  /// Takes what came of the reads and posts what follows; after the pool's own progress. Returns whether anything happened.
  bool progress();

  /// Reads posted so far.
  [[nodiscard]] std::uint64_t reads() const noexcept { return reads_; }
  [[nodiscard]] const MetadataCache& nodes() const noexcept { return nodes_; }
  [[nodiscard]] const MemoryLeases& leases() const noexcept { return leases_; }

 private:
  struct Subject {
    NodeId node;
    std::optional<std::uint64_t> memory;  ///< the remote key, of a lookup of memory
    friend auto operator<=>(const Subject&, const Subject&) = default;
  };
  struct Lookup {
    Subject subject;
    MetaSearch search;
    std::optional<MetaReader> reader;
    MetaStep step;
    Time began{};
    bool lost = false;  ///< the node, meanwhile
  };
  struct Door {
    MetaServer server;
    PairId pair;
  };

  [[nodiscard]] Result<void> open_door(Door& door);
  void ask_for(const Subject& subject);
  void begin(std::uint32_t place);
  void ask_next_server(std::uint32_t place);
  void follow(std::uint32_t place);
  void post(std::uint32_t place);
  void answered(std::uint32_t place, MetaAnswer answer);
  void finish(std::uint32_t place);
  [[nodiscard]] bool take_in(const Lookup& lookup, const MetaValue& value);
  [[nodiscard]] std::span<std::byte> buffer(std::uint32_t place) noexcept;

  const Clock& clock_;
  const DirectoryOptions options_;
  Pool* pool_ = nullptr;
  CompletionQueue completions_;
  std::vector<Door> doors_;
  std::vector<std::byte> buffers_;
  MemoryKeys buffer_keys_;
  MetadataCache nodes_;
  MemoryLeases leases_;
  std::map<Metadata, NodeId, MetadataOrder> known_as_;  ///< whose metadata these are, of all that were found and not lost
  std::set<Subject> absent_;                            ///< memory that was found not to be there, until somebody is told
  std::vector<std::optional<Lookup>> lookups_;
  std::deque<Subject> waiting_;
  std::deque<std::uint32_t> unposted_;  ///< found no room for their read
  std::deque<Answer> answers_;
  std::uint64_t reads_ = 0;
};

}  // namespace spindrift::kernel
