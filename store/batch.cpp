// Payloads are copied once, to where they are written from.
#include <spindrift/store/batch.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

#include <spindrift/core/check.hpp>

namespace spindrift::store {

void Batch::append(const EntryHead& head, std::span<const std::byte> payload) {
  CHECK(head.kind != EntryKind::base);
  append(head, {}, payload);
}

void Batch::append_base(const LogEnd& end, std::uint64_t time) {
  append({EntryKind::base, end.subgroup, NodeId(0), end.view, end.sequence, time}, end.version,
         std::as_bytes(std::span(end.link.words)));
}

void Batch::append(const EntryHead& head, LogVersion version, std::span<const std::byte> payload) {
  CHECK(payload.size() <= payload_bytes_max);
  const std::size_t whole = entry_bytes(payload.size());
  if (used_ + whole > bytes_.size()) grow(used_ + whole);
  std::byte* const place = bytes_.data() + used_ + entry_head_bytes;
  if (!payload.empty()) std::memcpy(place, payload.data(), payload.size());
  std::memset(place + payload.size(), 0, whole - entry_head_bytes - payload.size());
  entries_.push_back({head, version, used_, payload.size()});
  format_ = std::max(format_, first_format_with(head.kind));
  used_ += whole;
}

void Batch::append_all(Batch& other) {
  if (empty()) return std::swap(*this, other);
  if (used_ + other.used_ > bytes_.size()) grow(used_ + other.used_);
  std::memcpy(bytes_.data() + used_, other.bytes_.data(), other.used_);
  for (Waiting& each : other.entries_) {
    each.at += used_;
    entries_.push_back(each);
  }
  used_ += other.used_;
  format_ = std::max(format_, other.format_);
  other.clear();
}

// A vector that grows by itself would copy more than is used.
void Batch::grow(std::size_t bytes) {
  Blocks larger(whole_blocks(std::max(bytes, 2 * bytes_.size())));
  if (used_ != 0) std::memcpy(larger.data(), bytes_.data(), used_);
  bytes_.swap(larger);
}

std::span<const std::byte> Batch::seal(const SegmentSeal& seal, JournalPosition first, LogEnds& ends) {
  CHECK(!empty());
  JournalPosition position = first;
  for (const Waiting& waiting : entries_) {
    const auto place = std::span(bytes_).subspan(waiting.at, entry_bytes(waiting.size));
    const LogEnd before = ends.of(waiting.head.subgroup);
    const bool base = waiting.head.kind == EntryKind::base;
    const Entry entry{position, base ? waiting.version : before.version, waiting.head,
                      place.subspan(entry_head_bytes, waiting.size)};
    ends.set(seal_entry(place, entry, before, seal, {first, &waiting == &entries_.back()}));
    ++position;
  }
  std::memset(bytes_.data() + used_, 0, bytes() - used_);
  return std::span(bytes_).first(bytes());
}

void Batch::visit(const Visitor& visitor) const {
  for (const Waiting& waiting : entries_)
    visitor(waiting.head, waiting.version, std::span(bytes_).subspan(waiting.at + entry_head_bytes, waiting.size));
}

void Batch::clear() noexcept {
  entries_.clear();
  used_ = 0;
  format_ = SegmentFormat::first;
}

}  // namespace spindrift::store
