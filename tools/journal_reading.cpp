// All of a journal is examined before anything of it is told: where it ends, and what is missing, no part of it knows.
#include "journal_reading.hpp"

#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include <spindrift/core/ids_text.hpp>
#include <spindrift/group/log_reading.hpp>
#include <spindrift/store/file_storage.hpp>
#include <spindrift/store/held_storage.hpp>
#include <spindrift/store/reserve.hpp>
#include <spindrift/views/view_record.hpp>

#include "privileges.hpp"

namespace spindrift::tools {
namespace {

/// Files of somebody else than their reader are refused, for they may be anything.
void become_owner_of(const std::string& path) {
  struct stat status {};
  if (::geteuid() != 0 || ::stat(path.c_str(), &status) != 0 || status.st_uid == 0) return;
  static_cast<void>(::setgroups(0, nullptr) == 0);  // a namespace may forbid it, and has no groups then
  if (::setresgid(status.st_gid, status.st_gid, status.st_gid) == 0 &&
      ::setresuid(status.st_uid, status.st_uid, status.st_uid) == 0)
    return;
  throw Exception(system_error("setresuid", errno).at(path).fix("run the command as the user of the node"));
}

std::string journal_text(const JournalSource& source) {
  return source.owner ? fmt::format("the journal of node {}", source.owner->node) : std::string("the journal");
}

std::unique_ptr<WatchedStorage> opened(const JournalSource& source) {
  const std::string& path = source.directory;
  become_owner_of(path);
  auto storage = store::FileStorage::open_to_read(path);
  if (!storage) {
    const Error* why = &storage.error();
    while (why->cause() != nullptr) why = why->cause();
    throw Exception(Error(why->kind(), fmt::format("{} cannot be read: {}", journal_text(source), why->message()))
                        .at(why->place())
                        .fix(fix_for_unreadable()));
  }
  auto files = std::make_unique<store::FileStorage>(std::move(storage).value());
  return std::make_unique<WatchedStorage>(std::make_unique<store::HeldStorage>(std::move(files)));
}

/// As far as the files can be opened: the examination says why some cannot.
std::uint64_t bytes_of(store::Storage& storage) {
  std::uint64_t bytes = 0;
  const auto names = storage.names();
  if (!names) return bytes;
  for (const std::string& name : *names) {
    if (!store::segment_number(name)) continue;
    if (const auto file = storage.open(name)) bytes += (*file)->bytes();
  }
  return bytes;
}

/// An owner that removes a segment meanwhile removes no two within so many looks.
Result<store::JournalFindings> look(store::Storage& storage, const std::optional<store::JournalOwner>& owner) {
  constexpr int looks_max = 3;
  for (int i = 1;; ++i) {
    auto findings = store::examine(storage, owner);
    if (findings || findings.error().kind() != ErrorKind::bad_input || i == looks_max) return findings;
  }
}

Result<store::JournalFindings> look_twice_at_damage(store::Storage& storage,
                                                    const std::optional<store::JournalOwner>& owner) {
  auto first = look(storage, owner);
  if (!first || first->damages.empty()) return first;
  auto second = look(storage, owner);
  if (!second) return second;
  std::erase_if((*second).damages, [&](const store::Damage& damage) {
    return std::ranges::none_of(first->damages, [&](const store::Damage& before) {
      return before.kind == damage.kind && before.place == damage.place;
    });
  });
  return second;
}

/// The logs of entries that come in the order of a journal.
class LogCollector {
 public:
  explicit LogCollector(const store::LogEnds& before) {
    checkpoints_.begin(before);
    for (const store::LogEnd& end : before.all()) begin_at(end.subgroup, end.version.value(), {});
  }

  void take(const store::Entry& entry) {
    checkpoints_.note(entry);
    const SubgroupId subgroup = entry.head.subgroup;
    const std::uint64_t version = entry.version.value();
    if (entry.head.kind == store::EntryKind::base) return begin_at(subgroup, version, entry.position);
    if (entry.head.kind != store::EntryKind::message) return;
    const auto next = next_.find(subgroup);
    // The base in between cannot be read.
    if (next != next_.end() && version < next->second) begin_at(subgroup, 0, entry.position);
    expect(subgroup, version);
    JournaledLog& log = logs_[subgroup];
    log.bytes += entry.payload.size();
    if (log.first_time == 0) log.first_time = entry.head.time;
    log.last_time = entry.head.time;
    next_[subgroup] = version + 1;
  }

  [[nodiscard]] JournaledLogs finish(const store::LogEnds& ends) {
    for (const store::LogEnd& end : ends.all()) {
      if (end.subgroup == store::no_subgroup) continue;
      expect(end.subgroup, end.version.value());
      JournaledLog& log = logs_[end.subgroup];
      log.end = end;
      if (const store::Checkpoint* const checkpoint = checkpoints_.of(end.subgroup)) log.checkpoint = *checkpoint;
    }
    logs_.erase(store::no_subgroup);
    return std::move(logs_);
  }

 private:
  void begin_at(SubgroupId subgroup, std::uint64_t version, store::JournalPosition base) {
    JournaledLog log;
    log.end.subgroup = subgroup;
    log.base = base;
    log.first = version;
    logs_[subgroup] = log;
    next_[subgroup] = version;
  }

