// A node's record of views in its journal, on a disk, besides the file that neighbors read: for the node's next process
// after the machine was started anew. (docs/decisions/0065)
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <spindrift/core/config/config.hpp>
#include <spindrift/core/guarded_directory.hpp>
#include <spindrift/group/found_journal.hpp>
#include <spindrift/group/node_journal.hpp>
#include <spindrift/group/view_file.hpp>
#include <spindrift/store/journal.hpp>
#include <spindrift/views/view_memory.hpp>

namespace spindrift::group {

/// Not thread-safe. A store waits for the disk.
class ViewJournal final : public views::ViewMemory {
 public:
  /// Opens the journal of that node, or begins one, and has both it and the file hold the last record. Errors: refused
  /// (another process has it, somebody else can write there, or it is another group's or node's), bad_input (it is damaged),
  /// unsupported, disk_full, resource.
  [[nodiscard]] static Result<std::unique_ptr<ViewJournal>> open(ViewFile file, const JournalPlace& place, NodeId node);
  /// The same of one that is taken already.
  [[nodiscard]] static Result<std::unique_ptr<ViewJournal>> open(ViewFile file, FoundJournal found);
  /// The same in a journal that has the logs of the node, too. `close` closes it.
  [[nodiscard]] static Result<std::unique_ptr<ViewJournal>> open(ViewFile file, std::shared_ptr<NodeJournal> journal);
  /// Deletes the journal of that node, if there is one. Errors: refused (a process of the node runs), resource.
  [[nodiscard]] static Result<void> forget(const JournalPlace& place, NodeId node);
  /// The record in the journal of a node, whatever runs. Nothing: it has none. Errors: as `open`.
  [[nodiscard]] static Result<std::optional<views::ViewRecord>> read(const JournalPlace& place, NodeId node);

  Result<std::optional<views::ViewRecord>> load() override { return stored_; }
  Result<void> store(const views::ViewRecord& record) override;
  /// Those of the files, and the nodes that have a journal beside this one's and no file since the machine was started.
  Result<std::vector<Neighbor>> neighbors() override;
  void close() override;

 private:
  /// A journal of records alone, which waits for the disk itself: a thread would only add to that.
  struct Own {
    std::unique_ptr<store::Storage> storage;
    OwnJournal disk;
    std::uint64_t time = 0;  // of its last entry
    bool trims = false;      // there is nothing in it but records
  };

  ViewJournal(ViewFile file, JournalPlace place, NodeId node)
      : file_(std::move(file)), place_(std::move(place)), node_(node) {}

  [[nodiscard]] Result<std::optional<views::ViewRecord>> last(const JournalContent& content);
  void note_logs_lost(views::ViewRecord& record) const;
  [[nodiscard]] Result<void> keep(const std::optional<views::ViewRecord>& last);
  [[nodiscard]] Result<void> commit(store::EntryHead head, std::span<const std::byte> payload);
  [[nodiscard]] Result<void> commit_own(store::EntryHead head, std::span<const std::byte> payload);
  [[nodiscard]] Result<void> forget_reserved();
  [[nodiscard]] std::optional<Neighbor> beside(NodeId node);

  ViewFile file_;
  JournalPlace place_;
  NodeId node_;
  std::optional<Own> own_;                     // until it is closed, or:
  std::shared_ptr<NodeJournal> shared_;        // likewise
  std::optional<views::ViewRecord> stored_;    // last, by this process or one before
  std::map<NodeId, std::optional<views::ViewRecord>> beside_;  // of nodes without a file; they have not run since
};

/// The last record of that node, which does not run: in its file, or, since the machine was started, in its journal alone.
/// Errors: as of the two.
[[nodiscard]] Result<std::optional<views::ViewRecord>> last_record(const std::optional<JournalPlace>& place, ViewFile& file,
                                                                   NodeId node);
/// The things that a node's processes leave to the next.
struct NodeMemory {
  std::shared_ptr<NodeJournal> journal;       ///< null: no subgroup is logged
  std::unique_ptr<views::ViewMemory> record;  ///< of views
};
/// As the configuration has them kept: the record in a file, and in a journal if one is named, with the messages of the
/// subgroups of `layout` that are logged. `wake`: see NodeJournal::Progress. Errors: as of all of these; bad_argument
/// (one is logged and no journal named).
[[nodiscard]] Result<NodeMemory> open_node_memory(const Config& config, const GuardedDirectory& directory,
                                                  std::span<const SubgroupView> layout, NodeJournal::Progress wake);

}  // namespace spindrift::group
