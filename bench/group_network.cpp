// Keys come from the product's own authority, as `spindrift keys init` makes them.
#include <spindrift/bench/group_network.hpp>

#include <unistd.h>

#include <chrono>
#include <utility>

#include <fmt/format.h>

#include <spindrift/fabric/fabric_name.hpp>
#include <spindrift/fabric/tls/authority.hpp>

namespace spindrift::bench {

namespace {

using fabric::FabricName;

constexpr std::string_view group_name = "bench";  // as group_config_text has it
constexpr std::chrono::days valid_days{1};

void make_keys(const std::string& directory, std::uint32_t members) {
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  const auto validity = fabric::tls::valid_for(now, valid_days);
  auto authority = value_or_throw(fabric::tls::Authority::create(directory, group_name, validity));
  for (std::uint32_t node = 0; node < members; ++node)
    value_or_throw(authority.add(value_or_throw(fabric::tls::Identity::of_member(group_name, NodeId(node))), validity));
}

/// Members that read each other in place if they are of one host have an address, and those of other fabrics each its own.
std::string own_addresses(bool of_one_host, std::uint32_t members) {
  const auto process = static_cast<unsigned>(::getpid());
  const std::string net = fmt::format("127.{}.{}", process / 250 % 250 + 1, process % 250);
  if (!of_one_host) return net + ".<id>:7400";
  std::string all;
  for (std::uint32_t node = 0; node < members; ++node)
    all += fmt::format("{}{}@{}.1:{}", node == 0 ? "" : ", ", node, net, 7400 + node);
  return all;
}

}  // namespace

GroupNetwork GroupNetwork::make(const std::string& fabric, const std::string& security, std::uint32_t members) {
  GroupNetwork network;
  network.name_ = security.empty() ? fabric : fmt::format("{}, security {}", fabric, security);
  const auto set = [&network](const char* key, std::string value) {
    network.settings_.push_back({fmt::format("SPINDRIFT/{}", key), std::move(value), "the bench"});
  };
  if (!security.empty()) set("security", security);
  if (fabric.empty()) return network;
  set("fabric", fabric);
  const FabricName name = value_or_throw(FabricName::parse(fabric));
  network.between_hosts_ = name.between_hosts != FabricName::BetweenHosts::none && !name.mixed();
  if (name.between_hosts == FabricName::BetweenHosts::none) return network;
  set("addresses", own_addresses(name.mixed(), members));
  const bool over_tcp = name.between_hosts == FabricName::BetweenHosts::tcp;
  network.sealed_ = over_tcp && !name.mixed() && security != "none";
  if (security != "tls" && (!over_tcp || security == "none")) return network;
  network.keys_ = PrivateDirectory::make();
  make_keys(network.keys_->path() + "/keys", members);
  set("keys", network.keys_->path() + "/keys/<id>");
  return network;
}

}  // namespace spindrift::bench
