// Entries that wait to be written at once. What they are, is known when they are appended; their positions, versions and
// links, when the journal seals them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include <spindrift/store/entry.hpp>
#include <spindrift/store/format.hpp>
#include <spindrift/store/storage.hpp>

namespace spindrift::store {

/// Keeps its memory from one use to the next. Not thread-safe.
class Batch {
 public:
  /// The payload is copied. `head.time` is not less than that of the entry before. Not for a `base`.
  void append(const EntryHead& head, std::span<const std::byte> payload);
  /// The log of that subgroup goes on from this end: a `base`.
  void append_base(const LogEnd& end, std::uint64_t time);

  /// Takes another one's entries behind its own, and leaves that one empty.
  void append_all(Batch& other);

  [[nodiscard]] bool empty() const noexcept { return entries_.empty(); }
  [[nodiscard]] std::size_t count() const noexcept { return entries_.size(); }
  /// Is given an entry, its version if it is a `base`, and its payload, which is valid during the call.
  using Visitor = std::function<void(const EntryHead&, LogVersion, std::span<const std::byte>)>;
  /// In their order.
  void visit(const Visitor& visitor) const;

  /// The first version of the format whose segments may have all of its entries.
  [[nodiscard]] SegmentFormat format() const noexcept { return format_; }
  /// In the file: whole blocks.
  [[nodiscard]] std::uint64_t bytes() const noexcept { return whole_blocks(used_); }

  /// Its bytes for that segment, valid until the next call: the first entry gets that position, and logs go on from these
  /// ends, which become those behind it. It is not empty, and nothing is appended before `clear`.
  [[nodiscard]] std::span<const std::byte> seal(const SegmentSeal& seal, JournalPosition first, LogEnds& ends);
  void clear() noexcept;

 private:
  struct Waiting {
    EntryHead head;
    LogVersion version;    // of a `base`
    std::size_t at = 0;    // in the bytes
    std::size_t size = 0;  // of the payload
  };

  void append(const EntryHead& head, LogVersion version, std::span<const std::byte> payload);
  void grow(std::size_t bytes);

  Blocks bytes_;          // more than are used
  std::size_t used_ = 0;
  std::vector<Waiting> entries_;
  SegmentFormat format_ = SegmentFormat::first;
};

}  // namespace spindrift::store
