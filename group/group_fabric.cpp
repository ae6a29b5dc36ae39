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
#include <spindrift/group/upcall_heartbeats.hpp>
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

/// The objects that all parts of a group's fabric share.
struct FabricContext {
  std::shared_ptr<fabric::tls::Credentials> credentials;  ///< null: nobody proves anything
  std::shared_ptr<AuditTrail> audit;
  std::shared_ptr<const fabric::tcp::DiscoveryAnswer> discovery;
};

/// The keys by which this node proves itself to nodes on other hosts; null if no node has to. Errors: as
/// tls::Credentials::load.
Result<std::shared_ptr<fabric::tls::Credentials>> credentials_of(const Config& config, const FabricName& name) {
  if (name.between_hosts == BetweenHosts::none) return std::shared_ptr<fabric::tls::Credentials>();
  if (config.proves_members())
    return fabric::tls::Credentials::load(config.keys_directory(), config.group_name(), config.local_id());
  if (name.between_hosts == BetweenHosts::tcp || config.needs_trusted_network()) {
    log::warn(log::Room::fabric, "nothing proves who members are, and nothing is encrypted",
              {{"reason", "[SPINDRIFT] security = none"}});
  }
  return std::shared_ptr<fabric::tls::Credentials>();
}

Result<kernel::VqOptions> vq_options(const Config& config, const FabricName& name, const FabricContext& context) {
  SPINDRIFT_TRY_ASSIGN(auto roster, roster_of(config, name));
  return kernel::VqOptions{.self = config.local_id(),
                           .provider = name.provider,
                           .runtime_directory = config.runtime_directory(),
                           .group_name = config.group_name(),
                           .roster = std::move(roster),
                           .credentials = context.credentials,
                           .audit = context.audit};
}

fabric::ShmOptions shm_options(const Config& config, const FabricContext& context) {
  return {.self = config.local_id(),
          .runtime_directory = config.runtime_directory(),
          .group_name = config.group_name(),
          .audit = context.audit};
}

fabric::OfiOptions ofi_options(const Config& config, const FabricName& name, const FabricContext& context) {
  return {.self = config.local_id(),
          .provider = name.provider,
          .runtime_directory = config.runtime_directory(),
          .group_name = config.group_name(),
          .credentials = context.credentials,
          .audit = context.audit};
}

/// A member whose handler holds it up reads nothing, and keeps its place until that is stuck.
Duration unread_max(const Config& config) {
  const Duration stuck_after = handler_stuck_after(config);
  const Duration lasts = stuck_after > Duration{} ? stuck_after : std::chrono::hours(24);
  return fabric::TcpOptions{}.unread_max + config.suspect_after() + lasts;
}

fabric::TcpOptions tcp_options(const Config& config, const FabricContext& context) {
  return {.self = config.local_id(),
          .runtime_directory = config.runtime_directory(),
          .group_name = config.group_name(),
          .credentials = context.credentials,
          .audit = context.audit,
          .discovery = context.discovery,
          .unread_max = unread_max(config)};
}

fabric::VerbsOptions verbs_options(const Config& config, const FabricContext& context) {
  return {.self = config.local_id(),
          .runtime_directory = config.runtime_directory(),
          .group_name = config.group_name(),
          .credentials = context.credentials,
          .audit = context.audit};
}

/// The part of a mixed fabric that reaches other hosts.
Result<std::unique_ptr<fabric::connected::Endpoint>> make_far_part(const Config& config, const FabricName& name,
                                                                   const FabricContext& context) {
  if (name.between_hosts == BetweenHosts::tcp) return fabric::make_tcp_part(tcp_options(config, context));
  if (name.between_hosts == BetweenHosts::verbs) return fabric::make_verbs_part(verbs_options(config, context));
  if (name.between_hosts == BetweenHosts::ofi) return fabric::make_ofi_part(ofi_options(config, name, context));
  SPINDRIFT_TRY_ASSIGN(const kernel::VqOptions options, vq_options(config, name, context));
  return kernel::make_vq_part(options);
}

/// A fabric that reaches all members, on whatever host.
Result<std::unique_ptr<fabric::Fabric>> make_one_fabric(const Config& config, const FabricName& name,
                                                        const FabricContext& context) {
  if (name.between_hosts == BetweenHosts::tcp) return fabric::make_tcp(tcp_options(config, context));
  if (name.between_hosts == BetweenHosts::verbs) return fabric::make_verbs(verbs_options(config, context));
  if (name.between_hosts == BetweenHosts::ofi) return fabric::make_ofi(ofi_options(config, name, context));
  SPINDRIFT_TRY_ASSIGN(const kernel::VqOptions options, vq_options(config, name, context));
  return kernel::make_vq(options);
}

Result<std::unique_ptr<fabric::Fabric>> make_fabric(const Config& config, const FabricName& name,
                                                    const FabricContext& context) {
  if (name.between_hosts == BetweenHosts::none) return fabric::make_shm(shm_options(config, context));
  if (!name.mixed()) return make_one_fabric(config, name, context);
  SPINDRIFT_TRY_ASSIGN(auto near, fabric::shm::make_part(shm_options(config, context)));
  SPINDRIFT_TRY_ASSIGN(auto far, make_far_part(config, name, context));
  return fabric::make_mixed(std::move(near), std::move(far));
}

void tell_beginning(const Config& config, const FabricContext& context) {
  AuditEvent began{.kind = AuditKind::began, .subject = config.local_id(), .more = {{"fabric", config.fabric()}}};
  if (context.credentials != nullptr) began.certificate = context.credentials->facts().own;
  context.audit->write(std::move(began));
}

}  // namespace

Result<GroupFabric> open_group_fabric(
    const Config& config, const std::shared_ptr<AuditTrail>& audit,
    const std::shared_ptr<const fabric::tcp::DiscoveryAnswer>& discovery,
    const std::function<std::unique_ptr<fabric::Fabric>(std::unique_ptr<fabric::Fabric>)>& watch) {
  SPINDRIFT_TRY_ASSIGN(const FabricName name, FabricName::parse(config.fabric()));
  SPINDRIFT_TRY_ASSIGN(auto credentials, credentials_of(config, name));
  const FabricContext context{std::move(credentials), audit, discovery};
  SPINDRIFT_TRY_ASSIGN(auto fabric, make_fabric(config, name, context));
  tell_beginning(config, context);
  if (watch) fabric = watch(std::move(fabric));
  log::info(log::Room::fabric, "chosen",
            {{"fabric", fabric->traits().name}, {"reason", config.origin("SPINDRIFT", "fabric")}});
  if (config.needs_trusted_network()) {
    log::warn(log::Room::fabric, "the network is trusted: whoever reaches a port is heard, and data are in the clear",
              {{"fabric", config.fabric()}, {"reason", "[SPINDRIFT] network_trusted"}});
  }
  const NodeId self = config.local_id();
  SPINDRIFT_TRY(fabric->listen({self, config.address_of(self)}));
  return GroupFabric{std::move(fabric), context.credentials};
}

}  // namespace spindrift::group
