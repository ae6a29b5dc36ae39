// The one small thread of an endpoint: it sleeps until a socket, a process or the directory has something to say, and turns
// that into events for the poller. A monitor: every member below the lock is touched only under it. Whatever a peer sends is
// bounded and validated here; a peer that breaks the rules loses its connection and nothing else happens.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include <spindrift/core/counters.hpp>
#include <spindrift/fabric/fabric.hpp>
#include <spindrift/fabric/rendezvous.hpp>
#include <spindrift/fabric/shm/bell.hpp>
#include <spindrift/fabric/shm/link.hpp>
#include <spindrift/fabric/shm/part.hpp>
#include <spindrift/fabric/shm/region.hpp>
#include <spindrift/fabric/shm/wire.hpp>
#include <spindrift/core/result.hpp>

namespace spindrift::fabric::shm {

/// An event with the memory that came along: the bell with `connected`, the region with `exposed`.
struct News {
  Event event;
  std::optional<PeerSegment> segment;
};

class Watcher {
 public:
  Watcher(NodeId self, std::uint64_t incarnation, Bell& bell, Rendezvous rendezvous, std::optional<Counter> refused);
  ~Watcher();
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  /// Claims the node's id, listens, and starts the thread. Errors: as of Rendezvous.
  [[nodiscard]] Result<void> start();
  [[nodiscard]] bool started() const noexcept { return thread_.joinable(); }

  /// Errors: resource, unsupported (too many peers).
  [[nodiscard]] Result<void> connect(NodeId node);
  void disconnect(PeerId peer);

  /// Both do nothing for a peer that is gone.
  void send_message(PeerId peer, std::span<const std::byte> bytes);
  void send_exposure(PeerId peer, RegionKey region, std::uint64_t bytes, Access access, int descriptor);

  /// Counts one region of the peer less; does nothing for a peer that is gone.
  void give_back(PeerId peer, RegionKey region);
  /// Unmaps a little later on the watcher's thread: it takes up to a millisecond for a few MiB, which a poller in the middle
  /// of a view change does not have, nor the time that waking the thread at once would take from it.
  void defer_unmap(Mapping mapping);

  // As of LocalPart.
  [[nodiscard]] Result<void> watch_beside(const Beside& descriptors);
  [[nodiscard]] std::uint32_t beside_ready() const noexcept { return beside_ready_.load(std::memory_order_seq_cst); }
  void watch_again(std::uint32_t which) noexcept;
  void turn_away(NodeId node, std::optional<Error> why);

  /// One load. True as long as `take` would give something.
  [[nodiscard]] bool has_news() const noexcept { return has_news_.load(std::memory_order_seq_cst); }
  /// The oldest news.
  [[nodiscard]] std::optional<News> take();

 private:
  using Serial = std::uint64_t;
  using Links = std::map<Serial, Link>;

  // What a readiness report is about: one of these, or 2·serial for a link's socket and 2·serial + 1 for its process.
  static constexpr std::uint64_t tag_stop = 0;
  static constexpr std::uint64_t tag_listener = 1;
  static constexpr std::uint64_t tag_arrivals = 2;
  static constexpr std::uint64_t tag_burial = 3;
  static constexpr std::uint64_t tag_beside = 4;  ///< and as many above it as Beside has
  static constexpr std::uint64_t first_serial = 4;
  static_assert(tag_beside + std::tuple_size_v<Beside> <= 2 * first_serial);

  // The thread and its sources (watcher.cpp).
  [[nodiscard]] Result<void> watch(int descriptor, std::uint64_t tag, std::uint32_t interest) const;
  void run();
  void on_ready(std::uint64_t tag, std::uint32_t readiness);
  void on_callers();
  void on_arrivals();
  void on_unmap_timer();
  void on_beside(std::uint64_t tag) noexcept;
  void set_interest(Serial serial, const Link& link, bool writable) const;

  // Packets of a link (watcher.cpp).
  void read(Serial serial, std::size_t packets_max, bool even_if_full);
  void on_frame(Serial serial, Link& link, Packet packet);
  void on_linked_frame(Serial serial, Link& link, const FrameHead& head, Packet packet);
  void on_exposure(Serial serial, Link& link, Packet packet);
  void on_ended(Serial serial);
  void on_died(Serial serial);
  void transmit(PeerId peer, std::span<const std::byte> head, std::span<const std::byte> body, int descriptor);
  void on_outbox(Serial serial, Link& link, Outbox::Outcome outcome);
  void report(Link& link, Event event, std::optional<PeerSegment> segment);
  void lose(Serial serial, Error reason, std::optional<Goodbye> goodbye);
  void reject(Serial serial, const std::string& why);

  // How links come about (handshake.cpp).
  [[nodiscard]] Result<void> call(NodeId node);
  void call_again(NodeId node);
  void on_hello(Serial serial, const Greeting& greeting, FileDescriptor bell);
  void on_welcome(Serial serial, const Greeting& greeting, FileDescriptor bell);
  void on_turned_away(Serial serial, const FrameHead& head);
  void answer_no(Serial serial, TurnedAway why);
  [[nodiscard]] bool elsewhere(NodeId node);
  [[nodiscard]] bool credible(Serial serial, const Link& link, const Greeting& greeting);
  void settle(NodeId node);
  [[nodiscard]] bool make_way(NodeId node, std::uint64_t incarnation, TurnedAway& why);
  void establish(Serial serial, const Greeting& greeting, FileDescriptor bell, bool welcome);
  [[nodiscard]] Links::iterator find(Link::State state, NodeId node);
  [[nodiscard]] std::size_t count(Link::State state) const;

  const NodeId self_;
  const std::uint64_t incarnation_;
  Bell& bell_;
  std::atomic<bool> has_news_ = false;

  std::mutex mutex_;
  Rendezvous rendezvous_;
  std::optional<Counter> refused_;
  FileDescriptor epoll_;
  FileDescriptor listener_;
  FileDescriptor arrivals_;
  FileDescriptor stop_;
  FileDescriptor unmap_timer_;  ///< a timer, set while `deferred_unmaps_` is not empty
  Beside beside_{-1, -1, -1};
  std::atomic<std::uint32_t> beside_ready_ = 0;
  std::map<NodeId, Error> turned_away_;  ///< whose calls are not answered, and why
  std::set<NodeId> told_;                ///< of which that was said
  FileDescriptor spare_;  ///< given up for a moment when descriptors run out, to turn a caller away instead of spinning
  Links links_;
  std::map<PeerId, Serial> serial_of_peer_;
  std::map<NodeId, unsigned> wanted_;  ///< whom the caller wants a link with, and how many more calls may fail in a row
  Serial next_serial_;
  PeerId next_peer_{1};
  std::deque<News> news_;
  std::vector<Mapping> deferred_unmaps_;
  std::unique_ptr<PacketBuffer> buffer_;
  std::thread thread_;
};

}  // namespace spindrift::fabric::shm
