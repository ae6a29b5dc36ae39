// Plans in which a group stops as a whole, and a majority of its last view is gone for good: the rest is told to found
// without them. Some of those that were given up come back later, with what they had.
#include <algorithm>

#include "../random.hpp"
#include "plan.hpp"

namespace spindrift::sim {
namespace {

class LossDrawer {
 public:
  LossDrawer(Random& random, Plan& plan) : random_(random), plan_(plan), at_(plan.faults_end) {}

  void draw() {
    for (std::uint64_t left = random_.between(1, 2); left > 0; --left) {
      pass(1'000'000, 6'000'000);
      const std::vector<std::uint32_t> order = everybody();
      stop(order);
      pass(1'000, 200'000);
      const std::size_t back = random_.between(1, (order.size() + 1) / 2);
      for (std::size_t i = 0; i < back; ++i) start(order[i]);
      tell(order, back);
      // One after another, and each when the one before was taken in: together they could found what they remember.
      for (std::size_t i = back; i < order.size(); ++i) {
        if (random_.chance(1, 3)) continue;
        pass(2'000'000, 20'000'000);
        start(order[i]);
      }
    }
    plan_.faults_end = std::max(plan_.faults_end, at_ + 5'000'000);
  }

 private:
  void pass(std::uint64_t least, std::uint64_t most) { at_ += static_cast<Ticks>(random_.spread(least, most)); }
  void act(Action::Kind kind, std::uint32_t node, std::uint64_t count = 0) {
    plan_.actions.push_back({at_, kind, node, 0, 0, count, Cut::nothing});
  }
  std::vector<std::uint32_t> everybody() {
    std::vector<std::uint32_t> order;
    for (std::uint32_t i = 0; i < plan_.nodes.size(); ++i) order.push_back(i);
    random_.shuffle(order);
    return order;
  }
  void start(std::uint32_t node) {
    act(Action::Kind::start, node);
    at_ += static_cast<Ticks>(random_.spread(1, random_.chance(1, 2) ? 20'000 : 1'000'000));
  }
  void stop(const std::vector<std::uint32_t>& order) {
    for (const std::uint32_t node : order) {
      const bool at_effect = random_.chance(1, 5);
      act(at_effect ? Action::Kind::crash_at : Action::Kind::crash, node, at_effect ? random_.spread(1, 60) : 0);
      if (random_.chance(1, 2)) at_ += static_cast<Ticks>(random_.below(1'000));
    }
    at_ += static_cast<Ticks>(random_.spread(1'000, 100'000));
    for (const std::uint32_t node : order) act(Action::Kind::crash, node);
  }
  // Now and then two are told at about one time, one dies on the way, or one more comes.
  void tell(const std::vector<std::uint32_t>& order, std::size_t back) {
    for (std::uint64_t left = random_.between(1, 4); left > 0; --left) {
      pass(1'000, 3'000'000);
      act(Action::Kind::found, order[random_.below(back)]);
      if (random_.chance(1, 4)) act(Action::Kind::found, order[random_.below(back)]);
      if (random_.chance(1, 4)) {
        const std::uint32_t node = order[random_.below(back)];
        act(Action::Kind::crash_at, node, random_.spread(1, 40));
        pass(100'000, 1'000'000);
        start(node);
      }
      if (random_.chance(1, 8)) start(order[random_.below(order.size())]);
    }
  }

  Random& random_;
  Plan& plan_;
  Ticks at_;
};

}  // namespace

void draw_forced(std::uint64_t seed, Plan& plan) {
  Random random(seed, Purpose::forced);
  const bool fit = plan.founded_by == views::FoundedBy::named && plan.broken_links == 0 && !plan.deaths && !plan.waits &&
                   !plan.clocks_go_back && !plan.storm;
  if (!fit || !random.chance(1, plan.disks.empty() ? 10 : 3)) return;
  plan.forces = true;
  LossDrawer(random, plan).draw();
}

}  // namespace spindrift::sim
