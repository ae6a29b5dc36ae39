// From a fabric's name to its endpoint: the one place that knows all of them.
#include <spindrift/group/group_fabric.hpp>

#include <utility>
#include <vector>

#include <spindrift/fabric/fabric_name.hpp>
#include <spindrift/fabric/mixed/mixed.hpp>
#include <spindrift/fabric/ofi/ofi.hpp>
#include <spindrift/fabric/shm/shm.hpp>
#include <spindrift/fabric/tcp/tcp.hpp>
#include <spindrift/fabric/tls/credentials.hpp>
#include <spindrift/fabric/verbs/verbs.hpp>
#include <spindrift/core/log.hpp>
#include <spindrift/kernel/provider/vq_fabric.hpp>

namespace spindrift::group {
namespace {

using fabric::FabricName;
using BetweenHosts = FabricName::BetweenHosts;

/// Those whom virtual queue pairs reach, and this node itself.
Result<std::vector<fabric::Address>> roster_of(const Config& config, const FabricName& name) {
  SPINDRIFT_TRY_ASSIGN(const View everybody, config.view());
  const NodeId self = config.local_id();
  std::vector<fabric::Address> roster;
  for (const NodeId node : everybody.members) {
    if (node == self || !name.maps(config.address_of(self), config.address_of(node)))
      roster.push_back({node, config.address_of(node)});
  }
  return roster;
}

Result<kernel::VqOptions> vq_options(const Config& config, const FabricName& name) {
  SPINDRIFT_TRY_ASSIGN(auto roster, roster_of(config, name));
  return kernel::VqOptions{.self = config.local_id(),
                           .provider = name.provider,
                           .runtime_directory = config.runtime_directory(),
                           .group_name = config.group_name(),
                           .roster = std::move(roster)};
}

fabric::ShmOptions shm_options(const Config& config) {
  return {.self = config.local_id(), .runtime_directory = config.runtime_directory(), .group_name = config.group_name()};
}

fabric::OfiOptions ofi_options(const Config& config, const FabricName& name) {
  return {.self = config.local_id(),
          .provider = name.provider,
          .runtime_directory = config.runtime_directory(),
          .group_name = config.group_name()};
}

/// Errors: as tls::Credentials::load.
Result<fabric::TcpOptions> tcp_options(const Config& config) {
  fabric::TcpOptions options{
      .self = config.local_id(), .runtime_directory = config.runtime_directory(), .group_name = config.group_name()};
  if (config.security() == Security::none) {
    log::warn(log::Room::fabric, "nothing proves who members are, and nothing is encrypted",
              {{"reason", "[SPINDRIFT] security = none"}});
    return options;
  }
  SPINDRIFT_TRY_ASSIGN(options.credentials,
                       fabric::tls::Credentials::load(config.keys_directory(), config.group_name(), config.local_id()));
  log::info(log::Room::fabric, "keys are in force", {{"identity", options.credentials->identity().uri()}});
  return options;
}

fabric::VerbsOptions verbs_options(const Config& config) {
  return {.self = config.local_id(), .runtime_directory = config.runtime_directory(), .group_name = config.group_name()};
}

/// What reaches other hosts, as the part of a mixed fabric.
Result<std::unique_ptr<fabric::connected::Endpoint>> make_far_part(const Config& config, const FabricName& name) {
  if (name.between_hosts == BetweenHosts::tcp) {
    SPINDRIFT_TRY_ASSIGN(const fabric::TcpOptions options, tcp_options(config));
    return fabric::make_tcp_part(options);
  }
  if (name.between_hosts == BetweenHosts::verbs) return fabric::make_verbs_part(verbs_options(config));
  if (name.between_hosts == BetweenHosts::ofi) return fabric::make_ofi_part(ofi_options(config, name));
  SPINDRIFT_TRY_ASSIGN(const kernel::VqOptions options, vq_options(config, name));
  return kernel::make_vq_part(options);
}

Result<std::unique_ptr<fabric::Fabric>> make_fabric(const Config& config) {
  SPINDRIFT_TRY_ASSIGN(const FabricName name, FabricName::parse(config.fabric()));
  if (name.mixed()) {
    SPINDRIFT_TRY_ASSIGN(auto near, fabric::shm::make_part(shm_options(config)));
    SPINDRIFT_TRY_ASSIGN(auto far, make_far_part(config, name));
    return fabric::make_mixed(std::move(near), std::move(far));
  }
  switch (name.between_hosts) {
    case BetweenHosts::none: break;
    case BetweenHosts::tcp: {
      SPINDRIFT_TRY_ASSIGN(const fabric::TcpOptions options, tcp_options(config));
      return fabric::make_tcp(options);
    }
    case BetweenHosts::ofi: return fabric::make_ofi(ofi_options(config, name));
    case BetweenHosts::verbs: return fabric::make_verbs(verbs_options(config));
    case BetweenHosts::vq: {
      SPINDRIFT_TRY_ASSIGN(const kernel::VqOptions options, vq_options(config, name));
      return kernel::make_vq(options);
    }
  }
  return fabric::make_shm(shm_options(config));
}

}  // namespace

Result<std::unique_ptr<fabric::Fabric>> open_group_fabric(
    const Config& config, const std::function<std::unique_ptr<fabric::Fabric>(std::unique_ptr<fabric::Fabric>)>& watch) {
  auto fabric = make_fabric(config);
  if (!fabric) return fabric;
  if (watch) *fabric = watch(std::move(*fabric));
  log::info(log::Room::fabric, "chosen", {{"fabric", (*fabric)->traits().name}, {"reason", "[SPINDRIFT] fabric"}});
  if (config.needs_trusted_network()) {
    log::warn(log::Room::fabric, "the network is trusted: whoever reaches a port may speak, and nothing is encrypted",
              {{"fabric", config.fabric()}, {"reason", "[SPINDRIFT] network_trusted"}});
  }
  const NodeId self = config.local_id();
  SPINDRIFT_TRY((*fabric)->listen({self, config.address_of(self)}));
  return fabric;
}

}  // namespace spindrift::group
