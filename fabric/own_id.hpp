// A node id for a process to which nobody gave one: the lowest that no process of this host has, or is about to have.
#pragma once

#include <string>
#include <vector>

#include <spindrift/core/guarded_directory.hpp>
#include <spindrift/core/ids.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/fabric/node_lock.hpp>

namespace spindrift::fabric {

/// The nodes of the group as which processes of this host run, ascending. Errors: bad_argument (name); refused, resource as
/// of GuardedDirectory.
[[nodiscard]] Result<std::vector<NodeId>> nodes_here(const std::string& runtime_directory, const std::string& group_name);

/// Keeps others that look for an id from that one while it lives. It must live as long as the endpoint does. Move-only.
class OwnId {
 public:
  /// The first of these nodes for which nobody has a process. Errors: resource, also where each has one, with what then
  /// gives more nodes; refused as of GuardedDirectory.
  [[nodiscard]] static Result<OwnId> take(const std::string& runtime_directory, const std::string& group_name,
                                          const std::vector<NodeId>& nodes, const std::string& how_to_have_more);
  OwnId(OwnId&&) noexcept = default;
  OwnId& operator=(OwnId&&) = delete;
  ~OwnId();

  [[nodiscard]] NodeId node() const noexcept { return node_; }

 private:
  OwnId(GuardedDirectory directory, NodeId node, NodeLock lock) noexcept
      : directory_(std::move(directory)), node_(node), lock_(std::move(lock)) {}

  GuardedDirectory directory_;
  NodeId node_;
  NodeLock lock_;
};

}  // namespace spindrift::fabric
