// Connections that are watched together; each step reads a connection once at most, so that what was given stays.
#include <spindrift/rpc/tcp/tcp_transport.hpp>

#include <algorithm>
#include <array>
#include <cerrno>

#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <spindrift/core/check.hpp>
#include <spindrift/core/config/addresses.hpp>
#include <spindrift/core/log.hpp>
#include <spindrift/fabric/connected/wire.hpp>
#include <spindrift/fabric/tcp/socket.hpp>
#include <spindrift/fabric/tls/credentials.hpp>
#include <spindrift/rpc/tcp/tcp_link.hpp>
#include <spindrift/rpc/wire.hpp>

namespace spindrift::rpc {
namespace {

using fabric::tcp::Handshakes;

/// A host that is gone is noticed by silence; a peer that reads nothing keeps its connection for a minute.
constexpr fabric::tcp::SocketPatience patience{std::chrono::seconds(10), std::chrono::seconds(60)};
constexpr Duration between_full = std::chrono::minutes(1);  // that callers find no place is said so often
constexpr std::uint64_t handshakes_event = 0;  // links are numbered from 1

Result<std::string> text_of(const fabric::connected::SocketAddress& at) {
  SPINDRIFT_TRY_ASSIGN(const auto numbers, fabric::connected::in_numbers(at));
  const bool v6 = at.storage.ss_family == AF_INET6;
  return (v6 ? "[" + numbers.host + "]" : numbers.host) + ":" + numbers.port;
}

Result<std::string> address_of(const FileDescriptor& socket) {
  fabric::connected::SocketAddress at;
  at.bytes = sizeof at.storage;
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&at.storage), &at.bytes) != 0)
    return system_error("getsockname", errno);
  return text_of(at);
}

Result<void> check(const StreamOptions& options) {
  const std::size_t packet = frame_head_bytes + header_bytes + options.payload_bytes;
  const bool sound = options.payload_bytes >= payload_bytes_least && options.payload_bytes <= payload_bytes_most &&
                     options.burst_packets > 0 && options.receive_packets > 0 && options.output_bytes_max >= 2 * packet;
  if (sound) return {};
  return Error(ErrorKind::bad_argument,
               "a packet's payload is 512 to 65000 bytes, a burst and what is received at least one packet, and "
               "output_bytes_max at least two");
}

}  // namespace

StreamTransport::StreamTransport(StreamOptions options) : options_(std::move(options)) {
  taken_.reserve(options_.burst_packets);
}

// The thread of handshakes ends first: it would hand over streams.
StreamTransport::~StreamTransport() { handshakes_.reset(); }

Result<std::unique_ptr<StreamTransport>> StreamTransport::open(StreamOptions options) {
  SPINDRIFT_TRY(check(options));
  std::unique_ptr<StreamTransport> transport(new StreamTransport(std::move(options)));
  SPINDRIFT_TRY(transport->start());
  return transport;
}

Result<void> StreamTransport::check_proof(const std::string& address) const {
  if (options_.credentials != nullptr || options_.unproven || config::on_loopback(address)) return {};
  return Error(ErrorKind::unsupported,
               "without keys nobody proves who he is, and nothing is encrypted, so only addresses of the loopback interface "
               "are taken")
      .at(address)
      .fix("load the keys that spindrift keys made, or say that all may be unproven, as [SPINDRIFT] security = none does");
}

Result<void> StreamTransport::start() {
  events_ = FileDescriptor(::epoll_create1(EPOLL_CLOEXEC));
  if (!events_) return system_error("epoll_create1", errno);
  FileDescriptor listener;
  if (!options_.listen.empty()) {
    SPINDRIFT_TRY(check_proof(options_.listen));
    SPINDRIFT_TRY_ASSIGN(const auto at, fabric::connected::resolve(options_.listen, false));
    SPINDRIFT_TRY_ASSIGN(listener, fabric::tcp::listen_at(at));
    SPINDRIFT_TRY_ASSIGN(address_, address_of(listener));
    if (options_.credentials == nullptr && !config::on_loopback(options_.listen)) {
      log::warn(log::Room::fabric, "who calls functions proves nothing, and nothing of it is encrypted",
                {{"listens", address_}});
    }
  }
  if (options_.credentials != nullptr) keys_revision_ = options_.credentials->revision();
  SPINDRIFT_TRY_ASSIGN(handshakes_, Handshakes::start(std::move(listener), {options_.credentials, patience, options_.audit,
                                                                            Handshakes::Purpose::calls}));
  epoll_event event{.events = EPOLLIN, .data = {.u64 = handshakes_event}};
  if (::epoll_ctl(events_.get(), EPOLL_CTL_ADD, handshakes_->descriptor(), &event) != 0)
    return system_error("epoll_ctl", errno);
  return {};
}

TcpLink& StreamTransport::add_link(std::string with) {
  const std::uint64_t id = ++links_made_;
  auto link = std::make_unique<TcpLink>(id, header_bytes + options_.payload_bytes, options_.output_bytes_max);
  link->with = std::move(with);
  return *links_.emplace(id, std::move(link)).first->second;
}

