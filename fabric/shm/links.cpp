// The life of a link, from its first frame to its loss.
#include <spindrift/fabric/shm/links.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <spindrift/core/bytes.hpp>
#include <spindrift/core/limits.hpp>
#include <spindrift/core/log.hpp>
#include <spindrift/core/process.hpp>

namespace spindrift::fabric::shm {
namespace {

constexpr std::size_t packets_per_turn = 64;       // so that one busy peer does not starve the others
constexpr std::size_t packets_of_the_dead = 4096;  // more than any socket buffer holds
constexpr std::size_t inbox_bytes_max = 1U << 20U;
constexpr std::size_t inbox_count_max = 4096;
constexpr std::size_t regions_per_peer_max = 6146;  // of two views a row, and of 1536 subgroups two rings each

bool inbox_full(const PeerLink& link) noexcept {
  return link.inbox_bytes >= inbox_bytes_max || link.inbox_count >= inbox_count_max;
}
bool inbox_half_empty(const PeerLink& link) noexcept {
  return link.inbox_bytes <= inbox_bytes_max / 2 && link.inbox_count <= inbox_count_max / 2;
}

}  // namespace

void PeerLinks::add(Serial serial, PeerLink link, PeerSegment bell) {
  PeerLink& added = links_.emplace(serial, std::move(link)).first->second;
  ++newest_peer_;
  added.peer = newest_peer_;
  by_peer_.emplace(added.peer, serial);
  CHECK(by_node_.emplace(added.node, serial).second);
  log::info(log::Room::fabric, "peer_linked", {{"node", added.node}, {"pid", added.pid}});
  report(serial, added, {.kind = Event::Kind::connected}, std::move(bell));
}

PeerLinks::Map::const_iterator PeerLinks::at(NodeId node) const {
  const auto serial = by_node_.find(node);
  return serial == by_node_.end() ? links_.end() : links_.find(serial->second);
}

PeerLinks::Map::iterator PeerLinks::at(PeerId peer) {
  const auto serial = by_peer_.find(peer);
  return serial == by_peer_.end() ? links_.end() : links_.find(serial->second);
}

std::optional<pid_t> PeerLinks::process_of(PeerId peer) {
  const auto found = at(peer);
  return found == links_.end() ? std::nullopt : std::optional(found->second.pid);
}

const PeerLink* PeerLinks::find(NodeId node) const {
  const auto found = at(node);
  return found == links_.end() ? nullptr : &found->second;
}

void PeerLinks::set_interest(Serial serial, const PeerLink& link, bool writable) const {
  context_.readiness.change(link.socket.get(), 2 * serial, (link.reading ? EPOLLIN : 0U) | (writable ? EPOLLOUT : 0U));
}

void PeerLinks::on_socket(Serial serial, std::uint32_t readiness) {
  const auto found = links_.find(serial);
  if (found == links_.end()) return;
  if ((readiness & EPOLLOUT) != 0) {
    PeerLink& link = found->second;
    on_outbox(serial, link, link.outbox.flush(link.socket.get()));
  }
  const bool ended = (readiness & (EPOLLHUP | EPOLLERR)) != 0;
  if (ended || (readiness & EPOLLIN) != 0) read(serial, ended ? packets_of_the_dead : packets_per_turn, ended);
}

void PeerLinks::on_process_end(Serial serial) {
  read(serial, packets_of_the_dead, true);
  if (links_.contains(serial)) on_dying(serial);
  const auto over = dying_.extract(serial);
  if (over.empty()) return;
  died_.push_back(over.mapped().node);
  context_.news.push({{.kind = Event::Kind::died, .peer = over.mapped().peer, .node = over.mapped().node}, std::nullopt});
}

void PeerLinks::on_owner_died(PeerId peer) {
  const auto found = at(peer);
  if (found == links_.end()) return;
  const Serial serial = found->first;
  read(serial, packets_of_the_dead, true);
  if (links_.contains(serial)) on_dying(serial);
}

// Its process is still to end, which is told when it has.
void PeerLinks::on_dying(Serial serial) {
  PeerLink link = end(serial, Error(ErrorKind::member_lost, links_.at(serial).name() + " died"), std::nullopt, true);
  dying_.emplace(serial, Dying{link.node, link.peer, std::move(link.process)});
}

void PeerLinks::settle(NodeId node) {
  const auto found = at(node);
  if (found == links_.end()) return;
  const Serial serial = found->first;
  while (links_.contains(serial) && hung_up(links_.at(serial).socket.get())) read(serial, 1, true);
}

void PeerLinks::read(Serial serial, std::size_t packets_max, bool even_if_full) {
  for (std::size_t i = 0; i < packets_max; ++i) {
    const auto found = links_.find(serial);
    if (found == links_.end() || (!found->second.reading && !even_if_full)) return;
    Packet packet = receive_packet(found->second.socket.get(), *buffer_);
    switch (packet.outcome) {
      case Packet::Outcome::nothing: return;
      case Packet::Outcome::ended: return on_hang_up(serial);
      case Packet::Outcome::broken: return reject(serial, "it sent a packet that no peer sends");
      case Packet::Outcome::starved: return starve(serial, out_of_descriptors());
      case Packet::Outcome::frame: on_frame(serial, found->second, std::move(packet)); break;
    }
  }
}

void PeerLinks::on_frame(Serial serial, PeerLink& link, Packet packet) {
  const auto head = parse_head(packet.bytes);
  if (!head) return reject(serial, "it sent a frame without a valid head");
  switch (static_cast<FrameKind>(head->kind)) {
    case FrameKind::message: {
      if (packet.descriptor || head->detail != 0) break;
      const auto body = packet.bytes.subspan(sizeof *head);
      return report(serial, link, {.kind = Event::Kind::message, .bytes = {body.begin(), body.end()}}, std::nullopt);
    }
    case FrameKind::expose: return on_exposure(serial, link, std::move(packet));
    case FrameKind::doorbell:
      if (!packet.descriptor || head->detail != 0 || packet.bytes.size() != sizeof *head) break;
      return on_doorbell(serial, link, std::move(packet.descriptor));
    case FrameKind::doorbell_taken:
      if (packet.descriptor || head->detail != 0 || packet.bytes.size() != sizeof *head) break;
      return report(serial, link, {}, std::nullopt, News::Kind::doorbell_taken);
    case FrameKind::goodbye: {
      const char* why = head->detail == static_cast<std::uint32_t>(Goodbye::rejected) ? " rejected what this process sent"
                        : head->detail == static_cast<std::uint32_t>(Goodbye::stuck)
                            ? " gave up: this process did not take its messages"
                        : head->detail == static_cast<std::uint32_t>(Goodbye::starved)
                            ? " has run out of descriptors or memory"
                            : " closed the connection";
      // A peer that closes on purpose is not called again; it will call when it wants to.
      return lose(serial, Error(ErrorKind::member_lost, link.name() + why), std::nullopt);
    }
    default: break;
  }
  reject(serial, "it sent a frame that is not allowed on a link");
}

void PeerLinks::on_exposure(Serial serial, PeerLink& link, Packet packet) {
  const auto exposure = parse_exposure(packet.bytes);
  if (!exposure || !packet.descriptor) return reject(serial, "it exposed a region in a malformed way");
  if (link.regions.size() >= regions_per_peer_max || !link.regions.insert(exposure->region).second) {
    return reject(serial, "it exposed too many regions at a time, or one twice");
  }
  auto segment = PeerSegment::open(std::move(packet.descriptor), exposure->bytes, exposure->access);
  if (!segment && segment.error().kind() == ErrorKind::resource) return starve(serial, std::move(segment).error());
  if (!segment) return reject(serial, segment.error().message());
  const auto& [region, bytes, access] = *exposure;
  report(serial, link, {.kind = Event::Kind::exposed, .access = access, .region = region, .region_bytes = bytes},
         std::move(segment).value());
}

void PeerLinks::on_doorbell(Serial serial, PeerLink& link, FileDescriptor descriptor) {
  auto segment = PeerSegment::open(std::move(descriptor), doorbell_bytes, Access::write);
  if (!segment && segment.error().kind() == ErrorKind::resource) return starve(serial, std::move(segment).error());
  if (!segment) return reject(serial, segment.error().message());
  report(serial, link, {}, std::move(segment).value(), News::Kind::doorbell);
}

void PeerLinks::on_hang_up(Serial serial) {
  const PeerLink& link = links_.at(serial);
  if (is_over(link.process, link.pid)) return on_dying(serial);
  died_.push_back(link.node);
  lose(serial, Error(ErrorKind::member_lost, link.name() + " ended the connection without a word"), std::nullopt);
}

void PeerLinks::report(Serial serial, PeerLink& link, Event event, std::optional<PeerSegment> segment, News::Kind kind) {
  event.peer = link.peer;
  event.node = link.node;
  link.inbox_bytes += event.bytes.size();
  ++link.inbox_count;
  if (link.reading && inbox_full(link)) {
    link.reading = false;
    set_interest(serial, link, true);
  }
  context_.news.push({std::move(event), std::move(segment), kind});
}

PeerLink PeerLinks::end(Serial serial, Error reason, std::optional<Goodbye> goodbye, bool dying) {
  PeerLink link = std::move(links_.extract(serial).mapped());
  by_peer_.erase(link.peer);
  by_node_.erase(link.node);
  // Best effort: to a peer that does not read, the end of the connection must do. What it does not hear is never said, and
  // the bell goes on saying so; where it was the peer that ended, nobody is left to hear.
  const auto farewell = [&] {
    return send_packet(link.socket.get(), field_bytes(head_of(FrameKind::goodbye, *goodbye)), {}, -1);
  };
  if (goodbye && !hung_up(link.socket.get()) &&
      (link.outbox.flush(link.socket.get()) != Outbox::Outcome::sent || farewell() != SendOutcome::sent))
    withhold(link);
  else if (link.unsaid)
    context_.bell.said();
  log::info(log::Room::fabric, "peer_lost", {{"node", link.node}, {"pid", link.pid}, {"reason", reason.message()}});
  Event lost{.kind = Event::Kind::lost, .peer = link.peer, .node = link.node, .reason = std::move(reason)};
  lost.dying = dying;
  context_.news.push({std::move(lost), std::nullopt});
  return link;
}

void PeerLinks::lose(NodeId node, const std::string& reason, std::optional<Goodbye> goodbye) {
  if (const auto found = at(node); found != links_.end())
    lose(found->first, Error(ErrorKind::member_lost, reason), goodbye);
}

void PeerLinks::lose_all(const Error& reason) {
  while (!links_.empty()) lose(links_.begin()->first, reason, Goodbye::closed);
}

void PeerLinks::reject(Serial serial, const std::string& why) {
  const PeerLink& link = links_.at(serial);
  context_.refusals.reject(link.socket.get(), link.pid, why);
  lose(serial, Error(ErrorKind::member_lost, link.name() + " was disconnected: " + why), std::nullopt);
}

/// The peer is not to blame that this process has no room for what it sent.
void PeerLinks::starve(Serial serial, Error why) {
  context_.news.push_own_end(why);
  lose(serial, std::move(why), Goodbye::starved);
}

void PeerLinks::on_outbox(Serial serial, PeerLink& link, Outbox::Outcome outcome) {
  switch (outcome) {
    case Outbox::Outcome::sent:
      if (std::exchange(link.unsaid, false)) context_.bell.said();
      return set_interest(serial, link, false);
    case Outbox::Outcome::queued: withhold(link); return set_interest(serial, link, true);
    case Outbox::Outcome::failed:
      if (hung_up(link.socket.get())) return;  // its socket reports the end, after what it still holds
      return lose(serial, Error(ErrorKind::member_lost, link.name() + " cannot be sent to: " + std::strerror(errno)),
                  Goodbye::closed);
    case Outbox::Outcome::overflow:
      lose(serial, Error(ErrorKind::member_lost, link.name() + " does not take its messages"), Goodbye::stuck);
  }
}

void PeerLinks::withhold(PeerLink& link) {
  if (!std::exchange(link.unsaid, true)) context_.bell.withhold();
}

void PeerLinks::send(PeerId peer, std::span<const std::byte> head, std::span<const std::byte> body, int descriptor) {
  const auto found = at(peer);
  if (found == links_.end()) return;
  auto& [serial, link] = *found;
  const auto outcome = link.outbox.push(link.socket.get(), head, body, descriptor);
  if (outcome != Outbox::Outcome::sent) on_outbox(serial, link, outcome);
}

void PeerLinks::send_message(PeerId peer, std::span<const std::byte> bytes) {
  send(peer, field_bytes(head_of(FrameKind::message)), bytes, -1);
}

void PeerLinks::send_exposure(PeerId peer, const ParsedExposure& exposure, int descriptor) {
  send(peer, field_bytes(make_exposure(exposure)), {}, descriptor);
}

void PeerLinks::send_doorbell(PeerId peer, int descriptor) {
  send(peer, field_bytes(head_of(FrameKind::doorbell)), {}, descriptor);
}

void PeerLinks::send_doorbell_taken(PeerId peer) { send(peer, field_bytes(head_of(FrameKind::doorbell_taken)), {}, -1); }

void PeerLinks::give_back(PeerId peer, RegionKey region) {
  if (const auto found = at(peer); found != links_.end()) found->second.regions.erase(region);
}

std::optional<NodeId> PeerLinks::disconnect(PeerId peer) {
  std::optional<NodeId> node;
  if (const auto found = at(peer); found != links_.end()) {
    node = found->second.node;
    lose(found->first, Error(ErrorKind::group_closed, "this process closed the connection"), Goodbye::closed);
  }
  context_.news.forget(peer);
  return node;
}

std::optional<News> PeerLinks::take() {
  std::optional<News> news = context_.news.take();
  const auto found = news ? at(news->event.peer) : links_.end();
  if (found == links_.end()) return news;
  auto& [serial, link] = *found;
  link.inbox_bytes -= news->event.bytes.size();
  --link.inbox_count;
  if (!link.reading && inbox_half_empty(link)) {
    link.reading = true;
    set_interest(serial, link, true);
  }
  return news;
}

}  // namespace spindrift::fabric::shm
