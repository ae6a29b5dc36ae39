// Spindrift beside its peers: a group with the configuration that a user gets, ordered, one application thread per sender.
#include <spindrift/bench/group_config.hpp>
#include <spindrift/group/group.hpp>

#include "peer.hpp"

using namespace spindrift;

namespace {

/// [SUBGROUP/DEFAULT]: rings of 1 MiB, 1024 messages on their way, of up to 10 KiB.
constexpr Profile default_profile{1 << 20, 1024, 10240};

}  // namespace

int main(int argc, char** argv) {
  const auto directory = bench::PrivateDirectory::make();
  return peers::run_peer(argc, argv, true, [&](peers::Scene& scene) {
    bench::log_errors_only();
    const peers::Options& options = scene.options();
    const bench::GroupShape shape{options.members, options.senders, default_profile, {}};
    Group group(bench::member_config(shape, directory.path(), NodeId(scene.self())));
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
  });
}
