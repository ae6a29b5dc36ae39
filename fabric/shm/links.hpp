// The links with processes that have greeted, from the first frame of each to its loss: what they say becomes news for the
// poller. Whatever a peer sends is bounded and validated here; one that breaks the rules loses its link, and nothing else
// happens. Under the watcher's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <spindrift/fabric/fabric.hpp>
#include <spindrift/fabric/shm/link.hpp>
#include <spindrift/fabric/shm/news.hpp>
#include <spindrift/fabric/shm/readiness.hpp>
#include <spindrift/fabric/shm/wire.hpp>

namespace spindrift::fabric::shm {

/// The objects that links and their makers have in common; they outlive them.
struct LinkContext {
  const Readiness& readiness;
  NewsQueue& news;
  Refusals& refusals;
  Bell& bell;
};

class PeerLinks {
 public:
  /// The number of a socket, for the life of the endpoint. Its readiness has the tag 2·serial, that of its process 2·serial
  /// + 1.
  using Serial = std::uint64_t;

  explicit PeerLinks(LinkContext context) : context_(context), buffer_(std::make_unique<PacketBuffer>()) {}

  /// The socket is watched. Both sides have greeted: `connected` is told, with the peer's bell.
  void add(Serial serial, PeerLink link, PeerSegment bell);
  /// Null: there is none with that node.
  [[nodiscard]] const PeerLink* find(NodeId node) const;
  [[nodiscard]] std::size_t size() const noexcept { return links_.size(); }
  /// The process at the other end; nothing: the peer is gone.
  [[nodiscard]] std::optional<pid_t> process_of(PeerId peer);
  /// Takes what an ended link with the node still holds, and tells of its loss.
  void settle(NodeId node);
  /// The link with that node, if there is one, ends for that reason.
  void lose(NodeId node, const std::string& reason, std::optional<Goodbye> goodbye);
  void lose_all(const Error& reason);
  /// Nodes whose links have ended by their processes' ends since this was asked last.
  [[nodiscard]] std::vector<NodeId> take_died() { return std::exchange(died_, {}); }

  /// Both do nothing if there is no such link any more.
  void on_socket(Serial serial, std::uint32_t readiness);
  void on_process_end(Serial serial);
  /// The same, told by the peer's bell, while its process may still be ending.
  void on_owner_died(PeerId peer);

  // The poller's wishes; nothing happens for a peer that is gone.
  void send_message(PeerId peer, std::span<const std::byte> bytes);
  void send_exposure(PeerId peer, const ParsedExposure& exposure, int descriptor);
  void send_doorbell(PeerId peer, int descriptor);
  void send_doorbell_taken(PeerId peer);
  /// Counts one region of the peer less.
  void give_back(PeerId peer, RegionKey region);
  /// Returns the node whose link it was; nothing follows from it at this side.
  std::optional<NodeId> disconnect(PeerId peer);
  /// The oldest news. The peer that said it may say more.
  [[nodiscard]] std::optional<News> take();

 private:
  using Map = std::map<Serial, PeerLink>;

  [[nodiscard]] Map::const_iterator at(NodeId node) const;
  [[nodiscard]] Map::iterator at(PeerId peer);
  void set_interest(Serial serial, const PeerLink& link, bool writable) const;
  void read(Serial serial, std::size_t packets_max, bool even_if_full);
  void on_frame(Serial serial, PeerLink& link, Packet packet);
  void on_exposure(Serial serial, PeerLink& link, Packet packet);
  void on_hang_up(Serial serial);
  void on_dying(Serial serial);
  void send(PeerId peer, std::span<const std::byte> head, std::span<const std::byte> body, int descriptor);
  void on_outbox(Serial serial, PeerLink& link, Outbox::Outcome outcome);
  void on_doorbell(Serial serial, PeerLink& link, FileDescriptor descriptor);
  void report(Serial serial, PeerLink& link, Event event, std::optional<PeerSegment> segment,
              News::Kind kind = News::Kind::event);
  PeerLink end(Serial serial, Error reason, std::optional<Goodbye> goodbye, bool dying = false);
  void withhold(PeerLink& link);
  void lose(Serial serial, Error reason, std::optional<Goodbye> goodbye) { end(serial, std::move(reason), goodbye); }
  void reject(Serial serial, const std::string& why);
  void starve(Serial serial, Error why);

  const LinkContext context_;
  Map links_;
  std::unordered_map<PeerId, Serial> by_peer_;
  std::unordered_map<NodeId, Serial> by_node_;
  /// Processes that are known to die and still have to end: nobody calls their nodes before that.
  struct Dying {
    NodeId node;
    PeerId peer;
    FileDescriptor process;
  };
  std::map<Serial, Dying> dying_;
  PeerId newest_peer_;
  std::vector<NodeId> died_;
  std::unique_ptr<PacketBuffer> buffer_;
};

}  // namespace spindrift::fabric::shm
