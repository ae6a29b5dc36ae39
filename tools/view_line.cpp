// Describing a change of the view.
#include "view_line.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace spindrift::tools {
namespace {

nlohmann::json ids(const std::vector<NodeId>& nodes) {
  auto list = nlohmann::json::array();
  for (const NodeId node : nodes) list.push_back(node.value());
  return list;
}

std::string json_line(const NewView& news, NodeId self) {
  auto failed = nlohmann::json::array();
  for (const auto& [node, reason] : news.failed) failed.push_back({{"node", node.value()}, {"reason", reason}});
  auto inadequate = nlohmann::json::array();
  for (const SubgroupView& subgroup : news.view.subgroups) {
    if (!subgroup.inadequate.empty()) inadequate.push_back({{"subgroup", subgroup.name}, {"reason", subgroup.inadequate}});
  }
  const nlohmann::json line{{"event", "view"},
                            {"node", self.value()},
                            {"view", news.view.id.value()},
                            {"members", ids(news.view.members)},
                            {"joined", ids(news.joined)},
                            {"left", ids(news.left)},
                            {"failed", failed},
                            {"inadequate", inadequate}};
  return line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

std::string node_list(const std::vector<NodeId>& nodes) {
  std::string text;
  for (const NodeId node : nodes) text += (text.empty() ? "" : ", ") + std::to_string(node.value());
  return text;
}

std::string view_line(const NewView& news, NodeId self, bool json) {
  if (json) return json_line(news, self);
  std::string line = fmt::format("view {}: members {}", news.view.id.value(), node_list(news.view.members));
  if (!news.joined.empty()) line += "; joined " + node_list(news.joined);
  if (!news.left.empty()) line += "; left " + node_list(news.left);
  for (const auto& [node, reason] : news.failed) line += fmt::format("; failed {} ({})", node.value(), reason);
  for (const SubgroupView& subgroup : news.view.subgroups) {
    if (!subgroup.inadequate.empty()) line += fmt::format("; subgroup {} waits: {}", subgroup.name, subgroup.inadequate);
  }
  return line;
}

}  // namespace spindrift::tools
