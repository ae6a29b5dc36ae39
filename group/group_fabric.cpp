// From a fabric's name to its endpoint: the one place that knows all of them.
#include <spindrift/group/group_fabric.hpp>

#include <utility>
#include <vector>

#include <spindrift/core/check.hpp>
#include <spindrift/fabric/mixed/mixed.hpp>
#include <spindrift/fabric/ofi/ofi.hpp>
#include <spindrift/fabric/shm/shm.hpp>
#include <spindrift/fabric/verbs/verbs.hpp>
#include <spindrift/core/log.hpp>
#include <spindrift/kernel/fabric/vq_fabric.hpp>

namespace spindrift::group {
namespace {

Result<std::unique_ptr<fabric::Fabric>> make_fabric(const Config& config) {
  const NodeId self = config.local_id();
  const std::string& name = config.fabric();
  const std::string& directory = config.runtime_directory();
  const std::string& group = config.group_name();
  if (name == "shm") {
    return fabric::make_shm({.self = self, .runtime_directory = directory, .group_name = group, .counters = nullptr});
  }
  if (name == "verbs") return fabric::make_verbs({.self = self, .runtime_directory = directory, .group_name = group});
  if (auto between_hosts = fabric::mixed_with(name)) {
    return fabric::make_mixed(
        {.self = self, .between_hosts = *std::move(between_hosts), .runtime_directory = directory, .group_name = group});
  }
  if (const auto pooled = kernel::vq_provider(name)) {
    SPINDRIFT_TRY_ASSIGN(const auto everybody, config.view());
    std::vector<fabric::Address> roster;
    for (const NodeId node : everybody.members) roster.push_back({node, config.address_of(node)});
    return kernel::make_vq({.self = self,
                            .provider = *pooled,
                            .runtime_directory = directory,
                            .group_name = group,
                            .roster = std::move(roster)});
  }
  const auto provider = fabric::ofi_provider(name);
  CHECK(provider);  // the config's table accepts no other
  return fabric::make_ofi({.self = self, .provider = *provider, .runtime_directory = directory, .group_name = group});
}

}  // namespace

Result<std::unique_ptr<fabric::Fabric>> open_group_fabric(
    const Config& config, const std::function<std::unique_ptr<fabric::Fabric>(std::unique_ptr<fabric::Fabric>)>& watch) {
  auto fabric = make_fabric(config);
  if (!fabric) return fabric;
  if (watch) *fabric = watch(std::move(*fabric));
  log::info(log::Room::fabric, "chosen", {{"fabric", (*fabric)->traits().name}, {"reason", "[SPINDRIFT] fabric"}});
  const NodeId self = config.local_id();
  SPINDRIFT_TRY((*fabric)->listen({self, config.address_of(self)}));
  return fabric;
}

}  // namespace spindrift::group
