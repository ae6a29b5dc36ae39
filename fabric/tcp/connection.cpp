// Sending and receiving frames.
#include <spindrift/fabric/tcp/connection.hpp>

#include <sys/epoll.h>

#include <algorithm>
#include <utility>

#include <spindrift/fabric/endpoint_parts.hpp>
#include <spindrift/fabric/tcp/socket.hpp>
#include <spindrift/fabric/word_copy.hpp>

namespace spindrift::fabric::tcp {
namespace {

constexpr std::size_t ranges_max = 64;
/// Payloads up to so many bytes are copied behind their header: a range of their own costs the kernel more.
constexpr std::size_t copied_bytes_max = 512;
/// The least that goes straight from the socket to its place.
constexpr std::size_t direct_bytes_min = 4096;
/// The most that is read in advance behind a large frame: headers, and small frames.
constexpr std::size_t advance_bytes = 4096;
/// The share of one connection in one pass.
constexpr std::size_t share_bytes = 1U << 20U;
constexpr std::uint64_t waiting_bytes_max = 64U << 20U;
constexpr std::size_t waiting_entries_max = 1U << 18U;
constexpr std::uint64_t word_bytes = 8;

}  // namespace

TcpConnection::TcpConnection(const connected::PeerCall& call, std::unique_ptr<ByteStream> stream,
                             const connected::GreetingBytes& greeting)
    : Connection(call), stage_(Stage::answering), stream_(std::move(stream)) {
  queue_.add(greeting);
}

void TcpConnection::attach(std::unique_ptr<ByteStream> stream) { stream_ = std::move(stream); }

void TcpConnection::send(std::span<const std::byte> message, bool signaled, std::uint64_t context) {
  if (broken()) return;
  queue_.add(encode(FrameHeader{FramePurpose::message, static_cast<std::uint32_t>(message.size()), 0, 0}));
  queue_.add(message);
  if (signaled) queue_.end_with({nullptr, context});
  check_limits();
}

void TcpConnection::transfer(const connected::Transfer& transfer) {
  if (broken()) return;
  if (transfer.reads) {
    request(transfer);
  } else {
    connected::cut(transfer, frame_bytes_max, [this](const connected::Transfer& piece) { write_piece(piece); });
  }
  check_limits();
}

void TcpConnection::write_piece(const connected::Transfer& piece) {
  const std::span<const std::byte> bytes(piece.local, piece.bytes);
  if (!bytes.empty())
    queue_.add(
        encode(FrameHeader{FramePurpose::write, static_cast<std::uint32_t>(piece.bytes), piece.remote_key, piece.address}));
  SendBacklog::Done done;
  if (piece.signaled) done.context = piece.context;
  if (piece.copied || piece.bytes <= copied_bytes_max) {
    queue_.add(bytes);
  } else {
    queue_.add_in_place(bytes);
    done.region = piece.region;
    if (piece.region != nullptr) ++piece.region->reading;
  }
  if (done.region != nullptr || done.context) queue_.end_with(done);
}

void TcpConnection::request(const connected::Transfer& read) {
  OpenRead open{read.local, read.bytes, 0, {}};
  if (read.signaled) open.context = read.context;
  const std::uint64_t token = ++newest_read_;
  if (read.bytes == 0) return finish({{nullptr, open.context}});
  reads_.emplace(token, open);
  queue_.add(encode(FrameHeader{FramePurpose::read, read_request_bytes, read.remote_key, read.address}));
  queue_.add(encode(ReadRequest{token, read.bytes}));
}

void TcpConnection::check_limits() {
  unsent_bytes = queue_.bytes();
  if (queue_.bytes() > waiting_bytes_max || queue_.entries() > waiting_entries_max)
    break_down("it takes nothing of what waits for it");
}

void TcpConnection::flush() {
  const bool speaks = stream_ != nullptr && !(stage_ == Stage::calling);
  if (!speaks || broken() || (queue_.empty() && !sealed_waits_)) return;
  queue_.left(0, over_);  // a frame without bytes is over, and no write would say so
  while (!queue_.empty()) {
    std::array<iovec, ranges_max> ranges;
    const auto sent = stream_->write(std::span(ranges).first(queue_.ranges(ranges)));
    if (!sent) return break_down(sent.error().to_string());
    if (*sent == 0) break;
    queue_.left(*sent, over_);
  }
  finish(std::exchange(over_, {}));
  unsent_bytes = queue_.bytes();
  const auto flushed = stream_->flush();
  if (!flushed) return break_down(flushed.error().to_string());
  sealed_waits_ = !*flushed;
}

void TcpConnection::finish(const std::vector<SendBacklog::Done>& over) {
  untold_.insert(untold_.end(), over.begin(), over.end());
}

void TcpConnection::tell_done(connected::TransportEvents& to) {
  for (const SendBacklog::Done& done : std::exchange(untold_, {})) {
    if (done.region != nullptr) {
      --done.region->reading;
      to.on_unused(*done.region);
    }
    if (done.context) to.on_completed(*this, *done.context);
  }
}

// A socket that is closed with bytes in it, or before the last ones were acknowledged, would take them back.
bool TcpConnection::idle() const noexcept {
  if (stream_ == nullptr) return true;
  return queue_.empty() && !sealed_waits_ && untold_.empty() && unacknowledged_bytes(descriptor()) == 0;
}

bool TcpConnection::awaits_acknowledgement() const noexcept {
  return call().state == connected::PeerCall::State::closing && queue_.empty() && !sealed_waits_ && stream_ != nullptr;
}

void TcpConnection::close() {
  revoke_all();
  stream_.reset();
  queue_.drop(untold_);
  for (const SendBacklog::Done& done : std::exchange(untold_, {})) {
    if (done.region != nullptr) --done.region->reading;
  }
  reads_.clear();
  unsent_bytes = 0;
}

std::uint32_t TcpConnection::awaited() const noexcept {
  if (stream_ == nullptr || broken()) return 0;
  const bool writes = stage_ != Stage::calling && (!queue_.empty() || sealed_waits_);
  return (full() ? 0U : std::uint32_t{EPOLLIN}) | (writes ? std::uint32_t{EPOLLOUT} : 0U);
}

bool TcpConnection::ready() const noexcept {
  return !untold_.empty() || (stream_ != nullptr && !full() && stream_->holds_bytes());
}

Result<TcpConnection::Right> TcpConnection::give_right(connected::OwnRegion&, Access) {
  SPINDRIFT_TRY_ASSIGN(const std::uint64_t key, random_word());
  return Right{key, 0, std::make_unique<connected::Registration>()};
}

void TcpConnection::break_for(const Error& why) {
  if (why.kind() == ErrorKind::refused) refusal_ = why;
  break_down(why.message() == connection_ended ? "the connection broke" : why.to_string());
}

bool TcpConnection::receive(connected::TransportEvents& to) {
  std::size_t taken = 0;
  while (stream_ != nullptr && !broken() && !full() && taken < share_bytes) {
    const auto came = read_some();
    if (!came) {
      break_for(came.error());
      break;
    }
    if (const auto done = take_frames(to); !done) {
      break_for(done.error());
      break;
    }
    if (*came == 0) break;
    taken += *came;
    to.on_heard(*this);
    if (stream_->known() == 0 && !stream_->holds_bytes()) break;
  }
  return taken > 0;
}

// The bytes of a large frame that are surely there go straight to their place; what else comes goes through the reader.
Result<std::size_t> TcpConnection::read_some() {
  const auto rest = reader_.rest();
  const std::size_t known = stream_->known();
  if (rest && stage_ == Stage::linked && known >= rest->gap + direct_bytes_min && rest->bytes() >= direct_bytes_min) {
    // A word that has begun in the reader is not at its place yet: the frame goes on there.
    SPINDRIFT_TRY_ASSIGN(auto target, place(rest->header, rest->done - rest->word));
    if (!target.empty()) target = target.subspan(rest->word);
    const auto bytes = std::min<std::uint64_t>({target.size(), known - rest->gap, rest->bytes()});
    const std::uint64_t torn = bytes < rest->bytes() ? (rest->header.offset + rest->done + bytes) % word_bytes : 0;
    if (bytes > torn) return read_in_place(*rest, target.first(bytes - torn));
  }
  const std::span<std::byte> room = reader_.room();
  const bool headers_alone = reader_.large_frames() && known > advance_bytes;
  const iovec only{room.data(), headers_alone ? std::min(room.size(), advance_bytes) : room.size()};
  SPINDRIFT_TRY_ASSIGN(const std::size_t came, stream_->read({&only, 1}));
  reader_.came(came);
  return came;
}

// Three ranges of the stream: the rest of a word that has begun in the reader, the bytes that go to `target`, and what comes
// behind them, which lies behind the word in the reader.
Result<std::size_t> TcpConnection::read_in_place(const FrameReader::Rest& rest, std::span<std::byte> target) {
  const std::span<std::byte> room = reader_.room();
  const std::array<iovec, 3> ranges{iovec{room.data(), rest.gap}, iovec{target.data(), target.size()},
                                    iovec{room.data() + rest.gap, std::min(room.size() - rest.gap, advance_bytes)}};
  SPINDRIFT_TRY_ASSIGN(const std::size_t came, stream_->read(std::span(ranges).subspan(rest.gap == 0 ? 1 : 0)));
  const std::size_t of_word = std::min(came, rest.gap);
  const std::size_t in_place = std::min(came - of_word, target.size());
  reader_.came(of_word);
  if (in_place > 0 && rest.gap > 0) {
    SPINDRIFT_TRY_ASSIGN(const auto word, reader_.take());
    CHECK(word.has_value());
    SPINDRIFT_TRY(copy_piece(*word));
  }
  if (in_place > 0) {
    reader_.landed(in_place);
    landed(rest.header, in_place);
  }
  reader_.came(came - of_word - in_place);
  return came;
}

Result<void> TcpConnection::take_frames(connected::TransportEvents& to) {
  if (stage_ == Stage::calling) {
    SPINDRIFT_TRY(take_greeting(to));
    if (stage_ == Stage::calling || broken()) return {};
  }
  while (!broken() && !full()) {
    SPINDRIFT_TRY_ASSIGN(const auto piece, reader_.take());
    if (!piece) return {};
    SPINDRIFT_TRY(on_piece(to, *piece));
  }
  return {};
}

// The other end learns from the first frame that its answer was heard.
Result<void> TcpConnection::take_greeting(connected::TransportEvents& to) {
  const auto bytes = reader_.take_bytes(sizeof(connected::GreetingBytes));
  if (!bytes) return {};
  const auto greeting = connected::decode_greeting(*bytes);
  if (!greeting) return Error(ErrorKind::refused, "who answers there speaks another protocol");
  SPINDRIFT_TRY(stream_->vouches_for(greeting->node));
  to.on_established(*this, *bytes);
  if (broken()) return {};
  stage_ = Stage::linked;
  say(connected::encode(connected::Kind::alive, 0), false);
  return {};
}

Result<void> TcpConnection::on_piece(connected::TransportEvents& to, const FrameReader::Piece& piece) {
  if (piece.header.kind == FramePurpose::message) {
    on_message(to, piece.bytes);
    return {};
  }
  if (stage_ != Stage::linked) return Error(ErrorKind::refused, "it does not keep to the protocol of connections");
  if (piece.header.kind == FramePurpose::read) return on_read(piece);
  return copy_piece(piece);
}

Result<void> TcpConnection::copy_piece(const FrameReader::Piece& piece) {
  SPINDRIFT_TRY_ASSIGN(const auto target, place(piece.header, piece.done));
  if (!target.empty()) copy_to_shared(target.data(), piece.bytes.data(), piece.bytes.size());
  landed(piece.header, piece.bytes.size());
  return {};
}

void TcpConnection::on_message(connected::TransportEvents& to, std::span<const std::byte> message) {
  if (stage_ == Stage::answering) {
    stage_ = Stage::linked;
    to.on_first_word(*this, message);
    if (broken()) return;
  }
  to.on_message(*this, message);
}

// A right may end between two parts of a frame: each part is looked at anew. What comes for a connection that closes, or for
// memory that was released, is lost.
Result<std::span<std::byte>> TcpConnection::place(const FrameHeader& header, std::uint64_t done) {
  if (call().state == connected::PeerCall::State::closing) return std::span<std::byte>();
  const std::uint64_t rest = header.bytes - done;
  if (header.kind == FramePurpose::reply) {
    const auto at = reads_.find(header.key);
    if (at == reads_.end() || header.offset + done != at->second.done || rest > at->second.bytes - at->second.done)
      return Error(ErrorKind::refused, "it answered what it was not asked");
    return std::span(at->second.local + at->second.done, rest);
  }
  const auto at = granted.find(header.key);
  if (at == granted.end() || at->second.access != Access::write)
    return Error(ErrorKind::refused, "it wrote to memory that it was not given");
  const connected::OwnRegion& region = *at->second.memory;
  if (header.offset > region.memory.size() || header.bytes > region.memory.size() - header.offset)
    return Error(ErrorKind::refused, "it wrote out of the memory that it was given");
  if (region.released) return std::span<std::byte>();
  return region.memory.subspan(header.offset + done, rest);
}

void TcpConnection::landed(const FrameHeader& header, std::uint64_t bytes) {
  if (header.kind != FramePurpose::reply) return;
  const auto at = reads_.find(header.key);
  if (at == reads_.end()) return;
  at->second.done += bytes;
  if (at->second.done < at->second.bytes) return;
  finish({{nullptr, at->second.context}});
  reads_.erase(at);
}

// The bytes are read when they leave, from memory that stays as long as this waits.
Result<void> TcpConnection::on_read(const FrameReader::Piece& piece) {
  if (call().state == connected::PeerCall::State::closing) return {};
  const auto asked = decode_read_request(piece.bytes);
  const auto at = granted.find(piece.header.key);
  if (!asked || at == granted.end() || at->second.access != Access::read)
    return Error(ErrorKind::refused, "it read memory that it was not given");
  connected::OwnRegion& region = *at->second.memory;
  const std::uint64_t offset = piece.header.offset;
  if (asked->bytes == 0 || offset > region.memory.size() || asked->bytes > region.memory.size() - offset)
    return Error(ErrorKind::refused, "it read out of the memory that it was given");
  for (std::uint64_t done = 0; done < asked->bytes;) {
    const std::uint64_t bytes = std::min<std::uint64_t>(asked->bytes - done, frame_bytes_max);
    queue_.add(encode(FrameHeader{FramePurpose::reply, static_cast<std::uint32_t>(bytes), asked->token, done}));
    queue_.add_in_place(region.memory.subspan(offset + done, bytes));
    ++region.reading;
    queue_.end_with({&region, {}});
    done += bytes;
  }
  check_limits();
  return {};
}

}  // namespace spindrift::fabric::tcp
