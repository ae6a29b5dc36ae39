// Whole seconds, rounded up: nobody is told of 0 s while there is time left.
#include "join_progress.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include <spindrift/core/ids_text.hpp>

namespace spindrift::tools {

void JoinProgress::set(std::vector<NodeId> nodes) {
  const std::lock_guard lock(mutex_);
  nodes_ = std::move(nodes);
  look_up();
}

void JoinProgress::set_last_view(std::string words) {
  const std::lock_guard lock(mutex_);
  last_view_ = std::move(words);
}

// The answers are for the next line: nobody waits for a name server.
void JoinProgress::look_up() {
  if (asked_ > 0) return;
  for (const NodeId node : *nodes_) {
    auto name = name_of_(node);
    if (!name) continue;
    resolver_.ask(node, std::move(*name));
    ++asked_;
  }
}

std::string JoinProgress::without_address() {
  for (auto answer = resolver_.take(); answer; answer = resolver_.take()) {
    --asked_;
    unresolved_.erase(answer->node);
    if (!answer->address) unresolved_[answer->node] = name_of_(answer->node).value_or("");
  }
  std::string text;
  for (const NodeId node : *nodes_) {
    const auto at = unresolved_.find(node);
    if (at == unresolved_.end()) continue;
    const std::string host = at->second.substr(0, at->second.rfind(':'));
    text += fmt::format("; node {} ({}): its name does not resolve yet", node, host);
  }
  return text;
}

std::optional<std::string> JoinProgress::line(Time now) {
  if (now < next_) return std::nullopt;
  next_ = now + interval;
  const std::lock_guard lock(mutex_);
  if (!nodes_) return std::nullopt;
  const auto left = std::max<std::int64_t>(0, std::chrono::ceil<std::chrono::seconds>(deadline_ - now).count());
  const std::string whom = !last_view_.empty() ? "a view (" + last_view_ + ")"
                           : nodes_->empty()   ? std::string("a view")
                                               : fmt::format("node{} {}", nodes_->size() == 1 ? "" : "s", listed(*nodes_));
  const std::string names = without_address();
  look_up();
  return fmt::format("waiting for {}: {} s left{}", whom, left, names);
}

}  // namespace spindrift::tools
