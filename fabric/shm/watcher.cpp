// The thread, and the life of a link from its first frame to its loss.
#include <spindrift/fabric/shm/watcher.hpp>

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include <spindrift/core/check.hpp>
#include <spindrift/core/log.hpp>

namespace spindrift::fabric::shm {
namespace {

constexpr std::size_t packets_per_turn = 64;       // so that one busy peer does not starve the others
constexpr std::size_t packets_of_the_dead = 4096;  // more than any socket buffer holds
constexpr std::size_t inbox_bytes_max = 1U << 20U;
constexpr std::size_t inbox_count_max = 4096;
constexpr std::size_t regions_per_peer_max = 1024;
constexpr std::size_t callers_waiting_max = 64;
constexpr long unmap_timer_delay_ns = 50'000'000;

bool inbox_full(const Link& link) noexcept {
  return link.inbox_bytes >= inbox_bytes_max || link.inbox_count >= inbox_count_max;
}
bool inbox_half_empty(const Link& link) noexcept {
  return link.inbox_bytes <= inbox_bytes_max / 2 && link.inbox_count <= inbox_count_max / 2;
}

template <class Frame>
std::span<const std::byte> bytes_of(const Frame& frame) noexcept {
  return std::as_bytes(std::span<const Frame, 1>(&frame, 1));
}

}  // namespace

Watcher::Watcher(NodeId self, std::uint64_t incarnation, Bell& bell, Rendezvous rendezvous, std::optional<Counter> refused)
    : self_(self),
      incarnation_(incarnation),
      bell_(bell),
      rendezvous_(std::move(rendezvous)),
      refused_(refused),
      next_serial_(first_serial),
      buffer_(std::make_unique<PacketBuffer>()) {}

Watcher::~Watcher() {
  if (thread_.joinable()) {
    const std::uint64_t one = 1;
    CHECK(::write(stop_.get(), &one, sizeof one) == sizeof one);
    thread_.join();
  }
  wanted_.clear();
  while (!links_.empty()) {
    lose(links_.begin()->first, Error(ErrorKind::group_closed, "the endpoint was closed"), Goodbye::closed);
  }
}

Result<void> Watcher::start() {
  const std::lock_guard lock(mutex_);
  CHECK(!thread_.joinable());
  if (auto claimed = rendezvous_.claim(self_); !claimed) return std::move(claimed).error();
  epoll_ = FileDescriptor(::epoll_create1(EPOLL_CLOEXEC));
  stop_ = FileDescriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  unmap_timer_ = FileDescriptor(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  spare_ = FileDescriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!epoll_ || !stop_ || !unmap_timer_ || !spare_) {
    return system_error("start the watcher", errno).fix("raise the limit of open files");
  }
  auto arrivals = rendezvous_.watch_arrivals();
  if (!arrivals) return std::move(arrivals).error();
  arrivals_ = std::move(arrivals).value();
  auto listener = rendezvous_.listen();
  if (!listener) return std::move(listener).error();
  listener_ = std::move(listener).value();
  for (const auto& [descriptor, tag] :
       {std::pair{stop_.get(), tag_stop}, std::pair{listener_.get(), tag_listener}, std::pair{arrivals_.get(), tag_arrivals},
        std::pair{unmap_timer_.get(), tag_burial}}) {
    if (auto watched = watch(descriptor, tag, EPOLLIN); !watched) return std::move(watched).error();
  }
  thread_ = std::thread([this] { run(); });
  return {};
}

Result<void> Watcher::watch(int descriptor, std::uint64_t tag, std::uint32_t interest) const {
  epoll_event event{};
  event.events = interest;
  event.data.u64 = tag;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event) == 0) return {};
  return system_error("epoll_ctl", errno).fix("raise the sysctl fs.epoll.max_user_watches");
}

void Watcher::set_interest(Serial serial, const Link& link, bool writable) const {
  epoll_event event{};
  event.events =
      (link.reading ? static_cast<std::uint32_t>(EPOLLIN) : 0U) | (writable ? static_cast<std::uint32_t>(EPOLLOUT) : 0U);
  event.data.u64 = 2 * serial;
  CHECK(::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, link.socket.get(), &event) == 0);
}

void Watcher::run() {
  std::array<epoll_event, 32> ready{};
  while (true) {
    const int count = ::epoll_wait(epoll_.get(), ready.data(), static_cast<int>(ready.size()), -1);
    CHECK(count >= 0 || errno == EINTR);
    for (int i = 0; i < count; ++i) {
      const epoll_event& event = ready[static_cast<std::size_t>(i)];
      if (event.data.u64 == tag_stop) return;
      if (event.data.u64 == tag_burial) {
        on_unmap_timer();
        continue;
      }
      if (event.data.u64 >= tag_beside && event.data.u64 < tag_beside + beside_.size()) {
        on_beside(event.data.u64);
        continue;
      }
      const std::lock_guard lock(mutex_);
      on_ready(event.data.u64, event.events);
    }
  }
}

