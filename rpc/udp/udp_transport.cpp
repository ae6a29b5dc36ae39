// Sends and takes bursts by sendmmsg and recvmmsg.
#include <spindrift/rpc/udp/udp_transport.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <spindrift/core/check.hpp>
#include <spindrift/core/config/addresses.hpp>
#include <spindrift/rpc/wire.hpp>

namespace spindrift::rpc {
namespace {

union UdpAddress {
  sockaddr any;
  sockaddr_in v4;
  sockaddr_in6 v6;
};

/// At most so much memory of the kernel's does a packet with that payload take while it waits. It lies behind headers and in
/// front of a description of its pages, in a piece whose size is a power of two; a long one's rest in pages of their own.
std::size_t kernel_bytes(std::size_t payload_bytes) {
  constexpr std::size_t around = 128 + 320, description = 256, whole_bytes_max = 16384, page_bytes = 4096;
  const std::size_t bytes = header_bytes + payload_bytes + around;
  if (bytes <= whole_bytes_max) return std::bit_ceil(bytes) + description;
  return (bytes + page_bytes - 1) / page_bytes * page_bytes + 4 * description;
}
/// Packets of one call of sendmmsg.
constexpr std::size_t send_packets_max = 64;

socklen_t size_of(const UdpAddress& address) {
  return address.any.sa_family == AF_INET ? sizeof address.v4 : sizeof address.v6;
}

PacketRoute route_of(const UdpAddress& address) {
  PacketRoute route;
  if (address.any.sa_family == AF_INET) {
    route.words[0] = address.v4.sin_addr.s_addr;
    route.words[2] = address.v4.sin_port;
  } else {
    std::memcpy(route.words.data(), &address.v6.sin6_addr, 16);
    route.words[2] = address.v6.sin6_port;
  }
  return route;
}

UdpAddress address_of(const PacketRoute& route, int family) {
  UdpAddress address;
  std::memset(&address, 0, sizeof address);
  if (family == AF_INET) {
    address.v4.sin_family = AF_INET;
    address.v4.sin_addr.s_addr = static_cast<in_addr_t>(route.words[0]);
    address.v4.sin_port = static_cast<in_port_t>(route.words[2]);
  } else {
    address.v6.sin6_family = AF_INET6;
    std::memcpy(&address.v6.sin6_addr, route.words.data(), 16);
    address.v6.sin6_port = static_cast<in_port_t>(route.words[2]);
  }
  return address;
}

Result<UdpAddress> parse(std::string_view text) {
  SPINDRIFT_TRY_ASSIGN(const config::HostPort at, config::parse_host_port(text));
  if (!config::on_loopback(text)) {
    return Error(ErrorKind::unsupported,
                 "packets of calls are not encrypted, and nothing proves them to a peer on another host: only addresses of "
                 "the "
                 "loopback interface are taken")
        .at(std::string(text))
        .fix("use an address in 127.0.0.0/8, [::1] or localhost");
  }
  const std::string host = at.host == "localhost" ? "127.0.0.1" : at.host;
  std::uint16_t port = 0;
  std::from_chars(at.port.data(), at.port.data() + at.port.size(), port);
  UdpAddress address;
  std::memset(&address, 0, sizeof address);
  if (::inet_pton(AF_INET, host.c_str(), &address.v4.sin_addr) == 1) {
    address.v4.sin_family = AF_INET;
    address.v4.sin_port = htons(port);
    return address;
  }
  if (::inet_pton(AF_INET6, host.c_str(), &address.v6.sin6_addr) == 1) {
    address.v6.sin6_family = AF_INET6;
    address.v6.sin6_port = htons(port);
    return address;
  }
  return Error(ErrorKind::bad_argument, "that is no address in numbers")
      .at(std::string(text))
      .fix("write 127.0.0.1 or [::1]");
}

std::uint32_t packets_with_room(int socket, std::size_t payload_bytes) {
  int bytes = 0;
  socklen_t size = sizeof bytes;
  if (::getsockopt(socket, SOL_SOCKET, SO_RCVBUF, &bytes, &size) != 0 || bytes <= 0) return 1;
  return static_cast<std::uint32_t>(std::max<std::size_t>(1, static_cast<std::size_t>(bytes) / kernel_bytes(payload_bytes)));
}

}  // namespace

struct UdpTransport::Batch {
  Batch(std::size_t packets, std::size_t packet_bytes)
      : bytes(packets * packet_bytes), in(packets), in_pieces(packets), from(packets) {
    std::memset(in.data(), 0, in.size() * sizeof in[0]);
    std::memset(out.data(), 0, sizeof out);
    for (std::size_t i = 0; i < packets; ++i) {
      in_pieces[i] = {bytes.data() + i * packet_bytes, packet_bytes};
      in[i].msg_hdr.msg_iov = &in_pieces[i];
      in[i].msg_hdr.msg_iovlen = 1;
      in[i].msg_hdr.msg_name = &from[i];
    }
    taken.reserve(packets);
  }

