// Drawing a run's options.
#include "options.hpp"

#include <algorithm>
#include <string>

#include "large.hpp"

namespace spindrift::sim {
namespace {

constexpr std::uint64_t messages_of_a_run = 3300;  // about 30,000 events with five nodes

Profile draw_profile(Random& random) {
  Profile profile;
  profile.ring_bytes = std::uint64_t{4096} << random.pick({0, 0, 0, 1, 2, 4});
  profile.window_messages = random.pick<std::uint64_t>({1, 2, 3, 4, 7, 16, 64, 1000});
  const std::uint64_t largest = profile.ring_bytes / 2 - 8;
  profile.message_bytes_max = random.chance(1, 4) ? largest : std::min(largest, random.spread(1, 1024));
  return profile;
}

// A random part of `from`, in its order, not empty.
std::vector<NodeId> draw_part(Random& random, const std::vector<NodeId>& from, bool all) {
  std::vector<NodeId> part;
  while (part.empty()) {
    for (const NodeId node : from) {
      if (all || random.chance(1, 2)) part.push_back(node);
    }
  }
  return part;
}

View draw_view(Random& random) {
  View view;
  view.id = ViewId(0);
  const std::uint64_t members = random.pick<std::uint64_t>({2, 2, 3, 3, 4, 5, 5, 6, 7, 8});
  std::vector<NodeId> ids;
  for (std::uint32_t i = 0; i < 100; ++i) ids.emplace_back(i);
  random.shuffle(ids);
  view.members.assign(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(members));

  const std::uint64_t subgroups = random.chance(1, 16) ? random.between(9, 12) : random.between(1, 3);
  for (std::uint64_t i = 0; i < subgroups; ++i) {
    SubgroupView subgroup;
    subgroup.name = "s" + std::to_string(i);
    subgroup.members = draw_part(random, view.members, random.chance(2, 3));
    subgroup.senders = draw_part(random, subgroup.members, random.chance(1, 2));
    if (random.chance(1, 8)) subgroup.senders.resize(1);
    if (random.chance(1, 4)) random.shuffle(subgroup.senders);
    subgroup.mode = random.chance(1, 4) ? DeliveryMode::unordered : DeliveryMode::ordered;
    subgroup.profile = draw_profile(random);
    view.subgroups.push_back(std::move(subgroup));
  }
  return view;
}

FabricOptions draw_fabric(Random& random) {
  FabricOptions fabric;
  fabric.delay_ns_max = static_cast<Ticks>(random.spread(200, 100'000));
  fabric.jitter_ns_max = static_cast<Ticks>(random.spread(1, 20'000));
  fabric.line_gap_ns_max = static_cast<Ticks>(random.spread(1, 20'000));
  fabric.clogs_in_1000 = random.pick<std::uint64_t>({0, 0, 5, 50});
  fabric.clog_ns_max = static_cast<Ticks>(random.spread(10'000, 1'000'000));
  fabric.hello_before_memory = true;
  fabric.torn_in_4 = random.pick<std::uint64_t>({0, 3, 4});
  return fabric;
}

NodeOptions draw_node(Random& random, std::uint32_t hosts) {
  NodeOptions node;
  node.start_ns = static_cast<Ticks>(random.spread(1, 100'000));
  node.step_ns_max = static_cast<Ticks>(random.spread(20, 2'000));
  if (random.chance(1, 6)) node.step_ns_max *= static_cast<Ticks>(random.spread(2, 1000));
  node.host = static_cast<std::uint32_t>(random.below(hosts));
  node.pauses_in_1000 = random.pick<std::uint64_t>({0, 0, 0, 2, 20});
  node.pause_ns_max = static_cast<Ticks>(random.spread(10'000, 60'000'000));
  node.refusals_in_1000 = random.pick<std::uint64_t>({0, 0, 20, 200});
  node.refusal_ns_max = static_cast<Ticks>(random.spread(100, 1'000'000));
  node.echoes = random.chance(1, 4) ? random.between(1, 20) : 0;
  return node;
}

ThreadOptions draw_thread(Random& random, std::uint32_t node, std::uint32_t subgroup, std::uint64_t messages) {
  ThreadOptions thread;
  thread.node = node;
  thread.subgroup = subgroup;
  thread.messages = static_cast<std::uint32_t>(random.chance(1, 6) ? random.below(4) : random.spread(1, messages));
  thread.burst = static_cast<std::uint32_t>(random.spread(1, 64));
  thread.think_ns_max = static_cast<Ticks>(random.spread(1, random.chance(1, 4) ? 2'000'000 : 5'000));
  thread.hold_ns_max = static_cast<Ticks>(random.spread(1, random.chance(1, 8) ? 200'000 : 500));
  thread.abandons_in_64 = random.pick<std::uint32_t>({0, 0, 2, 16});
  thread.empty_in_8 = random.pick<std::uint32_t>({0, 1, 1, 8});
  thread.largest_in_8 = random.pick<std::uint32_t>({0, 1, 1, 8});
  return thread;
}

void draw_threads(Random& random, Options& options) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> places;  // sender, subgroup
  for (std::uint32_t s = 0; s < options.view.subgroups.size(); ++s) {
    const bool only_one = random.chance(1, 8);
    const auto& senders = options.view.subgroups[s].senders;
    const std::uint64_t one = random.below(senders.size());
    for (std::size_t i = 0; i < senders.size(); ++i) {
      if (!only_one || i == one) places.emplace_back(options.view.rank_of(senders[i])->value(), s);
    }
  }
  for (const auto& [node, subgroup] : places) {
    if (random.chance(1, 6)) continue;  // may send, never does
    const std::uint64_t threads = random.pick<std::uint64_t>({1, 1, 2, 3});
    const std::uint64_t messages = std::max<std::uint64_t>(2, 2 * messages_of_a_run / places.size() / threads);
    for (std::uint64_t t = 0; t < threads; ++t) options.threads.push_back(draw_thread(random, node, subgroup, messages));
  }
}

}  // namespace

std::uint64_t draw_unsent_bytes_max(std::uint64_t seed) {
  Random random(seed, Purpose::pacing);
  return random.chance(1, 6) ? random.spread(1, 8192) : smc::Policy{}.unsent_bytes_max;
}

Options Options::of(std::uint64_t seed) {
  Random random(seed, Purpose::options);
  Options options;
  options.seed = seed;
  options.view = draw_view(random);
  options.policy.send_batch_max = random.pick<std::uint64_t>({1, 3, ~std::uint64_t{0}, ~std::uint64_t{0}});
  options.policy.receive_batch_max = random.pick<std::uint64_t>({1, 3, ~std::uint64_t{0}, ~std::uint64_t{0}});
  options.policy.delivery_batch_max = random.pick<std::uint64_t>({1, 3, 512, 512});
  options.policy.unsent_bytes_max = draw_unsent_bytes_max(seed);
  options.policy.unsent_bytes_each = 0;
  options.fabric = draw_fabric(random);

  const auto members = static_cast<std::uint32_t>(options.view.members.size());
  const std::uint32_t hosts = random.pick<std::uint32_t>({1, 2, 3});
  const bool all_remote = random.chance(1, 3);
  for (std::uint32_t i = 0; i < members; ++i) {
    options.nodes.push_back(draw_node(random, hosts));
    if (all_remote) options.nodes[i].host = i;
  }
  draw_threads(random, options);

  Random large(seed, Purpose::large);
  if (!large.chance(1, 3)) return options;
  for (SubgroupView& subgroup : options.view.subgroups) draw_bulk_ring(large, subgroup.profile);
  options.fabric.mappable = large.chance(1, 3);
  using namespace smc::relay;
  options.policy.relay = large.pick<smc::Relay>({rotation, rotation, chain, tree});
  return options;
}

std::string Options::describe() const {
  std::string text =
      "seed " + std::to_string(seed) + ": " + std::to_string(view.members.size()) + " members (node@host, step ns):";
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    text += " " + std::to_string(view.members[i].value()) + "@" + std::to_string(nodes[i].host) + "," +
            std::to_string(nodes[i].step_ns_max);
  }
  for (const SubgroupView& subgroup : view.subgroups) {
    text += "\n  " + subgroup.name + (subgroup.mode == DeliveryMode::ordered ? " ordered" : " unordered") + ", ring " +
            std::to_string(subgroup.profile.ring_bytes) + ", window " + std::to_string(subgroup.profile.window_messages) +
            ", message " + std::to_string(subgroup.profile.message_bytes_max) + ", bulk ring " +
            std::to_string(subgroup.profile.bulk_ring_bytes) + " above " +
            std::to_string(subgroup.profile.large_message_bytes) + (subgroup.profile.split_rows ? ", split off" : "") +
            ", members";
    for (const NodeId node : subgroup.members) text += " " + std::to_string(node.value());
    text += ", senders";
    for (const NodeId node : subgroup.senders) text += " " + std::to_string(node.value());
  }
  text += "\n  batches " + std::to_string(policy.send_batch_max) + "/" + std::to_string(policy.receive_batch_max) + "/" +
          std::to_string(policy.delivery_batch_max) + ", unsent " + std::to_string(policy.unsent_bytes_max) +
          ", threads " + std::to_string(threads.size());
  return text;
}

}  // namespace spindrift::sim
