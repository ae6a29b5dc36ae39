// Versions of the protocol, and subgroups that lack members.
#include <spindrift/group/view_words.hpp>

#include <spindrift/core/ids_text.hpp>
#include <spindrift/core/log.hpp>
#include <spindrift/views/parts.hpp>

namespace spindrift::group {

std::string words_of_version(const Roster& roster, const std::vector<NodeId>& behind) {
  if (behind.empty()) return {};
  return "the group speaks version " + std::to_string(roster.version) + " of the protocol and this node's release up to " +
         std::to_string(views::spoken_versions().newest) + ", for " + (behind.size() == 1 ? "node " : "nodes ") +
         listed(behind) + (behind.size() == 1 ? " is" : " are") + " of an earlier one";
}

// It concerns nodes that are away: if their release does not speak it, they do not come back with that.
void warn_of_version(const View& before, const View& now) {
  if (before.members.empty() || before.roster.version == now.roster.version) return;
  log::warn(log::Room::group, "the group goes on to a later version of the protocol",
            {{"version", now.roster.version}, {"before", before.roster.version}, {"view", now.id}});
}

void warn_of_inadequate(const View& view) {
  for (const SubgroupView& subgroup : view.subgroups) {
    if (subgroup.inadequate.empty() || subgroup.dropped) continue;
    log::warn(log::Room::group, "inadequate", {{"subgroup", subgroup.name}, {"reason", subgroup.inadequate}});
  }
}

}  // namespace spindrift::group
