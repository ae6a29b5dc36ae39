// The virtual queue pairs of a pool: the core's places, and beside each what the core does not keep.
//
// Remember: a closed pair is not gone while something of it is under way; until then it keeps its memory and its peer, but
// its place may be another's already.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/ids.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/kernel/completion_queue.hpp>
#include <spindrift/kernel/listener.hpp>
#include <spindrift/kernel/physical_pairs.hpp>
#include <spindrift/kernel/pool_memory.hpp>
#include <spindrift/kernel/pool_peers.hpp>
#include <spindrift/kernel/vq.h>

namespace spindrift::kernel {

/// Knows what memory peers have registered, and is consulted before every write and read.
class RemoteMemory {
 public:
  enum class Verdict : std::uint8_t { allowed, refused, unknown };
  virtual ~RemoteMemory() = default;
  /// `unknown` starts finding out; the request is to be posted again later.
  [[nodiscard]] virtual Verdict check(const Metadata& peer, std::uint64_t key, std::uint64_t address, std::size_t bytes,
                                      fabric::Access access) = 0;
};

struct PoolOptions {
  NodeId self{};
  std::uint32_t start = 0;        ///< another at each start of the node's process; random will do
  std::uint32_t queue_pairs = 1;  ///< connectionless ones, opened at once
  std::uint32_t pairs_max = 4096;
  std::uint32_t window = 16;  ///< messages that a pair keeps for its user, a power of two
  /// Connected queue pairs, each to a peer to which `promote_posts` requests or more went in one sample period. 0: none.
  /// If completions prove nothing, a pair moves when its peer has said that all has arrived; one that cannot ask, or gets
  /// no answer for a sample period, stays where it is, and keeps a queue pair there beyond this number.
  std::uint32_t connected_max = 0;
  std::uint64_t promote_posts = 1000;
  Duration sample_period = std::chrono::milliseconds(100);
  /// A larger message than that fails its pair. Each pair may keep one of them until it is taken.
  std::size_t fetch_bytes_max = 64 << 20;
  /// Whether a connected queue pair that breaks says that the peer is gone: then all pairs to that peer fail at once, also
  /// those on connectionless ones. Else its pairs go on over those.
  bool break_is_loss = false;
  /// Until `remote` knows a large message's memory; then its pair fails, and the sender is not told.
  Duration look_up_max = std::chrono::seconds(10);
  /// For a call that cannot be taken now; shorter than its caller waits.
  Duration call_wait_max = std::chrono::seconds(2);
  RemoteMemory* remote = nullptr;  ///< outlives the pool; none: the devices of the peers alone check
};

/// Its bytes of messages are copies: what its user does not take keeps no shared buffer.
struct VirtualPair {
  /// The way of its next message to its user.
  enum class MessageWay : std::uint8_t {
    none,        ///< nothing was begun for it
    postponed,   ///< it is to be fetched, and there was no room for the read
    looking_up,  ///< whether its sender has such memory is being asked
    fetching,    ///< the read of its bytes is under way
    announced,   ///< its bytes are there to be taken, of an accepted pair at the port too
  };
  enum class Origin : std::uint8_t {
    created,
    accepted,  ///< a peer has called, and nobody was told
    told,      ///< likewise, and its user knows: one of its messages was popped, or it was given as a newcomer
  };

  PairId id;
  CompletionQueue* completions = nullptr;
  std::optional<PoolPeers::Place> peer;      ///< once it is bound
  std::vector<vq_message> messages;          ///< none: it takes no messages
  std::vector<std::vector<std::byte>> kept;  ///< parallel to messages
  Origin origin = Origin::created;
  Listener* listener = nullptr;  ///< of an accepted one
  CallerId caller;               ///< of an accepted one
  MessageWay way = MessageWay::none;
  Time looking_since{};            ///< while it is looking_up
  PairId fetcher;                  ///< a pair that reads what is too large to be sent
  std::vector<std::byte> fetched;  ///< where that is read to
  MemoryKeys fetched_memory;

  [[nodiscard]] bool takes_messages() const noexcept { return !messages.empty(); }
  /// The copy of a message that the core gave.
  [[nodiscard]] std::vector<std::byte>& copy_of(const vq_message& message) {
    return kept[static_cast<std::size_t>(&message - messages.data())];
  }
};

class VirtualPairs {
 public:
  /// `world`: this node's id and start, for headers; its functions are set here. `remote` may be null.
  VirtualPairs(std::uint32_t pairs_max, vq_world world, RemoteMemory* remote, PoolMemory& memory, PoolPeers& peers,
               PhysicalPairs& physicals);
  VirtualPairs(const VirtualPairs&) = delete;
  VirtualPairs& operator=(const VirtualPairs&) = delete;

  [[nodiscard]] vq_pool& core() noexcept { return core_; }
  [[nodiscard]] const vq_pool& core() const noexcept { return core_; }
  /// Open and closed ones.
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  /// How many places became free so far, or may have.
  [[nodiscard]] std::uint64_t freed() const noexcept { return freed_; }

  /// `flags`: VQ_ONCE. `window`: of messages, 0 for none. Errors: resource.
  [[nodiscard]] Result<PairId> create(CompletionQueue& completions, std::uint32_t flags, std::uint32_t window);
  /// The caller has joined the peer for it. Errors: group_closed, refused (bound already).
  [[nodiscard]] Result<void> bind(PairId pair, PoolPeers::Place peer, std::uint64_t remote, bool remote_known);
  /// Null if there is none, or it is closed.
  [[nodiscard]] VirtualPair* find(PairId pair) const noexcept;
  void close(PairId pair);
  [[nodiscard]] bool is_gone(PairId pair) const noexcept;
  /// Why it takes nothing any more: none if it is well.
  [[nodiscard]] std::optional<OperationStatus> failure(PairId pair) const noexcept;
  /// Calls `visit(pair, core)` for each open pair, in the order of their places.
  template <class Visitor>
  void for_each(Visitor&& visit) {
    for (const auto& pair : open_) {
      if (pair) visit(*pair, *vq_find(&core_, pair->id.value()));
    }
  }

  void fail(PairId pair, std::uint8_t status);
  /// Pairs may have failed without it.
  void note_failures() noexcept { any_failed_ = true; }
  /// Its peer may be owed an answer, or a question.
  void note_debt(PairId pair) { owing_.insert(pair); }
  /// Tells peers what is owed to them, as far as there is room.
  void pay();
  /// Closes the failed pairs of which nobody was told: a user that has never heard of one cannot close it.
  void close_untold();
  /// Forgets the closed pairs of which nothing is under way any more.
  void sweep();

 private:
  [[nodiscard]] static int remote_allowed(void* self, const vq_pair* pair, const vq_request* request);

  RemoteMemory* const remote_;
  PoolMemory& memory_;
  PoolPeers& peers_;
  PhysicalPairs& physicals_;
  std::vector<vq_pair> places_;
  vq_pool core_{};
  std::vector<std::unique_ptr<VirtualPair>> open_;    ///< by place
  std::vector<std::unique_ptr<VirtualPair>> closed_;  ///< that are not gone
  std::set<PairId> owing_;
  std::uint64_t size_ = 0;
  std::uint64_t freed_ = 0;
  bool any_failed_ = false;  ///< since `close_untold` looked
};

}  // namespace spindrift::kernel
