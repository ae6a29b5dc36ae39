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
}

std::optional<std::string> JoinProgress::line(Time now) {
  if (now < next_) return std::nullopt;
  next_ = now + interval;
  const std::lock_guard lock(mutex_);
  if (!nodes_) return std::nullopt;
  const auto left = std::max<std::int64_t>(0, std::chrono::ceil<std::chrono::seconds>(deadline_ - now).count());
  const std::string whom = nodes_->empty() ? std::string("a view")
                                           : fmt::format("node{} {}", nodes_->size() == 1 ? "" : "s", listed(*nodes_));
  return fmt::format("waiting for {}: {} s left", whom, left);
}

}  // namespace spindrift::tools
