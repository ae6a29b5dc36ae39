// Asked in each pass, and silent but for changes.
#include <spindrift/group/join_report.hpp>

#include <string>
#include <utility>

namespace spindrift::group {

void JoinReport::look(const views::Member& member, const Handler& handler, const MemoryHandler& on_memory) {
  if (member.state() != views::MemberState::looking) {
    words_.clear();
    return;
  }
  views::Awaited awaited = member.awaited();
  if (told_ == awaited.nodes && apart_ == awaited.apart.size() && memory_ == awaited.memory) return;
  const bool others = told_ != awaited.nodes;
  told_ = std::move(awaited.nodes);
  apart_ = awaited.apart.size();
  const bool recalls = std::exchange(memory_, std::move(awaited.memory)) != memory_;
  words_.clear();
  for (const NodeId node : *told_)
    words_ += (words_.empty() ? (told_->size() == 1 ? "node " : "nodes ") : ", ") + std::to_string(node.value());
  if (words_.empty() || !memory_.empty()) words_ = "a view";
  if (!memory_.empty()) words_ += ": " + memory_;
  for (const views::Apart& each : awaited.apart) {
    words_ += "; node " + std::to_string(each.node.value());
    words_ += " is there, and cannot be in one group with it: " + each.reason;
  }
  if (handler && others) handler(*told_);
  if (on_memory && recalls) on_memory(memory_);
}

}  // namespace spindrift::group
