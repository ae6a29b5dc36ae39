// Private messages between the application's threads and the poller, which alone sends them. Each begins with a tag, one
// word that says whose it is: the application's, a replicated object's, or that of the flow control here.
//
// Flow control, per receiver: a message takes room from being added until the receiver has said that it was taken there.
// Threads that add messages of the application wait for room; answers of replicated objects do not, and are posted in their
// turn. So a fabric is never given more than a window for one peer, and a slow peer holds up only those that write to it.
//
// The invariant to remember: room is counted per connection, which both ends know alike; a new one begins with all of it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include <spindrift/core/ids.hpp>
#include <spindrift/group/private_route.hpp>

namespace spindrift::group {

class PrivateMessages {
 public:
  static constexpr std::size_t tag_bytes = 8;
  static constexpr std::uint64_t of_application = 0;
  static constexpr std::uint64_t of_flow = ~std::uint64_t{0};
  /// An answer to a call of the subgroup's replicated object.
  [[nodiscard]] static std::uint64_t of_replica(SubgroupId id) noexcept { return std::uint64_t{id.value()} + 1; }
  /// A query of the receiver's replica.
  [[nodiscard]] static std::uint64_t of_query(SubgroupId id) noexcept { return first_query + id.value(); }
  /// The subgroup of a query's tag. Nothing: it is another tag.
  [[nodiscard]] static std::optional<SubgroupId> queried(std::uint64_t tag) noexcept {
    if (tag < first_query || tag - first_query > UINT32_MAX) return std::nullopt;
    return SubgroupId(static_cast<std::uint32_t>(tag - first_query));
  }

  /// Room for one receiver. Well below what every fabric keeps for a peer that reads slowly.
  static constexpr std::size_t window_bytes = 1U << 20U;
  /// A message takes so much more room than it has bytes: so the count of small ones is bounded, too.
  static constexpr std::size_t room_beside_bytes = 256;
  /// A receiver tells its sender when it has taken so much: early enough that neither waits for the other.
  static constexpr std::size_t tell_bytes = window_bytes / 4;
  /// So many bytes of answers may wait here before no more updates are applied.
  static constexpr std::size_t answers_bytes_max = 8U << 20U;

  enum class Outcome : std::uint8_t { taken, full, closed };
  using Routes = std::function<PrivateRoute(NodeId)>;

  struct Outgoing {
    NodeId to;
    std::vector<std::byte> bytes;
  };
  struct Incoming {
    std::uint64_t tag;
    std::span<const std::byte> bytes;  ///< points into the message
  };

  /// The largest that the member sends, tag included. Once, before any other call.
  void limit(std::size_t message_bytes_max) noexcept { bytes_max_ = message_bytes_max - tag_bytes; }
  [[nodiscard]] std::size_t bytes_max() const noexcept { return bytes_max_; }

  // Any thread; then wake the poller. Throws bad_argument: too large.

  /// One of the application's, or a query that it makes, if there is room.
  [[nodiscard]] Outcome try_add(NodeId to, std::span<const std::byte> message, std::uint64_t tag = of_application);
  /// The same, and waits for room. `full` is no outcome.
  [[nodiscard]] Outcome add(NodeId to, std::span<const std::byte> message, std::uint64_t tag = of_application);
  /// An answer: takes its place whether there is room or not.
  void add_answer(NodeId to, std::uint64_t tag, std::span<const std::byte> message);
  /// The application sends no more. Threads that wait for room go, and receivers are asked what they have taken.
  void close();
  /// Behind `close`: waits until all messages of the application are taken by their receivers, or will never be.
  void await_taken();

  // The poller.

  /// Nothing is posted any more.
  void end();
  [[nodiscard]] bool any() const noexcept { return waiting_.load(std::memory_order_seq_cst); }
  /// The messages that may be posted now, for each receiver in the order in which they were added. Those to a receiver that
  /// is gone are dropped.
  [[nodiscard]] std::vector<Outgoing> take(const Routes& routes);
  /// That member is gone, also if its node comes again with the same view: what waits for it is dropped, and its room is
  /// free. Threads that wait for that go on.
  void on_gone(NodeId node);
  /// The application has taken a message of that many bytes, tag included.
  void on_taken(NodeId from, const PrivateRoute& route, std::size_t bytes);
  /// The sender, which is about to leave, asks what has been taken of it so far.
  void on_asked(NodeId from, const PrivateRoute& route);
  /// The receiver tells what it has taken, in `message`, which is behind the tag. False: it cannot have.
  [[nodiscard]] bool on_told(NodeId from, const PrivateRoute& route, std::span<const std::byte> message);
  /// Too many answers wait.
  [[nodiscard]] bool crowded() const noexcept { return answers_bytes_ >= answers_bytes_max; }

  /// Nothing: it has no tag.
  [[nodiscard]] static std::optional<Incoming> parse(std::span<const std::byte> message) noexcept;

 private:
  static constexpr std::uint64_t first_query = std::uint64_t{1} << 33;  // above the tags of answers

  struct Waiting {
    std::vector<std::byte> bytes;
    bool answer;
  };
  struct Peer {
    /// The messages of an application that sends no more, as far as is known.
    enum class Last : std::uint8_t { unknown, asked, taken };
    std::optional<fabric::PeerId> connection;
    std::deque<Waiting> waiting;
    std::uint64_t waiting_room = 0;
    std::uint64_t posted_room = 0;  ///< on its way, and not known to be taken
    Last last = Last::unknown;

    /// Everything was posted, and the receiver has not been asked yet whether it has taken that.
    [[nodiscard]] bool is_to_be_asked() const noexcept {
      return waiting.empty() && posted_room > 0 && last == Last::unknown;
    }
    [[nodiscard]] bool has_taken_all() const noexcept { return posted_room == 0 || last == Last::taken; }
    [[nodiscard]] bool has_room(std::uint64_t room) const noexcept;
    void meet(fabric::PeerId now) noexcept;
  };
  /// Messages of a peer that were taken here. The poller's alone: it must not wait for a lock with each of them, whose
  /// holder may have lost its CPU.
  struct Taken {
    std::optional<fabric::PeerId> connection;
    std::uint64_t room = 0;  ///< not told yet
    bool asked = false;      ///< and the sender waits to be told
  };
  [[nodiscard]] static std::uint64_t room_of(std::size_t bytes) noexcept { return bytes + room_beside_bytes; }
  [[nodiscard]] std::vector<std::byte> with_tag(std::uint64_t tag, std::span<const std::byte> message) const;
  void push(Peer& peer, Waiting message);
  [[nodiscard]] Waiting pop(Peer& peer);
  void take_from(NodeId node, Peer& peer, std::vector<Outgoing>& to);
  void tell(const Routes& routes, std::vector<Outgoing>& to);
  void drop(Peer& peer);

  std::size_t bytes_max_ = 0;
  std::atomic<bool> waiting_{false};
  std::atomic<std::size_t> answers_bytes_{0};
  std::map<NodeId, Taken> taken_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // Behind the mutex:
  std::map<NodeId, Peer> peers_;
  std::size_t application_waiting_ = 0;  // messages
  bool closed_ = false;
  bool ended_ = false;
};

}  // namespace spindrift::group
