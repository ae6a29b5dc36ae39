// Describing a change of the view.
#include "view_line.hpp"

#include <utility>

#include <fmt/format.h>

#include <spindrift/core/ids_text.hpp>

#include "json_output.hpp"

namespace spindrift::tools {
namespace {

std::string json_line(const NewView& news, NodeId self) {
  auto failed = nlohmann::json::array();
  for (const Removal& each : news.failed) failed.push_back({{"node", each.node}, {"reason", each.reason}});
  auto inadequate = nlohmann::json::array();
  for (const SubgroupView& subgroup : news.view.subgroups) {
    if (!subgroup.inadequate.empty()) inadequate.push_back({{"subgroup", subgroup.name}, {"reason", subgroup.inadequate}});
  }
  return event_line({{"event", "view"},
                     {"node", self},
                     {"view", news.view.id},
                     {"members", news.view.members},
                     {"joined", news.joined},
                     {"left", news.left},
                     {"failed", failed},
                     {"inadequate", inadequate}});
}

}  // namespace

std::string event_line(nlohmann::json event) {
  constexpr int version = 1;
  return one_line_of(versioned(version, std::move(event)));
}

std::string view_line(const NewView& news, NodeId self, bool json) {
  if (json) return json_line(news, self);
  std::string line = fmt::format("view {}: members {}", news.view.id, listed(news.view.members));
  if (!news.joined.empty()) line += "; joined " + listed(news.joined);
  if (!news.left.empty()) line += "; left " + listed(news.left);
  for (const Removal& each : news.failed) line += fmt::format("; failed {} ({})", each.node, each.reason);
  // Else lines about nodes that are added, and about subgroups, would be alike.
  if (news.joined.empty() && news.left.empty() && news.failed.empty())
    line += fmt::format("; its roster is of edition {}", news.view.roster.edition);
  for (const SubgroupView& subgroup : news.view.subgroups) {
    if (subgroup.dropped || subgroup.inadequate.empty()) continue;
    line += fmt::format("; subgroup {} waits: {}", subgroup.name, subgroup.inadequate);
  }
  return line;
}

}  // namespace spindrift::tools