  std::vector<std::byte> bytes;
  std::vector<mmsghdr> in;
  std::vector<iovec> in_pieces;
  std::vector<UdpAddress> from;
  std::vector<IncomingPacket> taken;
  std::array<mmsghdr, send_packets_max> out;
  std::array<std::array<iovec, 2>, send_packets_max> out_pieces;
  std::array<UdpAddress, send_packets_max> to;
};

UdpTransport::UdpTransport(FileDescriptor socket, int family, const UdpOptions& options)
    : socket_(std::move(socket)),
      family_(family),
      payload_bytes_(options.payload_bytes),
      receive_packets_(packets_with_room(socket_.get(), payload_bytes_)),
      batch_(std::make_unique<Batch>(options.burst_packets, header_bytes + options.payload_bytes)) {}

UdpTransport::~UdpTransport() = default;

Result<std::unique_ptr<UdpTransport>> UdpTransport::open(const UdpOptions& options) {
  if (options.payload_bytes < payload_bytes_least || options.payload_bytes > payload_bytes_most ||
      options.burst_packets == 0)
    return Error(ErrorKind::bad_argument, "a packet's payload is 512 to 65000 bytes, and a burst at least one packet");
  SPINDRIFT_TRY_ASSIGN(const UdpAddress address, parse(options.address));
  FileDescriptor socket(::socket(address.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return system_error("socket for UDP", errno);
  const int room = static_cast<int>(options.receive_buffer_bytes);
  if (::setsockopt(socket.get(), SOL_SOCKET, SO_RCVBUF, &room, sizeof room) != 0) return system_error("SO_RCVBUF", errno);
  if (::setsockopt(socket.get(), SOL_SOCKET, SO_SNDBUF, &room, sizeof room) != 0) return system_error("SO_SNDBUF", errno);
  if (::bind(socket.get(), &address.any, size_of(address)) != 0)
    return system_error("bind", errno).at(options.address).fix("choose a port that is free, or 0");
  return std::unique_ptr<UdpTransport>(new UdpTransport(std::move(socket), address.any.sa_family, options));
}

Result<PacketRoute> UdpTransport::route_to(std::string_view text) const {
  SPINDRIFT_TRY_ASSIGN(const UdpAddress address, parse(text));
  if (address.any.sa_family != family_)
    return Error(ErrorKind::bad_argument, "one address is of IPv4 and the other of IPv6").at(std::string(text));
  return route_of(address);
}

std::string UdpTransport::address() const {
  UdpAddress address;
  socklen_t size = sizeof address;
  if (::getsockname(socket_.get(), &address.any, &size) != 0) return "";
  char text[INET6_ADDRSTRLEN] = "";
  if (family_ == AF_INET) {
    ::inet_ntop(AF_INET, &address.v4.sin_addr, text, sizeof text);
    return std::string(text) + ":" + std::to_string(ntohs(address.v4.sin_port));
  }
  ::inet_ntop(AF_INET6, &address.v6.sin6_addr, text, sizeof text);
  return "[" + std::string(text) + "]:" + std::to_string(ntohs(address.v6.sin6_port));
}

bool UdpTransport::wait(Duration most) const {
  pollfd ready{socket_.get(), POLLIN, 0};
  const auto nanoseconds = std::max(most, Duration::zero()).count();
  const timespec patience{nanoseconds / 1'000'000'000, nanoseconds % 1'000'000'000};
  return ::ppoll(&ready, 1, &patience, nullptr) > 0;
}

void UdpTransport::send(std::span<const OutgoingPacket> burst) {
  while (!burst.empty()) {
    const auto part = burst.first(std::min(burst.size(), send_packets_max));
    burst = burst.subspan(part.size());
    for (std::size_t i = 0; i < part.size(); ++i) {
      const auto piece = [](std::span<const std::byte> bytes) {
        return iovec{const_cast<std::byte*>(bytes.data()), bytes.size()};
      };
      const bool together = part[i].header.data() + part[i].header.size() == part[i].payload.data();
      batch_->out_pieces[i] = {piece(part[i].header), piece(part[i].payload)};
      if (together) batch_->out_pieces[i][0].iov_len += part[i].payload.size();
      batch_->to[i] = address_of(part[i].to, family_);
      msghdr& message = batch_->out[i].msg_hdr;
      message.msg_name = &batch_->to[i];
      message.msg_namelen = size_of(batch_->to[i]);
      message.msg_iov = batch_->out_pieces[i].data();
      message.msg_iovlen = together || part[i].payload.empty() ? 1 : 2;
    }
    for (std::size_t done = 0; done < part.size();) {
      const int sent =
          ::sendmmsg(socket_.get(), batch_->out.data() + done, static_cast<unsigned>(part.size() - done), MSG_DONTWAIT);
      if (sent < 0 && errno == EINTR) continue;
      if (sent <= 0) ++unsent_;  // this one is lost; the next ones may not be
      done += sent <= 0 ? 1 : static_cast<std::size_t>(sent);
    }
  }
}

std::span<const IncomingPacket> UdpTransport::receive() {
  batch_->taken.clear();
  for (mmsghdr& message : batch_->in) message.msg_hdr.msg_namelen = sizeof(UdpAddress);
  const int count =
      ::recvmmsg(socket_.get(), batch_->in.data(), static_cast<unsigned>(batch_->in.size()), MSG_DONTWAIT, nullptr);
  for (int i = 0; i < count; ++i) {
    const mmsghdr& message = batch_->in[static_cast<std::size_t>(i)];
    if ((message.msg_hdr.msg_flags & MSG_TRUNC) != 0) continue;  // longer than any packet: none of ours
    const auto* const bytes = static_cast<const std::byte*>(message.msg_hdr.msg_iov->iov_base);
    batch_->taken.push_back({route_of(batch_->from[static_cast<std::size_t>(i)]), {bytes, message.msg_len}});
  }
  return batch_->taken;
}

}  // namespace spindrift::rpc
