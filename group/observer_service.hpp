// All that observe a member: processes of its host, and those of others, which are fed as if they were the former.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <spindrift/core/audit.hpp>
#include <spindrift/core/config/config.hpp>
#include <spindrift/core/guarded_directory.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/core/view.hpp>
#include <spindrift/group/observers.hpp>
#include <spindrift/group/remote_observers.hpp>

namespace spindrift::group {

class ObserverService {
 public:
  /// As Observers.
  ObserverService(NodeId self, const GuardedDirectory& directory, const std::vector<SubgroupView>& shapes,
                  std::uint64_t bytes_per_second, std::function<View()> view)
      : self_(self), directory_(directory), here_(self, directory, shapes, bytes_per_second, std::move(view)) {}

  /// Lets processes of this host observe. Errors: resource.
  [[nodiscard]] Result<void> start() { return here_.start(); }
  /// Lets those of others, if the configuration says so. `credentials` null: nobody proves anything. Errors: resource.
  [[nodiscard]] Result<void> start_elsewhere(const Config& config, std::shared_ptr<fabric::tls::Credentials> credentials,
                                             std::shared_ptr<AuditTrail> audit);

  // The poller, as in Observers.
  void on_delivery(SubgroupId subgroup, std::span<const Delivery> batch) noexcept { here_.on_delivery(subgroup, batch); }
  void add(SubgroupId id, const SubgroupView& shape) { here_.add(id, shape); }
  void on_view() noexcept { here_.on_view(); }
  void end(const std::string& why) noexcept { here_.end(why); }

 private:
  const NodeId self_;
  const GuardedDirectory& directory_;
  std::optional<RemoteObservers> elsewhere_;
  Observers here_;  // ends first, and the others hear of it
};

}  // namespace spindrift::group
