// A connection that has begun, in the thread of handshakes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/file_descriptor.hpp>
#include <spindrift/fabric/connected/socket_address.hpp>
#include <spindrift/fabric/connected/wire.hpp>
#include <spindrift/fabric/tcp/byte_stream.hpp>
#include <spindrift/fabric/tcp/handshakes.hpp>

namespace spindrift::fabric::tcp {

struct BegunConnection {
  enum class Stage : std::uint8_t {
    connecting,  ///< of a call of this process
    silent,      ///< of a caller: nothing has come yet, and nothing but a descriptor was spent on it
    proving,
    greeting,
    answering,  ///< a caller that asked for the group is told, and has to hang up then
  };
  Stage stage = Stage::silent;
  FileDescriptor socket;               ///< connecting or silent
  std::unique_ptr<ByteStream> stream;  ///< from then on
  Time deadline{};
  connected::SocketAddress address;
  std::optional<Handshakes::Call> call;  ///< nothing: it was accepted
  connected::GreetingBytes greeting{};   ///< of an accepted one, as far as it came
  std::size_t greeted = 0;               ///< bytes of a greeting that came, or were sent; then of the answer
  std::vector<std::byte> answer{};       ///< its length, and the text

  [[nodiscard]] int descriptor() const noexcept { return stream != nullptr ? stream->descriptor() : socket.get(); }
  /// Whether admission counts it: a caller that has said something.
  [[nodiscard]] bool counted() const noexcept { return !call && stage != Stage::silent; }
};

}  // namespace spindrift::fabric::tcp
