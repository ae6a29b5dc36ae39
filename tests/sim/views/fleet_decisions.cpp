// The views that members have decided, be anybody in them or not.
#include <algorithm>

#include "fleet.hpp"

namespace spindrift::sim {
namespace {

/// The incarnations of the view behind that one, where its member knows them. Null: its process died when it gave it back.
std::optional<std::vector<std::uint64_t>> next_of(const views::Epoch* epoch) {
  if (epoch == nullptr || epoch->change().state() != views::ViewChange::State::decided) return std::nullopt;
  std::vector<std::uint64_t> next;
  for (const views::Join& each : epoch->next(epoch->change().decree()).members) next.push_back(each.incarnation);
  return next;
}

}  // namespace

std::optional<std::vector<std::uint64_t>> Fleet::decided_behind(const View& view) const {
  for (const auto& process : processes_) {
    if (!process->member_) continue;
    for (const auto& epoch : process->member_->epochs()) {
      if (epoch == nullptr || epoch->id() != view.id) continue;
      if (auto next = next_of(epoch.get())) return next;
    }
  }
  return std::nullopt;
}

bool Fleet::is_decided(const View& view) const {
  const auto leads_there = [&](const std::unique_ptr<views::Epoch>& epoch) {
    return epoch != nullptr && views::is_right_behind(epoch->id(), view.id) && next_of(epoch.get()) == view.incarnations;
  };
  return std::ranges::any_of(processes_, [&](const auto& each) {
    return each->member_ && std::ranges::any_of(each->member_->epochs(), leads_there);
  });
}

}  // namespace spindrift::sim
