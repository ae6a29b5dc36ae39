// A pool of physical queue pairs and the virtual ones that share them (KRCore, sections 4.2 to 4.5). A virtual queue pair
// has the semantics of a reliable connection: what it posts is carried out once and in order, and completes in order; its
// peer's messages come once and in order. Connecting it makes nothing: it is bound to a queue pair that is there.
//
// What one virtual queue pair does wrong is refused before it reaches a shared queue pair. What still goes wrong there, a
// peer that dies or takes its memory back, ends the pairs that talk to that peer; the operations of the others are posted
// again. Writes and reads may then be carried out a second time, before anything later of the same pair; `once` forbids it.
//
// Threading: a pool, its device and its pairs belong to one thread. Lifetime: completion queues outlive the pairs that use
// them, until those are gone; the device outlives the pool. A pool that is destroyed ends what is under way and gives back
// to its device all that was registered with it; completion queues may go before or after it.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/counters.hpp>
#include <spindrift/core/ids.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/kernel/physical.hpp>
#include <spindrift/kernel/vq.h>

namespace spindrift::kernel {

/// A virtual queue pair of a pool; never used again in its life. 0 is none.
using PairId = Strong<struct PairIdTag, std::uint64_t>;
/// Where a pool's pairs are waited for.
using Port = Strong<struct PortTag, std::uint64_t>;

struct Request {
  enum class Kind : std::uint8_t { write, read, send };
  Kind kind = Kind::write;
  bool signaled = true;
  bool news = false;                 ///< of a write: ends the peer's wait at its device's descriptor
  std::uint64_t context = 0;         ///< comes back with the completion
  std::span<std::byte> local;        ///< the caller's until the completion; not written to unless `read`
  MemoryKeys local_memory{};         ///< of this pool's registration that holds it
  std::uint64_t remote_address = 0;  ///< of a write or read
  std::uint64_t remote_key = 0;      ///< of a write or read
};

struct Completion {
  enum class Kind : std::uint8_t { write, read, send, receive };
  PairId pair;
  std::uint64_t context = 0;
  std::size_t bytes = 0;  ///< of a receive: how much came
  Kind kind = Kind::write;
  Status status = Status::done;
};

/// Completions of one or more pairs. A failed request always has one, others if they are signaled; those of one pair come in
/// the order of its posts. Never overflows: what it has no room for is not taken by `post`.
class CompletionQueue {
 public:
  /// `capacity`: of requests under way and completions not taken, of all its pairs; rounded up to a power of two.
  explicit CompletionQueue(std::uint32_t capacity);
  CompletionQueue(const CompletionQueue&) = delete;
  CompletionQueue& operator=(const CompletionQueue&) = delete;
  /// Takes up to `to.size()`.
  [[nodiscard]] std::size_t take(std::span<Completion> to);

 private:
  friend class Pool;
  std::vector<vq_completion> ring_;
  vq_completions completions_{};
  std::deque<Completion> received_;
};

/// Who knows what memory peers have registered. Consulted before every write and read.
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
  /// Where completions prove nothing, a pair moves when its peer has said that all has arrived; one that cannot ask, or gets
  /// no answer for a sample period, stays where it is, and keeps a queue pair there beyond this number.
  std::uint32_t connected_max = 0;
  std::uint64_t promote_posts = 1000;
  Duration sample_period = std::chrono::milliseconds(100);
  /// Of one message to a port; a larger one fails its pair. Each pair at a port may keep one of them until it is popped.
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

class Pool {
 public:
  static constexpr std::size_t waiting_calls_max = 64;

  /// Errors: resource, unsupported (a device without connectionless queue pairs), bad_argument.
  [[nodiscard]] static Result<std::unique_ptr<Pool>> open(Device& device, const PoolOptions& options);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  /// Memory for requests, and for what peers may do with it. Its local key is this pool's. Errors: resource, bad_argument.
  [[nodiscard]] Result<MemoryKeys> register_memory(std::span<std::byte> memory, fabric::Access access);
  /// Memory for requests alone, which no peer reaches, not even as the bytes of a large message. Errors: resource,
  /// bad_argument.
  [[nodiscard]] Result<MemoryKeys> register_local(std::span<std::byte> memory);
  /// Requests on it are refused from now on. Errors: would_block while an own request on it is under way.
  [[nodiscard]] Result<void> deregister(const MemoryKeys& keys);

