// Plans in which a group stops as a whole, and a majority of its last view is gone for good: the rest is told to found
// without them, or those that had left the group before. Some of those that were given up come back later, with what they
// had.
#include <algorithm>

#include "../random.hpp"
#include "plan.hpp"
#include "timeline.hpp"

namespace spindrift::sim {
namespace {

class LossDrawer {
 public:
  LossDrawer(std::uint64_t seed, Random& random, Plan& plan)
      : random_(random), left_(seed, Purpose::left_behind), plan_(plan), time_(random, plan, plan.faults_end) {}

  void draw() {
    for (std::uint64_t left = random_.between(1, 2); left > 0; --left) {
      time_.pass(1'000'000, 6'000'000);
      const std::vector<std::uint32_t> order = time_.everybody();
      std::size_t most = (order.size() + 1) / 2;
      if (order.size() > 1 && left_.chance(1, 3)) most = leave(order);
      else stop(order);
      time_.pass(1'000, 200'000);
      const std::size_t back = random_.between(1, most);
      for (std::size_t i = 0; i < back; ++i) start(order[i]);
      tell(order, back);
      // One after another, and each when the one before was taken in: together they could found what they remember.
      for (std::size_t i = back; i < order.size(); ++i) {
        if (random_.chance(1, 3)) continue;
        time_.pass(2'000'000, 20'000'000);
        start(order[i]);
      }
    }
    plan_.faults_end = std::max(plan_.faults_end, time_.at + 5'000'000);
  }

 private:
  void start(std::uint32_t node) {
    time_.act(Action::Kind::start, node);
    time_.at += static_cast<Ticks>(random_.spread(1, random_.chance(1, 2) ? 20'000 : 1'000'000));
  }
  void stop(const std::vector<std::uint32_t>& order) {
    for (const std::uint32_t node : order) {
      const bool at_effect = random_.chance(1, 5);
      time_.act(at_effect ? Action::Kind::crash_at : Action::Kind::crash, node, at_effect ? random_.spread(1, 60) : 0);
      if (random_.chance(1, 2)) time_.at += static_cast<Ticks>(random_.below(1'000));
    }
    time_.at += static_cast<Ticks>(random_.spread(1'000, 100'000));
    for (const std::uint32_t node : order) time_.act(Action::Kind::crash, node);
  }
  // One after another leaves, up to the first of the order; the last of it, or two, stay to the end, and are not to come
  // back. Returns how many may.
  std::size_t leave(const std::vector<std::uint32_t>& order) {
    const std::size_t gone = order.size() > 2 && left_.chance(1, 3) ? 2 : 1;
    const std::size_t leavers = order.size() - gone;
    for (std::size_t i = leavers; i-- > 0;) {
      time_.act(Action::Kind::leave, order[i]);
      time_.at += static_cast<Ticks>(left_.spread(10'000, 3'000'000));
    }
    const auto end = left_.chance(1, 3) ? Action::Kind::leave : Action::Kind::crash;
    for (std::size_t i = leavers; i < order.size(); ++i) time_.act(end, order[i]);
    time_.at += static_cast<Ticks>(left_.spread(100'000, 1'000'000));
    for (const std::uint32_t node : order) time_.act(Action::Kind::crash, node);
    return leavers;
  }
  // Now and then two are told at about one time, one dies on the way, or one more comes.
  void tell(const std::vector<std::uint32_t>& order, std::size_t back) {
    for (std::uint64_t left = random_.between(1, 4); left > 0; --left) {
      time_.pass(1'000, 3'000'000);
      time_.act(Action::Kind::found, order[random_.below(back)]);
      if (random_.chance(1, 4)) time_.act(Action::Kind::found, order[random_.below(back)]);
      if (random_.chance(1, 4)) {
        const std::uint32_t node = order[random_.below(back)];
        time_.act(Action::Kind::crash_at, node, random_.spread(1, 40));
        time_.pass(100'000, 1'000'000);
        start(node);
      }
      if (random_.chance(1, 8)) start(order[random_.below(order.size())]);
    }
  }

  Random& random_;
  Random left_;
  Plan& plan_;
  Timeline time_;
};

}  // namespace

void draw_forced(std::uint64_t seed, Plan& plan) {
  Random random(seed, Purpose::forced);
  const bool fit = plan.founded_by == views::FoundedBy::named && plan.broken_links == 0 && !plan.deaths && !plan.waits &&
                   !plan.clocks_go_back && !plan.storm;
  if (!fit || !random.chance(1, plan.disks.empty() ? 10 : 3)) return;
  plan.forces = true;
  LossDrawer(seed, random, plan).draw();
}

}  // namespace spindrift::sim