void Watcher::on_ready(std::uint64_t tag, std::uint32_t readiness) {
  if (tag == tag_listener) return on_callers();
  if (tag == tag_arrivals) return on_arrivals();
  const Serial serial = tag / 2;
  const auto at = links_.find(serial);
  if (at == links_.end()) return;  // reported in the same batch as its end
  Link& link = at->second;
  if (tag % 2 == 1) {
    read(serial, packets_of_the_dead, true);
    if (links_.contains(serial)) on_died(serial);
    return;
  }
  if ((readiness & EPOLLOUT) != 0) {
    on_outbox(serial, link, link.outbox.flush(link.socket.get()));
    if (!links_.contains(serial)) return;
  }
  const bool ended = (readiness & (EPOLLHUP | EPOLLERR)) != 0;
  if (ended || (readiness & EPOLLIN) != 0) read(serial, ended ? packets_of_the_dead : packets_per_turn, ended);
}

void Watcher::on_callers() {
  for (std::size_t i = 0; i < packets_per_turn; ++i) {
    FileDescriptor socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket) {
      if (errno != EMFILE && errno != ENFILE) return;
      log::warn(log::Room::fabric, "caller_turned_away",
                {{"reason", "no file descriptors left"}, {"fix", "raise ulimit -n"}});
      spare_.reset();
      FileDescriptor(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)).reset();
      spare_ = FileDescriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC));
      return;
    }
    const auto pid = trusted_process(socket.get());
    if (!pid) continue;
    if (count(Link::State::greeting) >= callers_waiting_max) {
      for (const auto& [serial, link] : links_) {
        if (link.state != Link::State::greeting) continue;
        reject(serial, "too many callers did not greet");
        break;
      }
    }
    const Serial serial = next_serial_++;
    if (!watch(socket.get(), 2 * serial, EPOLLIN)) continue;
    Link& link = links_[serial];
    link.socket = std::move(socket);
    link.pid = *pid;
  }
}

void Watcher::on_arrivals() {
  alignas(inotify_event) std::array<char, 4096> buffer;
  const ssize_t bytes = ::read(arrivals_.get(), buffer.data(), buffer.size());
  bool overflowed = false;
  for (std::size_t at = 0; bytes > 0 && at < static_cast<std::size_t>(bytes);) {
    inotify_event event;
    std::memcpy(&event, buffer.data() + at, sizeof event);
    overflowed = overflowed || (event.mask & IN_Q_OVERFLOW) != 0;
    const char* name = buffer.data() + at + sizeof event;
    if (event.len > 0) {
      if (const auto node = Rendezvous::node_of_socket(std::string_view(name, ::strnlen(name, event.len)))) {
        settle(*node);
        call_again(*node);
      }
    }
    at += sizeof event + event.len;
  }
  if (!overflowed) return;
  std::vector<NodeId> nodes;
  for (const auto& [node, attempts] : wanted_) nodes.push_back(node);
  for (const NodeId node : nodes) call_again(node);
}

void Watcher::on_unmap_timer() {
  std::vector<Mapping> unmaps;
  {
    const std::lock_guard lock(mutex_);
    std::uint64_t count = 0;
    CHECK(::read(unmap_timer_.get(), &count, sizeof count) == sizeof count);  // it is set anew only when none is deferred
    unmaps.swap(deferred_unmaps_);
  }
  // Unmapped here, outside the lock, which the poller may want meanwhile.
}

void Watcher::defer_unmap(Mapping mapping) {
  if (!thread_.joinable()) return;
  const std::lock_guard lock(mutex_);
  deferred_unmaps_.push_back(std::move(mapping));
  if (deferred_unmaps_.size() > 1) return;
  itimerspec when{};
  when.it_value.tv_nsec = unmap_timer_delay_ns;
  CHECK(::timerfd_settime(unmap_timer_.get(), 0, &when, nullptr) == 0);
}

void Watcher::give_back(PeerId peer, RegionKey region) {
  const std::lock_guard lock(mutex_);
  if (const auto at = serial_of_peer_.find(peer); at != serial_of_peer_.end()) links_.at(at->second).regions.erase(region);
}