TcpLink* StreamTransport::find(std::uint64_t id) const {
  const auto at = links_.find(id);
  return at == links_.end() ? nullptr : at->second.get();
}

Result<PacketRoute> StreamTransport::call(NodeId node, const std::string& address) {
  return call(node, address, "node " + std::to_string(node.value()) + " at " + address, 0);
}

Result<PacketRoute> StreamTransport::call(const std::string& address, std::size_t turn) {
  return call(std::nullopt, address, "a member at " + address, turn);
}

Result<PacketRoute> StreamTransport::call(std::optional<NodeId> node, const std::string& address, std::string with,
                                          std::size_t turn) {
  SPINDRIFT_TRY_ASSIGN(const auto all, fabric::connected::resolve_all(address));
  const auto& at = all[turn % all.size()];
  SPINDRIFT_TRY_ASSIGN(const std::string numbers, text_of(at));
  SPINDRIFT_TRY(check_proof(numbers));
  TcpLink& link = add_link(std::move(with));
  handshakes_->call({fabric::tcp::CallTicket(link.id), node, at, fabric::connected::client_greeting()});
  return link.route();
}

void StreamTransport::hang_up(const PacketRoute& route) {
  TcpLink* const link = find(route.words[0]);
  if (link == nullptr) return;
  if (link->stream == nullptr) handshakes_->forget(fabric::tcp::CallTicket(link->id));
  end(*link, Error(ErrorKind::group_closed, "this side has hung up"));
}

std::optional<TcpPeer> StreamTransport::peer(const PacketRoute& route) const {
  const TcpLink* const link = find(route.words[0]);
  if (link == nullptr) return std::nullopt;
  return TcpPeer{link->with, link->stream != nullptr, link->certificate()};
}

std::optional<Error> StreamTransport::why_over(const PacketRoute& route) const {
  const auto at = std::find_if(gone_.begin(), gone_.end(), [&](const auto& link) { return link->id == route.words[0]; });
  return at == gone_.end() ? std::nullopt : (*at)->over;
}

std::size_t StreamTransport::output_bytes() const {
  std::size_t bytes = 0;
  for (const auto& [id, link] : links_) bytes += link->out.bytes();
  return bytes;
}

bool StreamTransport::wait(Duration most, int interrupt) const {
  if (!ready_.empty() || !ended_.empty()) return true;
  std::array<pollfd, 2> ready{{{events_.get(), POLLIN, 0}, {interrupt, POLLIN, 0}}};
  const auto nanoseconds = std::max(most, Duration::zero()).count();
  const timespec time{nanoseconds / 1'000'000'000, nanoseconds % 1'000'000'000};
  return ::ppoll(ready.data(), ready.size(), &time, nullptr) > 0 && ready[0].revents != 0;
}

void StreamTransport::watch(TcpLink& link, bool first) {
  epoll_event event{.events = link.blocked ? EPOLLIN | EPOLLOUT : EPOLLIN, .data = {.u64 = link.id}};
  if (::epoll_ctl(events_.get(), first ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, link.stream->descriptor(), &event) == 0) return;
  link.broken = system_error("epoll_ctl", errno);
  list(link);
}

void StreamTransport::list(TcpLink& link) {
  if (!std::exchange(link.listed, true)) ready_.push_back(link.id);
}

void StreamTransport::end(TcpLink& link, const Error& why) {
  log::info(log::Room::fabric, "a connection for calls is over", {{"with", link.with}, {"reason", why.to_string()}});
  if (link.stream != nullptr)
    static_cast<void>(::epoll_ctl(events_.get(), EPOLL_CTL_DEL, link.stream->descriptor(), nullptr));
  ended_.push_back(link.route());
  link.over = why;
  const auto at = links_.find(link.id);
  gone_.push_back(std::move(at->second));
  links_.erase(at);
}

void StreamTransport::flush(TcpLink& link) {
  if (link.stream == nullptr || link.broken) return;
  const auto gone = link.out.flush(*link.stream);
  if (!gone) {  // what came before is given first; the reading tells the end
    link.broken = gone.error();
    list(link);
  } else if (link.blocked == *gone) {
    link.blocked = !*gone;
    watch(link, false);
  }
}

void StreamTransport::put(TcpLink& link, const OutgoingPacket& packet) {
  CHECK(packet.header.size() == header_bytes && packet.payload.size() <= options_.payload_bytes);
  if (!link.out.put(packet.header, packet.payload)) {
    if (!link.blocked) flush(link);
    if (link.broken || !link.out.put(packet.header, packet.payload)) {
      ++unsent_;
      return;
    }
  }
  if (!std::exchange(link.unflushed, true)) unflushed_.push_back(link.id);
}

void StreamTransport::send(std::span<const OutgoingPacket> burst) {
  for (const OutgoingPacket& packet : burst) {
    if (TcpLink* const link = find(packet.to.words[0])) {
      put(*link, packet);
      continue;
    }
    ++unsent_;
    if (std::find(ended_.begin(), ended_.end(), packet.to) == ended_.end()) ended_.push_back(packet.to);
  }
  for (const std::uint64_t id : unflushed_) {
    TcpLink* const link = find(id);
    if (link == nullptr) continue;
    link->unflushed = false;
    if (!link->blocked) flush(*link);
  }
  unflushed_.clear();
}

