// The ring of a feed: header words, records, and the copies into it and out of it.
#include <spindrift/group/feed_ring.hpp>

#include <algorithm>
#include <atomic>
#include <bit>
#include <utility>

#include <spindrift/core/bytes.hpp>
#include <spindrift/core/check.hpp>
#include <spindrift/fabric/word_copy.hpp>

namespace spindrift::group {
namespace {

static_assert(WireField<FeedRecord>);

constexpr std::uint64_t magic = 0x3164'6565'6664'7073;  // "spdfeed1"
constexpr std::size_t header_bytes = 4096;
constexpr std::size_t data_bytes_min = std::size_t{8} << 20U;
constexpr std::size_t data_bytes_max = 4 * feed_record_bytes_max;
constexpr std::uint64_t marks = 16;   ///< parts of a lap
constexpr std::uint64_t steps = 128;  ///< parts of a lap in which a writer announces it: what it is near to is given up

// Words of the header, each on a line of its own but for the marks.
constexpr std::size_t at_magic = 0;
constexpr std::size_t at_writing = cache_line_bytes;
constexpr std::size_t at_written = 2 * cache_line_bytes;
constexpr std::size_t at_end = 3 * cache_line_bytes;    ///< a SharedEnd
constexpr std::size_t at_marks = 4 * cache_line_bytes;  ///< by part: where the first record begins that begins in it
constexpr std::size_t at_limit = at_marks + marks * sizeof(std::uint64_t);  ///< 0 from a writer that does not say
static_assert(at_limit % cache_line_bytes == 0);

constexpr std::uint64_t padded(std::uint64_t bytes) noexcept { return (bytes + 7) / 8 * 8; }

void store(std::span<std::byte> header, std::size_t offset, std::uint64_t value, std::memory_order order) noexcept {
  std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(header.data() + offset)).store(value, order);
}

std::span<std::uint64_t, SharedEnd::words> end_words(std::span<const std::byte> memory) noexcept {
  // A reader's loads do not write, and its page is mapped read-only.
  auto* at = reinterpret_cast<std::uint64_t*>(const_cast<std::byte*>(memory.data() + at_end));
  return std::span<std::uint64_t, SharedEnd::words>(at, SharedEnd::words);
}

}  // namespace

std::size_t feed_bytes(std::uint64_t message_bytes_max) noexcept {
  const std::uint64_t four = 4 * std::min<std::uint64_t>(message_bytes_max + sizeof(FeedRecord), data_bytes_max);
  return header_bytes + std::bit_ceil(std::clamp<std::uint64_t>(four, data_bytes_min, data_bytes_max));
}

FeedWriter::FeedWriter(std::span<std::byte> memory) noexcept
    : header_(memory.first(header_bytes)), data_(memory.subspan(header_bytes)), end_(end_words(memory)) {
  CHECK(std::has_single_bit(data_.size()));
  store(header_, at_magic, magic, std::memory_order_release);
}

void FeedWriter::append(const FeedRecord& record, std::span<const std::byte> payload, std::uint64_t limit) noexcept {
  FeedRecord head = record;
  head.payload_bytes = payload.size();
  if (sizeof head + payload.size() > data_.size() / 4) {
    head.omitted = 1;
    payload = {};
  }
  const std::uint64_t part = position_ / (data_.size() / marks);
  const std::uint64_t end = position_ + sizeof head + padded(payload.size());
  if (end > limit) return;
  announce(end, limit);
  put(position_, std::as_bytes(std::span(&head, 1)));
  put(position_ + sizeof head, payload);
  const std::size_t mark = at_marks + part % marks * sizeof part;
  const std::uint64_t marked = std::atomic_ref(*reinterpret_cast<std::uint64_t*>(header_.data() + mark)).load();
  if (marked / (data_.size() / marks) != part) store(header_, mark, position_, std::memory_order_release);
  position_ = end;
}

void FeedWriter::announce(std::uint64_t end, std::uint64_t limit) noexcept {
  if (end <= announced_) return;
  // The quickest reader may be a whole lap behind the limit, and has to find that intact.
  announced_ = std::min(end + data_.size() / steps, limit);
  // Copies are releases, so that none of their bytes is seen before this.
  store(header_, at_writing, announced_, std::memory_order_release);
}

void FeedWriter::show_limit(std::uint64_t limit) noexcept {
  if (limit != limit_) store(header_, at_limit, limit_ = limit, std::memory_order_relaxed);
}

void FeedWriter::publish(const FeedEnd& end) noexcept {
  store(header_, at_written, position_, std::memory_order_seq_cst);
  end_.write(end, [] {});
}

