// A pool of physical queue pairs and the virtual ones that share them (KRCore, sections 4.2 to 4.5). A virtual queue pair
// has the semantics of a reliable connection: what it posts is carried out once and in order, and completes in order; its
// peer's messages come once and in order. Connecting it makes nothing: it is bound to a queue pair that is there.
//
// A mistake of one virtual queue pair is refused before it reaches a shared queue pair. A failure that still occurs there, a
// peer that dies or takes its memory back, ends the pairs that talk to that peer; the operations of the others are posted
// again. Writes and reads may then be carried out a second time, before anything later of the same pair; `once` forbids it.
//
// Threading: a pool, its device and its pairs belong to one thread. Lifetime: completion queues outlive the pairs that use
// them, until those are gone; the device outlives the pool. A pool that is destroyed ends what is under way and gives back
// to its device all that was registered with it; completion queues may go before or after it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/counters.hpp>
#include <spindrift/core/ids.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/kernel/completion_queue.hpp>
#include <spindrift/kernel/large_fetches.hpp>
#include <spindrift/kernel/listener.hpp>
#include <spindrift/kernel/pair_messages.hpp>
#include <spindrift/kernel/physical.hpp>
#include <spindrift/kernel/physical_pairs.hpp>
#include <spindrift/kernel/pool_memory.hpp>
#include <spindrift/kernel/pool_peers.hpp>
#include <spindrift/kernel/promotions.hpp>
#include <spindrift/kernel/virtual_pairs.hpp>
#include <spindrift/kernel/vq.h>

namespace spindrift::kernel {

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

class Pool {
 public:
  static constexpr std::size_t waiting_calls_max = PendingCalls::most;

  /// Errors: resource, unsupported (a device without connectionless queue pairs), bad_argument.
  [[nodiscard]] static Result<std::unique_ptr<Pool>> open(PhysicalDevice& device, const PoolOptions& options);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  /// Memory for requests, and for what peers may do with it. Its local key is this pool's. Errors: resource, bad_argument.
  [[nodiscard]] Result<MemoryKeys> register_memory(std::span<std::byte> memory, fabric::Access access) {
    return memory_.add(memory, access);
  }
  /// Memory for requests alone, which no peer reaches, not even as the bytes of a large message. Errors: resource,
  /// bad_argument.
  [[nodiscard]] Result<MemoryKeys> register_local(std::span<std::byte> memory) { return memory_.add(memory, std::nullopt); }
  /// Requests on it are refused from now on. Errors: would_block while an own request on it is under way.
  [[nodiscard]] Result<void> deregister(const MemoryKeys& keys);

  struct PairOptions {
    bool once = false;     ///< see above: such a pair fails where others are replayed
    bool messages = true;  ///< false: writes and reads alone, and no memory for messages
  };
  /// Errors: resource.
  [[nodiscard]] Result<PairId> create(CompletionQueue& completions, const PairOptions& options);
  /// Binds it to the peer, no round trip. Messages go to the peer's user that bound `port` there. Errors: bad_argument,
  /// resource, refused (bound already), member_lost (the peer was lost, and pairs to it are still open).
  [[nodiscard]] Result<void> connect(PairId pair, const Metadata& peer, Port port);
  /// Pairs that peers connect to this port are accepted, up to `pairs_max` of them, with `completions` for what they post.
  /// They are the caller's to close from their first message on, whether they failed or not; one that fails before it has
  /// one is closed by the pool. A call for which there is no place now, or whose peer was lost and still has pairs here,
  /// waits up to `call_wait_max`, as one of `waiting_calls_max` at most. Errors: refused (bound already).
  [[nodiscard]] Result<void> bind(Port port, CompletionQueue& completions, std::uint32_t pairs_max) {
    return messages_.bind(port, completions, pairs_max);
  }
  /// Nothing more of the pair is told from here on; completions that wait to be taken stay. Its requests' memory may be
  /// touched until `is_gone`.
  void close(PairId pair) { pairs_.close(pair); }
  [[nodiscard]] bool is_gone(PairId pair) const noexcept { return pairs_.is_gone(pair); }
  /// Why it takes nothing any more: none if it is well. The peer is not told: it gets no more credits, and waits.
  [[nodiscard]] std::optional<OperationStatus> failure(PairId pair) const noexcept { return pairs_.failure(pair); }

