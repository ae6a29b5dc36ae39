// Releases, and the versions that views have.
#include "releases.hpp"

#include <algorithm>

#include <algorithm>

namespace spindrift::sim {

views::Versions Releases::release_of(const Plan& plan) {
  const bool upgrades = std::ranges::find(plan.actions, Action::Kind::install, &Action::kind) != plan.actions.end();
  if (!plan.disks.empty() && !upgrades) return returning_release;
  return plan.waits ? reviving_release : first_release;
}

views::Versions Releases::on_start(std::uint32_t process, std::uint32_t node) {
  return running_[process] = installed_[node];
}

std::optional<views::Versions> Releases::of(std::uint64_t incarnation) const {
  const auto process = process_of_(incarnation);
  return process ? std::optional(running_.at(*process)) : std::nullopt;
}

void Releases::on_view(std::uint32_t process, const View& view, const View* before) const {
  const std::uint32_t version = view.roster.version;
  const auto violate = [&](const std::string& what) {
    const std::string where = "process " + std::to_string(process) + ", view " + std::to_string(view.id.value());
    report_.violate("V26", where + " of version " + std::to_string(version) + ": " + what);
  };
  for (std::size_t i = 0; i < view.members.size(); ++i) {
    const auto release = of(view.incarnations[i]);
    if (release && !release->speaks(version))
      return violate("node " + std::to_string(view.members[i].value()) + " speaks " + to_string(*release));
  }
  if (before == nullptr || before->roster.version == version) return;
  if (version < before->roster.version)
    return violate("it follows one of version " + std::to_string(before->roster.version));
  report_.hit(Probe::version_raised);
  for (const std::uint64_t incarnation : before->incarnations) {
    const auto release = of(incarnation);
    if (release && !release->speaks(version)) return violate("a member of the view before speaks " + to_string(*release));
  }
}

std::optional<std::string> Releases::not_raised(const View& view) const {
  std::uint32_t spoken = ~std::uint32_t{0};
  for (const std::uint64_t incarnation : view.incarnations) {
    const auto release = of(incarnation);
    if (!release) return std::nullopt;
    spoken = std::min(spoken, release->newest);
  }
  if (spoken <= view.roster.version) return std::nullopt;
  return "is in a view of version " + std::to_string(view.roster.version) + ", and all members speak " +
         std::to_string(spoken);
}

bool Releases::unspoken(std::uint32_t process, const View* newest) const {
  return newest != nullptr && !running_.at(process).speaks(newest->roster.version);
}

}  // namespace spindrift::sim
