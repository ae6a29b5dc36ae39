// A part that lies whole in what came is not copied.
#include <spindrift/group/log_stream.hpp>

#include <algorithm>
#include <array>
#include <ostream>

#include <spindrift/core/bytes.hpp>
#include <spindrift/group/log_reading.hpp>
#include <spindrift/store/entry.hpp>

namespace spindrift::group {
namespace {

using Words = std::array<std::uint64_t, 2>;
constexpr std::uint64_t begin_bytes = 24;
constexpr std::uint64_t checkpoint_bytes = 32;
constexpr std::uint64_t head_bytes = 36;
// In the version with which a stream begins.
constexpr std::uint64_t has_checkpoint = std::uint64_t{1} << 63U;
// No log of a group comes near it, and what is counted from there on stays a number.
constexpr std::uint64_t version_max = std::uint64_t{1} << 62U;

void put(std::ostream& to, std::span<const std::byte> bytes) {
  to.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

Error nobody_waits() { return {ErrorKind::group_closed, "nobody waits for the log any more"}; }

Result<views::LogPoint> point_at(const StreamedLog& log, std::uint64_t version) {
  if (version == 0) return views::LogPoint();
  SPINDRIFT_TRY_ASSIGN(const auto end, read_log(log.log, version, version, {}));
  return views::LogPoint{version, end.link};
}

/// The place from which on the other log lacks something: its end, or the beginning of this one.
Result<views::LogPoint> beginning_of(const StreamedLog& log) {
  if (log.from.version >= log.first && log.from.version <= log.to) {
    SPINDRIFT_TRY_ASSIGN(const views::LogPoint there, point_at(log, log.from.version));
    if (there == log.from) return there;
  }
  return point_at(log, log.first);
}

Result<void> put_checkpoint(const StreamedCheckpoint& checkpoint, const std::stop_token& stop, std::ostream& to) {
  put(to, field_bytes(checkpoint.at.version, checkpoint.at.link.words, checkpoint.bytes));
  return checkpoint.read([&](std::span<const std::byte> piece) {
    put(to, piece);
    return !stop.stop_requested();
  });
}

}  // namespace

Result<void> write_stream(const StreamedLog& log, const std::stop_token& stop, std::ostream& to) {
  SPINDRIFT_TRY_ASSIGN(const views::LogPoint begin, beginning_of(log));
  const bool anew = begin != log.from && begin.version > 0;
  const std::uint64_t sign = anew && log.checkpoint ? has_checkpoint : 0;
  put(to, field_bytes(begin.version | sign, begin.link.words));
  if (sign != 0) {
    SPINDRIFT_TRY(put_checkpoint(*log.checkpoint, stop, to));
  }
  SPINDRIFT_TRY(read_log(log.log, begin.version, log.to, [&](const store::Entry& entry) {
    const store::EntryHead& head = entry.head;
    put(to, field_bytes(std::uint64_t{entry.payload.size()}, head.sender, head.view, head.sequence, head.time));
    put(to, entry.payload);
    return !stop.stop_requested();
  }));
  if (stop.stop_requested()) return nobody_waits();
  return {};
}

LogStream::LogStream(std::uint64_t message_bytes_max)
    : message_bytes_max_(std::min(message_bytes_max, store::payload_bytes_max)), bytes_(begin_bytes) {}

void LogStream::await(Part part, std::uint64_t bytes) noexcept {
  part_ = part;
  bytes_ = bytes;
}

// An empty payload, or state, is there without another byte.
void LogStream::take(std::span<const std::byte> piece, LogStreamSink& sink) {
  while (valid_ && (!piece.empty() || bytes_ == 0)) {
    const auto next = piece.first(std::min<std::uint64_t>(piece.size(), bytes_ - partial_.size()));
    piece = piece.subspan(next.size());
    if (part_ == Part::state) {
      take_state(next, sink);
      continue;
    }
    if (next.size() == bytes_) {
      take_part(next, sink);
      continue;
    }
    partial_.insert(partial_.end(), next.begin(), next.end());
    if (partial_.size() < bytes_) continue;
    take_part(partial_, sink);
    partial_.clear();
  }
}

void LogStream::take_part(std::span<const std::byte> part, LogStreamSink& sink) {
  switch (part_) {
    case Part::begin: return take_begin(part, sink);
    case Part::checkpoint: return take_checkpoint(part, sink);
    case Part::state: return;  // it is never put together
    case Part::head: return take_head(part);
    case Part::payload:
      message_.payload = part;
      ++end_;
      await(Part::head, head_bytes);
      return sink.on_message(message_);
  }
}

void LogStream::take_begin(std::span<const std::byte> part, LogStreamSink& sink) {
  ByteReader reader(part);
  const auto word = reader.get<std::uint64_t>();
  begin_.version = end_ = word & ~has_checkpoint;
  begin_.link.words = reader.get<Words>();
  const bool checkpoint = word != begin_.version;
  valid_ = begin_.version == 0 ? !checkpoint && begin_.link == Digest() : begin_.version <= version_max;
  if (checkpoint) return await(Part::checkpoint, checkpoint_bytes);
  if (valid_) begin(sink);
}

void LogStream::take_checkpoint(std::span<const std::byte> part, LogStreamSink& sink) {
  ByteReader reader(part);
  views::LogPoint at;
  at.version = checkpoint_ = reader.get<std::uint64_t>();
  at.link.words = reader.get<Words>();
  const auto state_bytes = reader.get<std::uint64_t>();
  valid_ = at.version >= begin_.version && at.version <= version_max;
  await(Part::state, state_bytes);
  if (valid_) sink.on_checkpoint(at, state_bytes);
}

void LogStream::take_state(std::span<const std::byte> piece, LogStreamSink& sink) {
  bytes_ -= piece.size();
  if (!piece.empty()) sink.on_state(piece);
  if (valid_ && bytes_ == 0) begin(sink);
}

void LogStream::begin(LogStreamSink& sink) {
  await(Part::head, head_bytes);
  sink.on_begin(begin_);
}

void LogStream::take_head(std::span<const std::byte> part) {
  ByteReader reader(part);
  const auto payload_bytes = reader.get<std::uint64_t>();
  message_.sender = reader.get<NodeId>();
  message_.view = reader.get<ViewId>();
  message_.sequence = reader.get<SequenceNumber>();
  message_.time = reader.get<std::uint64_t>();
  valid_ = payload_bytes <= message_bytes_max_;
  await(Part::payload, payload_bytes);
}

void LogStream::finish() noexcept {
  valid_ = valid_ && part_ == Part::head && partial_.empty() && end_ >= checkpoint_;
}

}  // namespace spindrift::group