std::string StreamTransport::full(const fabric::tcp::ByteStream& stream) const {
  const auto shown = stream.certificate();
  std::uint32_t all = 0, same = 0;
  for (const auto& [id, link] : links_) {
    if (!link->accepted) continue;
    ++all;
    if (shown && link->identity() == shown->identity) ++same;
  }
  if (all >= options_.callers_max) return "there are " + std::to_string(all) + " callers, as many as there may be";
  if (same < options_.callers_per_identity) return {};
  return "there are " + std::to_string(same) + " callers that are " + shown->identity + ", as many as one may have";
}

void StreamTransport::accept(fabric::tcp::ReceivedCall&& call) {
  if (const std::string why = full(*call.stream); !why.empty()) {
    const Time now = SystemClock().now();
    if (now >= next_full_) {
      next_full_ = now + between_full;
      log::warn(log::Room::fabric, "a caller of functions finds no place", {{"from", call.from}, {"reason", why}});
    }
    return;
  }
  if (auto shown = call.stream->certificate())
    options_.audit->write({.kind = AuditKind::proved, .from = call.from, .certificate = std::move(shown)});
  TcpLink& link = add_link(std::move(call.from));
  link.accepted = true;
  connected(link.id, std::move(call.stream));
}

void StreamTransport::connected(std::uint64_t id, std::unique_ptr<fabric::tcp::ByteStream> stream) {
  TcpLink* const link = find(id);
  if (link == nullptr) return;
  link->stream = std::move(stream);
  watch(*link, true);
  list(*link);  // what came behind the handshake makes no descriptor readable
  flush(*link);
}

void StreamTransport::take_outcomes() {
  for (auto outcome = handshakes_->take(); outcome; outcome = handshakes_->take()) {
    if (auto* const received = std::get_if<fabric::tcp::ReceivedCall>(&*outcome)) {
      accept(std::move(*received));
    } else if (auto* const made = std::get_if<fabric::tcp::MadeCall>(&*outcome)) {
      connected(made->ticket.value(), std::move(made->stream));
    } else if (const auto* const failed = std::get_if<fabric::tcp::FailedCall>(&*outcome)) {
      if (TcpLink* const link = find(failed->ticket.value())) end(*link, failed->why);
    }
  }
}

// The thread of handshakes looks at the files once a second, or the fabric's does.
void StreamTransport::look_at_keys() {
  if (options_.credentials == nullptr || options_.credentials->revision() == keys_revision_) return;
  keys_revision_ = options_.credentials->revision();
  std::vector<std::pair<TcpLink*, Error>> refused;
  for (const auto& [id, link] : links_) {
    if (link->stream == nullptr) continue;
    if (auto good = link->stream->recheck(); !good) refused.emplace_back(link.get(), std::move(good).error());
  }
  for (auto& [link, why] : refused) {
    options_.audit->write(
        {.kind = AuditKind::cut_off, .from = link->with, .certificate = link->certificate(), .reason = why.to_string()});
    end(*link, why);
  }
}

void StreamTransport::look_at_sockets() {
  std::array<epoll_event, 64> events;
  const int count = ::epoll_wait(events_.get(), events.data(), static_cast<int>(events.size()), 0);
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    if (event.data.u64 == handshakes_event) {
      take_outcomes();
      continue;
    }
    TcpLink* const link = find(event.data.u64);
    if (link == nullptr) continue;
    if ((event.events & EPOLLOUT) != 0) flush(*link);
    if ((event.events & ~EPOLLOUT) != 0) list(*link);
  }
}

void StreamTransport::take_packets(TcpLink& link, std::size_t most) {
  if (!link.in.complete()) {
    const auto came = link.in.read(*link.stream);
    if (!came) return end(link, came.error());
    if (*came == 0 && link.broken) return end(link, *link.broken);
  }
  for (std::size_t count = 0; count < most; ++count) {
    const auto packet = link.in.next();
    if (!packet) return end(link, packet.error());
    if (!*packet) break;
    taken_.push_back({link.route(), **packet});
  }
  if (link.in.complete() || link.stream->holds_bytes() || link.broken) list(link);
}

std::span<const IncomingPacket> StreamTransport::receive() {
  gone_.clear();
  taken_.clear();
  look_at_sockets();
  look_at_keys();
  const std::size_t links = ready_.size();
  const std::size_t share = std::max<std::size_t>(1, options_.burst_packets / std::max<std::size_t>(links, 1));
  for (std::size_t i = 0; i < links && taken_.size() < options_.burst_packets; ++i) {
    TcpLink* const link = find(ready_.front());
    ready_.pop_front();
    if (link == nullptr) continue;
    link->listed = false;
    take_packets(*link, std::min(share, options_.burst_packets - taken_.size()));
  }
  return taken_;
}

std::span<const PacketRoute> StreamTransport::ended_routes() {
  told_.clear();
  std::swap(told_, ended_);
  return told_;
}

}  // namespace spindrift::rpc
