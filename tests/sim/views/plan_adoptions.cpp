// Drawing groups in which one node with a log stays away while another adds to it, and comes back when that one is gone:
// whoever leads is told to go on with the part that it has. The lost one may come back later, with all of it.
#include <algorithm>

#include "../random.hpp"
#include "plan.hpp"
#include "timeline.hpp"

namespace spindrift::sim {
namespace {

class AdoptionDrawer {
 public:
  AdoptionDrawer(Random& random, Plan& plan, SubgroupPlan& subgroup)
      : random_(random),
        plan_(plan),
        subgroup_(static_cast<std::uint32_t>(&subgroup - plan.subgroups.data())),
        time_(random, plan, plan.faults_end) {
    holders_ = time_.everybody();
    holders_.resize(2);
    subgroup.members = std::uint64_t{1} << holders_[0] | std::uint64_t{1} << holders_[1];
    subgroup.minimum = 1;
    subgroup.most = 0;
  }
  void draw() {
    for (std::uint64_t left = random_.between(1, 2); left > 0; --left) {
      for (const std::uint32_t node : time_.everybody()) time_.act(Action::Kind::start, node);
      time_.pass(1'000'000, 6'000'000);
      std::swap(holders_[0], holders_[random_.below(2)]);
      const auto [part, all] = std::pair(holders_[0], holders_[1]);
      time_.act(random_.chance(1, 2) ? Action::Kind::leave : Action::Kind::crash, part);
      time_.pass(1'000, 3'000'000);
      time_.act(Action::Kind::crash, part);
      send(all);
      time_.pass(1'000, 4'000'000);
      time_.act(Action::Kind::crash, all);
      const bool lost = !plan_.clocks_go_back && random_.chance(1, 2);
      if (lost) time_.act(Action::Kind::lose_logs, all);
      time_.pass(1'000, 3'000'000);
      time_.act(Action::Kind::start, part);
      if (lost && random_.chance(1, 2)) time_.act(Action::Kind::start, all);
      tell();
      time_.act(Action::Kind::start, all);
      send(part);
      time_.pass(1'000, 3'000'000);
    }
    plan_.faults_end = std::max(plan_.faults_end, time_.at + 1'000'000);
  }

 private:
  void send(std::uint32_t node) {
    plan_.actions.push_back(
        {time_.at, Action::Kind::send, node, subgroup_, 1000, random_.between(1, 20), Cut::nothing});
  }
  // Some are said too early, or of a node that has nothing; now and then who is told dies of it, or who is named.
  void tell() {
    for (std::uint64_t left = random_.between(1, 6); left > 0; --left) {
      time_.pass(1'000, 3'000'000);
      const std::uint32_t node = random_.chance(3, 4) ? holders_[0] : holders_[1];
      if (random_.chance(1, 6)) {
        const std::uint64_t dies = random_.chance(1, 2) ? node : random_.below(plan_.nodes.size());
        time_.act(Action::Kind::crash_at, static_cast<std::uint32_t>(dies), random_.spread(1, 60));
      }
      plan_.actions.push_back({time_.at, Action::Kind::adopt, node, subgroup_, 0, 0, Cut::nothing});
      if (!random_.chance(1, 6)) continue;
      time_.pass(1'000, 1'000'000);
      for (const std::uint32_t each : time_.everybody()) {
        if (each != holders_[1]) time_.act(Action::Kind::start, each);
      }
    }
  }

  Random& random_;
  Plan& plan_;
  std::uint32_t subgroup_;
  Timeline time_;
  std::vector<std::uint32_t> holders_;
};

}  // namespace

void draw_adoptions(std::uint64_t seed, Plan& plan) {
  Random random(seed, Purpose::adoptions);
  const auto logged = std::ranges::find_if(plan.subgroups, &SubgroupPlan::logged);
  const bool fit = logged != plan.subgroups.end() && plan.nodes.size() > 3 && plan.broken_links == 0 && !plan.deaths &&
                   !plan.waits && !plan.storm;
  if (!fit || !random.chance(1, 3)) return;
  AdoptionDrawer(random, plan, *logged).draw();
}

}  // namespace spindrift::sim
