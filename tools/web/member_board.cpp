// Rows by node, and their JSON.
#include "web/member_board.hpp"

#include <utility>

#include "view_line.hpp"

namespace spindrift::tools {

MemberBoard::MemberBoard(const std::vector<NodeId>& flying) {
  for (const NodeId node : flying) rows_[node].flies = true;
}

void MemberBoard::gone(NodeId node, std::string reason) {
  Row& row = rows_[node];
  row.state = "gone";
  row.reason = std::move(reason);
}

void MemberBoard::on_view(const NewView& news) {
  const std::lock_guard lock(mutex_);
  view_ = news.view.id.value();
  for (const NodeId node : news.view.members) {
    Row& row = rows_[node];
    if (row.state != "stopped") row.state = "alive";
    row.reason.clear();
  }
  for (const NodeId node : news.left) gone(node, "left");
  for (const views::Removal& each : news.failed) gone(each.node, each.reason);
  news_.push_front(view_line(news, NodeId{}, false));
  if (news_.size() > news_max) news_.pop_back();
}

void MemberBoard::on_report(const GroupReport& report) {
  const std::lock_guard lock(mutex_);
  for (const NodeReport& node : report.nodes) {
    const auto found = rows_.find(node.status.node);
    if (found == rows_.end() || !node.lives()) continue;
    Row& row = found->second;
    row.process = node.status.process;
    if (row.state == "alive" && node.condition == NodeReport::Condition::stopped) row.state = "stopped";
    if (row.state == "stopped" && node.condition == NodeReport::Condition::running) row.state = "alive";
  }
}

nlohmann::json MemberBoard::json() const {
  const std::lock_guard lock(mutex_);
  auto members = nlohmann::json::array();
  for (const auto& [node, row] : rows_) {
    members.push_back({{"node", node.value()},
                       {"flies", row.flies},
                       {"state", row.state},
                       {"reason", row.reason},
                       {"process", row.process}});
  }
  return {{"view", view_}, {"members", std::move(members)}, {"news", news_}};
}

}  // namespace spindrift::tools
