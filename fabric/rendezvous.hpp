// The place where the processes of a group meet on one host: `<runtime directory>/<group>/` with a lock and a socket per
// node. The process that holds a node's lock is that node; files of a node whose lock is free belong to nobody alive.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <spindrift/core/file_descriptor.hpp>
#include <spindrift/core/guarded_directory.hpp>
#include <spindrift/core/ids.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/fabric/node_lock.hpp>

namespace spindrift::fabric {

class Rendezvous {
 public:
  /// Opens or makes the directory. Errors: bad_argument (name); refused, resource as of GuardedDirectory.
  [[nodiscard]] static Result<Rendezvous> open(const std::string& runtime_directory, const std::string& group_name);

  Rendezvous(Rendezvous&&) noexcept = default;
  Rendezvous& operator=(Rendezvous&&) = delete;
  /// Removes this node's lock and socket, if this process claimed them.
  ~Rendezvous();

  /// Becomes the node until destruction or the end of the process, and removes what dead nodes left behind.
  /// Errors: refused ("node 2 is already running as pid 71"), resource.
  [[nodiscard]] Result<void> claim(NodeId self);

  /// The listening socket of the claimed node. It appears in the directory only once it accepts connections.
  [[nodiscard]] Result<FileDescriptor> listen();

  /// A connected socket to a node; nothing if that node does not listen now.
  [[nodiscard]] Result<std::optional<FileDescriptor>> call(NodeId node) const;

  /// As `watch_directory`.
  [[nodiscard]] Result<std::optional<FileDescriptor>> watch_arrivals() const;

  /// The other nodes that some process has claimed, and not ended since, ascending. Those that `live`, as the caller knows,
  /// are not looked at one by one, which takes some calls for each. Errors: resource.
  [[nodiscard]] Result<std::vector<NodeId>> others(const std::function<bool(NodeId)>& live = {}) const;

  /// Whether the lock and the socket of the node, which listens, are still in the directory.
  [[nodiscard]] bool in_place() const noexcept;
  /// That they are not, or the directory is not where it was.
  [[nodiscard]] Error displaced() const;

  /// Whether some process is that node of the group.
  [[nodiscard]] static bool is_claimed(const GuardedDirectory& directory, NodeId node);
  /// The node whose socket a reported file name is.
  [[nodiscard]] static std::optional<NodeId> node_of_socket(std::string_view file_name) noexcept;

 private:
  explicit Rendezvous(GuardedDirectory directory) : directory_(std::move(directory)) {}

  /// As `claim`; false if some process has the node.
  [[nodiscard]] Result<bool> try_claim(NodeId self);
  /// The lock of a node, held; nothing if a live process holds it.
  [[nodiscard]] Result<std::optional<NodeLock>> try_lock(NodeId node) const;
  void remove_stale_files() const;
  /// Those of which a file with one of these names is there. Errors: resource.
  [[nodiscard]] Result<std::set<NodeId>> nodes_with(std::span<const std::string_view> suffixes) const;
  void remove(NodeId node, std::string_view suffix) const noexcept;

  GuardedDirectory directory_;
  NodeId self_;
  std::optional<NodeLock> lock_;
};

}  // namespace spindrift::fabric
