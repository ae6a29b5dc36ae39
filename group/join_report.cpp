// Asked in each pass, and silent but for changes.
#include <spindrift/group/join_report.hpp>

#include <string>
#include <utility>

namespace spindrift::group {

void JoinReport::look(const views::Member& member, const Handler& handler) {
  if (member.state() != views::MemberState::looking) {
    words_.clear();
    return;
  }
  std::vector<NodeId> missing = member.awaited().nodes;
  if (told_ == missing) return;
  told_ = std::move(missing);
  words_.clear();
  for (const NodeId node : *told_)
    words_ += (words_.empty() ? (told_->size() == 1 ? "node " : "nodes ") : ", ") + std::to_string(node.value());
  if (words_.empty()) words_ = "a view";
  if (handler) handler(*told_);
}

}  // namespace spindrift::group
