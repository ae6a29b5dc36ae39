// A link is the digest of a message and of the link before it. So the link behind the last message that is lacking implies
// that one, which implies the one before it, and so on down to the last message that is there: where another journal has
// messages with just these links, they are the ones that are lost, and no other choice is ever made.
#include <spindrift/store/repair_sources.hpp>

#include <algorithm>

#include <spindrift/store/scan.hpp>

namespace spindrift::store {
namespace {

std::string text_of(SubgroupId subgroup, LogVersion version) {
  return "message " + std::to_string(version.value()) + " of the log of subgroup " + std::to_string(subgroup.value());
}

}  // namespace

std::string RepairSources::directory_of(std::size_t index) const {
  const std::string place = storages_[index]->place("");
  return place.ends_with('/') ? place.substr(0, place.size() - 1) : place;
}

Result<void> RepairSources::read(const RepairPlan& plan) {
  for (const DamagedPlace& place : plan.places) {
    for (const LackingMessages& each : place.messages) wanted_[each.subgroup].emplace_back(each.first, each.end);
  }
  for (std::size_t i = 0; i < storages_.size(); ++i) SPINDRIFT_TRY(read_source(i, plan.owner));
  return {};
}

bool RepairSources::wanted(const Version& version) const {
  const auto log = wanted_.find(version.first);
  return log != wanted_.end() && std::ranges::any_of(log->second, [&](const auto& range) {
           return range.first <= version.second && version.second < range.second;
         });
}

// The names of logs are those of their group, so the group comes first.
Result<void> RepairSources::read_source(std::size_t index, const JournalOwner& owner) {
  Storage& storage = *storages_[index];
  SPINDRIFT_TRY_ASSIGN(JournalFindings findings, examine(storage, std::nullopt));
  if (findings.segments.empty()) {
    return Error(ErrorKind::bad_argument, "there is no journal in it")
        .at(directory_of(index))
        .fix("name the directory with the files *.segment: <file_path>/<group_name>/<id> of another node, or a copy of it");
  }
  if (findings.segments.front().head.owner.group != owner.group) {
    return Error(ErrorKind::refused, "it is the journal of a node of another group")
        .at(directory_of(index))
        .fix("name one of a node of the same group");
  }
  Source& source = sources_.emplace_back();
  for (const LogEnd& end : findings.segments.front().ends.all()) source.begins[end.subgroup] = end.version;
  source.findings = std::move(findings);
  for (const FoundSegment& segment : source.findings.segments) {
    SPINDRIFT_TRY_ASSIGN(const auto file, storage.open(segment_name(segment.head.seal.number)));
    SPINDRIFT_TRY_ASSIGN(const Blocks blocks, read_blocks(*file, 0, segment.head.bytes));
    const auto visit = [&](const FoundEntry& found, std::uint64_t at, const Hole*) { note(index, segment, found, at); };
    walk_segment({segment.head, segment.ends, blocks}, segment.end, visit);
  }
  return {};
}

void RepairSources::note(std::size_t index, const FoundSegment& segment, const FoundEntry& found, std::uint64_t at) {
  const EntryHead& head = found.entry.head;
  if (head.kind == EntryKind::base) sources_[index].begins[head.subgroup] = found.entry.version;
  const Version version(head.subgroup, found.entry.version);
  if (head.kind != EntryKind::message || !wanted(version)) return;
  candidates_[version].push_back({{index, segment.head.seal.number, at}, found.link_before, found.end.link});
}

std::optional<Error> RepairSources::find(LackingMessages& lacking, const std::string& place) const {
  std::vector<StoredMessage> from(lacking.end.value() - lacking.first.value());
  Digest link = lacking.behind;
  for (std::uint64_t version = lacking.end.value(); version-- > lacking.first.value();) {
    const auto all = candidates_.find({lacking.subgroup, LogVersion(version)});
    const auto none = std::vector<Candidate>();
    const auto& candidates = all == candidates_.end() ? none : all->second;
    const auto its = std::ranges::find(candidates, link, &Candidate::behind);
    if (its == candidates.end()) return nowhere(lacking, LogVersion(version), place);
    from[version - lacking.first.value()] = its->place;
    link = its->before;
  }
  if (link != lacking.before) {
    return Error(ErrorKind::refused, "the log of subgroup " + std::to_string(lacking.subgroup.value()) +
                                         " before version " + std::to_string(lacking.first.value()) +
                                         " is another than that of which the messages behind the damage are")
        .at(place)
        .fix("keep the directory, and report it");
  }
  lacking.from = std::move(from);
  return std::nullopt;
}

Error RepairSources::nowhere(const LackingMessages& lacking, LogVersion version, const std::string& place) const {
  const auto others = candidates_.find({lacking.subgroup, version});
  std::string why;
  for (std::size_t i = 0; i < sources_.size(); ++i)
    why += (i == 0 ? ": " : "; ") + directory_of(i) + ": " + lack_of(i, {lacking.subgroup, version});
  const bool conflict = others != candidates_.end();
  return Error(conflict ? ErrorKind::refused : ErrorKind::bad_input,
               text_of(lacking.subgroup, version) + " is lost, and is nowhere" + why)
      .at(place)
      .fix("name with --from, besides, a journal or a copy of one that has it");
}

std::string RepairSources::lack_of(std::size_t index, const Version& version) const {
  const Source& source = sources_[index];
  if (const auto others = candidates_.find(version); others != candidates_.end()) {
    for (const Candidate& each : others->second) {
      if (each.place.source != index) continue;
      return "another message has that version in its log, at " +
             storages_[index]->place(segment_name(each.place.segment)) + ":" + std::to_string(each.place.at);
    }
  }
  const LogEnd end = source.findings.ends.of(version.first);
  const auto begin = source.begins.find(version.first);
  if (end.version == LogVersion(0)) return "it has no log of that subgroup";
  if (version.second >= end.version) return "its log ends with version " + std::to_string(end.version.value());
  if (begin != source.begins.end() && version.second < begin->second)
    return "its log begins with version " + std::to_string(begin->second.value()) + ": what was before is trimmed away";
  return "the message is damaged there, too";
}

Result<void> MessageReader::open(const StoredMessage& place) {
  if (!blocks_.empty() && opened_.source == place.source && opened_.segment == place.segment) return {};
  blocks_.clear();
  SPINDRIFT_TRY_ASSIGN(const auto file, storages_[place.source]->open(segment_name(place.segment)));
  SPINDRIFT_TRY_ASSIGN(const SegmentReading reading, read_segment(*file));
  if (!reading.head) return {};
  SPINDRIFT_TRY_ASSIGN(blocks_, read_blocks(*file, 0, reading.head->bytes));
  seal_ = reading.head->seal;
  opened_ = place;
  return {};
}

Result<Entry> MessageReader::read(const StoredMessage& place) {
  SPINDRIFT_TRY(open(place));
  const auto bytes = std::span<const std::byte>(blocks_);
  const auto found = place.at < bytes.size() ? read_entry(bytes.subspan(place.at), seal_) : std::nullopt;
  if (found && found->entry.head.kind == EntryKind::message) return found->entry;
  return Error(ErrorKind::bad_input, "a message cannot be read that could be read before")
      .at(storages_[place.source]->place(segment_name(place.segment)) + ":" + std::to_string(place.at))
      .fix("say it again");
}

}  // namespace spindrift::store
