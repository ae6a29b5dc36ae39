// Keeping the log, and its JSON.
#include "flight/view_log.hpp"

namespace spindrift::tools {
namespace {

std::vector<std::uint32_t> numbers(const std::vector<NodeId>& nodes) {
  std::vector<std::uint32_t> ids;
  for (const NodeId node : nodes) ids.push_back(node.value());
  return ids;
}

}  // namespace

void ViewLog::on_view(const views::NewView& news) {
  ViewEntry entry{.view = news.view.id.value(),
                  .members = numbers(news.view.members),
                  .joined = numbers(news.joined),
                  .left = numbers(news.left),
                  .failed = {},
                  .delivered = 0,
                  .gap_ms = {}};
  for (const views::Removal& each : news.failed)
    entry.failed.push_back(std::to_string(each.node.value()) + " (" + each.reason + ")");
  entries_.push_back(std::move(entry));
}

void ViewLog::on_delivery(std::uint64_t messages, Time now) {
  if (entries_.empty()) return;
  ViewEntry& entry = entries_.back();
  if (entry.delivered == 0 && last_delivery_) {
    entry.gap_ms = std::chrono::duration<double, std::milli>(now - *last_delivery_).count();
  }
  entry.delivered += messages;
  last_delivery_ = now;
}

}  // namespace spindrift::tools
