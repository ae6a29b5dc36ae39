// Whether observing suffices, and what an observer sees.
#include <spindrift/dds/dynamic_observer.hpp>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string_view>

#include <spindrift/core/config/contacts.hpp>
#include <spindrift/core/runtime_path.hpp>
#include <spindrift/dds/domain_core.hpp>
#include <spindrift/dds/endpoints_watch.hpp>
#include <spindrift/dds/observed_reader.hpp>
#include <spindrift/group/status.hpp>

namespace spindrift::topics {
namespace {

/// A member that is in a view shows its domain within some milliseconds, unless it is held up.
constexpr std::uint64_t settles_within_ms = 2000;

constexpr std::string_view active = "active";  // as a MemberState is called in a status

/// Members of this host that live, by how long they have been in their state.
struct Members {
  bool young = false;   ///< one may show its domain yet
  bool active = false;  ///< one has been in a view for long
};

Members members_here(const Config& config) {
  const std::string directory = group_directory(config.runtime_directory(), config.group_name());
  Members members;
  std::error_code none;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(directory) / status_directory, none)) {
    if (entry.path().extension() != status_suffix) continue;
    const auto status = group::read_status(entry.path().string());
    if (!status || !group::runs(*status)) continue;
    const bool young = group::wall_clock_ms() < status->state_since_ms + settles_within_ms;
    members.young = members.young || young;
    members.active = members.active || (!young && status->state == active);
  }
  return members;
}

}  // namespace

DynamicObserver::DynamicObserver(std::uint32_t domain, const std::string& file, const std::vector<ConfigOverride>& overrides)
    : config_(DomainCore::config(domain, file, overrides)),
      here_alone_(file.empty() && contacts_of(config_).empty()),
      watch_(std::make_unique<EndpointsWatch>(config_)) {}

DynamicObserver::~DynamicObserver() = default;

bool DynamicObserver::suffices() const {
  constexpr std::chrono::milliseconds between_looks(20);
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(settles_within_ms);
  for (;;) {
    const std::uint64_t seen = ProcessBell::of_process().rung();
    if (watch_->newest()->by.process != 0) return true;
    const auto fault = watch_->fault();
    if (fault && fault->kind() == ErrorKind::unsupported) return false;
    if (fault) throw Exception(*fault);
    const Members members = members_here(config_);
    const auto now = std::chrono::steady_clock::now();
    if (!members.young || now >= until) return here_alone_ && !members.active;
    ProcessBell::of_process().wait(seen, std::min(until, now + between_looks));
  }
}

std::vector<AnnouncedTopic> DynamicObserver::topics() const { return announced_topics(watch_->newest()->endpoints); }

std::size_t DynamicObserver::participants() const {
  const auto shown = watch_->newest();
  return static_cast<std::size_t>(std::ranges::count_if(
      shown->endpoints, [](const auto& each) { return each.second.kind == EndpointKind::participant; }));
}

DynamicReader DynamicObserver::read(const AnnouncedTopic& topic, const DynamicReading& how) const {
  return DynamicReader(std::make_unique<ObservedReader>(config_, topic, how, *watch_));
}

std::optional<Error> DynamicObserver::failure() const { return watch_->fault(); }

}  // namespace spindrift::topics