  /// The next message of the log that is there has this version, or it ends with it.
  void expect(SubgroupId subgroup, std::uint64_t version) {
    const std::uint64_t next = next_[subgroup];
    if (next < version) logs_[subgroup].lost.push_back({next, version});
    next_[subgroup] = std::max(next, version);
  }

  JournaledLogs logs_;
  store::CheckpointLedger checkpoints_;
  std::map<SubgroupId, std::uint64_t> next_;  // versions
};

}  // namespace

JournalReading::JournalReading(JournalSource source) : source_(std::move(source)), storage_(opened(source_)) {}

const store::JournalFindings& JournalReading::examine(std::uint64_t passes) {
  progress_.emplace("reading " + source_.directory, passes * bytes_of(*storage_));
  storage_->tell(&*progress_);
  auto found = look_twice_at_damage(*storage_, source_.owner);
  if (passes == 1) finish();
  if (!found) throw Exception(unreadable(std::move(found).error()));
  findings_ = std::move(found).value();
  return findings_;
}

JournaledLogs JournalReading::logs() {
  LogCollector logs(findings_.segments.empty() ? store::LogEnds() : findings_.segments.front().ends);
  const auto read = store::visit_entries(*storage_, findings_, findings_.first(), [&](const store::Entry& entry) {
    logs.take(entry);
    note_record(entry);
    return true;
  });
  if (!read) throw Exception(unreadable(read.error()));
  return logs.finish(findings_.ends);
}

// Each is looked at as the start does it.
std::vector<JournalRefusal> JournalReading::refusals(const JournaledLogs& logs) {
  using Part = JournalRefusal::Part;
  std::vector<JournalRefusal> refusals;
  if (findings_.segments.empty()) return refusals;
  const auto note = [&](Part part, Error why) {
    if (why.kind() == ErrorKind::resource) throw Exception(unreadable(std::move(why)));
    refusals.push_back({part, std::move(why)});
  };
  const store::SegmentHead& newest = findings_.segments.back().head;
  if (auto kept = store::Reserve::read(*storage_, newest.seal.journal); !kept) note(Part::reserve, std::move(kept).error());
  // The links of logs are not known where entries are lost, which is told anyway.
  if (findings_.loss() != nullptr) return refusals;
  for (const auto& [id, log] : logs) {
    if (!log.checkpoint || log.checkpoint->version.value() < log.first) continue;
    auto own = group::check_checkpoint({source_.directory, newest.owner, id, log.base}, *log.checkpoint);
    if (!own) note(Part::checkpoint, std::move(own).error());
  }
  return refusals;
}

LogNames JournalReading::names() {
  if (record_.empty()) find_record();
  LogNames names;
  if (record_.empty()) return names;
  views::ViewRecord record;
  ByteReader reader(record_);
  if (!views::get_record(reader, record) || !reader.complete())
    throw Exception(unreadable(Error(ErrorKind::bad_input, "its record of views has an impossible content")));
  const auto note = [&](const views::RecordedView& view) {
    for (const views::RecordedLog& log : view.logs) names[log.subgroup] = log.name;
  };
  if (record.last) note(*record.last);
  for (const views::RecordedView& view : record.accepted) note(view);
  return names;
}

void JournalReading::note_record(const store::Entry& entry) {
  if (entry.head.kind == store::EntryKind::view) record_.assign(entry.payload.begin(), entry.payload.end());
}

// The last one is in the newest segment that has any.
void JournalReading::find_record() {
  const std::span segments(findings_.segments);
  for (std::size_t i = segments.size(); i-- > 0 && record_.empty();) {
    const auto one = segments.subspan(i, 1);
    const auto read = store::visit_entries(*storage_, one, segments[i].head.first, [&](const store::Entry& entry) {
      note_record(entry);
      return true;
    });
    if (!read) throw Exception(unreadable(read.error()));
  }
}

void JournalReading::visit(const JournaledLog& log, VersionRange versions, const store::EntryVisitor& visitor) {
  if (versions.first >= versions.end) return;
  const auto segments = segments_from(log, versions.first);
  const auto read = store::visit_entries(*storage_, segments, log.base, [&](const store::Entry& entry) {
    const std::uint64_t version = entry.version.value();
    if (entry.head.subgroup != log.end.subgroup || entry.head.kind != store::EntryKind::message) return true;
    if (version < versions.first) return true;
    return version < versions.end && visitor(entry) && version + 1 < versions.end;
  });
  if (!read) throw Exception(unreadable(read.error()));
}

void JournalReading::visit_all(const store::EntryVisitor& visitor) {
  const auto read = store::visit_entries(*storage_, findings_, findings_.first(), visitor);
  if (!read) throw Exception(unreadable(read.error()));
}

void JournalReading::finish() { progress_->finish(); }

/// Each segment says where the logs end before it.
std::span<const store::FoundSegment> JournalReading::segments_from(const JournaledLog& log, std::uint64_t version) const {
  const std::span segments(findings_.segments);
  std::size_t at = 0;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const std::uint64_t before = segments[i].ends.of(log.end.subgroup).version.value();
    if (segments[i].head.first <= log.base || before <= version) at = i;
  }
  return segments.subspan(at);
}

Error JournalReading::unreadable(Error why) const {
  const ErrorKind kind = why.kind();
  return Error(kind, journal_text(source_) + " cannot be read")
      .at(source_.directory)
      .because(std::move(why));
}

}  // namespace spindrift::tools
