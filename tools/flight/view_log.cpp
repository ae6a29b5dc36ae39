// Keeping the log, and its JSON.
#include "flight/view_log.hpp"

#include <nlohmann/json.hpp>

namespace spindrift::tools {
namespace {

std::vector<std::uint32_t> numbers(const std::vector<NodeId>& nodes) {
  std::vector<std::uint32_t> ids;
  for (const NodeId node : nodes) ids.push_back(node.value());
  return ids;
}

}  // namespace

nlohmann::json to_json(const std::vector<ViewEntry>& views) {
  auto list = nlohmann::json::array();
  for (const ViewEntry& entry : views) {
    list.push_back({{"view", entry.view},
                    {"members", entry.members},
                    {"joined", entry.joined},
                    {"left", entry.left},
                    {"failed", entry.failed},
                    {"delivered", entry.delivered},
                    {"gap_ms", entry.gap_ms ? nlohmann::json(*entry.gap_ms) : nlohmann::json()}});
  }
  return list;
}

std::vector<ViewEntry> views_from_json(const nlohmann::json& json) {
  std::vector<ViewEntry> views;
  for (const auto& entry : json) {
    const auto& gap = entry.at("gap_ms");
    views.push_back({.view = entry.at("view").get<std::uint64_t>(),
                     .members = entry.at("members").get<std::vector<std::uint32_t>>(),
                     .joined = entry.at("joined").get<std::vector<std::uint32_t>>(),
                     .left = entry.at("left").get<std::vector<std::uint32_t>>(),
                     .failed = entry.at("failed").get<std::vector<std::string>>(),
                     .delivered = entry.at("delivered").get<std::uint64_t>(),
                     .gap_ms = gap.is_null() ? std::nullopt : std::optional(gap.get<double>())});
  }
  return views;
}

void ViewLog::on_view(const views::NewView& news) {
  ViewEntry entry{.view = news.view.id.value(),
                  .members = numbers(news.view.members),
                  .joined = numbers(news.joined),
                  .left = numbers(news.left),
                  .failed = {},
                  .delivered = 0,
                  .gap_ms = {}};
  for (const auto& [node, reason] : news.failed) entry.failed.push_back(std::to_string(node.value()) + " (" + reason + ")");
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
