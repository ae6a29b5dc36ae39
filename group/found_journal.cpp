// All of a journal is read before its node goes on with it.
#include <spindrift/group/found_journal.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <random>
#include <utility>

#include <spindrift/core/guarded_directory.hpp>
#include <spindrift/core/log.hpp>
#include <spindrift/store/held_storage.hpp>

namespace spindrift::group {
namespace {

Error damaged(const store::Damage& damage) {
  return Error(ErrorKind::bad_input, std::string(to_string(damage.kind)))
      .at(damage.place)
      .fix("see what can still be read: spindrift log verify; and whether journals of other nodes have the rest: spindrift "
           "log repair --config FILE --id NODE --from DIRECTORY. If not, and if this node may forget which view of the "
           "group it was in last, and others have the logs that it has, have it forget both: spindrift group forget "
           "--config FILE NODE; a copy of the directory is of use only if it has the group's last view");
}

/// A record that was stored while the disk was full counts until the journal has it, or a later one.
Result<void> look_into_reserve(store::Storage& storage, JournalContent& content,
                               std::optional<store::JournalPosition> newest) {
  if (content.findings.segments.empty()) return {};
  const Digest& journal = content.findings.segments.back().head.seal.journal;
  SPINDRIFT_TRY_ASSIGN(auto reserved, store::Reserve::read(storage, journal));
  if (!reserved) return {};
  content.views.push_back(reserved->before);
  content.views.push_back(digest_of(std::span<const std::byte>(reserved->bytes)));
  if (newest < reserved->position) content.view = std::move(reserved->bytes);
  return {};
}

/// An entry tells of the log that it is of.
void note_in_log(JournalContent& content, const store::Entry& entry) {
  const SubgroupId subgroup = entry.head.subgroup;
  const LogIndex beginning(entry.version.value(), entry.position);
  if (entry.head.kind == store::EntryKind::base) {
    content.bases[subgroup] = entry.position;
    content.logs.insert_or_assign(subgroup, beginning);
  } else if (entry.head.kind == store::EntryKind::message) {
    content.logs.try_emplace(subgroup, beginning).first->second.note(entry.position, entry.payload.size(), entry.head.time);
  }
}

Result<JournalContent> content_of(store::Storage& storage, const store::JournalOwner& owner) {
  SPINDRIFT_TRY_ASSIGN(auto findings, store::examine(storage, owner));
  if (const store::Damage* const damage = findings.loss()) return damaged(*damage);
  JournalContent content{std::move(findings), std::nullopt};
  store::CheckpointLedger checkpoints;
  if (!content.findings.segments.empty()) {
    const store::FoundSegment& oldest = content.findings.segments.front();
    checkpoints.begin(oldest.ends);
    for (const store::LogEnd& end : oldest.ends.all()) {
      if (end.subgroup != store::no_subgroup)
        content.logs.try_emplace(end.subgroup, end.version.value(), oldest.head.first);
    }
  }
  std::optional<store::JournalPosition> newest;  // record of views
  SPINDRIFT_TRY(store::visit_entries(storage, content.findings, content.findings.first(), [&](const store::Entry& entry) {
    if (entry.head.kind == store::EntryKind::view) {
      newest = entry.position;
      content.view.emplace(entry.payload.begin(), entry.payload.end());
      content.views.push_back(digest_of(entry.payload));
    }
    note_in_log(content, entry);
    checkpoints.note(entry);
    return true;
  }));
  content.checkpoints = checkpoints.all();
  SPINDRIFT_TRY(look_into_reserve(storage, content, newest));
  return content;
}

/// The name of the oldest segment, which goes first when a journal is trimmed; empty: there is none.
Result<std::string> oldest_segment(store::Storage& storage) {
  SPINDRIFT_TRY_ASSIGN(const auto names, storage.names());
  const auto is_segment = [](const std::string& name) { return store::segment_number(name).has_value(); };
  const auto first = std::ranges::find_if(names, is_segment);
  return first == names.end() ? std::string() : *first;
}

/// The content of a journal whose owner may run: a segment that it trims away meanwhile is missing here, and is no damage.
Result<JournalContent> content_beside_owner(const std::string& path, const store::JournalOwner& owner) {
  constexpr int readings_max = 16;
  for (int reading = 1;; ++reading) {
    SPINDRIFT_TRY_ASSIGN(auto files, store::FileStorage::open_to_read(path));
    SPINDRIFT_TRY_ASSIGN(const std::string before, oldest_segment(files));
    store::HeldStorage held(std::make_unique<store::FileStorage>(std::move(files)));
    auto content = content_of(held, owner);
    if (content || reading == readings_max) return content;
    SPINDRIFT_TRY_ASSIGN(auto later, store::FileStorage::open_to_read(path));
    SPINDRIFT_TRY_ASSIGN(const std::string now, oldest_segment(later));
    if (now == before) return content;
  }
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

Digest drawn_journal_name() {
  std::random_device device;
  const auto word = [&] { return std::uint64_t{device()} << 32U | device(); };
  return {{word(), word()}};
}

bool JournalContent::has_logs() const noexcept {
  return std::ranges::any_of(findings.ends.all(), [](const auto& end) { return end.subgroup != store::no_subgroup; });
}

Result<void> keep_in_reserve(store::Reserve& reserve, store::JournalPosition position, std::span<const std::byte> payload,
                             Error of_journal) {
  if (of_journal.kind() != ErrorKind::disk_full || payload.size() > store::Reserve::payload_bytes_max) return of_journal;
  log::warn(log::Room::group, "the disk is full: the record of views is kept in the room that the journal has set aside",
            {{"reason", of_journal.to_string()}});
  return reserve.put(position, payload);
}

Error unusable_journal(const JournalPlace& place, NodeId node, Error why) {
  const ErrorKind kind = why.kind();
  Error error(kind, "the journal of node " + std::to_string(node.value()) + " cannot be used");
  return std::move(error).at(place.of(node)).because(std::move(why));
}

Result<std::optional<JournalContent>> read_journal(const JournalPlace& place, NodeId node) {
  SPINDRIFT_TRY_ASSIGN(const bool is_there, exists(place.of(node)));
  if (!is_there) return std::optional<JournalContent>();
  SPINDRIFT_TRY_ASSIGN(auto content, content_beside_owner(place.of(node), place.owner(node)));
  return std::optional(std::move(content));
}

Result<void> forget_journal(const JournalPlace& place, NodeId node) {
  SPINDRIFT_TRY_ASSIGN(const bool is_there, exists(place.of(node)));
  if (!is_there) return {};
  SPINDRIFT_TRY_ASSIGN(auto storage, store::FileStorage::open_at(place.of(node)));
  SPINDRIFT_TRY_ASSIGN(const auto names, storage.names());
  for (const std::string& name : names) {
    std::error_code unknown;
    if (!store::is_journal_file(name) || !std::filesystem::is_directory(storage.place(name), unknown)) continue;
    return Error(ErrorKind::refused, "it is a directory, with the name of a file of the journal; nothing was deleted")
        .at(storage.place(name))
        .fix("move it out of the journal, and have the node forget again");
  }
  // Segments go first, the newest last, and then what says that there were any: a part of them is damage.
  for (const std::string& name : names) {
    if (store::is_journal_file(name)) SPINDRIFT_TRY(storage.remove(name));
  }
  return storage.sync_names();
}

Result<FoundJournal> FoundJournal::take(const JournalPlace& place, NodeId node) {
  SPINDRIFT_TRY(make_directories(place));
  auto storage = store::FileStorage::open_at(place.of(node));
  if (!storage) return unusable_journal(place, node, std::move(storage).error());
  auto content = content_of(storage.value(), place.owner(node));
  if (!content) return unusable_journal(place, node, std::move(content).error());
  return FoundJournal{place, node, std::make_unique<store::FileStorage>(std::move(storage).value()),
                      std::move(content).value()};
}

Result<OwnJournal> FoundJournal::go_on(const store::JournalOptions& options) const {
  const store::JournalWriter writer{place.owner(node), next_writer(content.findings)};
  auto journal = store::Journal::open(*storage, content.findings, writer, drawn_journal_name(), options);
  if (!journal) return unusable_journal(place, node, std::move(journal).error());
  using Of = store::Reserve::Journal;
  const Of of = content.findings.segments.empty() ? Of::begins : Of::goes_on;
  auto reserve = store::Reserve::open(*storage, journal.value().name(), of);
  if (!reserve) return unusable_journal(place, node, std::move(reserve).error());
  return OwnJournal{std::move(journal).value(), std::move(reserve).value()};
}

}  // namespace spindrift::group
