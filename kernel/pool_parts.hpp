// What a pool keeps of its physical queue pairs, its virtual ones and its listeners, beside what the core keeps.
#pragma once

#include <spindrift/kernel/pool.hpp>

namespace spindrift::kernel {

struct Pool::Physical {
  std::unique_ptr<PhysicalQueuePair> queue_pair;
  std::vector<vq_slot> slots;
  vq_physical core{};
  enum class Role : std::uint8_t {
    connectionless,
    calling,    ///< a connected one that is not up yet
    connected,  ///< to `peer`; its pairs are bound to it
    passive,    ///< a peer's connected one: it brings messages, nothing is bound to it
    retiring,   ///< its pairs are leaving
    over,
  };
  Role role = Role::connectionless;
  std::optional<Peers::iterator> peer;
  bool lost = false;       ///< a connected one that broke
  bool broken = false;     ///< said so, and nothing was done about it yet
  bool unusable = false;   ///< a connectionless one that is to be reset
  bool replaying = false;  ///< something waits to be posted again
};

/// First in, first out; takes no memory before something is in it, which most pairs never have.
template <class Value>
class Queue {
 public:
  [[nodiscard]] bool empty() const noexcept { return first_ == values_.size(); }
  [[nodiscard]] const Value& front() const noexcept { return values_[first_]; }
  [[nodiscard]] std::span<const Value> all() const noexcept { return std::span(values_).subspan(first_); }
  void push_back(const Value& value) { values_.push_back(value); }
  void pop_front() {
    ++first_;
    if (first_ * 2 < values_.size()) return;  // so no more is moved than was taken out
    values_.erase(values_.begin(), values_.begin() + static_cast<std::ptrdiff_t>(first_));
    first_ = 0;
  }
  void clear() noexcept {
    values_.clear();
    first_ = 0;
  }

 private:
  std::vector<Value> values_;
  std::size_t first_ = 0;
};

/// The last few of many.
template <class Key>
class Recent {
 public:
  static constexpr int most = 1024;
  [[nodiscard]] bool contains(const Key& key) const { return keys_.contains(key); }
  void add(const Key& key) {
    if (!keys_.insert(key).second) return;
    order_.push_back(key);
    if (order_.size() <= most) return;
    keys_.erase(order_.front());
    order_.pop_front();
  }

 private:
  std::set<Key> keys_;
  std::deque<Key> order_;
};

/// A stranger's first message.
struct Pool::Call {
  vq_header header{};
  Metadata metadata;
  std::vector<std::byte> payload;
  Time came{};
};

/// A virtual queue pair. Its bytes of messages are copies: what its user does not take keeps no shared buffer.
struct Pool::Seat {
  PairId id;
  CompletionQueue* completions = nullptr;
  bool wants_messages = true;
  std::optional<Peers::iterator> peer;
  std::vector<vq_message> messages;
  std::vector<std::vector<std::byte>> kept;  ///< parallel to messages
  struct Receive {
    std::span<std::byte> buffer;
    MemoryKeys memory;
    std::uint64_t context = 0;
  };
  Queue<Receive> receives;
  Listener* accepted_by = nullptr;
  std::uint64_t stranger = 0;       ///< the peer's pair, of an accepted one
  std::uint64_t stranger_node = 0;  ///< its node and start
  bool moving = false;              ///< it was when the last sample period ended
  bool announced = false;           ///< its next message is in the listener's list
  bool heard = false;               ///< one of its messages was popped, or its user was told of it
  PairId fetcher;                   ///< a pair that reads what is too large to be sent
  bool fetching = false;            ///< a read of it is under way
  std::optional<Time> asking;       ///< since when it waits to learn whether its sender has such memory
  bool has_fetched = false;         ///< `fetched` is the next message
  std::vector<std::byte> fetched;   ///< of an accepted pair: where that is read to
  MemoryKeys fetched_memory;
};

struct Pool::Listener {
  CompletionQueue* completions = nullptr;
  std::uint32_t pairs_max = 0;
  using Caller = std::pair<std::uint64_t, std::uint64_t>;  ///< node with start, and its pair
  std::map<Caller, PairId> accepted;
  Recent<Caller> heard;          ///< whose pairs here are closed: a call of theirs that comes again, after a fault, is over
  std::deque<PairId> ready;      ///< who has a message to be popped
  std::deque<PairId> newcomers;  ///< of whom `next_accepted` has not told
};

}  // namespace spindrift::kernel
