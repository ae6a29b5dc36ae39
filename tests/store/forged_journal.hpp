// A journal written anew by somebody who can write to its directory and has no key: other entries, and all checksums and
// links made to fit.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <spindrift/store/batch.hpp>
#include <spindrift/store/examine.hpp>
#include <spindrift/store/file_storage.hpp>
#include <spindrift/store/journal.hpp>

namespace spindrift::store {

struct ForgedEntry {
  EntryHead head;
  LogVersion version;  ///< in its log, before
  std::vector<std::byte> payload;
};

/// Has the editor change the entries of the journal in that directory, and writes what it left in place of it.
inline void forge(const std::string& directory, const std::function<void(std::vector<ForgedEntry>&)>& edit) {
  std::vector<ForgedEntry> entries;
  JournalFindings findings;
  {
    FileStorage files = value_or_throw(FileStorage::open_to_read(directory));
    findings = value_or_throw(examine(files, std::nullopt));
    value_or_throw(visit_entries(files, findings, findings.first(), [&](const Entry& entry) {
      entries.push_back({entry.head, entry.version, {entry.payload.begin(), entry.payload.end()}});
      return true;
    }));
  }
  edit(entries);
  const SegmentHead head = findings.segments.front().head;
  std::filesystem::remove_all(directory);
  std::filesystem::create_directory(directory);
  std::filesystem::permissions(directory, std::filesystem::perms::owner_all);
  FileStorage files = value_or_throw(FileStorage::open_at(directory));
  const JournalFindings none = value_or_throw(examine(files, head.owner));
  JournalOptions options;
  options.format = SegmentFormat::third;
  Journal journal =
      value_or_throw(Journal::open(files, none, {head.owner, head.seal.incarnation}, head.seal.journal, options));
  Batch batch;
  for (const ForgedEntry& entry : entries) batch.append(entry.head, entry.payload);
  if (!batch.empty()) value_or_throw(journal.commit(batch));
  value_or_throw(journal.close());
}

/// The message of that version, of the only log that has messages.
inline ForgedEntry& message_of(std::vector<ForgedEntry>& entries, std::uint64_t version) {
  for (ForgedEntry& entry : entries) {
    if (entry.head.kind == EntryKind::message && entry.version.value() == version) return entry;
  }
  throw Exception(Error(ErrorKind::bad_input, "there is no such message"));
}

/// The last entry of that kind.
inline ForgedEntry& last_of(std::vector<ForgedEntry>& entries, EntryKind kind) {
  ForgedEntry* found = nullptr;
  for (ForgedEntry& entry : entries) {
    if (entry.head.kind == kind) found = &entry;
  }
  if (found == nullptr) throw Exception(Error(ErrorKind::bad_input, "there is no such entry"));
  return *found;
}

}  // namespace spindrift::store
