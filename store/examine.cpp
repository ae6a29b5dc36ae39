// Segments are read one after the other, whole; what each must hold is known from the next one's head and from its own mark.
#include <spindrift/store/examine.hpp>

#include <algorithm>
#include <utility>

#include <spindrift/store/segment_file.hpp>
#include <spindrift/store/survey.hpp>

namespace spindrift::store {
namespace {

constexpr JournalPosition no_limit{~std::uint64_t{0}};

/// Whether a segment in which no entry is found has lost whatever would say that there were any. All copies of its head and
/// of the ends of logs were durable before it had a name, so one that is lost was overwritten since, and by what else, if
/// no mark is whole either, nobody knows.
bool may_be_emptied(const SegmentReading& reading, JournalPosition end) {
  return end == reading.head->first && reading.mark.number == 0 && !reading.lost.empty();
}

/// Whether nothing was written to the last of these blocks, so that nothing durable was behind them either: entries follow
/// one another, and none is durable before the one before it.
bool ends_before_end(const SegmentScan& scan, std::span<const std::byte> blocks) {
  const std::uint64_t used = whole_blocks(scan.used);
  return used < blocks.size() && all_zero(blocks.subspan(used));
}

bool lacks_entries(const SegmentScan& scan) {
  return std::ranges::any_of(scan.holes, [](const Hole& hole) { return hole.first < hole.end; });
}

class Examination {
 public:
  Examination(Storage& storage, Survey survey) : storage_(storage), survey_(std::move(survey)) {}

  Result<JournalFindings> run() {
    std::uint64_t next = survey_.oldest;
    for (std::size_t i = 0; i < survey_.segments.size(); ++i) {
      const SurveyedSegment& segment = survey_.segments[i];
      const auto& head = segment.reading.head;
      // A journal whose first segments tell nothing cannot say which entries they had.
      if (i == 0 && head && segment.number == next) start_at(head->first, segment.reading.ends);
      if (segment.number != next) miss(next, &segment.reading);
      next = segment.number + 1;
      const SurveyedSegment* const behind = i + 1 < survey_.segments.size() ? &survey_.segments[i + 1] : nullptr;
      if (!head) miss(segment.number, behind != nullptr ? &behind->reading : nullptr);
      else SPINDRIFT_TRY(take(segment, behind));
    }
    if (survey_.begun && survey_.segments.empty()) miss(0, nullptr);
    findings_.begun = survey_.begun;
    findings_.leftovers = std::move(survey_.leftovers);
    findings_.foreign = std::move(survey_.foreign);
    return std::move(findings_);
  }

 private:
  void note(Damage::Kind kind, std::uint64_t number, std::uint64_t at, JournalPosition first, JournalPosition end) {
    findings_.damages.push_back({kind, storage_.place(segment_name(number)) + ":" + std::to_string(at), first, end});
  }

  void start_at(JournalPosition position, const LogEnds& ends) {
    findings_.end = position;
    findings_.ends = ends;
  }

  /// That segment is not there, or tells nothing; `next`: the one behind it, if it is known.
  void miss(std::uint64_t number, const SegmentReading* next) {
    const bool known = next != nullptr && next->head;
    const JournalPosition end = known ? std::max(next->head->first, findings_.end) : findings_.end;
    note(Damage::Kind::segment, number, 0, findings_.end, end);
    if (known) start_at(next->head->first, next->ends);
  }

  Result<void> take(const SurveyedSegment& segment, const SurveyedSegment* next) {
    const SegmentReading& reading = segment.reading;
    const SegmentHead& head = *reading.head;
    SPINDRIFT_TRY_ASSIGN(const auto file, storage_.open(segment_name(segment.number)));
    // More than its head says was never written, be it terabytes.
    SPINDRIFT_TRY_ASSIGN(const Blocks blocks, read_blocks(*file, 0, head.bytes));
    for (const std::uint64_t at : reading.lost) note(Damage::Kind::head, segment.number, at, head.first, head.first);
    if (reading.lost_marks) note(Damage::Kind::mark, segment.number, mark_at[0], head.first, head.first);
    if (head.first != findings_.end || reading.ends != findings_.ends) miss(segment.number, &reading);

    const bool followed = next != nullptr && next->number == segment.number + 1 && next->reading.head;
    const JournalPosition limit = followed ? next->reading.head->first : no_limit;
    const SegmentView view{head, reading.ends, blocks};
    SegmentScan scan = scan_segment(view, limit);
    const JournalPosition vouched = followed ? limit : std::max(scan.vouched, reading.mark.durable);
    const JournalPosition end = judge(segment.number, scan, vouched);
    // Nobody knows what was in the part of a file that is gone, unless the next segment says where its entries ended, or
    // they ended before.
    const bool cut = blocks.size() < head.bytes && !followed && !ends_before_end(scan, blocks);
    if (cut) note(Damage::Kind::segment, segment.number, blocks.size(), end, end);
    if (!followed && may_be_emptied(reading, end)) note(Damage::Kind::segment, segment.number, block_bytes, end, end);
    if (end < scan.end) scan = scan_segment(view, end);
    // Behind entries that cannot be read, the next segment alone knows where the logs end.
    if (followed && (scan.end < end || lacks_entries(scan))) scan.ends = next->reading.ends;
    finish(segment, scan, end, blocks);
    return {};
  }

