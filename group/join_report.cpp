// Asked in each pass, and silent but for changes.
#include <spindrift/group/join_report.hpp>

#include <string>
#include <utility>

#include <spindrift/core/ids_text.hpp>

namespace spindrift::group {

std::string words_of_members(const views::Awaited& awaited) {
  if (awaited.members.empty()) return {};
  const bool one = awaited.members.size() == 1;
  std::string words = (one ? "node " : "nodes ") + listed(awaited.members) + (one ? " is" : " are") +
                      " in one, and take" + (one ? "s" : "") + " this node in once it has a connection with all members";
  if (!awaited.nodes.empty()) words += "; it has none with node " + listed(awaited.nodes);
  return words + "; if that lasts, see there (spindrift group status, spindrift group why): members that have lost their "
                 "majority take in nobody until spindrift group revive";
}

void JoinReport::look(const views::Member& member, const Handler& handler, const MemoryHandler& on_memory) {
  if (member.state() != views::MemberState::looking) {
    words_.clear();
    return;
  }
  views::Awaited awaited = member.awaited();
  if (!awaited.members.empty()) awaited.memory = words_of_members(awaited);
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
