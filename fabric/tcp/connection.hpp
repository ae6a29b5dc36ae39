// One connection over TCP: frames that wait to be sent, frames as they come, and where their bytes go.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include <spindrift/fabric/connected/connection.hpp>
#include <spindrift/fabric/connected/transport.hpp>
#include <spindrift/fabric/tcp/frame_reader.hpp>
#include <spindrift/fabric/tcp/handshakes.hpp>
#include <spindrift/fabric/tcp/send_backlog.hpp>
#include <spindrift/fabric/tcp/byte_stream.hpp>

namespace spindrift::fabric::tcp {

class TcpConnection final : public connected::Connection {
 public:
  /// One that calls has a ticket and no stream until it is `attached`; one that answers begins with its own greeting.
  TcpConnection(const connected::PeerCall& call, CallTicket ticket) : Connection(call), ticket_(ticket) {}
  TcpConnection(const connected::PeerCall& call, std::unique_ptr<ByteStream> stream,
                const connected::GreetingBytes& greeting);
  ~TcpConnection() override { close(); }

  /// The stream over which the other end has proved who it is, and was greeted.
  void attach(std::unique_ptr<ByteStream> stream);
  [[nodiscard]] CallTicket ticket() const noexcept { return ticket_; }

  void send(std::span<const std::byte> message, bool signaled, std::uint64_t context) override;
  void transfer(const connected::Transfer& transfer) override;
  [[nodiscard]] Result<void> recheck() const override { return stream_ == nullptr ? Result<void>() : stream_->recheck(); }
  [[nodiscard]] std::optional<ShownCertificate> certificate() const override {
    return stream_ == nullptr ? std::nullopt : stream_->certificate();
  }
  void ring() override { flush(); }
  void flush() override;
  [[nodiscard]] bool idle() const noexcept override;
  void close() override;

  /// Takes what has come, up to a share of the pass; whether there was any.
  bool receive(connected::TransportEvents& to);
  /// Tells what is over, and whose memory is not used any more.
  void tell_done(connected::TransportEvents& to);
  /// How what came broke the connection, if it was no mere end. Once.
  [[nodiscard]] std::optional<Error> take_refusal() noexcept { return std::exchange(refusal_, std::nullopt); }
  /// The events that its descriptor has to be watched for, as epoll counts them; 0: nothing, or there is none.
  [[nodiscard]] std::uint32_t awaited() const noexcept;
  [[nodiscard]] int descriptor() const noexcept { return stream_ == nullptr ? -1 : stream_->descriptor(); }
  /// Whether something is to be done that its descriptor does not tell.
  [[nodiscard]] bool ready() const noexcept;
  /// All has been said, and the other host's kernel has not acknowledged it: nothing will tell that it has.
  [[nodiscard]] bool awaits_acknowledgement() const noexcept;

 private:
  /// The stages of the connection, by what stands before its frames.
  enum class Stage : std::uint8_t {
    calling,    ///< no stream, or the other end's greeting has not come
    answering,  ///< the caller's first frame has not come
    linked,
  };
  /// An own read whose bytes have not all come.
  struct OpenRead {
    std::byte* local = nullptr;
    std::uint64_t bytes = 0;
    std::uint64_t done = 0;
    std::optional<std::uint64_t> context;
  };

  [[nodiscard]] Result<Right> give_right(connected::OwnRegion& region, Access access) override;
  void request(const connected::Transfer& read);
  void write_piece(const connected::Transfer& piece);
  void check_limits();
  void break_for(const Error& why);
  /// Takes the next bytes off the stream; how many.
  [[nodiscard]] Result<std::size_t> read_some();
  [[nodiscard]] Result<std::size_t> read_in_place(const FrameReader::Rest& rest, std::span<std::byte> target);
  /// Does what the bytes that came say.
  [[nodiscard]] Result<void> take_frames(connected::TransportEvents& to);
  [[nodiscard]] Result<void> take_greeting(connected::TransportEvents& to);
  [[nodiscard]] Result<void> on_piece(connected::TransportEvents& to, const FrameReader::Piece& piece);
  [[nodiscard]] Result<void> copy_piece(const FrameReader::Piece& piece);
  void on_message(connected::TransportEvents& to, std::span<const std::byte> message);
  [[nodiscard]] Result<void> on_read(const FrameReader::Piece& piece);
  /// The place of a frame's bytes from `done` on; empty: they are dropped. Errors: refused (it has no right to).
  [[nodiscard]] Result<std::span<std::byte>> place(const FrameHeader& header, std::uint64_t done);
  void landed(const FrameHeader& header, std::uint64_t bytes);
  void finish(const std::vector<SendBacklog::Done>& over);

  const CallTicket ticket_;
  Stage stage_ = Stage::calling;
  std::unique_ptr<ByteStream> stream_;
  FrameReader reader_;
  SendBacklog queue_;
  bool sealed_waits_ = false;  ///< the stream has taken what the socket has not
  std::vector<SendBacklog::Done> over_;
  std::vector<SendBacklog::Done> untold_;
  std::optional<Error> refusal_;
  std::unordered_map<std::uint64_t, OpenRead> reads_;
  std::uint64_t newest_read_ = 0;
};

}  // namespace spindrift::fabric::tcp
