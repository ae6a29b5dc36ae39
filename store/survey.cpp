// A whole segment in the wrong place is nothing to go on with, and nothing to repair: it is refused.
#include <spindrift/store/survey.hpp>

#include <algorithm>
#include <utility>

namespace spindrift::store {
namespace {

Error misplaced(const std::string& place, const std::string& what) {
  return Error(ErrorKind::refused, what)
      .at(place)
      .fix("move what does not belong there out of the directory, or name the right directory ([PERS] file_path)");
}

/// Whether this head may stand there. `journal`: that of the segments before it, if there are any.
Result<void> check_place(const SegmentHead& head, std::uint64_t number, const std::string& place,
                         const std::optional<JournalOwner>& owner, const std::optional<Digest>& journal) {
  if (owner && head.owner.group != owner->group) return misplaced(place, "it is of the journal of another group");
  if (owner && head.owner.node != owner->node) {
    return misplaced(place, "it is of the journal of node " + std::to_string(head.owner.node.value()) + ", and this is " +
                                "node " + std::to_string(owner->node.value()));
  }
  if (journal && *journal != head.seal.journal)
    return misplaced(place, "it is of another journal than the segments before it");
  if (head.seal.number != number)
    return misplaced(place, "it is segment " + std::to_string(head.seal.number) + " under the name of another");
  return {};
}

Error unknown_version(const std::string& place, std::uint32_t version) {
  return Error(ErrorKind::unsupported, "the segment has version " + std::to_string(version) + " of the format, and this " +
                                           "program knows those up to " + std::to_string(latest_format))
      .at(place)
      .fix("use the program that wrote it, or a later one");
}

/// The number of the oldest segment, as the newest that tells anything has it.
std::uint64_t oldest_of(const std::vector<SurveyedSegment>& segments) {
  for (auto segment = segments.rbegin(); segment != segments.rend(); ++segment) {
    const SegmentReading& reading = segment->reading;
    if (reading.head) return std::max(reading.head->oldest, reading.mark.oldest);
  }
  return 0;
}

Result<SegmentReading> read_named(Storage& storage, const std::string& name) {
  SPINDRIFT_TRY_ASSIGN(const auto file, storage.open(name));
  return read_segment(*file);
}

}  // namespace

Result<Survey> survey(Storage& storage, const std::optional<JournalOwner>& owner) {
  Survey survey;
  SPINDRIFT_TRY_ASSIGN(const auto names, storage.names());
  std::optional<JournalOwner> whose = owner;
  std::optional<Digest> journal;
  for (const std::string& name : names) {
    if (name == begun_name) survey.begun = true;
    const auto number = segment_number(name);
    const bool unfinished = name == unfinished_segment_name || name == unfinished_reserve_name;
    if (unfinished) survey.leftovers.push_back(name);
    if (!is_journal_file(name)) survey.foreign.push_back(name);
    if (!number) continue;
    SPINDRIFT_TRY_ASSIGN(auto reading, read_named(storage, name));
    if (!reading.head && reading.version != latest_format) return unknown_version(storage.place(name), reading.version);
    if (reading.head) {
      SPINDRIFT_TRY(check_place(*reading.head, *number, storage.place(name), whose, journal));
      whose = reading.head->owner;
      journal = reading.head->seal.journal;
    }
    survey.segments.push_back({*number, std::move(reading)});
  }
  survey.oldest = oldest_of(survey.segments);
  std::erase_if(survey.segments, [&](const SurveyedSegment& segment) {
    const bool trimmed = segment.number < survey.oldest;
    if (trimmed) survey.leftovers.push_back(segment_name(segment.number));
    return trimmed;
  });
  return survey;
}

}  // namespace spindrift::store
