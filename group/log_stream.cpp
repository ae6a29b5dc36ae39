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
constexpr std::uint64_t head_bytes = 36;
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

}  // namespace

Result<void> write_stream(const StreamedLog& log, const std::stop_token& stop, std::ostream& to) {
  SPINDRIFT_TRY_ASSIGN(const views::LogPoint begin, beginning_of(log));
  put(to, field_bytes(begin.version, begin.link.words));
  SPINDRIFT_TRY(read_log(log.log, begin.version, log.to, [&](const store::Entry& entry) {
    const store::EntryHead& head = entry.head;
    put(to, field_bytes(std::uint64_t{entry.payload.size()}, head.sender, head.view, head.sequence, head.time));
    put(to, entry.payload);
    return !stop.stop_requested();
  }));
  if (stop.stop_requested()) return nobody_waits();
  return {};
}

LogStream::LogStream(std::uint64_t message_bytes_max) noexcept
    : message_bytes_max_(std::min(message_bytes_max, store::payload_bytes_max)), bytes_(begin_bytes) {}

void LogStream::await(Part part, std::uint64_t bytes) noexcept {
  part_ = part;
  bytes_ = bytes;
}

// An empty payload is there without another byte.
void LogStream::take(std::span<const std::byte> piece, const BeginVisitor& on_begin, const MessageVisitor& on_message) {
  while (valid_ && (!piece.empty() || bytes_ == 0)) {
    const auto next = piece.first(std::min<std::uint64_t>(piece.size(), bytes_ - partial_.size()));
    piece = piece.subspan(next.size());
    if (next.size() == bytes_) {
      take_part(next, on_begin, on_message);
      continue;
    }
    partial_.insert(partial_.end(), next.begin(), next.end());
    if (partial_.size() < bytes_) continue;
    take_part(partial_, on_begin, on_message);
    partial_.clear();
  }
}

void LogStream::take_part(std::span<const std::byte> part, const BeginVisitor& on_begin, const MessageVisitor& on_message) {
  ByteReader reader(part);
  views::LogPoint begin;
  switch (part_) {
    case Part::begin:
      begin.version = reader.get<std::uint64_t>();
      begin.link.words = reader.get<Words>();
      valid_ = begin.version == 0 ? begin.link == Digest() : begin.version <= version_max;
      if (valid_) on_begin(begin);
      return await(Part::head, head_bytes);
    case Part::head: return take_head(part);
    case Part::payload:
      message_.payload = part;
      on_message(message_);
      return await(Part::head, head_bytes);
  }
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

void LogStream::finish() noexcept { valid_ = valid_ && part_ == Part::head && partial_.empty(); }

}  // namespace spindrift::group
