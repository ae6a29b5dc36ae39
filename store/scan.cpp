// One walk over a segment serves both: it goes from entry to entry, and where one cannot be read it searches for the next.
#include <spindrift/store/scan.hpp>

#include <algorithm>
#include <optional>
#include <set>

namespace spindrift::store {
namespace {

JournalPosition after(JournalPosition position) noexcept { return JournalPosition(position.value() + 1); }

class EntryWalk {
 public:
  EntryWalk(const SegmentView& segment, JournalPosition limit)
      : segment_(segment),
        limit_(limit),
        ends_(segment.ends),
        expected_(segment.head.first),
        at_(entries_at(segment.head.logs)),
        used_(at_) {}

  /// The next entry that can be read; nothing: there is none. A hole before it is appended, and one behind it.
  std::optional<FoundEntry> next(std::vector<Hole>& holes) {
    if (expected_ >= limit_) return std::nullopt;
    auto found = at_ < bytes().size() ? read_at(at_) : std::nullopt;
    if (!found || found->entry.position != expected_ || !follows(*found)) found = search(holes);
    if (!found) return std::nullopt;
    last_at_ = at_;
    used_ = at_ + found->bytes;
    at_ = found->place.last ? whole_blocks(used_) : used_;
    expected_ = after(found->entry.position);
    note_end(*found);
    if (!all_zero(bytes().subspan(used_, at_ - used_))) holes.push_back({used_, expected_, expected_});
    return found;
  }

  /// The place of the entry that was returned last.
  [[nodiscard]] std::uint64_t last_at() const noexcept { return last_at_; }
  [[nodiscard]] std::uint64_t used() const noexcept { return used_; }
  [[nodiscard]] const LogEnds& ends() const noexcept { return ends_; }

 private:
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return segment_.bytes; }

  /// Nothing: none begins there that may be in a segment of this format.
  [[nodiscard]] std::optional<FoundEntry> read_at(std::uint64_t at) const {
    auto found = read_entry(bytes().subspan(at), segment_.head.seal);
    if (found && first_format_with(found->entry.head.kind) > segment_.head.format) found.reset();
    return found;
  }

  /// Whether it is the next of its log, as far as the journal has that: behind a hole nobody knows where a log goes on.
  [[nodiscard]] bool follows(const FoundEntry& found) const noexcept {
    if (found.entry.head.kind == EntryKind::base) return true;
    if (behind_hole_ && !known_.contains(found.entry.head.subgroup)) return true;
    const LogEnd end = ends_.of(found.entry.head.subgroup);
    return found.entry.version == end.version && found.link_before == end.link;
  }

  void note_end(const FoundEntry& found) {
    ends_.set(found.end);
    if (behind_hole_) known_.insert(found.end.subgroup);
  }

  /// A batch can begin at any block, and an entry behind one whose length cannot be read at any multiple of the alignment.
  std::optional<FoundEntry> search(std::vector<Hole>& holes) {
    for (std::uint64_t at = at_; at + entry_head_bytes <= bytes().size(); at += entry_alignment) {
      const std::uint64_t block_end = whole_blocks(at + 1);
      if (all_zero(bytes().subspan(at, block_end - at))) {
        at = block_end - entry_alignment;
        continue;
      }
      auto found = read_at(at);
      if (!found || found->entry.position <= expected_ || found->entry.position >= limit_) continue;
      holes.push_back({at_, expected_, found->entry.position});
      at_ = at;
      behind_hole_ = true;
      known_.clear();
      return found;
    }
    return std::nullopt;
  }

  const SegmentView& segment_;
  JournalPosition limit_;
  LogEnds ends_;
  JournalPosition expected_;
  std::uint64_t at_;
  std::uint64_t used_;
  std::uint64_t last_at_ = 0;
  bool behind_hole_ = false;    // entries are missing before this place, and
  std::set<SubgroupId> known_;  // of these logs there was one since
};

}  // namespace

SegmentScan walk_segment(const SegmentView& segment, JournalPosition limit, const PlaceVisitor& visitor) {
  SegmentScan scan;
  scan.end = scan.vouched = segment.head.first;
  EntryWalk walk(segment, limit);
  for (;;) {
    const std::size_t known = scan.holes.size();
    const auto found = walk.next(scan.holes);
    if (!found) break;
    // One of bytes behind its batch comes later.
    const bool missing = scan.holes.size() > known && scan.holes[known].first < scan.holes[known].end;
    visitor(*found, walk.last_at(), missing ? &scan.holes[known] : nullptr);
    scan.end = after(found->entry.position);
    scan.time = found->entry.head.time;
    scan.vouched = std::max(scan.vouched, found->place.batch);
  }
  scan.ends = walk.ends();
  scan.used = walk.used();
  return scan;
}

SegmentScan scan_segment(const SegmentView& segment, JournalPosition limit) {
  return walk_segment(segment, limit, [](const FoundEntry&, std::uint64_t, const Hole*) {});
}

bool visit_entries(const SegmentView& segment, JournalPosition from, JournalPosition limit, const EntryVisitor& visitor) {
  std::vector<Hole> holes;
  EntryWalk walk(segment, limit);
  while (const auto found = walk.next(holes)) {
    if (found->entry.position >= from && !visitor(found->entry)) return false;
  }
  return true;
}

}  // namespace spindrift::store
