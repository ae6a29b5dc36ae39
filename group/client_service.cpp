// The objects and addresses that a member has for clients, from its group.
#include <spindrift/group/client_service.hpp>

#include <algorithm>
#include <utility>

#include <spindrift/core/config/addresses.hpp>
#include <spindrift/core/config/client_rights.hpp>

namespace spindrift::group {

Result<void> ClientService::start(NodeId self, std::shared_ptr<fabric::tls::Credentials> credentials,
                                  std::shared_ptr<AuditTrail> audit) {
  const std::string endpoint = config::client_address_of(member_.config, self);
  if (endpoint.empty()) return {};
  auto rights = config::ClientRights::parse(member_.config.text("SPINDRIFT", "client_rights"));
  if (!rights) return std::move(rights).error().at("[SPINDRIFT] client_rights");
  return port_.start(endpoint, std::move(rights).value(), std::move(credentials), std::move(audit));
}

OfferedObjects::Found ClientService::find(std::string_view subgroup) const {
  if (!member_.channels.seek(subgroup)) return {};
  return {true, member_.replicas.offered(subgroup)};
}

// A node that is in no file of this one, for the roster was changed since, is not told of: where it listens, its own says.
std::vector<std::string> ClientService::members(std::string_view subgroup) const {
  const View view = member_.state.view();
  const auto shape = std::find_if(view.subgroups.begin(), view.subgroups.end(),
                                  [&](const SubgroupView& each) { return each.name == subgroup; });
  std::vector<std::string> addresses;
  if (shape == view.subgroups.end()) return addresses;
  for (const NodeId node : shape->members) {
    std::string address = config::client_address_of(member_.config, node);
    if (!address.empty() && address.size() <= clients::address_bytes_max) addresses.push_back(std::move(address));
  }
  return addresses;
}

}  // namespace spindrift::group
