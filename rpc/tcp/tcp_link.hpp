// One connection that carries packets of calls. Belongs to the thread of its transport.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <spindrift/core/audit.hpp>
#include <spindrift/fabric/tcp/byte_stream.hpp>
#include <spindrift/rpc/packet_transport.hpp>
#include <spindrift/rpc/tcp/packet_frames.hpp>

namespace spindrift::rpc {

struct TcpLink {
  TcpLink(std::uint64_t number, std::size_t packet_bytes_max, std::size_t output_bytes_max)
      : id(number), in(packet_bytes_max), out(output_bytes_max) {}

  std::uint64_t id;                                   ///< of no other one
  std::unique_ptr<fabric::tcp::ByteStream> stream{};  ///< null: a call is under way
  bool accepted = false;                              ///< the other end called
  std::string with{};                                 ///< "10.0.0.1 port 7400", or "node 3 at HOST:PORT" of a callee
  PacketFrames in;
  OutgoingPackets out;
  bool blocked = false;          ///< what is to go waits for the socket
  bool listed = false;           ///< among those that have something to give
  bool unflushed = false;        ///< among those that something was put into
  std::optional<Error> broken{}; ///< nothing more goes there, for that reason
  std::optional<Error> over{};   ///< the reason for which it is none any more

  [[nodiscard]] PacketRoute route() const noexcept { return {{id, 0, 0}}; }
  [[nodiscard]] std::optional<ShownCertificate> certificate() const {
    return stream == nullptr ? std::nullopt : stream->certificate();
  }
  /// Empty: it proves nothing.
  [[nodiscard]] std::string identity() const {
    const auto shown = certificate();
    return shown ? shown->identity : std::string();
  }
};

}  // namespace spindrift::rpc
