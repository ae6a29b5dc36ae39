// A node's journal as its processes have left it: where it is, whose it is, and what is found in it before this process goes
// on with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <spindrift/core/config/config.hpp>
#include <spindrift/group/log_index.hpp>
#include <spindrift/store/checkpoint.hpp>
#include <spindrift/store/examine.hpp>
#include <spindrift/store/file_storage.hpp>
#include <spindrift/store/journal.hpp>
#include <spindrift/store/reserve.hpp>

namespace spindrift::group {

/// The directories of the journals of a group's nodes: "<above>/<group>/<node>".
struct JournalPlace {
  std::string above;  ///< [PERS] file_path; absolute
  std::string group;

  [[nodiscard]] std::string of_group() const { return above + "/" + group; }
  [[nodiscard]] std::string of(NodeId node) const { return of_group() + "/" + std::to_string(node.value()); }
  [[nodiscard]] store::JournalOwner owner(NodeId node) const { return {digest_of(group), node}; }
};
/// Nothing: the configuration names no directory of journals. A relative one is below the working directory.
[[nodiscard]] std::optional<JournalPlace> journal_place(const Config& config);

/// The things that a node keeps in its journal.
enum class JournalUse : std::uint8_t {
  views,  ///< records of views alone, which are small and few: a segment has some hundred
  logs,   ///< those, and the logs of subgroups
};
/// The sizes of its segments; a start sets the first one aside.
[[nodiscard]] constexpr store::JournalOptions journal_options(JournalUse use) noexcept {
  constexpr std::uint64_t of_views = std::uint64_t{1} << 20U;
  if (use == JournalUse::logs) return {};
  return {.segment_bytes = of_views, .first_segment_bytes = of_views, .prepared_bytes = 0};
}

/// The content of a journal none of whose durable entries is lost.
struct JournalContent {
  store::JournalFindings findings;
  std::optional<std::vector<std::byte>> view;           ///< payload of the last record of views: an entry, or in the reserve
  std::map<SubgroupId, store::JournalPosition> bases{};  ///< the last base of each log that has one
  std::map<SubgroupId, LogIndex> logs{};                 ///< those of subgroups that are there, or have begun
  std::map<SubgroupId, store::Checkpoint> checkpoints{};  ///< those that count
  std::vector<Digest> views{};                           ///< of the payloads of all records of views

  /// Whether there are entries besides records of views.
  [[nodiscard]] bool has_logs() const noexcept;
};
/// The name of a new journal, which no other one has.
[[nodiscard]] Digest drawn_journal_name();
/// Reads the journal of a node, whatever runs: its owner may write and trim it meanwhile. Nothing: it has none. Errors: as
/// of `FoundJournal::take`.
[[nodiscard]] Result<std::optional<JournalContent>> read_journal(const JournalPlace& place, NodeId node);
/// Deletes the journal of that node, if there is one, and nothing else that lies in its directory. Errors: refused (a
/// process of the node runs, or a directory has the name of a file; nothing is deleted), resource.
[[nodiscard]] Result<void> forget_journal(const JournalPlace& place, NodeId node);

/// A journal that a process goes on with.
struct OwnJournal {
  store::Journal journal;
  store::Reserve reserve;  ///< for a record of views that comes while the disk is full
};

/// A record of views that the journal has no space for, which was to be the entry of that position: it is durable on return.
/// Errors: the journal's own, if that is another than disk_full or the record is too large; resource.
[[nodiscard]] Result<void> keep_in_reserve(store::Reserve& reserve, store::JournalPosition position,
                                           std::span<const std::byte> payload, Error of_journal);

/// This process has it, and no other.
struct FoundJournal {
  JournalPlace place;
  NodeId node;
  std::unique_ptr<store::Storage> storage;
  JournalContent content;

  /// Makes the directories that are not there. Errors: refused (another process has it, somebody else can write there, or it
  /// is another group's or node's), bad_input (it is damaged), unsupported, disk_full, resource.
  [[nodiscard]] static Result<FoundJournal> take(const JournalPlace& place, NodeId node);
  /// The journal, to go on with; `storage` outlives it. Errors: the same.
  [[nodiscard]] Result<OwnJournal> go_on(const store::JournalOptions& options) const;
};

/// A journal that cannot be used is no empty one: its node does not start.
[[nodiscard]] Error unusable_journal(const JournalPlace& place, NodeId node, Error why);

}  // namespace spindrift::group
