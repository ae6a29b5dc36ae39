// A node's journal as a command finds it, beside a process that writes it or without one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <spindrift/group/found_journal.hpp>
#include <spindrift/store/checkpoint.hpp>
#include <spindrift/store/examine.hpp>

#include "read_progress.hpp"

namespace spindrift::tools {

/// The messages of versions [first, end).
struct VersionRange {
  std::uint64_t first = 0;
  std::uint64_t end = 0;
  friend bool operator==(const VersionRange&, const VersionRange&) = default;
};

/// A subgroup's log since it began anew last, as a journal has it.
struct JournaledLog {
  store::LogEnd end;
  store::JournalPosition base;       ///< what lies before it in the journal is not of this log
  std::uint64_t first = 0;           ///< version of the first message that is still there
  std::uint64_t bytes = 0;           ///< of all payloads
  std::uint64_t first_time = 0;      ///< of the first message that can be read; 0: there is none
  std::uint64_t last_time = 0;       ///< of the last one
  std::vector<VersionRange> lost{};  ///< messages that cannot be read, ascending
  std::optional<store::Checkpoint> checkpoint{};  ///< the one that counts

  [[nodiscard]] bool empty() const noexcept { return first == end.version.value(); }
};
using JournaledLogs = std::map<SubgroupId, JournaledLog>;
/// Digests of the names of subgroups, by place in the layout.
using LogNames = std::map<SubgroupId, std::uint64_t>;

/// A part of a journal that its node's start refuses.
struct JournalRefusal {
  enum class Part { checkpoint, reserve };
  Part part;
  Error why;
};

/// A journal that is there.
struct JournalSource {
  std::string directory;
  std::optional<store::JournalOwner> owner{};  ///< whose it must be; nothing: whoever's
};

class JournalReading {
 public:
  /// Opens it. As root it reads with the rights of the directory's owner, from now on. Throws refused, resource.
  explicit JournalReading(JournalSource source);

  /// Reads all of it, `passes` times with what follows, and keeps what it finds. A journal that is written looks damaged
  /// where a write comes between two reads: such damage is gone at the second look, and counts for nothing. Throws refused
  /// (it is another node's or group's), unsupported, bad_input, resource.
  const store::JournalFindings& examine(std::uint64_t passes);
  /// Reads all of it, as far as it was found, once more.
  [[nodiscard]] JournaledLogs logs();
  /// Behind `examine`, for logs that are as `logs` has them: why the node does not start with this journal, or does not go
  /// on, though its entries are there: the reserve is of another journal or damaged, a checkpoint is of another log. Throws
  /// resource.
  [[nodiscard]] std::vector<JournalRefusal> refusals(const JournaledLogs& logs);
  /// Behind `examine`: digests of the names of the subgroups that have a log, as the node's last record of views says.
  /// Throws bad_input (there is one that nobody can read).
  [[nodiscard]] LogNames names();
  /// The messages of these versions that can be read, in order, until the visitor wants no more.
  void visit(const JournaledLog& log, VersionRange versions, const store::EntryVisitor& visitor);
  /// All entries that can be read, in order, until the visitor wants no more.
  void visit_all(const store::EntryVisitor& visitor);
  /// Nothing is left to be read: of the passes that were announced the rest is not made.
  void finish();

 private:
  [[nodiscard]] std::span<const store::FoundSegment> segments_from(const JournaledLog& log, std::uint64_t version) const;
  void note_record(const store::Entry& entry);
  void find_record();
  [[nodiscard]] Error unreadable(Error why) const;

  JournalSource source_;
  std::unique_ptr<WatchedStorage> storage_;
  store::JournalFindings findings_;
  std::vector<std::byte> record_;  // the last of views that was found; empty: none
  std::optional<ReadProgress> progress_;
};

}  // namespace spindrift::tools
