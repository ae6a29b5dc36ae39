// A disk that refuses a read of many blocks may still give most of them one by one.
#include <spindrift/store/segment_file.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

namespace spindrift::store {
namespace {

void read_heads(std::span<const std::byte> blocks, SegmentReading& reading) {
  for (const std::uint64_t at : head_at) {
    const HeadReading head = read_head(blocks.subspan(at, block_bytes));
    if (head.state == BlockState::unknown) reading.version = head.version;
    if (head.state == BlockState::whole && !reading.head) reading.head = head.head;
    if (head.state != BlockState::whole) reading.lost.push_back(at);
  }
}

void read_marks(std::span<const std::byte> blocks, SegmentReading& reading) {
  std::size_t damaged = 0;
  for (const std::uint64_t at : mark_at) {
    const MarkReading mark = read_mark(blocks.subspan(at, block_bytes), reading.head->seal);
    if (mark.state == BlockState::damaged) ++damaged;
    if (mark.state == BlockState::whole && mark.mark.number > reading.mark.number) reading.mark = mark.mark;
  }
  // One damaged mark is what a crash leaves that came while it was written.
  reading.lost_marks = damaged == std::size(mark_at);
}

/// Without a whole copy the head is worth nothing: a log could go on from anywhere.
Result<void> read_ends(StoredFile& file, SegmentReading& reading) {
  const std::uint64_t bytes = log_ends_bytes(reading.head->logs);
  bool found = false;
  for (std::uint64_t at = log_ends_at; at < log_ends_at + 2 * bytes; at += bytes) {
    SPINDRIFT_TRY_ASSIGN(const Blocks copy, read_blocks(file, at, bytes));
    auto ends = read_log_ends(copy, *reading.head);
    if (!ends) reading.lost.push_back(at);
    else if (!std::exchange(found, true)) reading.ends = *std::move(ends);
  }
  if (bytes != 0 && !found) reading.head.reset();
  return {};
}

}  // namespace

Result<Blocks> read_blocks(StoredFile& file, std::uint64_t at, std::uint64_t bytes) {
  const std::uint64_t end = std::min(at + bytes, file.bytes());
  Blocks blocks(end > at ? end - at : 0);
  if (blocks.empty() || file.read(at, blocks)) return blocks;
  std::optional<Error> failure;
  std::size_t refused = 0;
  for (std::size_t offset = 0; offset < blocks.size(); offset += block_bytes) {
    const auto block = std::span(blocks).subspan(offset, block_bytes);
    auto read = file.read(at + offset, block);
    if (read) continue;
    std::ranges::fill(block, std::byte{0xff});
    failure = std::move(read).error();
    ++refused;
  }
  if (refused == blocks.size() / block_bytes) return *std::move(failure);
  return blocks;
}

Result<SegmentReading> read_segment(StoredFile& file) {
  SegmentReading reading;
  SPINDRIFT_TRY_ASSIGN(const Blocks blocks, read_blocks(file, 0, log_ends_at));
  if (blocks.size() < log_ends_at) {
    reading.lost.assign(std::begin(head_at), std::end(head_at));
    return reading;
  }
  read_heads(blocks, reading);
  // A file that ends before its entries would begin is not the one that its head was written for.
  if (reading.head && file.bytes() < entries_at(reading.head->logs)) reading.head.reset();
  if (!reading.head) return reading;
  read_marks(blocks, reading);
  SPINDRIFT_TRY(read_ends(file, reading));
  return reading;
}

}  // namespace spindrift::store
