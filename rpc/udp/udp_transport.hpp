// Packets as datagrams of UDP, over IPv4 or IPv6. A burst is one system call, or as many as the kernel makes of it.
//
// Packets are neither encrypted nor proved by more than a session's tokens, which whoever is on the path can read. So
// nothing but addresses of the loopback interface is taken, at either end, until packets are sealed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/file_descriptor.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/rpc/packet_transport.hpp>

namespace spindrift::rpc {

struct UdpOptions {
  std::string address = "127.0.0.1:0";  ///< "host:port" or "[v6]:port" of the loopback interface; port 0: any that is free
  std::size_t payload_bytes = 1408;  ///< with headers, a packet of Ethernet. `payload_bytes_least` … `payload_bytes_most`
  std::uint32_t burst_packets = 32;  ///< taken by one `receive`; at least 1
  /// Memory of the kernel for packets that have come; it may give less.
  std::uint32_t receive_buffer_bytes = 4u << 20;
};

class UdpTransport final : public PacketTransport {
 public:
  /// Errors: bad_argument; unsupported (an address that is not of the loopback interface); resource.
  [[nodiscard]] static Result<std::unique_ptr<UdpTransport>> open(const UdpOptions& options);
  ~UdpTransport() override;

  /// The way to an endpoint at that address, which is of the same family. Errors: bad_argument, unsupported.
  [[nodiscard]] Result<PacketRoute> route_to(std::string_view address) const;
  /// As others call it, with the port that it has.
  [[nodiscard]] std::string address() const;
  /// Packets that found no room in the kernel, and are lost.
  [[nodiscard]] std::uint64_t packets_unsent() const noexcept { return unsent_; }

  /// Sleeps until something has come, or that time is over. Returns whether something has.
  [[nodiscard]] bool wait(Duration most) const;

  [[nodiscard]] std::size_t payload_bytes() const noexcept override { return payload_bytes_; }
  /// By what the kernel takes for a packet of full size; it has room for more of smaller ones.
  [[nodiscard]] std::uint32_t receive_packets() const noexcept override { return receive_packets_; }
  void send(std::span<const OutgoingPacket> burst) override;
  [[nodiscard]] std::span<const IncomingPacket> receive() override;

 private:
  struct Batch;  ///< arrays for the system calls

  UdpTransport(FileDescriptor socket, int family, const UdpOptions& options);

  FileDescriptor socket_;
  int family_;
  std::size_t payload_bytes_;
  std::uint32_t receive_packets_ = 0;
  std::uint64_t unsent_ = 0;
  std::unique_ptr<Batch> batch_;
};

}  // namespace spindrift::rpc
