// A node's record of views in a file on its host, for the node's next process. It outlives kill -9, for what was written is
// the kernel's, and no longer than this boot of the machine.
//
// The file is `views/<node>.views` in the group's directory: a header of 64 bytes (magic, version, node, boot, the number of
// the store that was begun last, that of the one that is complete), then two places of `slot_bytes`, which stores take in
// turns: number, size and digest, then the record as messages have it. A process that is killed in a store leaves the one
// before whole. Numbers are little-endian. `views/<node>.lock` is held by the process that has the record.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include <spindrift/core/file_descriptor.hpp>
#include <spindrift/core/guarded_directory.hpp>
#include <spindrift/fabric/node_lock.hpp>
#include <spindrift/views/view_memory.hpp>

namespace spindrift::group {

/// Not thread-safe.
class ViewFile final : public views::ViewMemory {
 public:
  static constexpr std::uint32_t version = 3;
  static constexpr std::size_t slot_bytes = std::size_t{8} << 20U;  ///< the largest record takes less

  /// Opens or makes the file of that node, which no other process has open from now on. Errors: refused (another process has
  /// it, it is another user's), bad_input (it is damaged, or of another version), resource.
  [[nodiscard]] static Result<ViewFile> open(const GuardedDirectory& directory, NodeId node);
  /// Deletes the file of that node: it remembers nothing. Errors: refused (a process of the node runs), resource.
  [[nodiscard]] static Result<void> forget(const GuardedDirectory& directory, NodeId node);

  Result<std::optional<views::ViewRecord>> load() override;
  Result<void> store(const views::ViewRecord& record) override;
  Result<std::vector<Neighbor>> neighbors() override;
  /// Whether a process of that node has its record.
  [[nodiscard]] bool runs(NodeId node) const;
  void close() override {
    file_.reset();
    lock_.reset();
  }

 private:
  ViewFile(FileDescriptor directory, fabric::NodeLock lock, std::string path, NodeId node) noexcept
      : directory_(std::move(directory)), lock_(std::move(lock)), path_(std::move(path)), node_(node) {}

  [[nodiscard]] Result<void> open_file();
  [[nodiscard]] Result<void> make_file();
  [[nodiscard]] std::optional<Neighbor> neighbor(NodeId node);
  [[nodiscard]] Result<std::optional<views::ViewRecord>> record_of(NodeId node) const;

  FileDescriptor directory_;              // of the views' files
  std::optional<fabric::NodeLock> lock_;  // of this process, whatever becomes of children that it forks
  std::string path_;                      // for people
  NodeId node_;
  FileDescriptor file_;
  std::uint64_t stored_ = 0;  // the number of the last store
  std::set<NodeId> unreadable_;  // neighbors of which that was said
};

}  // namespace spindrift::group
