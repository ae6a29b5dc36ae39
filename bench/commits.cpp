// A batch ends with an entry that says so, and the next begins with a block.
#include <spindrift/bench/commits.hpp>

#include <spindrift/core/result.hpp>
#include <spindrift/store/file_storage.hpp>
#include <spindrift/store/format.hpp>
#include <spindrift/store/survey.hpp>

namespace spindrift::bench {
namespace {

void count(std::span<const std::byte> entries, const store::SegmentSeal& seal, Commits& commits) {
  std::size_t begin = 0;
  std::size_t at = 0;
  std::uint64_t messages = 0;
  while (at < entries.size()) {
    const auto found = store::read_entry(entries.subspan(at), seal);
    if (!found) return;
    at += found->bytes;
    if (found->entry.head.kind == store::EntryKind::message) ++messages;
    if (!found->place.last) continue;
    at = store::whole_blocks(at);
    if (messages > 0) {
      ++commits.batches;
      commits.messages += messages;
      commits.bytes += at - begin;
    }
    begin = at;
    messages = 0;
  }
}

}  // namespace

Commits read_commits(std::span<const std::string> directories) {
  Commits commits;
  for (const std::string& directory : directories) {
    auto storage = value_or_throw(store::FileStorage::open_to_read(directory));
    const store::Survey survey = value_or_throw(store::survey(storage, std::nullopt));
    for (const store::SurveyedSegment& segment : survey.segments) {
      if (!segment.reading.head) throw Exception(Error(ErrorKind::bad_input, "a segment has no head").at(directory));
      const store::SegmentHead& head = *segment.reading.head;
      const auto file = value_or_throw(storage.open(store::segment_name(segment.number)));
      const store::Blocks bytes = value_or_throw(store::read_blocks(*file, 0, file->bytes()));
      count(std::span(bytes).subspan(store::entries_at(head.logs)), head.seal, commits);
    }
  }
  return commits;
}

}  // namespace spindrift::bench
