// Plans in which a group stops as a whole, and is started again in part; and some in which it has gone on in others.
#include <algorithm>

#include "../random.hpp"
#include "plan.hpp"

namespace spindrift::sim {
namespace {

class StopDrawer {
 public:
  StopDrawer(std::uint64_t seed, Random& random, Plan& plan)
      : random_(random), lost_logs_(seed, Purpose::lost_logs), plan_(plan) {}

  // Everybody ends, most at once, in the middle of a change or one after another, some by leaving. Some records are lost,
  // some logs alone, some nodes are cut off from each other, and come back in any order.
  void stop_all() {
    const std::vector<std::uint32_t> order = everybody();
    const bool at_once = random_.chance(2, 3);
    const bool all_leave = lost_logs_.chance(1, 6);
    const auto late = static_cast<Ticks>(random_.spread(1, 60));
    for (const std::uint32_t node : order) {
      const auto kind = random_.chance(1, 8)   ? Action::Kind::leave
                        : random_.chance(1, 6) ? Action::Kind::crash_at
                                               : Action::Kind::crash;
      act(all_leave ? Action::Kind::leave : kind, node, 0, kind == Action::Kind::crash_at ? random_.spread(1, 60) : 0);
      if (all_leave) at_ += static_cast<Ticks>(lost_logs_.spread(1, 1'000'000));
      at_ += static_cast<Ticks>(random_.below(static_cast<std::uint64_t>(at_once ? late : 200'000)));
    }
    at_ += static_cast<Ticks>(random_.spread(1'000, 1'000'000));
    for (const std::uint32_t node : order) act(Action::Kind::crash, node);  // those that have not come to their effect
    if (!plan_.clocks_go_back && random_.chance(1, 4)) {
      for (std::uint64_t left = random_.between(1, 2); left > 0; --left) act(Action::Kind::forget, anybody());
    }
    if (!plan_.clocks_go_back && lost_logs_.chance(1, 4))
      act(Action::Kind::lose_logs, static_cast<std::uint32_t>(lost_logs_.below(plan_.nodes.size())));
    start_some(order.size());
  }

  // The founders are removed one after another, and come back without a link with those who go on.
  void replace_founders() {
    for (const std::uint32_t founder : plan_.founders) {
      act(Action::Kind::remove, anybody(), founder);
      at_ += static_cast<Ticks>(random_.spread(1, 2'000'000));
    }
    at_ += static_cast<Ticks>(random_.spread(1'000, 3'000'000));
    for (std::uint32_t a = 0; a < plan_.nodes.size(); ++a) {
      for (std::uint32_t b = 0; b < plan_.nodes.size(); ++b) {
        if (founds(a) != founds(b)) plan_.actions.push_back({at_, Action::Kind::cut, a, b, 0, 0, Cut::everything});
      }
    }
    for (const std::uint32_t founder : plan_.founders) {
      act(Action::Kind::crash, founder);
      act(Action::Kind::start, founder);
      at_ += static_cast<Ticks>(random_.spread(1, 100'000));
    }
    at_ += static_cast<Ticks>(random_.spread(1'000, 5'000'000));
  }

  [[nodiscard]] Ticks at() const noexcept { return at_; }
  void pass(std::uint64_t most) { at_ += static_cast<Ticks>(random_.spread(1, most)); }

 private:
  void act(Action::Kind kind, std::uint32_t node, std::uint32_t other = 0, std::uint64_t count = 0) {
    plan_.actions.push_back({at_, kind, node, other, 0, count, Cut::nothing});
  }
  std::uint32_t anybody() { return static_cast<std::uint32_t>(random_.below(plan_.nodes.size())); }
  [[nodiscard]] bool founds(std::uint32_t node) const {
    return std::ranges::find(plan_.founders, node) != plan_.founders.end();
  }
  std::vector<std::uint32_t> everybody() {
    std::vector<std::uint32_t> order;
    for (std::uint32_t i = 0; i < plan_.nodes.size(); ++i) order.push_back(i);
    random_.shuffle(order);
    return order;
  }
  void start_some(std::size_t most) {
    std::vector<std::uint32_t> back = everybody();
    back.resize(random_.between(1, most));
    for (const std::uint32_t node : back) {
      if (random_.chance(1, 8)) act(Action::Kind::start_apart, node, (node + 1) % static_cast<std::uint32_t>(most));
      act(Action::Kind::start, node);
      at_ += static_cast<Ticks>(random_.spread(1, random_.chance(1, 2) ? 20'000 : 1'000'000));
    }
  }

  Random& random_;
  Random lost_logs_;
  Plan& plan_;
  Ticks at_ = 0;
};

}  // namespace

void draw_stops(std::uint64_t seed, Plan& plan) {
  Random random(seed, Purpose::stops);
  const bool fit = plan.founded_by == views::FoundedBy::named && plan.broken_links == 0 && !plan.deaths;
  if (!fit || !random.chance(1, 4)) return;
  StopDrawer drawer(seed, random, plan);
  drawer.pass(4'000'000);
  const bool some_found = plan.founders.size() < plan.nodes.size();
  if (some_found && random.chance(1, 2)) drawer.replace_founders();
  for (std::uint64_t left = random.between(1, 3); left > 0; --left) {
    drawer.stop_all();
    drawer.pass(3'000'000);
  }
  plan.faults_end = std::max(plan.faults_end, drawer.at() + 100'000);
}

}  // namespace spindrift::sim
