// Each store is one entry, committed before the call returns; older ones are trimmed away, for each says everything.
#include <spindrift/group/view_journal.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <random>
#include <utility>

#include <spindrift/core/digest.hpp>
#include <spindrift/core/log.hpp>
#include <spindrift/core/runtime_path.hpp>
#include <spindrift/group/status.hpp>
#include <spindrift/store/examine.hpp>

namespace spindrift::group {
namespace {

/// Records are small and few: a segment has some hundred.
constexpr store::JournalOptions options{.segment_bytes = std::uint64_t{1} << 20U, .prepared_bytes = 0};

Digest drawn_digest() {
  std::random_device device;
  const auto word = [&] { return std::uint64_t{device()} << 32U | device(); };
  return {{word(), word()}};
}

store::JournalOwner owner_of(const JournalPlace& place, NodeId node) { return {digest_of(place.group), node}; }

/// A journal that cannot be read is no empty record: its node does not start.
Error unreadable(const std::string& path, NodeId node, Error why) {
  const ErrorKind kind = why.kind();
  Error error(kind, "the journal of node " + std::to_string(node.value()) + " cannot be used");
  return std::move(error).at(path).because(std::move(why));
}

Error damaged(const store::Damage& damage) {
  return Error(ErrorKind::bad_input, std::string(to_string(damage.kind)))
      .at(damage.place)
      .fix("if this node may forget which view of the group it was in last, have it forget: spindrift group forget --config "
           "FILE NODE; a copy of the directory is of use only if it has the group's last view");
}

using Record = std::optional<views::ViewRecord>;

/// The last record among these entries.
Result<Record> last_record(store::Storage& storage, const store::JournalFindings& findings) {
  if (const store::Damage* const damage = findings.loss()) return damaged(*damage);
  Record last;
  bool possible = true;
  SPINDRIFT_TRY(store::visit_entries(storage, findings, findings.first(), [&](const store::Entry& entry) {
    if (entry.head.kind != store::EntryKind::view) return true;
    ByteReader reader(entry.payload);
    possible = views::get_record(reader, last.emplace()) && reader.complete();
    return possible;
  }));
  if (possible) return last;
  return Error(ErrorKind::bad_input, "its record of views has an impossible content").at(storage.place(""));
}

/// Their names last as those of the files in them do.
Result<void> make_directories(const JournalPlace& place) {
  auto opened = open_guarded_directory(place.of_group(), 2);
  if (!opened) {
    return Error(opened.error().kind(), opened.error().message())
        .at(opened.error().place())
        .fix("name in [PERS] file_path an absolute directory that this user alone may write, and whose parent is there");
  }
  const FileDescriptor of_group = std::move(opened).value();
  for (const char* const above : {"..", "../.."}) {
    const FileDescriptor directory(::openat(of_group.get(), above, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    // One that cannot be read is that of somebody who has made this one for us.
    if (!directory && errno == EACCES) continue;
    const std::string path = place.of_group() + "/" + above;
    if (!directory) return system_error("open", errno).at(path);
    if (::fsync(directory.get()) != 0) return system_error("fsync", errno).at(path);
  }
  return {};
}

/// A directory that cannot be looked at may be there.
Result<bool> exists(const std::string& path) {
  std::error_code failure;
  const bool is_there = std::filesystem::exists(path, failure);
  if (failure) return system_error("stat", failure.value()).at(path);
  return is_there;
}

/// Above those of all processes that have written the journal.
std::uint64_t next_writer(const store::JournalFindings& findings) {
  std::uint64_t highest = 0;
  for (const store::FoundSegment& segment : findings.segments) highest = std::max(highest, segment.head.seal.incarnation);
  return highest + 1;
}

}  // namespace

std::optional<JournalPlace> journal_place(const Config& config) {
  const std::string& path = config.text("PERS", "file_path");
  if (path.empty()) return std::nullopt;
  return JournalPlace{std::filesystem::absolute(path).lexically_normal().string(), config.group_name()};
}

Result<std::unique_ptr<ViewJournal>> ViewJournal::open(ViewFile file, const JournalPlace& place, NodeId node) {
  SPINDRIFT_TRY(make_directories(place));
  const std::string path = place.of(node);
  auto storage = store::FileStorage::open_at(path);
  if (!storage) return unreadable(path, node, std::move(storage).error());
  std::unique_ptr<ViewJournal> journal(
      new ViewJournal(std::move(file), place, node, std::make_unique<store::FileStorage>(std::move(storage).value())));
  if (auto begun = journal->begin(); !begun) return unreadable(path, node, std::move(begun).error());
  return journal;
}

// The file comes first if it is of this start of the machine: for a while the node may have kept no journal. One that lacks
// the journal's last record is of a process that was killed in that store, from which nothing has followed.
Result<void> ViewJournal::begin() {
  SPINDRIFT_TRY_ASSIGN(const auto findings, store::examine(*storage_, owner_of(place_, node_)));
  SPINDRIFT_TRY_ASSIGN(Record in_journal, last_record(*storage_, findings));
  SPINDRIFT_TRY_ASSIGN(Record last, file_.load());
  if (!last) last = std::move(in_journal);
  time_ = findings.time;
  const store::JournalWriter writer{owner_of(place_, node_), next_writer(findings)};
  SPINDRIFT_TRY_ASSIGN(auto journal, store::Journal::open(*storage_, findings, writer, drawn_digest(), options));
  journal_.emplace(std::move(journal));
  if (last) return store(*last);
  return {};
}

Result<void> ViewJournal::store(const views::ViewRecord& record) {
  CHECK(journal_.has_value());
  ByteWriter bytes;
  put_record(bytes, record);
  time_ = std::max(time_, wall_clock_ns());
  const ViewId view = record.last ? record.last->id : ViewId(0);
  store::Batch batch;
  batch.append({store::EntryKind::view, store::no_subgroup, node_, view, SequenceNumber(0), time_}, bytes.take());
  SPINDRIFT_TRY(journal_->commit(batch));
  SPINDRIFT_TRY(journal_->trim(store::JournalPosition(journal_->end().value() - 1)));
  // The last record is the one that matters: damage to it is not to pass for a torn write.
  SPINDRIFT_TRY(journal_->vouch());
  SPINDRIFT_TRY(file_.store(record));
  stored_ = record;
  return {};
}

Result<Record> ViewJournal::read(const JournalPlace& place, NodeId node) {
  SPINDRIFT_TRY_ASSIGN(const bool is_there, exists(place.of(node)));
  if (!is_there) return Record();
  SPINDRIFT_TRY_ASSIGN(auto storage, store::FileStorage::open_to_read(place.of(node)));
  SPINDRIFT_TRY_ASSIGN(const auto findings, store::examine(storage, owner_of(place, node)));
  return last_record(storage, findings);
}

Result<std::vector<views::ViewMemory::Neighbor>> ViewJournal::neighbors() {
  SPINDRIFT_TRY_ASSIGN(std::vector<Neighbor> all, file_.neighbors());
  std::error_code failure;
  for (std::filesystem::directory_iterator entry(place_.of_group(), failure), end; !failure && entry != end;
       entry.increment(failure)) {
    const auto node = node_of_file(entry->path().filename().string(), "");
    if (!node || *node == node_ || std::ranges::find(all, *node, &Neighbor::node) != all.end()) continue;
    if (auto one = beside(*node)) all.push_back(*std::move(one));
  }
  if (failure) return system_error("opendir", failure.value()).at(place_.of_group());
  std::ranges::sort(all, {}, &Neighbor::node);
  return all;
}

// One that cannot be read is as good as lost, as with files: it keeps its own node from starting, and no other.
std::optional<views::ViewMemory::Neighbor> ViewJournal::beside(NodeId node) {
  auto known = beside_.find(node);
  if (known == beside_.end()) {
    auto record = read(place_, node);
    if (!record) {
      log::error(log::Room::group, "the journal of another node cannot be read, and counts as lost",
                 {{"node", node_}, {"whom", node}, {"reason", record.error().to_string()}});
    }
    known = beside_.emplace(node, record ? std::move(record).value() : Record()).first;
  }
  if (!known->second) return std::nullopt;
  return Neighbor{node, file_.runs(node), *known->second};
}

Result<void> ViewJournal::forget(const JournalPlace& place, NodeId node) {
  SPINDRIFT_TRY_ASSIGN(const bool is_there, exists(place.of(node)));
  if (!is_there) return {};
  SPINDRIFT_TRY_ASSIGN(auto storage, store::FileStorage::open_at(place.of(node)));
  SPINDRIFT_TRY_ASSIGN(const auto names, storage.names());
  // Segments go first, the newest last, and then what says that there were any: a part of them is damage.
  for (const std::string& name : names) SPINDRIFT_TRY(storage.remove(name));
  return storage.sync_names();
}

void ViewJournal::close() {
  if (journal_) {
    if (const auto closed = journal_->close(); !closed) {
      log::warn(log::Room::group, "the journal could not be closed",
                {{"node", node_}, {"reason", closed.error().to_string()}});
    }
  }
  journal_.reset();
  storage_.reset();
  file_.close();
}

Result<Record> last_record(const std::optional<JournalPlace>& place, ViewFile& file, NodeId node) {
  SPINDRIFT_TRY_ASSIGN(auto record, file.load());
  if (record || !place) return record;
  return ViewJournal::read(*place, node);
}

Result<std::unique_ptr<views::ViewMemory>> open_view_memory(const Config& config, const GuardedDirectory& directory,
                                                            NodeId node) {
  SPINDRIFT_TRY_ASSIGN(auto file, ViewFile::open(directory, node));
  const auto place = journal_place(config);
  if (!place) return std::unique_ptr<views::ViewMemory>(std::make_unique<ViewFile>(std::move(file)));
  SPINDRIFT_TRY_ASSIGN(auto journal, ViewJournal::open(std::move(file), *place, node));
  return std::unique_ptr<views::ViewMemory>(std::move(journal));
}

}  // namespace spindrift::group
