// Packets through memory that two processes of one user share: two rings, one for each direction. Each packet is copied into
// a place of its own and out of it again, so that what an endpoint looks at nobody can change.
//
// A place begins with a word that its writer stores last: the turn in which it was written, and the packet's size. The
// reader says how far it is once per burst. Neither trusts the other's words: a turn is compared, a size and a count are
// bounded.
//
// The memory has no name and keeps its size, so that neither end can take it from under the other. A descriptor of it is
// passed over by whoever sets the two up: through a fork, or a socket of the Unix domain.
//
// There is nothing to sleep on: the owner polls. A peer's death is not noticed here but by its silence.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <spindrift/core/file_descriptor.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/rpc/packet_transport.hpp>

namespace spindrift::rpc {

struct ShmRingOptions {
  std::size_t payload_bytes = 4000;  ///< `payload_bytes_least` … `payload_bytes_most`
  std::uint32_t places = 256;        ///< of each ring, a power of two from 2 to 65536
  std::uint32_t burst_packets = 32;  ///< taken by one `receive`; at least 1
};

class ShmTransport final : public PacketTransport {
 public:
  /// Makes the memory. Errors: bad_argument, resource.
  [[nodiscard]] static Result<std::unique_ptr<ShmTransport>> create(const ShmRingOptions& options);
  /// A descriptor of the memory, for the other end. Errors: resource.
  [[nodiscard]] Result<FileDescriptor> share() const;
  /// The other end, of which there is one at most. Errors: bad_argument; refused (it belongs to another user, or could be
  /// made smaller); bad_input (it is no such memory, or made with other options); resource.
  [[nodiscard]] static Result<std::unique_ptr<ShmTransport>> open(FileDescriptor memory, const ShmRingOptions& options);
  ~ShmTransport() override;

  /// The way to the other end, the only one.
  [[nodiscard]] static PacketRoute peer() noexcept { return {{1, 0, 0}}; }
  /// Packets that found no room, and are lost.
  [[nodiscard]] std::uint64_t packets_unsent() const noexcept { return unsent_; }

  [[nodiscard]] std::size_t payload_bytes() const noexcept override { return options_.payload_bytes; }
  [[nodiscard]] std::uint32_t receive_packets() const noexcept override { return options_.places; }
  void send(std::span<const OutgoingPacket> burst) override;
  [[nodiscard]] std::span<const IncomingPacket> receive() override;

 private:
  class Mapping;

  ShmTransport(FileDescriptor memory, std::unique_ptr<Mapping> mapping, bool creator, const ShmRingOptions& options);
  [[nodiscard]] static Result<std::unique_ptr<ShmTransport>> map(FileDescriptor memory, bool creator,
                                                                 const ShmRingOptions& options);
  [[nodiscard]] bool has_room();

  const ShmRingOptions options_;
  FileDescriptor memory_;
  std::unique_ptr<Mapping> mapping_;
  std::byte* out_;  ///< the ring that this side writes
  std::byte* in_;
  std::uint64_t written_ = 0;
  std::uint64_t read_ = 0;
  std::uint64_t peer_read_ = 0;  ///< of what this side wrote, as last seen
  std::uint64_t unsent_ = 0;
  std::vector<std::byte> copies_;  ///< of the burst that was taken last
  std::vector<IncomingPacket> burst_;
};

}  // namespace spindrift::rpc
