// Drawing groups that go on without those that have a log, who come back one after another.
#include <algorithm>

#include "../random.hpp"
#include "plan.hpp"
#include "timeline.hpp"

namespace spindrift::sim {
namespace {

class ReturnDrawer {
 public:
  ReturnDrawer(Random& random, Plan& plan) : random_(random), plan_(plan), time_(random, plan) {}

  /// A minority has the log alone.
  void choose(SubgroupPlan& subgroup) {
    for (std::uint32_t i = 0; i < plan_.nodes.size(); ++i) holders_.push_back(i);
    random_.shuffle(holders_);
    holders_.resize(random_.between(1, (plan_.nodes.size() - 1) / 2));
    subgroup.members = 0;
    for (const std::uint32_t node : holders_) subgroup.members |= std::uint64_t{1} << node;
    subgroup.minimum = std::min<std::uint32_t>(subgroup.minimum, static_cast<std::uint32_t>(holders_.size()));
  }
  void draw() {
    time_.pass(20'000, 4'000'000);
    for (std::uint64_t left = random_.between(1, 3); left > 0; --left) {
      const bool at_once = random_.chance(1, 3);
      random_.shuffle(holders_);
      for (const std::uint32_t node : holders_) {
        end(node);
        if (!at_once) time_.pass(1, 1'000'000);
      }
      time_.pass(1'000, 1'000'000);
      for (const std::uint32_t node : holders_) time_.act(Action::Kind::crash, node);  // what has not come to its effect
      if (!plan_.clocks_go_back && random_.chance(1, 6)) time_.act(Action::Kind::lose_logs, holders_.front());
      random_.shuffle(holders_);
      const bool together = random_.chance(1, 2);
      for (const std::uint32_t node : holders_) {
        time_.act(Action::Kind::start, node);
        time_.pass(1, together ? 20'000 : 2'000'000);
      }
      time_.pass(1'000, 3'000'000);
    }
    plan_.faults_end = std::max(plan_.faults_end, time_.at + 100'000);
  }

 private:
  void end(std::uint32_t node) {
    if (random_.chance(1, 2)) return time_.act(Action::Kind::leave, node);
    if (random_.chance(1, 2)) return time_.act(Action::Kind::crash, node);
    time_.act(Action::Kind::crash_at, node, random_.spread(1, 60));
  }

  Random& random_;
  Plan& plan_;
  std::vector<std::uint32_t> holders_;
  Timeline time_;
};

}  // namespace

void draw_log_returns(std::uint64_t seed, Plan& plan) {
  Random random(seed, Purpose::log_returns);
  const auto logged = std::ranges::find_if(plan.subgroups, &SubgroupPlan::logged);
  const bool fit = logged != plan.subgroups.end() && plan.nodes.size() > 2 && plan.broken_links == 0 && !plan.deaths;
  if (!fit || !random.chance(1, 2)) return;
  ReturnDrawer drawer(random, plan);
  drawer.choose(*logged);
  drawer.draw();
}

}  // namespace spindrift::sim