  struct PairOptions {
    bool once = false;     ///< see above: such a pair fails where others are replayed
    bool messages = true;  ///< false: writes and reads alone, and no memory for messages
  };
  /// Errors: resource.
  [[nodiscard]] Result<PairId> create(CompletionQueue& completions, const PairOptions& options);
  /// Binds it to the peer, no round trip. Messages go to whoever bound `port` there. Errors: bad_argument, resource, refused
  /// (bound already), member_lost (the peer was lost, and pairs to it are still open).
  [[nodiscard]] Result<void> connect(PairId pair, const Metadata& peer, Port port);
  /// Pairs that peers connect to this port are accepted, up to `pairs_max` of them, with `completions` for what they post.
  /// They are the caller's to close from their first message on, whether they failed or not; one that fails before it has
  /// one is closed by the pool. A call for which there is no place now, or whose peer was lost and still has pairs here,
  /// waits up to `call_wait_max`, as one of `waiting_calls_max` at most. Errors: refused (bound already).
  [[nodiscard]] Result<void> bind(Port port, CompletionQueue& completions, std::uint32_t pairs_max);
  /// Nothing more of the pair is told from here on; completions that wait to be taken stay. Its requests' memory may be
  /// touched until `is_gone`.
  void close(PairId pair);
  [[nodiscard]] bool is_gone(PairId pair) const noexcept;
  /// Why it takes nothing any more: none if it is well. The peer is not told: it gets no more credits, and waits.
  [[nodiscard]] std::optional<Status> failure(PairId pair) const noexcept;

  /// Posts a list in order; everything is checked before anything is taken. Returns how many were taken: less than all means
  /// that there is no room now, or that a write or send waits for the reads before it (which, after a fault, must not see
  /// what came later): make progress, take completions, come again with the rest. A send larger than
  /// `message_bytes_max` is read by the peer from the sender's memory, and is over when it was. Errors: bad_argument (which
  /// request, and why), member_lost (the pair failed), group_closed (no such pair).
  [[nodiscard]] Result<std::size_t> post(PairId pair, std::span<const Request> requests);
  [[nodiscard]] std::size_t message_bytes_max() const noexcept { return message_bytes_max_; }

  /// A buffer for one message of a pair that was connected here; taken in order. A message that is larger than its buffer
  /// completes with local_error and is lost. Errors: group_closed, member_lost.
  [[nodiscard]] Result<void> post_receive(PairId pair, std::span<std::byte> buffer, const MemoryKeys& memory,
                                          std::uint64_t context);
  /// A message of an accepted pair.
  struct Message {
    PairId from;
    std::vector<std::byte> bytes;
  };
  /// The next message of any pair that was accepted at the port, in the order of their arrival; nothing if there is none.
  /// Errors: group_closed (nobody bound the port).
  [[nodiscard]] Result<std::optional<Message>> pop_message(Port port);

  /// A pair that was accepted at the port and was not told of yet; from here on it is the caller's to close. Errors:
  /// group_closed (nobody bound the port).
  [[nodiscard]] Result<std::optional<PairId>> next_accepted(Port port);
  /// The next message of one pair, whoever connected it; for pairs without posted receives, whose messages are not popped at
  /// a port. A message that is too large to be sent fails its pair.
  [[nodiscard]] std::optional<std::vector<std::byte>> take_message(PairId pair);
  /// Whether `take_message` would give one.
  [[nodiscard]] bool has_message(PairId pair) const noexcept;
  /// Of the pair's peer, what else is known of how to reach it: for connected queue pairs. It is not to be trusted.
  void introduce(PairId pair, const Metadata& peer);

  /// Takes what the device reports, repairs what broke, sends what is owed. Returns whether anything happened. Errors:
  /// resource: a shared queue pair cannot be repaired; the next call tries again, and until then the pool stands still.
  [[nodiscard]] Result<bool> progress(Time now);

  /// Whether the next `progress` is due even if nothing comes.
  [[nodiscard]] bool is_due() const noexcept { return any_doomed_ || (any_freed_ && !calls_.empty()); }

  /// What somebody else knows: the peer is gone. Its pairs fail now.
  void on_peer_lost(const Metadata& peer);

  struct Counts {
    std::uint64_t pairs = 0, accepted = 0, replays = 0, breaks = 0, rejected = 0, strays = 0, connected = 0, moves = 0;
  };
  [[nodiscard]] Counts counts() const noexcept;
  /// As Fabric::count_in, from each `progress` on. Names begin with "vq.".
  void count_in(CounterBlock* block);

 private:
  struct Physical;
  struct Seat;
  struct Call;
  struct Listener;
  struct Own {
    std::span<std::byte> memory;
    std::optional<fabric::Access> access;  ///< of peers, if they have any
    MemoryKeys keys;
  };
  struct Peer {
    PeerHandle handle;
    std::uint32_t pairs = 0;               ///< and connected queue pairs
    std::optional<Metadata> introduced{};  ///< how connected queue pairs reach it, if that is not as it is named
    bool lost = false;
    std::uint64_t posts = 0;  ///< in this sample period
    Physical* connected = nullptr;
    std::uint32_t doomed = 0;  ///< passes until it counts as lost, unless one brings nothing before
  };
  using Peers = std::map<Metadata, Peer, MetadataOrder>;

