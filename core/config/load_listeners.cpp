// Judging where members listen.
#include <spindrift/core/config/load_listeners.hpp>

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <spindrift/core/config/addresses.hpp>
#include <spindrift/core/config/client_rights.hpp>
#include <spindrift/core/config/load_contacts.hpp>
#include <spindrift/core/ids_text.hpp>

namespace spindrift::config {
namespace {

/// A port of members for others than members.
struct OtherPort {
  const char* key;
  const char* callers;  ///< of one's own host, or of others
};

/// Addresses, who listens there, and for whom.
using Listeners = std::map<std::string, std::pair<NodeId, const char*>>;

/// These call members at their addresses, at ports that nobody else listens at.
void check_other_port(Loaded& loaded, const std::vector<NodeId>& members, const OtherPort& port, Listeners& taken,
                      std::vector<Error>& problems) {
  const Value& value = value_of(loaded, "SPINDRIFT", port.key);
  if (value.unusable || value.text == "0") return;
  if (value_of(loaded, "SPINDRIFT", "fabric").text == "shm") {
    return report(problems, value.origin,
                  fmt::format("{} call members at their addresses, which fabric shm has not", port.callers),
                  "give [SPINDRIFT] addresses and no fabric, which is shm+tcp then; or remove it");
  }
  const std::string_view whom = std::string_view(port.callers).substr(0, std::string_view(port.callers).find(' '));
  const std::string& addresses = value_of(loaded, "SPINDRIFT", "addresses").text;
  for (const NodeId id : members) {
    if (!address_in(addresses, id)) continue;
    const auto at = address_at_port(addresses, members, id, std::stoll(value.text));
    if (!at) {
      return report(problems, value.origin, fmt::format("the port of node {} for {} would be above 65535", id, whom),
                    "take a lower one: members of one host have one after the other");
    }
    if (const auto [other, fresh] = taken.emplace(*at, std::pair(id, port.callers)); !fresh) {
      return report(problems, value.origin,
                    fmt::format("node {} would listen for {} at {}, where node {} listens for {}", id, whom, *at,
                                other->second.first, other->second.second),
                    "take another port: members of one host have one after the other");
    }
  }
}

}  // namespace

void check_addresses(Loaded& loaded, const std::vector<NodeId>& members, std::vector<Error>& problems) {
  if (value_of(loaded, "SPINDRIFT", "fabric").text == "shm") return;
  if (told_by_contacts(loaded) && !bootstraps(loaded)) return;
  const Value& value = value_of(loaded, "SPINDRIFT", "addresses");
  if (value.unusable) return;
  const std::string place = value.rank == OriginRank::standard ? loaded.name : value.origin;
  std::map<std::string, NodeId> taken;
  for (const NodeId id : members) {
    const auto address = address_in(value.text, id);
    if (!address) {
      report(problems, place, fmt::format("node {} has no address, and the fabric is not shm", id),
             fmt::format("add {}@host:port to [SPINDRIFT] addresses", id));
    } else if (const auto [other, fresh] = taken.emplace(*address, id); !fresh) {
      report(problems, place, fmt::format("nodes {} and {} have the same address, {}", other->second, id, *address),
             "give each node a host or a port of its own");
    }
  }
}

void check_other_ports(Loaded& loaded, const std::vector<NodeId>& members, std::vector<Error>& problems) {
  const std::string& addresses = value_of(loaded, "SPINDRIFT", "addresses").text;
  Listeners taken;
  for (const NodeId id : members) {
    if (auto address = address_in(addresses, id)) taken.emplace(std::move(*address), std::pair(id, "members"));
  }
  check_other_port(loaded, members, {"observer_port", "observers of other hosts"}, taken, problems);
  check_other_port(loaded, members, {"client_port", "clients"}, taken, problems);
}

void check_client_rights(Loaded& loaded, std::vector<Error>& problems) {
  const Value& value = value_of(loaded, "SPINDRIFT", "client_rights");
  if (value.unusable) return;
  const auto rights = ClientRights::parse(value.text);
  if (!rights) report(problems, value.origin, rights.error().message(), rights.error().fix());
}

void check_client_proofs(Loaded& loaded, std::vector<Error>& problems) {
  const Value& port = value_of(loaded, "SPINDRIFT", "client_port");
  const Value& members = value_of(loaded, "SPINDRIFT", "members");
  if (loaded.proves_members || port.unusable || port.text == "0" || members.unusable) return;
  const std::string& addresses = value_of(loaded, "SPINDRIFT", "addresses").text;
  for (const NodeId id : ids_of(members)) {
    const auto address = address_in(addresses, id);
    if (!address || on_loopback(*address)) continue;
    return report(problems, port.origin,
                  fmt::format("node {} would listen for clients at {}, which other hosts can reach, and without keys nobody "
                              "proves who he is and nothing is encrypted",
                              id, *address),
                  "let members have keys ([SPINDRIFT] security = tls; spindrift keys init makes them), or give them "
                  "addresses of the loopback interface, or remove client_port");
  }
}

}  // namespace spindrift::config
