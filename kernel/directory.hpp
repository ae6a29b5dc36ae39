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
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include <spindrift/core/clock.hpp>
#include <spindrift/kernel/memory_leases.hpp>
#include <spindrift/kernel/meta_layout.hpp>
#include <spindrift/kernel/meta_reader.hpp>
#include <spindrift/kernel/meta_servers.hpp>
#include <spindrift/kernel/metadata_cache.hpp>
#include <spindrift/kernel/pool.hpp>
#include <spindrift/kernel/queue.hpp>
#include <spindrift/kernel/read_buffers.hpp>

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
  /// Until a server's answer counts as none; then that server is passed over for `silent_for`.
  Duration answer_max = std::chrono::milliseconds(100);
  Duration silent_for = std::chrono::seconds(1);
  /// In which servers are asked (see `lookup_order`); others after them, in the order of their admission.
  std::vector<NodeId> order{};
  /// Whether a node can be reached so, as far as is known otherwise; none: whatever is well-formed will do.
  std::function<bool(NodeId, const Metadata&)> plausible{};
};

class Directory final : public RemoteMemory {
 public:
  Directory(const Clock& clock, const DirectoryOptions& options);

  /// Takes memory for its reads, and admits the servers. Once. Errors: those of the pool.
  [[nodiscard]] Result<void> open(Pool& pool, std::vector<MetaServer> servers);
  /// From now on it is asked too; connected to when it is, and again after it was lost. In the place of an earlier start.
  void admit(MetaServer server);
  /// It is asked no more; lookups that wait for it go on to the next one.
  void dismiss(NodeId server);
  /// Whether there is a server that no lookup would pass over.
  [[nodiscard]] bool has_servers() const noexcept;

  /// How to reach the node; null if that is not known: `look_up`. Valid until the next call.
  [[nodiscard]] const NodeRecord* find(NodeId node) { return nodes_.find(node); }
  /// The node itself has said how it is reached.
  void learn(NodeId node, const NodeRecord& record) { nodes_.put(node, record); }
  /// Asks, unless that is under way. The answer comes from `take_answer`.
  void look_up(NodeId node) { ask_for({node, std::nullopt}); }
  struct Answer {
    NodeId node;
    MetaSearch::State state = MetaSearch::State::unanswered;  ///< found: `find` has it, unless too many others came since
    NodeId server{};                                          ///< found: by whom
  };
  /// The next answer to `look_up`.
  [[nodiscard]] std::optional<Answer> take_answer() { return take_first(answers_); }
  /// A server that has told what no correct one does: it is passed over until it is admitted again.
  struct Fault {
    NodeId server;
    NodeId about;  ///< of a lookup of this node
    std::string_view what;
  };
  [[nodiscard]] std::optional<Fault> take_fault() { return take_first(faults_); }

  /// A pool asks this before it posts. Unknown memory is looked up; nodes that were never found are unknown too.
  [[nodiscard]] Verdict check(const Metadata& peer, std::uint64_t key, std::uint64_t address, std::size_t bytes,
                              fabric::Access access) override;
  /// Its next start is another: forgets how it is reached, and its memory.
  void on_lost(NodeId node);

  /// Takes what came of the reads and posts what follows; after the pool's own progress. Returns whether anything happened.
  bool progress();
  /// Whether the next `progress` has something to do even if nothing comes.
  [[nodiscard]] bool is_due() const noexcept;
  /// When it has, because a server is silent; `never`: at no such time.
  [[nodiscard]] Time deadline() const noexcept;

  /// Reads posted so far.
  [[nodiscard]] std::uint64_t reads() const noexcept { return reads_; }
  /// Answers that did not come in time.
  [[nodiscard]] std::uint64_t silences() const noexcept { return silences_; }

 private:
  struct Subject {
    NodeId node;
    std::optional<std::uint64_t> memory;  ///< the remote key, of a lookup of memory
    friend auto operator<=>(const Subject&, const Subject&) = default;
  };
  struct Lookup {
    Subject subject;
    MetaSearch search;
    std::optional<MetaReader> reader{};
    MetaStep step{};
    Time began{};
    NodeId server{};                              ///< who is asked
    std::uint64_t read = 0;                       ///< the context of the one that is under way; 0: none is
    std::optional<ReadBuffers::Buffer> buffer{};  ///< kept from its first read on
    bool lost = false;                            ///< the node, meanwhile
  };
  struct ServerLink {
    MetaServer server;
    PairId pair;          ///< none: to be connected with the next read
    Time silent_until{};  ///< it is passed over
    bool faulty = false;  ///< likewise, for good
  };

  [[nodiscard]] ServerLink* link_of(NodeId server) noexcept;
  [[nodiscard]] bool connect(ServerLink& link);
  void disconnect(PairId pair, NodeId server);
  void end_silence();
  void ask_for(const Subject& subject);
  void begin(std::uint32_t place);
  void ask_next_server(std::uint32_t place);
  void follow(std::uint32_t place);
  void post(std::uint32_t place);
  void answered(std::uint32_t place, MetaAnswer answer);
  void on_fault(std::uint32_t place, std::string_view what);
  void finish(std::uint32_t place);
  void take_in(std::uint32_t place, const MetaValue& value);

  const Clock& clock_;
  const DirectoryOptions options_;
  Pool* pool_ = nullptr;
  CompletionQueue completions_;
  std::vector<ServerLink> links_;
  ReadBuffers buffers_;
  MetadataCache nodes_;
  MemoryLeases leases_;
  std::map<Metadata, NodeId, MetadataOrder> known_as_;  ///< whose metadata these are, of all that were found and not lost
  std::set<Subject> absent_;                            ///< memory that was found not to be there, until somebody is told
  std::vector<std::optional<Lookup>> lookups_;
  std::deque<Subject> waiting_;
  std::deque<Answer> answers_;
  std::deque<Fault> faults_;
  std::uint64_t reads_ = 0;
  std::uint64_t silences_ = 0;
};

}  // namespace spindrift::kernel