  /// Says which holes are damage, and where the entries end that count: at the first hole that nobody vouches for.
  JournalPosition judge(std::uint64_t number, const SegmentScan& scan, JournalPosition vouched) {
    for (const Hole& hole : scan.holes) {
      if (hole.first == hole.end) {
        if (hole.first <= vouched) note(Damage::Kind::padding, number, hole.at, hole.first, hole.end);
        continue;
      }
      if (hole.first >= vouched) return hole.first;
      note(Damage::Kind::entries, number, hole.at, hole.first, hole.end);
    }
    if (scan.end < vouched) note(Damage::Kind::entries, number, scan.used, scan.end, vouched);
    return std::max(scan.end, vouched);
  }

  void finish(const SurveyedSegment& segment, const SegmentScan& scan, JournalPosition end,
              std::span<const std::byte> bytes) {
    const auto behind = bytes.subspan(whole_blocks(scan.used));
    FoundSegment found{*segment.reading.head, segment.reading.ends, segment.reading.mark, end, scan.used,
                       all_zero(behind) ? 0 : behind.size()};
    start_at(end, scan.ends);
    if (scan.time != 0) findings_.time = scan.time;
    findings_.segments.push_back(std::move(found));
  }

  Storage& storage_;
  Survey survey_;
  JournalFindings findings_;
};

}  // namespace

std::string_view to_string(Damage::Kind kind) noexcept {
  switch (kind) {
    case Damage::Kind::entries: return "entries that were durable cannot be read";
    case Damage::Kind::segment: return "a segment is missing or too short, or tells nothing of itself";
    case Damage::Kind::head: return "one of two heads is damaged";
    case Damage::Kind::mark: return "both marks are damaged";
    case Damage::Kind::padding: return "there is something where nothing was written";
  }
  return "unknown";
}

const Damage* JournalFindings::loss() const noexcept {
  const auto damage = std::ranges::find_if(damages, [](const Damage& one) { return loses_entries(one.kind); });
  return damage == damages.end() ? nullptr : &*damage;
}

Result<JournalFindings> examine(Storage& storage, const std::optional<JournalOwner>& owner) {
  SPINDRIFT_TRY_ASSIGN(auto surveyed, survey(storage, owner));
  return Examination(storage, std::move(surveyed)).run();
}

Result<std::vector<FoundSegment>> outline(Storage& storage, const std::optional<JournalOwner>& owner) {
  SPINDRIFT_TRY_ASSIGN(auto surveyed, survey(storage, owner));
  std::vector<FoundSegment> segments;
  for (SurveyedSegment& segment : surveyed.segments) {
    SegmentReading& reading = segment.reading;
    if (!reading.head) continue;
    if (!segments.empty()) segments.back().end = reading.head->first;
    segments.push_back({*reading.head, std::move(reading.ends), reading.mark, no_limit});
  }
  return segments;
}

Result<void> visit_entries(Storage& storage, std::span<const FoundSegment> segments, JournalPosition from,
                           const EntryVisitor& visitor) {
  for (const FoundSegment& segment : segments) {
    if (segment.end <= from) continue;
    SPINDRIFT_TRY_ASSIGN(const auto file, storage.open(segment_name(segment.head.seal.number)));
    SPINDRIFT_TRY_ASSIGN(const Blocks blocks, read_blocks(*file, 0, segment.head.bytes));
    if (!visit_entries({segment.head, segment.ends, blocks}, from, segment.end, visitor)) return {};
  }
  return {};
}

}  // namespace spindrift::store
