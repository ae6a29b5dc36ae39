// A node's record of views in its journal, on a disk, besides the file that neighbors read: for the node's next process
// after the machine was started anew. (docs/decisions/0065)
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <spindrift/core/config/config.hpp>
#include <spindrift/core/guarded_directory.hpp>
#include <spindrift/group/view_file.hpp>
#include <spindrift/store/file_storage.hpp>
#include <spindrift/store/journal.hpp>
#include <spindrift/views/view_memory.hpp>

namespace spindrift::group {

/// The directories of the journals of a group's nodes: "<above>/<group>/<node>".
struct JournalPlace {
  std::string above;  ///< [PERS] file_path; absolute
  std::string group;

  [[nodiscard]] std::string of_group() const { return above + "/" + group; }
  [[nodiscard]] std::string of(NodeId node) const { return of_group() + "/" + std::to_string(node.value()); }
};
/// Nothing: the configuration names no directory of journals. A relative one is below the working directory.
[[nodiscard]] std::optional<JournalPlace> journal_place(const Config& config);

/// Not thread-safe. A store waits for the disk.
class ViewJournal final : public views::ViewMemory {
 public:
  /// Opens the journal of that node, or begins one, and has both it and the file hold the last record. Errors: refused
  /// (another process has it, somebody else can write there, or it is another group's or node's), bad_input (it is damaged),
  /// unsupported, disk_full, resource.
  [[nodiscard]] static Result<std::unique_ptr<ViewJournal>> open(ViewFile file, const JournalPlace& place, NodeId node);
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
  ViewJournal(ViewFile file, JournalPlace place, NodeId node, std::unique_ptr<store::FileStorage> storage)
      : file_(std::move(file)), place_(std::move(place)), node_(node), storage_(std::move(storage)) {}

  [[nodiscard]] Result<void> begin();
  [[nodiscard]] std::optional<Neighbor> beside(NodeId node);

  ViewFile file_;
  JournalPlace place_;
  NodeId node_;
  std::unique_ptr<store::FileStorage> storage_;
  std::optional<store::Journal> journal_;      // until it is closed
  std::uint64_t time_ = 0;                     // of its last entry
  std::optional<views::ViewRecord> stored_;    // last, by this process or one before
  std::map<NodeId, std::optional<views::ViewRecord>> beside_;  // of nodes without a file; they have not run since
};

/// The last record of that node, which does not run: in its file, or, since the machine was started, in its journal alone.
/// Errors: as of the two.
[[nodiscard]] Result<std::optional<views::ViewRecord>> last_record(const std::optional<JournalPlace>& place, ViewFile& file,
                                                                   NodeId node);
/// The record of views of that node as the configuration has it kept: in a file, and in a journal if one is named. Errors:
/// as of the two.
[[nodiscard]] Result<std::unique_ptr<views::ViewMemory>> open_view_memory(const Config& config,
                                                                          const GuardedDirectory& directory, NodeId node);

}  // namespace spindrift::group