  /// Posts a list in order; everything is checked before anything is taken. Returns how many were taken: less than all means
  /// that there is no room now, or that a write or send waits for the reads before it (which, after a fault, must not see
  /// what came later): make progress, take completions, come again with the rest. A send larger than
  /// `message_bytes_max` is read by the peer from the sender's memory, and is over when it was. Errors: bad_argument (which
  /// request, and why), member_lost (the pair failed), group_closed (no such pair).
  [[nodiscard]] Result<std::size_t> post(PairId pair, std::span<const Request> requests);
  [[nodiscard]] std::size_t message_bytes_max() const noexcept { return message_bytes_max_; }

  /// The next message of any pair that was accepted at the port, in the order of their arrival; nothing if there is none.
  /// Errors: group_closed (nobody bound the port).
  [[nodiscard]] Result<std::optional<PortMessage>> pop_message(Port port) { return messages_.pop(port); }

  /// A pair that was accepted at the port and was not told of yet; from here on it is the caller's to close. Errors:
  /// group_closed (nobody bound the port).
  [[nodiscard]] Result<std::optional<PairId>> next_accepted(Port port) { return messages_.next_accepted(port); }
  /// The next message of one pair, connected by either side, which is not popped at its port then; nothing if there is none,
  /// or it is large and was not read yet.
  [[nodiscard]] std::optional<std::vector<std::byte>> take_message(PairId pair) { return messages_.take(pair); }
  /// Tells how the pair's peer is reached by connected queue pairs, if that is known otherwise. It is not to be trusted.
  void introduce(PairId pair, const Metadata& peer);

  /// Takes what the device reports, repairs what broke, sends what is owed. Returns whether anything happened. Errors:
  /// resource: a shared queue pair cannot be repaired; the next call tries again, and until then the pool stands still.
  [[nodiscard]] Result<bool> progress(Time now);

  /// Whether the next `progress` is due even if nothing comes.
  [[nodiscard]] bool is_due() const noexcept { return peers_.any_doomed() || messages_.may_take_calls(); }

  /// Somebody else knows that the peer is gone. Its pairs fail now.
  void on_peer_lost(const Metadata& peer);

  struct Counts {
    std::uint64_t pairs = 0, accepted = 0, replays = 0, breaks = 0, rejected = 0, connected = 0, moves = 0;
  };
  [[nodiscard]] Counts counts() const noexcept;
  /// As Fabric::count_in, from each `progress` on. Names begin with "vq.".
  void count_in(CounterBlock* block);

 private:
  Pool(PhysicalDevice& device, const PoolOptions& options);
  [[nodiscard]] vq_request core_request(const Request& request) const;
  [[nodiscard]] Error refusal(PairId pair, int code, std::uint32_t at) const;
  /// Takes what the queue pair reports.
  struct Drained {
    bool any = false;
    bool broken = false;
  };
  [[nodiscard]] Drained drain(PhysicalPair& physical);
  /// Returns whether there was something to be done about it. Errors: resource.
  [[nodiscard]] Result<bool> look_after(PhysicalPair& physical, bool broken);
  void replay(PhysicalPair& physical);
  void on_completed(PhysicalPair& physical, const PhysicalEvent& event);
  void on_peer_of_operation_lost(const PhysicalPair& physical, std::uint64_t id);
  void show();

  PhysicalDevice& device_;
  const std::size_t message_bytes_max_;
  const std::uint32_t window_;
  PoolMemory memory_;
  PoolPeers peers_;
  PhysicalPairs physicals_;
  VirtualPairs pairs_;
  LargeFetches fetches_;
  PairMessages messages_;
  Promotions promotions_;
  std::vector<vq_request> requests_;  ///< of one post
  std::uint64_t breaks_ = 0;          ///< of connectionless queue pairs
  std::array<Counter, 6> shown_;      ///< of `Counts`, what an operator may want to see
};

}  // namespace spindrift::kernel