  /// Of `Counts`, what an operator may want to see.
  struct Shown {
    Counter pairs, connected, moves, breaks, replays, rejected;
  };

  Pool(Device& device, const PoolOptions& options);
  [[nodiscard]] Result<void> open_queue_pairs();
  [[nodiscard]] Seat* seat_of(PairId pair) const noexcept;
  [[nodiscard]] Result<void> bind_pair(PairId pair, Peers::iterator peer, std::uint64_t remote, bool remote_known);
  [[nodiscard]] Result<Peers::iterator> take_in(const Metadata& metadata);
  void leave(Peers::iterator peer);
  Physical& add(std::unique_ptr<PhysicalQueuePair> queue_pair);
  [[nodiscard]] Physical& least_used() const;
  [[nodiscard]] Error refusal(PairId pair, int code, std::uint32_t at) const;

  // What the core asks of the world.
  [[nodiscard]] static int local_allowed(void* self, const vq_pair* pair, const vq_request* request);
  [[nodiscard]] static int remote_allowed(void* self, const vq_pair* pair, const vq_request* request);
  [[nodiscard]] static std::uint32_t hand_over(void* self, vq_physical* physical, const vq_posted* list,
                                               std::uint32_t count);

  // pool_progress.cpp
  [[nodiscard]] bool drain(Physical& physical);
  void on_completed(Physical& physical, const PhysicalEvent& event);
  void on_peer_of_operation_lost(const Physical& physical, std::uint64_t id);
  void on_lost(Peer& peer);
  void end_doomed(bool quiet);
  [[nodiscard]] Result<void> repair(Physical& physical);
  void fail(Seat& seat, std::uint8_t status);
  void flush_receives();
  void close_unheard();
  void sweep();
  void show();

  // pool_connected.cpp
  void sample(Time now);
  void give_up_moves();
  [[nodiscard]] bool make_room_for(std::uint64_t posts);
  void call(Peers::iterator peer);
  void on_connected(Physical& physical);
  void move(Seat& seat, Physical& to);
  void retire(Physical& physical);
  void turn_back(const Physical& physical);
  void on_connection_broken(Physical& physical);
  void fail_all(Physical& physical);
  void carry_over(Physical& physical);
  void take_accepted();
  void bury();

  // pool_messages.cpp
  void on_received(Physical& physical, const PhysicalEvent& event);
  void on_call(Call call);
  void keep(Seat& seat, const vq_header& header, std::span<const std::byte> payload);
  [[nodiscard]] Result<void> hear(const Call& call);
  void wait(Call call);
  void take_waiting_calls();
  [[nodiscard]] Result<Seat*> accept(Listener& listener, const Call& call);
  void serve(Seat& seat);
  void consume(Seat& seat);
  void announce(Seat& seat);
  void fetch(Seat& seat, const vq_message& message, std::span<std::byte> to, const MemoryKeys& memory);
  void take_fetched();
  void on_fetched(Seat& seat, const vq_completion& done);
  void pay_credits();

  Device& device_;
  const PoolOptions options_;
  const std::size_t message_bytes_max_;
  std::vector<vq_pair> pairs_;
  vq_pool core_{};
  std::vector<std::unique_ptr<Physical>> physicals_;
  std::vector<std::unique_ptr<Seat>> seats_;    ///< of open pairs, by place
  std::vector<std::unique_ptr<Seat>> closed_;   ///< of pairs that are not gone; their places may be others' already
  std::set<PairId> owing_;                      ///< peers of these are to be told what was consumed, or asked
  std::unordered_map<std::uint64_t, Own> own_;  ///< by this pool's key
  std::uint64_t newest_key_ = 0;
  std::vector<vq_request> requests_;  ///< of one post
  Peers peers_;
  std::map<Port, Listener> listeners_;
  CompletionQueue fetched_;
  std::set<PairId> fetching_later_;  ///< found no room for their read
  std::vector<Call> calls_;          ///< that could not be taken yet
  bool any_freed_ = false;           ///< a place, since they were looked at
  bool any_doomed_ = false;          ///< some peer is
  bool any_failed_ = false;          ///< since `close_unheard` looked
  Time next_sample_{};
  Time now_{};  ///< of the last `progress`
  Counts counts_;
  Shown shown_;
};

}  // namespace spindrift::kernel
