// Drawing plans.
#include "plan.hpp"

#include <algorithm>
#include <array>

#include "../large.hpp"
#include "../options.hpp"

namespace spindrift::sim {
namespace {

constexpr std::uint64_t messages_of_a_run = 1000;

Profile draw_profile(Random& random) {
  Profile profile;
  profile.ring_bytes = std::uint64_t{4096} << random.pick({0, 0, 0, 0, 1});
  profile.window_messages = random.pick<std::uint64_t>({1, 2, 3, 4, 8, 32, 256});
  profile.message_bytes_max = random.chance(1, 6) ? profile.ring_bytes / 2 - 8 : random.spread(24, 200);
  return profile;
}

std::vector<SubgroupPlan> draw_subgroups(Random& random, std::uint32_t nodes) {
  std::vector<SubgroupPlan> subgroups(random.pick<std::size_t>({1, 1, 2, 2, 3, 4}));
  for (std::size_t i = 0; i < subgroups.size(); ++i) {
    SubgroupPlan& subgroup = subgroups[i];
    subgroup.name = "s" + std::to_string(i);
    subgroup.mode = random.chance(1, 4) ? DeliveryMode::unordered : DeliveryMode::ordered;
    subgroup.profile = draw_profile(random);
    if (i > 0 && random.chance(1, 2)) {  // one draw a statement: compilers order operands and arguments as they like
      subgroup.members = random.next();
      subgroup.members |= std::uint64_t{1} << random.below(nodes);
    }
    if (random.chance(1, 3)) subgroup.senders = random.next();
    if (random.chance(1, 3)) subgroup.minimum = static_cast<std::uint32_t>(random.between(1, std::max(2u, nodes - 1)));
    subgroup.state_bytes = random.pick<std::uint64_t>({0, 32, 32, 1000, 5000, 20'000});
    if (random.chance(1, 40)) subgroup.state_bytes = 200'000;
  }
  return subgroups;
}

FabricOptions draw_fabric(Random& random, Ticks suspect_after) {
  // A link's delay is far below the timeout: else healthy members are suspected for ever.
  const auto longest =
      static_cast<std::uint64_t>(suspect_after == 0 ? 50'000 : std::clamp<Ticks>(suspect_after / 40, 200, 50'000));
  FabricOptions fabric;
  fabric.delay_ns_max = static_cast<Ticks>(random.spread(200, longest));
  fabric.jitter_ns_max = static_cast<Ticks>(random.spread(1, longest / 4 + 1));
  fabric.line_gap_ns_max = static_cast<Ticks>(random.spread(1, 2'000));
  fabric.connect_ns_max = static_cast<Ticks>(random.spread(1'000, 50'000));
  fabric.lost_ns_max = static_cast<Ticks>(random.spread(100, 2'000'000));
  fabric.clogs_in_1000 = random.pick<std::uint64_t>({0, 0, 0, 5});
  fabric.clog_ns_max = static_cast<Ticks>(random.spread(10'000, 500'000));
  if (suspect_after > 0)
    fabric.clog_ns_max = std::clamp<Ticks>(fabric.clog_ns_max, 100, std::max<Ticks>(100, suspect_after / 16));
  fabric.hello_before_memory = true;
  fabric.torn_in_4 = random.pick<std::uint64_t>({0, 3, 4});
  return fabric;
}

NodePlan draw_node(Random& random, std::uint32_t hosts) {
  NodePlan node;
  node.host = static_cast<std::uint32_t>(random.below(hosts));
  node.step_ns_max = static_cast<Ticks>(random.spread(50, 2'000));
  if (random.chance(1, 8)) node.step_ns_max *= static_cast<Ticks>(random.spread(2, 64));
  node.refusals_in_1000 = random.pick<std::uint64_t>({0, 0, 0, 20, 200});
  node.refusal_ns_max = static_cast<Ticks>(random.spread(100, 1'000'000));
  node.echoes = random.chance(1, 4) ? random.between(1, 10) : 0;
  node.throws_after = random.chance(1, 40) ? random.spread(1, 64) : 0;
  node.lingers_ns_max = static_cast<Ticks>(random.chance(1, 2) ? 1 : random.spread(100, 1'000'000));
  return node;
}

void draw_senders(Random& random, Plan& plan) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> places;
  for (std::uint32_t s = 0; s < plan.subgroups.size(); ++s) {
    for (std::uint32_t node = 0; node < plan.nodes.size(); ++node) {
      if (!plan.nodes[node].imposter) places.emplace_back(node, s);
    }
  }
  for (const auto& [node, subgroup] : places) {
    if (random.chance(1, 4)) continue;
    SenderPlan sender;
    sender.node = node;
    sender.subgroup = subgroup;
    sender.messages =
        static_cast<std::uint32_t>(random.spread(1, std::max<std::uint64_t>(2, 2 * messages_of_a_run / places.size())));
    sender.burst = static_cast<std::uint32_t>(random.spread(1, 16));
    // Spread over the time of faults, or all at once.
    const auto span = static_cast<std::uint64_t>(plan.faults_end / 8 + 1000);
    sender.think_ns_max =
        static_cast<Ticks>(random.spread(1, random.chance(2, 3) ? std::min<std::uint64_t>(span, 1u << 30) : 5'000));
    sender.hold_ns_max = static_cast<Ticks>(random.spread(1, random.chance(1, 6) ? 1'000'000 : 500));
    sender.abandons_in_64 = random.pick<std::uint32_t>({0, 0, 2, 16});
    sender.largest_in_8 = random.pick<std::uint32_t>({0, 0, 1, 8});
    plan.senders.push_back(sender);
  }
}

/// Draws faults one behind another, each after a gap that is short against the timeout or long.
class FaultDrawer {
 public:
  FaultDrawer(Random& random, Plan& plan) : random_(random), plan_(plan) {}

  void draw() {
    const std::uint64_t faults = random_.pick<std::uint64_t>({0, 1, 1, 2, 2, 3, 4, 6, 9});
    for (std::uint64_t i = 0; i < faults; ++i) {
      at_ += gap();
      one();
    }
    plan_.faults_end = at_ + gap();
  }
  void skip(Ticks ticks) { at_ += ticks; }

 private:
  [[nodiscard]] Ticks patience() const { return plan_.suspect_after == 0 ? 2'000'000 : plan_.suspect_after; }
  Ticks gap() {
    if (random_.chance(1, 3)) return static_cast<Ticks>(random_.spread(1, 30'000));
    return static_cast<Ticks>(random_.spread(1'000, static_cast<std::uint64_t>(patience() * 3)));
  }
  std::uint32_t node() { return static_cast<std::uint32_t>(random_.below(plan_.nodes.size())); }
  std::uint32_t other(std::uint32_t than) {
    const auto count = static_cast<std::uint32_t>(plan_.nodes.size());
    return (than + 1 + static_cast<std::uint32_t>(random_.below(count - 1))) % count;
  }
  void add(Action::Kind kind, std::uint32_t node, Ticks after = 0, Ticks ticks = 0, std::uint64_t count = 0) {
    plan_.actions.push_back({at_ + after, kind, node, 0, ticks, count, Cut::everything});
  }
  void cut(std::uint32_t from, std::uint32_t to, Cut what, Ticks breaks, Ticks lasts) {
    plan_.actions.push_back({at_, Action::Kind::cut, from, to, breaks, 0, what});
    if (lasts > 0) plan_.actions.push_back({at_ + lasts, Action::Kind::heal, from, to, 0, 0, what});
  }
  void restart(std::uint32_t which) {
    if (random_.chance(1, 3)) return;
    const bool fast = random_.chance(1, 2);
    add(Action::Kind::start, which,
        static_cast<Ticks>(fast ? random_.spread(1, 100'000)
                                : random_.spread(1'000, static_cast<std::uint64_t>(patience() * 4))));
  }

  void one() {
    const std::uint32_t which = node();
    switch (random_.below(10)) {
      case 0:
      case 1:
        add(Action::Kind::crash, which);
        restart(which);
        break;
      case 2:
      case 3:
        add(Action::Kind::crash_in_change, which, 0, 0, random_.spread(1, 100));
        if (random_.chance(2, 3)) {
          const std::uint32_t second = other(which);
          add(Action::Kind::crash, second, static_cast<Ticks>(random_.below(3)));
        }
        restart(which);
        break;
      case 4: pause(which); break;
      case 5:
      case 6: partition(); break;
      case 7:
        add(Action::Kind::leave, which);
        restart(which);
        if (random_.chance(1, 2)) add(Action::Kind::crash, other(which));
        break;
      case 8:
        add(Action::Kind::start, which);
        if (random_.chance(1, 2)) add(Action::Kind::start, other(which));
        if (random_.chance(1, 3)) {
          const std::uint32_t second = node();
          add(Action::Kind::crash, second, static_cast<Ticks>(random_.below(50'000)));
        }
        break;
      default:
        if (random_.chance(1, 4)) {
          add(Action::Kind::stop, which);
        } else {
          add(Action::Kind::crash_at, which, 0, 0, random_.spread(1, 400));
        }
        restart(which);
    }
  }

  // One that does not run for a while, or all: their host is suspended.
  void pause(std::uint32_t which) {
    const auto lasts = static_cast<Ticks>(random_.spread(1'000, static_cast<std::uint64_t>(patience() * 8)));
    const bool all = random_.chance(1, 4);
    // Without a draw: other plans stay as they are.
    const bool works = lasts % 2 == 0 && plan_.suspect_after > 0;
    const bool starves = lasts % 3 == 0 && plan_.suspect_after > 0;
    const Action::Kind one = works ? Action::Kind::work : starves ? Action::Kind::starve : Action::Kind::pause;
    add(all ? Action::Kind::sleep : one, which, 0, lasts);
  }

  void partition() {
    const auto count = static_cast<std::uint32_t>(plan_.nodes.size());
    const bool never = plan_.suspect_after > 0 && random_.chance(1, 2);
    const Ticks breaks = never ? 0 : static_cast<Ticks>(random_.spread(1'000, static_cast<std::uint64_t>(patience() * 2)));
    const Ticks lasts = static_cast<Ticks>(random_.spread(1'000, static_cast<std::uint64_t>(patience() * 6)));
    const Cut what = random_.chance(1, 6) ? (random_.chance(1, 2) ? Cut::writes : Cut::messages) : Cut::everything;
    const std::uint64_t kind = random_.below(5);
    if (kind == 0) {  // one pair, perhaps one way
      const std::uint32_t a = node();
      const std::uint32_t b = other(a);
      cut(a, b, what, breaks, lasts);
      if (random_.chance(1, 2)) cut(b, a, what, breaks, lasts);
      return;
    }
    if (kind == 1) {  // flapping
      const std::uint32_t a = node();
      const std::uint32_t b = other(a);
      for (int i = 0; i < 3; ++i) {
        cut(a, b, what, breaks, lasts);
        at_ += lasts + gap();
      }
      return;
    }
    const std::uint64_t side = random_.next();  // two sides, perhaps with a bridge
    const std::uint32_t bridge = kind == 2 ? node() : count;
    const bool one_way = kind == 3;
    for (std::uint32_t a = 0; a < count; ++a) {
      for (std::uint32_t b = 0; b < count; ++b) {
        if (a == bridge || b == bridge || (side >> a & 1) == (side >> b & 1)) continue;
        if (one_way && (side >> a & 1) == 0) continue;
        cut(a, b, what, breaks, lasts);
      }
    }
  }

  Random& random_;
  Plan& plan_;
  Ticks at_ = 0;
};

// A node or two that come back again and again, faster than the others hear of their ends. A member keeps five connections
// of one node: more starts at once are not what is looked for.
void draw_restarts(Random& random, Plan& plan) {
  constexpr std::uint32_t restarts_max = 4;
  std::vector<std::uint32_t> restarts(plan.nodes.size());
  const std::array<std::uint64_t, 2> restless{random.below(plan.nodes.size()), random.below(plan.nodes.size())};
  // While the group is founded, or when it is there.
  Ticks at = static_cast<Ticks>(random.chance(1, 3) ? random.spread(1, 60'000) : random.spread(300'000, 2'000'000));
  for (std::uint64_t left = random.between(3, 12); left > 0; --left) {
    const auto node = static_cast<std::uint32_t>(restless[random.below(2)]);
    at += static_cast<Ticks>(random.spread(1, random.chance(1, 2) ? 20'000 : 400'000));
    const auto end = random.chance(1, 4) ? Action::Kind::leave : Action::Kind::crash;
    const auto away = static_cast<Ticks>(random.spread(1, 60'000));
    if (++restarts[node] > restarts_max) continue;
    plan.actions.push_back({at, end, node, 0, 0, 0, Cut::nothing});
    plan.actions.push_back({at + away, Action::Kind::start, node, 0, 0, 0, Cut::nothing});
  }
  plan.faults_end = std::max(plan.faults_end, at + 100'000);
}

// A node whose process is gone comes back, and does not reach one of the others; until everything heals, or not that long.
void draw_missing_link(std::uint64_t seed, Plan& plan) {
  Random random(seed, Purpose::links);
  const auto nodes = static_cast<std::uint32_t>(plan.nodes.size());
  if (nodes < 3 || !random.chance(1, 4)) return;
  const auto node = static_cast<std::uint32_t>(random.below(nodes));
  const std::uint32_t other = (node + 1 + static_cast<std::uint32_t>(random.below(nodes - 1))) % nodes;
  const auto patience = static_cast<std::uint64_t>(plan.suspect_after > 0 ? plan.suspect_after : 2'000'000);
  const auto end = random.chance(1, 2) ? Action::Kind::leave : Action::Kind::crash;
  Ticks at = static_cast<Ticks>(random.spread(100'000, 2'000'000));
  plan.actions.push_back({at, end, node, 0, 0, 0, Cut::nothing});
  at += static_cast<Ticks>(random.spread(1'000, patience * 4));
  const bool never = plan.suspect_after > 0 && random.chance(1, 2);
  const Ticks breaks = never ? 0 : static_cast<Ticks>(random.spread(1, patience * 2));
  const std::uint64_t late = random.below(2);
  plan.actions.push_back({at, Action::Kind::start_apart, node, other, breaks, late, Cut::nothing});
  at += static_cast<Ticks>(random.spread(patience, patience * 8));
  if (random.chance(1, 2)) {
    plan.actions.push_back({at, Action::Kind::heal, node, other, 0, 0, Cut::nothing});
    plan.actions.push_back({at, Action::Kind::heal, other, node, 0, 0, Cut::nothing});
  }
  plan.faults_end = std::max(plan.faults_end, at + 100'000);
}

// Links break between members that are all well, and hosts sleep so shortly that nobody is given up for it. At most as many
// break as a minority has members, so that the group can go on; often many of one member, and all of one cause.
void draw_broken_links(std::uint64_t seed, Plan& plan) {
  Random random(seed, Purpose::breaks);
  const auto nodes = static_cast<std::uint32_t>(plan.nodes.size());
  const auto different = [](const NodePlan& node) {
    return node.imposter || node.throws_after > 0 || node.lagging_after > 0;
  };
  const bool fit = nodes >= 3 && plan.suspect_after > 0 && !plan.storm &&
                   std::none_of(plan.nodes.begin(), plan.nodes.end(), different);
  if (!fit || !random.chance(1, 8)) return;
  plan.actions.clear();
  plan.founders.clear();
  for (std::uint32_t i = 0; i < nodes; ++i) {
    plan.founders.push_back(i);
    plan.actions.push_back({static_cast<Ticks>(random.spread(1, 20'000)), Action::Kind::start, i, 0, 0, 0, Cut::nothing});
  }
  random.shuffle(plan.founders);
  const auto patience = static_cast<std::uint64_t>(plan.suspect_after);
  Ticks at = static_cast<Ticks>(random.spread(4'000'000, 8'000'000));
  const auto center = static_cast<std::uint32_t>(random.below(nodes));
  const bool star = random.chance(1, 2);
  const auto breaks = static_cast<Ticks>(random.spread(1, random.chance(1, 2) ? 20'000 : patience));
  plan.broken_links = static_cast<std::uint32_t>(random.between(1, (nodes - 1) / 2));
  for (std::uint32_t i = 0; i < plan.broken_links; ++i) {
    if (random.chance(1, 3)) {
      const auto lasts = static_cast<Ticks>(random.spread(1, patience / 3));
      plan.actions.push_back({at, Action::Kind::sleep, 0, 0, lasts, 0, Cut::nothing});
    }
    if (random.chance(1, 3)) at += static_cast<Ticks>(random.spread(1, random.chance(1, 2) ? 20'000 : patience));
    const std::uint32_t from = star ? center : static_cast<std::uint32_t>(random.below(nodes));
    const std::uint32_t to = (from + 1 + (star ? i : static_cast<std::uint32_t>(random.below(nodes - 1)))) % nodes;
    plan.actions.push_back({at, Action::Kind::cut, from, to, breaks, 0, Cut::everything});
    if (random.chance(1, 2)) plan.actions.push_back({at, Action::Kind::cut, to, from, breaks, 0, Cut::everything});
  }
  plan.faults_end = at + static_cast<Ticks>(random.spread(patience, 4 * patience));
}

// Founders are named, or whoever is there: then imposters may be the first, who found, and all others strangers to them.
void draw_founding(std::uint64_t seed, Plan& plan) {
  const bool imposters =
      std::any_of(plan.nodes.begin(), plan.nodes.end(), [](const NodePlan& node) { return node.imposter; });
  if (!Random(seed, Purpose::founding).chance(1, imposters ? 2 : 6)) return;
  plan.founded_by = views::FoundedBy::present;
}

}  // namespace

Plan Plan::of(std::uint64_t seed) {
  Random random(seed, Purpose::options);
  Plan plan;
  plan.seed = seed;
  const auto nodes = random.pick<std::uint32_t>({2, 3, 3, 3, 4, 5, 5, 5, 6, 7});
  plan.suspect_after = random.pick<Ticks>({0, 1'000'000, 1'000'000, 5'000'000, 20'000'000, 500'000'000});
  plan.storm = random.chance(1, 12);
  if (plan.storm) plan.suspect_after = static_cast<Ticks>(random.spread(20'000, 400'000));
  plan.clocks_go_back = plan.suspect_after > 0 && mix(seed) % 16 == 0;
  plan.partition_safety = true;
  plan.fabric = draw_fabric(random, plan.suspect_after);
  plan.fabric.message_bytes_max = Random(seed, Purpose::messages).pick<std::size_t>({128, 4096, 4096, 4096});
  plan.policy.send_batch_max = random.pick<std::uint64_t>({1, 3, ~std::uint64_t{0}, ~std::uint64_t{0}});
  plan.policy.receive_batch_max = random.pick<std::uint64_t>({1, 3, ~std::uint64_t{0}, ~std::uint64_t{0}});
  plan.policy.delivery_batch_max = random.pick<std::uint64_t>({1, 3, 512, 512});
  plan.policy.unsent_bytes_max = draw_unsent_bytes_max(seed);
  plan.policy.unsent_bytes_each = 0;
  const std::uint32_t hosts = random.pick<std::uint32_t>({1, 2, 3});
  const bool all_remote = random.chance(1, 2);
  for (std::uint32_t i = 0; i < nodes; ++i) {
    plan.nodes.push_back(draw_node(random, hosts));
    if (all_remote) plan.nodes[i].host = i;
    if (plan.suspect_after > 0) plan.nodes[i].step_ns_max = std::min(plan.nodes[i].step_ns_max, plan.suspect_after / 8);
  }
  Random handlers(seed, Purpose::handlers);
  for (NodePlan& node : plan.nodes) {
    node.busy_in_1000 = handlers.pick<std::uint64_t>({0, 0, 0, 100, 1000});
    node.busy_ns_max = static_cast<Ticks>(handlers.spread(100, 300'000));
    if (handlers.chance(1, 4)) node.late_ns_max = static_cast<Ticks>(handlers.spread(1'000, 4'000'000));
  }
  for (NodePlan& node : plan.nodes) {
    if (!handlers.chance(1, 4)) continue;
    const auto patience = static_cast<std::uint64_t>(plan.suspect_after > 0 ? plan.suspect_after : 1'000'000);
    node.state_ns_max = static_cast<Ticks>(handlers.spread(1'000, 4 * patience));
  }
  if (plan.suspect_after > 0 && handlers.chance(1, 6)) {  // slow is not dead: longer than silence may last
    NodePlan& slow = plan.nodes[handlers.below(nodes)];
    slow.busy_in_1000 = std::max<std::uint64_t>(slow.busy_in_1000, 50);
    slow.busy_ns_max = plan.suspect_after * static_cast<Ticks>(handlers.between(1, 4));
  }
  plan.subgroups = draw_subgroups(random, nodes);
  if (Random large(seed, Purpose::large); large.chance(1, 3)) {
    for (SubgroupPlan& subgroup : plan.subgroups) draw_bulk_ring(large, subgroup.profile);
    plan.fabric.mappable = large.chance(1, 3);
  }
  for (std::uint32_t i = 0; i < nodes; ++i) plan.founders.push_back(i);
  random.shuffle(plan.founders);
  if (random.chance(1, 2)) plan.founders.resize(random.between(1, nodes));
  if (nodes > 2 && random.chance(1, 30)) {
    const std::uint32_t imposter = plan.founders.size() < nodes ? nodes : 0;
    for (std::uint32_t i = 0; i < imposter; ++i) {
      if (std::find(plan.founders.begin(), plan.founders.end(), i) == plan.founders.end()) plan.nodes[i].imposter = true;
    }
  }
  for (const std::uint32_t founder : plan.founders) {
    plan.actions.push_back(
        {static_cast<Ticks>(random.spread(1, 20'000)), Action::Kind::start, founder, 0, 0, 0, Cut::nothing});
  }
  for (std::uint32_t i = 0; i < nodes; ++i) {
    if (std::find(plan.founders.begin(), plan.founders.end(), i) != plan.founders.end() || random.chance(1, 4)) continue;
    plan.actions.push_back({static_cast<Ticks>(random.spread(1, 2'000'000)), Action::Kind::start, i, 0, 0, 0, Cut::nothing});
  }
  FaultDrawer drawer(random, plan);
  if (random.chance(3, 4))
    drawer.skip(static_cast<Ticks>(random.spread(50'000, 1'000'000)));  // mostly once the group is there
  drawer.draw();
  draw_senders(random, plan);
  if (random.chance(1, 6)) draw_restarts(random, plan);
  draw_missing_link(seed, plan);
  draw_lag(seed, plan);
  draw_broken_links(seed, plan);
  draw_deaths(seed, plan);
  draw_starving(seed, plan);
  draw_failing_saves(seed, plan);
  draw_founding(seed, plan);
  draw_tables(seed, plan);
  draw_rosters(seed, plan);
  draw_drains(seed, plan);
  draw_stops(seed, plan);
  draw_added(seed, plan);
  draw_ring_files(seed, plan);
  draw_releases(seed, plan);
  draw_revivals(seed, plan);
  draw_logs(seed, plan);
  draw_log_returns(seed, plan);
  draw_adoptions(seed, plan);
  draw_trims(seed, plan);
  draw_logged_objects(seed, plan);
  draw_forced(seed, plan);
  allow_looks(plan);
  std::stable_sort(plan.actions.begin(), plan.actions.end(), [](const Action& a, const Action& b) { return a.at < b.at; });
  return plan;
}

}  // namespace spindrift::sim
