// Two lists side by side, of which another process has written one: its texts were cleaned when they were read.
#include <spindrift/group/differing_nodes.hpp>

#include <algorithm>

#include <spindrift/core/runtime_path.hpp>
#include <spindrift/group/status.hpp>

namespace spindrift::group {
namespace {

/// Enough to find the mistake; whoever has more has taken another file.
constexpr std::size_t told_max = 4;

std::string value_in(const Agreed& agreed, const std::string& name) {
  constexpr std::size_t characters_max = 80;
  const auto found = agreed.find(name);
  if (found == agreed.end()) return "nothing";
  const std::string& value = found->second;
  return value.size() > characters_max ? value.substr(0, characters_max) + "..." : value;
}

}  // namespace

std::string differences(const Agreed& here, const Agreed& there) {
  Agreed all = here;
  all.insert(there.begin(), there.end());
  std::string text;
  std::size_t count = 0;
  for (const auto& [name, value] : all) {
    const auto own = here.find(name);
    const auto other = there.find(name);
    if (own != here.end() && other != there.end() && own->second == other->second) continue;
    if (++count > told_max) continue;
    text += text.empty() ? "" : ", ";
    text += name + " is " + value_in(here, name) + " here and " + value_in(there, name) + " there";
  }
  if (count > told_max) text += ", and " + std::to_string(count - told_max) + " more differ";
  return text;
}

std::string differing_nodes(const GuardedDirectory& directory, const Agreed& here, const std::vector<NodeId>& nodes) {
  std::string text;
  for (const NodeId node : nodes) {
    const auto status = read_status(directory.through(status_file_name(node)));
    if (!status || !runs(*status)) continue;
    const std::string differing = differences(here, status->beginning.agreed);
    if (differing.empty()) continue;
    text += (text.empty() ? "" : "; ") + std::string("of node ") + std::to_string(node.value()) + ", " + differing;
  }
  return text;
}

}  // namespace spindrift::group
