// Each store is one entry, committed before the call returns; older ones are of no use, for each says everything.
#include <spindrift/group/view_journal.hpp>

#include <algorithm>
#include <filesystem>
#include <utility>

#include <spindrift/core/check.hpp>
#include <spindrift/core/log.hpp>
#include <spindrift/core/runtime_path.hpp>
#include <spindrift/group/status.hpp>
#include <spindrift/store/batch.hpp>

namespace spindrift::group {
namespace {

using Record = std::optional<views::ViewRecord>;

bool has(const JournalContent& content, const views::ViewRecord& record) {
  ByteWriter bytes;
  put_record(bytes, record);
  const std::vector<std::byte> payload = bytes.take();
  return std::ranges::find(content.views, digest_of(std::span<const std::byte>(payload))) != content.views.end();
}

Result<Record> record_in(const JournalContent& content, const std::string& path) {
  if (!content.view) return Record();
  Record last;
  ByteReader reader(*content.view);
  if (views::get_record(reader, last.emplace()) && reader.complete()) return last;
  return Error(ErrorKind::bad_input, "its record of views has an impossible content").at(path + "/");
}

/// A log that is never trimmed makes its object again by itself, and its node's segments stay readable for earlier programs.
bool may_checkpoint(std::span<const SubgroupView> layout) {
  return std::ranges::any_of(layout, [](const SubgroupView& subgroup) {
    return subgroup.storage == SubgroupStorage::logged && subgroup.history.any();
  });
}

}  // namespace

Result<std::unique_ptr<ViewJournal>> ViewJournal::open(ViewFile file, const JournalPlace& place, NodeId node) {
  SPINDRIFT_TRY_ASSIGN(FoundJournal found, FoundJournal::take(place, node));
  return open(std::move(file), std::move(found));
}

Result<std::unique_ptr<ViewJournal>> ViewJournal::open(ViewFile file, FoundJournal found) {
  const JournalPlace& place = found.place;
  const NodeId node = found.node;
  std::unique_ptr<ViewJournal> views(new ViewJournal(std::move(file), place, node));
  auto last = views->last(found.content);
  if (!last) return unusable_journal(place, node, std::move(last).error());
  SPINDRIFT_TRY_ASSIGN(auto disk, found.go_on(journal_options(JournalUse::views)));
  const JournalContent& content = found.content;
  views->own_.emplace(Own{std::move(found.storage), std::move(disk), content.findings.time, !content.has_logs()});
  if (auto stored = views->keep(*last); !stored) return unusable_journal(place, node, std::move(stored).error());
  return views;
}

Result<std::unique_ptr<ViewJournal>> ViewJournal::open(ViewFile file, std::shared_ptr<NodeJournal> journal) {
  const NodeJournal& shared = *journal;
  std::unique_ptr<ViewJournal> views(new ViewJournal(std::move(file), shared.place(), shared.node()));
  views->shared_ = std::move(journal);
  auto last = views->last(shared.found());
  const auto stored = last ? views->keep(*last) : Result<void>(std::move(last).error());
  if (!stored) return unusable_journal(shared.place(), shared.node(), stored.error());
  return views;
}

// The file comes first if it is of this start of the machine: for a while the node may have kept no journal. One that lacks
// the journal's last record is of a process that was killed in that store, from which nothing has followed.
Result<Record> ViewJournal::last(const JournalContent& content) {
  SPINDRIFT_TRY_ASSIGN(Record in_journal, record_in(content, place_.of(node_)));
  SPINDRIFT_TRY_ASSIGN(Record in_file, file_.load());
  if (!in_file) return in_journal;
  if (shared_ != nullptr && !has(content, *in_file)) note_logs_lost(*in_file);
  return in_file;
}

// Each record is in the journal before it is in the file. One that is in the file alone tells of a journal that was lost, or
// put back as it was before, and its logs with it; or of none at that time, and then of no logs.
void ViewJournal::note_logs_lost(views::ViewRecord& record) const {
  lose_logs(record, node_, wall_clock_ns());
  if (!record.last) return;
  log::warn(log::Room::group, "the journal lacks the node's last view: its logs count as lost",
            {{"node", node_}, {"view", record.last->id}, {"directory", place_.of(node_)}});
}

// It is an entry of the journal then: a process before may have had it in the reserve alone.
Result<void> ViewJournal::keep(const Record& last) {
  if (!last) return {};
  SPINDRIFT_TRY(store(*last));
  return forget_reserved();
}

Result<void> ViewJournal::forget_reserved() {
  return shared_ != nullptr ? shared_->forget_reserved() : own_->disk.reserve.forget_earlier();
}

Result<void> ViewJournal::store(const views::ViewRecord& record) {
  ByteWriter bytes;
  put_record(bytes, record);
  const ViewId view = record.last ? record.last->id : ViewId(0);
  SPINDRIFT_TRY(commit({store::EntryKind::view, store::no_subgroup, node_, view, SequenceNumber(0), wall_clock_ns()},
                       bytes.take()));
  SPINDRIFT_TRY(file_.store(record));
  stored_ = record;
  return {};
}

// The last record is the one that matters: damage to it is not to pass for a torn write, so it is vouched for. Where
// messages lie before it, nothing is trimmed away.
Result<void> ViewJournal::commit(store::EntryHead head, std::span<const std::byte> payload) {
  if (shared_ != nullptr) return shared_->commit(head, payload);
  CHECK(own_.has_value());
  return commit_own(head, payload);
}

// A record that comes while the disk is full is no entry later: the next one says all that it says.
Result<void> ViewJournal::commit_own(store::EntryHead head, std::span<const std::byte> payload) {
  auto& [journal, reserve] = own_->disk;
  head.time = own_->time = std::max(own_->time, head.time);
  store::Batch batch;
  batch.append(head, payload);
  auto committed = journal.commit(batch);
  if (!committed) return keep_in_reserve(reserve, journal.end(), payload, std::move(committed).error());
  if (own_->trims) SPINDRIFT_TRY(journal.trim(store::JournalPosition(journal.end().value() - 1)));
  return journal.vouch();
}

Result<Record> ViewJournal::read(const JournalPlace& place, NodeId node) {
  SPINDRIFT_TRY_ASSIGN(const auto content, read_journal(place, node));
  if (!content) return Record();
  return record_in(*content, place.of(node));
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

Result<void> ViewJournal::forget(const JournalPlace& place, NodeId node) { return forget_journal(place, node); }

void ViewJournal::close() {
  Result<void> closed;
  if (own_) closed = own_->disk.journal.close();
  else if (shared_ != nullptr) closed = shared_->close();
  if (!closed) {
    log::warn(log::Room::group, "the journal could not be closed",
              {{"node", node_}, {"reason", closed.error().to_string()}});
  }
  own_.reset();
  shared_.reset();
  file_.close();
}

Result<Record> last_record(const std::optional<JournalPlace>& place, ViewFile& file, NodeId node) {
  SPINDRIFT_TRY_ASSIGN(auto record, file.load());
  if (record || !place) return record;
  return ViewJournal::read(*place, node);
}

Result<NodeMemory> open_node_memory(const Config& config, const GuardedDirectory& directory,
                                    std::span<const SubgroupView> layout, NodeJournal::Progress wake) {
  const NodeId node = config.local_id();
  const auto logged = std::ranges::find(layout, SubgroupStorage::logged, &SubgroupView::storage);
  const auto place = journal_place(config);
  if (!place && logged != layout.end()) {
    return Error(ErrorKind::bad_argument, "subgroup " + logged->name + " is logged, and nothing says where")
        .fix("name in [PERS] file_path a directory on a disk that lasts");
  }
  SPINDRIFT_TRY_ASSIGN(auto signer, open_log_signer(config, layout));
  SPINDRIFT_TRY_ASSIGN(auto file, ViewFile::open(directory, node));
  NodeMemory memory;
  if (!place) {
    memory.record = std::make_unique<ViewFile>(std::move(file));
    return memory;
  }
  if (logged == layout.end()) {
    if (signer != nullptr) {
      log::warn(log::Room::group, "logs are to be signed, and no subgroup is logged", {{"node", node}});
    }
    SPINDRIFT_TRY_ASSIGN(memory.record, ViewJournal::open(std::move(file), *place, node));
    return memory;
  }
  SPINDRIFT_TRY_ASSIGN(FoundJournal found, FoundJournal::take(*place, node));
  NodeJournal::Options options{.journal = journal_options(JournalUse::logs), .thread = {}};
  if (may_checkpoint(layout)) options.journal.format = store::SegmentFormat::third;
  auto journal = signer == nullptr ? NodeJournal::open(std::move(found), options, std::move(wake))
                                   : NodeJournal::open_signed(std::move(found), options, std::move(signer), std::move(wake));
  SPINDRIFT_TRY_ASSIGN(memory.journal, std::move(journal));
  SPINDRIFT_TRY_ASSIGN(memory.record, ViewJournal::open(std::move(file), memory.journal));
  return memory;
}

}  // namespace spindrift::group
