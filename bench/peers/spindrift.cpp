// Spindrift beside its peers: a group with the configuration that a user gets, ordered, one application thread per sender.
// --place: nothing to say, and members share memory; or "tcp": with keys over TCP on loopback; or "tcp:NAME": each member in
// the network namespace NAME0, NAME1, …, at 10.77.0.1, 10.77.0.2, ….
#include <optional>

#include <fmt/format.h>

#include <spindrift/bench/group_config.hpp>
#include <spindrift/bench/group_network.hpp>
#include <spindrift/group/group.hpp>

#include "peer.hpp"

using namespace spindrift;

namespace {

/// [SUBGROUP/DEFAULT]: rings of 1 MiB, 1024 messages on their way, of up to 10 KiB.
constexpr Profile default_profile{1 << 20, 1024, 10240};

/// The name of the namespaces, without a number.
std::optional<std::string> namespaces_of(const std::string& place) {
  return place.starts_with("tcp:") ? std::optional(place.substr(4)) : std::nullopt;
}

/// As cage.py lays networks out.
std::string addresses_in_namespaces(std::uint32_t members) {
  std::string addresses;
  for (std::uint32_t node = 0; node < members; ++node)
    addresses += fmt::format("{}{}@10.77.0.{}:7400", node == 0 ? "" : ", ", node, node + 1);
  return addresses;
}

void run_member(peers::Scene& scene, const std::string& directory, const bench::GroupNetwork& network) {
  bench::log_errors_only();
  const peers::Options& options = scene.options();
  bench::GroupShape shape{options.members, options.senders, default_profile, network.settings()};
  if (const auto name = namespaces_of(options.place)) {
    peers::enter_network(fmt::format("{}{}", *name, scene.self()));
    shape.settings.push_back({"SPINDRIFT/addresses", addresses_in_namespaces(options.members), "--place"});
  }
  Group group(bench::member_config(shape, directory, NodeId(scene.self())));
  Subgroup& subgroup = group.subgroup(bench::subgroup_name);
  subgroup.on_delivery([&](std::span<const Delivery> batch) {
    for (const Delivery& delivery : batch) scene.on_delivery(delivery.payload);
  });
  scene.ready();
  if (scene.sends()) {
    while (!scene.stopped()) subgroup.send(options.bytes, [&](std::span<std::byte> to) { scene.write(to); });
    scene.sent_all();
  }
  scene.await_over();
  group.leave();
}

/// Keys are made before the members are, by the process that all are forked from.
bench::GroupNetwork network_for(int argc, char** argv) {
  for (int i = 1; i + 1 < argc; ++i) {
    if (std::string_view(argv[i]) == "--place" && std::string_view(argv[i + 1]).starts_with("tcp"))
      return bench::GroupNetwork::make("tcp", "tls", peers::members_max);
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  const auto directory = bench::PrivateDirectory::make();
  const auto network = network_for(argc, argv);
  return peers::run_peer(argc, argv, true, [&](peers::Scene& scene) { run_member(scene, directory.path(), network); });
}
