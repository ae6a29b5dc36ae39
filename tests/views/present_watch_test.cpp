// When a process that founds with whoever is present looks who that is: it asks the system each time.
#include <catch2/catch.hpp>

#include <optional>
#include <vector>

#include <spindrift/core/log.hpp>
#include <spindrift/views/member.hpp>

#include "application.hpp"
#include "paper_fabric.hpp"

namespace spindrift::views {
namespace {

/// Knows who is there, and counts how often it was asked.
class CountingFabric : public PaperFabric {
 public:
  [[nodiscard]] Result<std::vector<NodeId>> present() const override {
    ++looks;
    return there;
  }
  std::vector<NodeId> there;
  mutable int looks = 0;
};

const GroupIdentity group{"g", {1, 2}};

/// Node 2 of a roster of four.
struct Seeker {
  Seeker() {
    REQUIRE(log::set_levels("off"));
    fabric.own_traits.ordered_writes = true;
    fabric.own_traits.peers_max = 3;
    MemberOptions options;
    options.self = NodeId(2);
    options.incarnation = 102;
    for (std::uint32_t id = 0; id < 4; ++id) options.roster.push_back({NodeId(id), {}});
    options.founded_by = FoundedBy::present;
    options.identity = group;
    options.layout = [](const std::vector<NodeId>& members, const View*) {
      std::vector<SubgroupView> subgroups(1);
      subgroups[0].members = subgroups[0].senders = members;
      return subgroups;
    };
    member.emplace(std::move(options), fabric, application, counters);
    REQUIRE(member->start());
    fabric.looks = 0;
  }
  void meet(std::uint32_t id, bool fresh) {
    fabric.connected(10 + id, id);
    fabric.says(10 + id, encode(group, Hello{NodeId(id), 100 + id, fresh, ViewId(fresh ? 0 : 5)}, NodeId(2), {}));
  }

  CountingFabric fabric;
  Application application;
  CounterBlock counters = CounterBlock::in_memory(100);
  std::optional<Member> member;
};

TEST_CASE("a process looks who is present while that may let it found, and not while it sees a group") {
  Seeker seeker;
  seeker.fabric.there = {NodeId(0), NodeId(3)};
  const Time now(Duration(1000));
  CHECK(seeker.member->step(now).wake_at == now + PresentWatch::look_interval);
  CHECK(seeker.fabric.looks == 1);
  CHECK(seeker.member->step(now + PresentWatch::look_interval).wake_at == now + 2 * PresentWatch::look_interval);
  CHECK(seeker.fabric.looks == 2);
  seeker.meet(3, false);
  CHECK(seeker.member->step(now).wake_at == never);
  CHECK(seeker.fabric.looks == 2);
  seeker.fabric.loses(13);
  CHECK(seeker.member->step(now).wake_at == now + PresentWatch::look_interval);
  CHECK(seeker.fabric.looks == 3);
}

TEST_CASE("a process that has asked those present looks no more for others until one of them is lost") {
  Seeker seeker;
  seeker.fabric.there = {NodeId(3)};
  seeker.meet(3, true);
  const Time now(Duration(1000));
  CHECK(seeker.member->step(now).progress);
  CHECK(seeker.fabric.looks == 1);
  CHECK(seeker.member->step(now).wake_at == never);
  CHECK(seeker.fabric.looks == 1);
  seeker.fabric.loses(13);
  CHECK(seeker.member->step(now).wake_at == now + PresentWatch::look_interval);
  CHECK(seeker.fabric.looks == 2);
}

}  // namespace
}  // namespace spindrift::views