void Watcher::read(Serial serial, std::size_t packets_max, bool even_if_full) {
  for (std::size_t i = 0; i < packets_max; ++i) {
    const auto at = links_.find(serial);
    if (at == links_.end() || (!at->second.reading && !even_if_full)) return;
    Packet packet = receive_packet(at->second.socket.get(), *buffer_);
    switch (packet.outcome) {
      case Packet::Outcome::nothing: return;
      case Packet::Outcome::ended: return on_ended(serial);
      case Packet::Outcome::broken: return reject(serial, "it sent a packet that no peer sends");
      case Packet::Outcome::frame: on_frame(serial, at->second, std::move(packet)); break;
    }
  }
}

void Watcher::on_frame(Serial serial, Link& link, Packet packet) {
  const auto head = parse_head(packet.bytes);
  if (!head) return reject(serial, "it sent a frame without a valid head");
  const auto kind = static_cast<FrameKind>(head->kind);
  if (link.state == Link::State::linked) return on_linked_frame(serial, link, *head, std::move(packet));
  if (link.state == Link::State::calling && kind == FrameKind::turned_away && packet.bytes.size() == sizeof *head) {
    return on_turned_away(serial, *head);
  }
  const FrameKind expected = link.state == Link::State::calling ? FrameKind::welcome : FrameKind::hello;
  const auto greeting = parse_greeting(packet.bytes);
  if (kind != expected || !greeting || !packet.descriptor) return reject(serial, "it did not greet as a peer does");
  if (!credible(serial, link, *greeting)) return;
  if (expected == FrameKind::hello) return on_hello(serial, *greeting, std::move(packet.descriptor));
  on_welcome(serial, *greeting, std::move(packet.descriptor));
}

void Watcher::on_linked_frame(Serial serial, Link& link, const FrameHead& head, Packet packet) {
  switch (static_cast<FrameKind>(head.kind)) {
    case FrameKind::message: {
      if (packet.descriptor || head.detail != 0) break;
      const auto body = packet.bytes.subspan(sizeof head);
      Event event;
      event.kind = Event::Kind::message;
      event.bytes.assign(body.begin(), body.end());
      return report(link, std::move(event), std::nullopt);
    }
    case FrameKind::expose: return on_exposure(serial, link, std::move(packet));
    case FrameKind::goodbye: {
      const char* why = head.detail == static_cast<std::uint32_t>(Goodbye::rejected) ? " rejected what this process sent"
                        : head.detail == static_cast<std::uint32_t>(Goodbye::stuck)
                            ? " gave up: this process did not take its messages"
                            : " closed the connection";
      // A peer that closes on purpose is not called again; it will call when it wants to.
      return lose(serial, Error(ErrorKind::member_lost, link.name() + why), std::nullopt);
    }
    default: break;
  }
  reject(serial, "it sent a frame that is not allowed on a link");
}

void Watcher::on_exposure(Serial serial, Link& link, Packet packet) {
  const auto exposure = parse_exposure(packet.bytes);
  if (!exposure || !packet.descriptor) return reject(serial, "it exposed a region in a malformed way");
  if (link.regions.size() >= regions_per_peer_max || !link.regions.insert(exposure->region).second) {
    return reject(serial, "it exposed too many regions at a time, or one twice");
  }
  auto segment = PeerSegment::open(std::move(packet.descriptor), exposure->bytes, exposure->access);
  if (!segment) return reject(serial, segment.error().message());
  Event event;
  event.kind = Event::Kind::exposed;
  event.access = exposure->access;
  event.region = exposure->region;
  event.region_bytes = exposure->bytes;
  report(link, std::move(event), std::move(segment).value());
}

void Watcher::on_ended(Serial serial) {
  const Link& link = links_.at(serial);
  const NodeId node = link.node;
  switch (link.state) {
    case Link::State::greeting: links_.erase(serial); return;
    case Link::State::calling:  // it ended before it answered; whoever listens there now is asked again
      links_.erase(serial);
      if (const auto want = wanted_.find(node); want != wanted_.end() && want->second > 0) {
        --want->second;
        if (auto called = call(node); !called)
          log::warn(log::Room::fabric, "call_failed", {{"reason", called.error().to_string()}});
      }
      return;
    case Link::State::linked: on_died(serial); return;
  }
}

void Watcher::on_died(Serial serial) {
  const Link& link = links_.at(serial);
  const NodeId node = link.node;
  lose(serial, Error(ErrorKind::member_lost, link.name() + " died"), std::nullopt);
  call_again(node);  // its successor may listen already
}

void Watcher::report(Link& link, Event event, std::optional<PeerSegment> segment) {
  event.peer = link.peer;
  event.node = link.node;
  link.inbox_bytes += event.bytes.size();
  ++link.inbox_count;
  if (link.reading && inbox_full(link)) {
    link.reading = false;
    set_interest(serial_of_peer_.at(link.peer), link, true);
  }
  news_.push_back({std::move(event), std::move(segment)});
  has_news_.store(true, std::memory_order_seq_cst);
  bell_.wake();
}

