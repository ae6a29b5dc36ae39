// The lowest id for which nobody holds either lock: that of who looks for one, or that of the node itself.
#include <spindrift/fabric/own_id.hpp>

#include <unistd.h>

#include <string_view>
#include <utility>

#include <spindrift/core/runtime_path.hpp>
#include <spindrift/fabric/rendezvous.hpp>

namespace spindrift::fabric {
namespace {

constexpr std::string_view taken_suffix = ".taken";

}  // namespace

Result<std::vector<NodeId>> nodes_here(const std::string& runtime_directory, const std::string& group_name) {
  SPINDRIFT_TRY_ASSIGN(const Rendezvous rendezvous, Rendezvous::open(runtime_directory, group_name));
  return rendezvous.others();
}

Result<OwnId> OwnId::take(const std::string& runtime_directory, const std::string& group_name,
                          const std::vector<NodeId>& nodes, const std::string& how_to_have_more) {
  SPINDRIFT_TRY_ASSIGN(GuardedDirectory directory, GuardedDirectory::open(runtime_directory, group_name));
  for (const NodeId node : nodes) {
    const std::string name = node_file_name(node, taken_suffix);
    auto lock = NodeLock::try_take(directory.descriptor(), name);
    if (!lock) return std::move(lock).error().at(directory.path() + "/" + name);
    if (!*lock || Rendezvous::is_claimed(directory, node)) continue;
    return OwnId(std::move(directory), node, std::move(**lock));
  }
  return Error(ErrorKind::resource, "no id is left: each of the " + std::to_string(nodes.size()) +
                                        " ids of the group has a process on this host")
      .at(directory.path())
      .fix("end one of them, or " + how_to_have_more);
}

// The file goes first: once the lock is free, another process may have made it its own.
OwnId::~OwnId() {
  if (lock_.ours()) ::unlinkat(directory_.descriptor(), node_file_name(node_, taken_suffix).c_str(), 0);
}

}  // namespace spindrift::fabric