std::uint64_t FeedWriter::written() const noexcept {
  return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(header_.data() + at_written)).load(std::memory_order_seq_cst);
}

void FeedWriter::put(std::uint64_t position, std::span<const std::byte> bytes) noexcept {
  const std::size_t at = position % data_.size();
  const std::size_t straight = std::min(bytes.size(), data_.size() - at);
  fabric::copy_to_shared(data_.data() + at, bytes.data(), straight);
  fabric::copy_to_shared(data_.data(), bytes.data() + straight, bytes.size() - straight);
}

FeedReader::FeedReader(std::span<const std::byte> memory) noexcept
    : header_(memory.first(header_bytes)), data_(memory.subspan(header_bytes)), end_(end_words(memory)) {}

Result<FeedReader> FeedReader::open(std::span<const std::byte> memory, std::uint64_t position) {
  if (memory.size() <= header_bytes || !std::has_single_bit(memory.size() - header_bytes) ||
      memory.size() - header_bytes < 2 * sizeof(FeedRecord) * marks) {
    return Error(ErrorKind::bad_input, "a feed of " + std::to_string(memory.size()) + " bytes, which none has");
  }
  FeedReader reader(memory);
  if (reader.word(at_magic) != magic) {
    return Error(ErrorKind::bad_input, "the memory that a member sent is no feed of this version")
        .fix("use the same version of spindrift for members and observers");
  }
  if (position > reader.word(at_written) || position % 8 != 0) {
    return Error(ErrorKind::bad_input, "a feed that begins behind its end").fix("report it, with the member's log");
  }
  reader.position_ = reader.written_ = position;
  return reader;
}

std::uint64_t FeedReader::word(std::size_t offset) const noexcept {
  // Loads do not write, and the page is mapped read-only.
  auto* at = reinterpret_cast<std::uint64_t*>(const_cast<std::byte*>(header_.data() + offset));
  return std::atomic_ref(*at).load(std::memory_order_seq_cst);
}

void FeedReader::get(std::uint64_t position, std::span<std::byte> to) const noexcept {
  const std::size_t at = position % data_.size();
  const std::size_t straight = std::min(to.size(), data_.size() - at);
  fabric::copy_from_shared(to.data(), data_.data() + at, straight);
  fabric::copy_from_shared(to.data() + straight, data_.data(), to.size() - straight);
}

bool FeedReader::behind() const noexcept { return word(at_written) != position_; }

// A member that lies about its limit has less read of what it writes, and harms nobody.
bool FeedReader::report_due(std::uint64_t reported) const noexcept {
  const std::uint64_t interval = data_.size() / 4;
  return position_ - reported >= interval && word(at_limit) <= position_ + data_.size() - interval;
}

// A record half a lap behind stays for about as long as it takes to write the other half.
void FeedReader::rewind() noexcept {
  const std::uint64_t written = word(at_written);
  const std::uint64_t part_bytes = data_.size() / marks;
  const std::uint64_t from = written - std::min<std::uint64_t>(written, data_.size() / 2);
  position_ = written_ = written;
  for (std::uint64_t part = from / part_bytes; part <= written / part_bytes; ++part) {
    const std::uint64_t mark = word(at_marks + part % marks * sizeof part);
    if (mark / part_bytes != part || mark > written) continue;
    position_ = mark;
    return;
  }
}

bool FeedReader::intact() const noexcept { return word(at_writing) - position_ <= data_.size(); }

Result<FeedReader::Found> FeedReader::next(FeedMessage& to) {
  if (written_ == position_) written_ = word(at_written);
  const std::uint64_t written = written_;
  if (written == position_) return Found::nothing;
  const auto overtaken = [this] {
    rewind();
    return Found::overtaken;
  };
  FeedRecord& record = to.record;
  get(position_, std::as_writable_bytes(std::span(&record, 1)));
  if (!intact()) return overtaken();
  const std::uint64_t there = written - position_;
  const std::uint64_t payload = record.omitted == 0 ? record.payload_bytes : 0;
  if (record.omitted > 1 || payload > data_.size() || there > data_.size() || sizeof record + padded(payload) > there) {
    return Error(ErrorKind::bad_input, "a feed has a record that no member writes").fix("report it, with the member's log");
  }
  to.payload.resize(payload);
  get(position_ + sizeof record, to.payload);
  if (!intact()) return overtaken();
  position_ += sizeof record + padded(payload);
  return Found::message;
}

}  // namespace spindrift::group