void Watcher::lose(Serial serial, Error reason, std::optional<Goodbye> goodbye) {
  const auto at = links_.find(serial);
  Link link = std::move(at->second);
  links_.erase(at);
  if (goodbye) {
    const FrameHead head{static_cast<std::uint32_t>(FrameKind::goodbye), static_cast<std::uint32_t>(*goodbye)};
    // Best effort: to a peer that does not read, the end of the connection must do.
    if (link.outbox.flush(link.socket.get()) == Outbox::Outcome::sent) {
      static_cast<void>(send_packet(link.socket.get(), bytes_of(head), {}, -1));
    }
  }
  if (link.state != Link::State::linked) return;
  serial_of_peer_.erase(link.peer);
  log::info(log::Room::fabric, "peer_lost", {{"node", link.node}, {"pid", link.pid}, {"reason", reason.message()}});
  Event event;
  event.kind = Event::Kind::lost;
  event.reason = std::move(reason);
  event.peer = link.peer;
  event.node = link.node;
  news_.push_back({std::move(event), std::nullopt});
  has_news_.store(true, std::memory_order_seq_cst);
  bell_.wake();
}

void Watcher::reject(Serial serial, const std::string& why) {
  const Link& link = links_.at(serial);
  log::warn(log::Room::fabric, "connection_rejected", {{"pid", link.pid}, {"reason", why}});
  if (refused_) refused_->add(1);
  lose(serial, Error(ErrorKind::member_lost, link.name() + " was disconnected: " + why), Goodbye::rejected);
}

void Watcher::on_outbox(Serial serial, Link& link, Outbox::Outcome outcome) {
  switch (outcome) {
    case Outbox::Outcome::sent: set_interest(serial, link, false); return;
    case Outbox::Outcome::queued: set_interest(serial, link, true); return;
    case Outbox::Outcome::failed:
      if (hung_up(link.socket.get())) return;  // its socket reports the end, after what it still holds
      return lose(serial, Error(ErrorKind::member_lost, link.name() + " cannot be sent to: " + std::strerror(errno)),
                  Goodbye::closed);
    case Outbox::Outcome::overflow:
      lose(serial, Error(ErrorKind::member_lost, link.name() + " does not take its messages"), Goodbye::stuck);
  }
}

void Watcher::transmit(PeerId peer, std::span<const std::byte> head, std::span<const std::byte> body, int descriptor) {
  const auto at = serial_of_peer_.find(peer);
  if (at == serial_of_peer_.end()) return;
  Link& link = links_.at(at->second);
  const auto outcome = link.outbox.push(link.socket.get(), head, body, descriptor);
  if (outcome != Outbox::Outcome::sent) on_outbox(at->second, link, outcome);
}

void Watcher::send_message(PeerId peer, std::span<const std::byte> bytes) {
  const std::lock_guard lock(mutex_);
  const FrameHead head{static_cast<std::uint32_t>(FrameKind::message), 0};
  transmit(peer, bytes_of(head), bytes, -1);
}

void Watcher::send_exposure(PeerId peer, RegionKey region, std::uint64_t bytes, Access access, int descriptor) {
  const std::lock_guard lock(mutex_);
  Exposure exposure{};
  exposure.head.kind = static_cast<std::uint32_t>(FrameKind::expose);
  exposure.region = region.value();
  exposure.bytes = bytes;
  exposure.access = access == Access::read ? 0 : 1;
  transmit(peer, bytes_of(exposure), {}, descriptor);
}

std::optional<News> Watcher::take() {
  const std::lock_guard lock(mutex_);
  if (news_.empty()) return std::nullopt;
  News news = std::move(news_.front());
  news_.pop_front();
  has_news_.store(!news_.empty(), std::memory_order_relaxed);
  const auto at = serial_of_peer_.find(news.event.peer);
  if (at == serial_of_peer_.end()) return news;
  Link& link = links_.at(at->second);
  link.inbox_bytes -= news.event.bytes.size();
  --link.inbox_count;
  if (!link.reading && inbox_half_empty(link)) {
    link.reading = true;
    set_interest(at->second, link, true);
  }
  return news;
}

void Watcher::disconnect(PeerId peer) {
  const std::lock_guard lock(mutex_);
  if (const auto at = serial_of_peer_.find(peer); at != serial_of_peer_.end()) {
    wanted_.erase(links_.at(at->second).node);
    lose(at->second, Error(ErrorKind::group_closed, "this process closed the connection"), Goodbye::closed);
  }
  std::erase_if(news_, [peer](const News& news) { return news.event.peer == peer; });
  has_news_.store(!news_.empty(), std::memory_order_relaxed);
}

}  // namespace spindrift::fabric::shm
