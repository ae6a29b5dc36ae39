// The bytes of one TCP connection, as both ends mean them: in the clear, or inside of TLS. Belongs to one thread at a time.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include <spindrift/core/audit.hpp>
#include <spindrift/core/file_descriptor.hpp>
#include <spindrift/core/ids.hpp>
#include <spindrift/core/result.hpp>

namespace spindrift::fabric::tcp {

/// The reason that is given for a stream that its other end has closed.
inline constexpr std::string_view connection_ended = "the connection ended";
inline constexpr std::string_view connection_broke = "the connection broke";

/// The error of a system call that failed because of the network or the other end.
[[nodiscard]] Error broken_connection(std::string_view call, int error);

/// Which end of a connection this process is.
enum class End : std::uint8_t { caller, listener };

class ByteStream {
 public:
  enum class Need : std::uint8_t { nothing, readable, writable };

  ByteStream() = default;
  virtual ~ByteStream() = default;
  ByteStream(const ByteStream&) = delete;
  ByteStream& operator=(const ByteStream&) = delete;

  /// Proves both ends to each other, as far as the kind of stream does that: what has to happen before it is called again;
  /// nothing: it is done. Errors: refused (the other end is not who may be there), member_lost.
  [[nodiscard]] virtual Result<Need> establish() = 0;
  /// Once established: whether the other end may speak for that node. Errors: refused.
  [[nodiscard]] virtual Result<void> vouches_for(NodeId node) const = 0;

  /// Once established: whether the other end is some member of the group, other than this node. Errors: refused.
  [[nodiscard]] virtual Result<void> is_member() const = 0;
  /// Once established: whether the other end may read what members deliver. Errors: refused.
  [[nodiscard]] virtual Result<void> may_observe() const = 0;
  /// Once established: whether the other end may call functions of this process. Errors: refused.
  [[nodiscard]] virtual Result<void> may_call() const = 0;

  /// The certificate that the other end has shown so far, accepted or refused; nothing: it has shown none, or nobody does.
  [[nodiscard]] virtual std::optional<ShownCertificate> certificate() const = 0;

  /// Once established: whether the other end would be let in today as well, after the keys in force have changed.
  /// Errors: refused.
  [[nodiscard]] virtual Result<void> recheck() const = 0;

  /// Reads the bytes that have come into the ranges, in order; 0: nothing now. Errors: member_lost (the end of the stream,
  /// too), refused.
  [[nodiscard]] virtual Result<std::size_t> read(std::span<const iovec> to) = 0;
  /// Bytes that the next reads will give for sure; there may be more.
  [[nodiscard]] virtual std::size_t known() const noexcept = 0;
  /// Whether something came that does not make the descriptor readable.
  [[nodiscard]] virtual bool holds_bytes() const noexcept = 0;
  /// Takes bytes of the ranges, in order, from the first on; how many, 0: none now. Errors: member_lost.
  [[nodiscard]] virtual Result<std::size_t> write(std::span<const iovec> from) = 0;
  /// Hands on what was taken and waits here; whether nothing is left. Errors: member_lost.
  [[nodiscard]] virtual Result<bool> flush() = 0;

  /// To wait for.
  [[nodiscard]] virtual int descriptor() const noexcept = 0;
};

/// A stream whose ends prove nothing: whoever is at the other end may do everything.
class UnprovenStream : public ByteStream {
 public:
  [[nodiscard]] Result<Need> establish() final { return Need::nothing; }
  [[nodiscard]] Result<void> vouches_for(NodeId) const final { return {}; }
  [[nodiscard]] Result<void> is_member() const final { return {}; }
  [[nodiscard]] Result<void> may_observe() const final { return {}; }
  [[nodiscard]] Result<void> may_call() const final { return {}; }
  [[nodiscard]] std::optional<ShownCertificate> certificate() const final { return std::nullopt; }
  [[nodiscard]] Result<void> recheck() const final { return {}; }
};

/// Not encrypted, and nobody proved. `socket`: connected or connecting, not blocking.
[[nodiscard]] std::unique_ptr<ByteStream> plain_stream(FileDescriptor socket);

}  // namespace spindrift::fabric::tcp
