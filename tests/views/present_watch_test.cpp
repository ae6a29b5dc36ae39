// When a process that founds with whoever is present looks who that is: it asks the system each time.
#include <catch2/catch.hpp>

#include <algorithm>
#include <optional>
#include <vector>

#include <spindrift/core/log.hpp>
#include <spindrift/views/member.hpp>

#include "application.hpp"
#include "paper_memory.hpp"
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

/// Node 2 of a roster of four, started as 102. `founders` empty: whoever is present founds.
struct Seeker {
  explicit Seeker(std::vector<NodeId> founders = {}, ViewMemory* memory = nullptr, std::optional<Roster> told = {}) {
    REQUIRE(log::set_levels("off"));
    fabric.own_traits.ordered_writes = true;
    fabric.own_traits.peers_max = 3;
    MemberOptions options;
    options.self = NodeId(2);
    options.incarnation = 102;
    for (std::uint32_t id = 0; id < 4; ++id) options.roster.nodes.push_back({NodeId(id), {}});
    if (founders.empty()) options.founded_by = FoundedBy::present;
    options.founders = std::move(founders);
    options.memory = memory;
    options.told = std::move(told);
    options.identity = group;
    options.layout = [](const std::vector<NodeId>& members, const View*) {
      std::vector<SubgroupView> subgroups(1);
      subgroups[0].members = subgroups[0].senders = members;
      subgroups[0].profile.ring_bytes = 4096;
      subgroups[0].profile.window_messages = 16;
      subgroups[0].profile.message_bytes_max = 1000;
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
  CHECK(seeker.member->awaited().members == std::vector{NodeId(3)});
  CHECK(seeker.member->awaited().nodes == std::vector{NodeId(0)});  // node 1 does not run
  seeker.fabric.loses(13);
  const Time later = now + 3 * PresentWatch::look_interval;
  CHECK(seeker.member->step(later).wake_at == later + PresentWatch::look_interval);
  CHECK(seeker.fabric.looks == 3);
}

TEST_CASE("a process looks anew within an interval only once it has met all that it saw, and then before it asks") {
  Seeker seeker;
  seeker.fabric.there = {NodeId(0), NodeId(3)};
  const Time now(Duration(1000));
  static_cast<void>(seeker.member->step(now));
  seeker.meet(3, true);
  const Time soon = now + PresentWatch::look_interval / 2;
  CHECK(seeker.member->step(soon).wake_at == now + PresentWatch::look_interval);
  CHECK(seeker.fabric.looks == 1);
  seeker.fabric.there.push_back(NodeId(7));
  seeker.meet(0, true);
  static_cast<void>(seeker.member->step(soon));
  CHECK(seeker.fabric.looks == 2);
  CHECK(seeker.member->awaited().nodes == std::vector{NodeId(7)});
}

TEST_CASE("a process goes by the roster that a contact has just told, and not by the one that its node remembers") {
  PaperMemory memory;
  const Roster before{7, {{NodeId(0), "a:1"}, {NodeId(2), "a:2"}, {NodeId(9), "a:9"}}, {}};
  const Roster told{3, {{NodeId(0), "b:1"}, {NodeId(2), "a:2"}}, {}};  // of another founding, which counts anew
  memory.stored = {{101, RecordedView{ViewId(5), {{NodeId(0), 90}, {NodeId(2), 91}}, before}, {}}};
  const auto asks = [](const Seeker& seeker, std::uint32_t node) {
    return std::ranges::find(seeker.fabric.asked, NodeId(node)) != seeker.fabric.asked.end();
  };
  const std::vector<NodeId> founders{NodeId(0), NodeId(2)};
  PaperMemory same = memory;
  CHECK(asks(Seeker(founders, &memory), 9));
  CHECK_FALSE(asks(Seeker(founders, &same, told), 9));
}

TEST_CASE("a process asks those present whom its file does not name, founds with them, and its roster has them") {
  Seeker seeker;
  const std::size_t asked = seeker.fabric.asked.size();
  seeker.fabric.there = {NodeId(7)};
  static_cast<void>(seeker.member->step(Time(Duration(1000))));
  CHECK(seeker.member->state() == MemberState::looking);
  CHECK(seeker.member->awaited().nodes == std::vector{NodeId(7)});
  static_cast<void>(seeker.member->step(Time(Duration(2000))));
  REQUIRE(seeker.fabric.asked.size() == asked + 1);
  CHECK(seeker.fabric.asked.back() == NodeId(7));
  seeker.meet(7, true);
  static_cast<void>(seeker.member->step(Time(Duration(3000))));
  CHECK(seeker.member->awaited().nodes.empty());
  seeker.fabric.says(17, encode(Promise{1, 102}));
  static_cast<void>(seeker.member->step(Time(Duration(4000))));
  REQUIRE(seeker.member->epoch() != nullptr);
  CHECK(seeker.member->epoch()->view().members == std::vector{NodeId(2), NodeId(7)});
  CHECK(seeker.member->epoch()->view().roster.contains(NodeId(7)));
  CHECK(seeker.member->epoch()->view().roster.contains(NodeId(3)));
}

TEST_CASE("a process that its file does not name and that calls is called again where whoever is present founds") {
  Seeker seeker;
  seeker.meet(7, true);
  seeker.fabric.there = {NodeId(0), NodeId(7)};
  static_cast<void>(seeker.member->step(Time(Duration(1000))));
  seeker.fabric.asked.clear();
  seeker.fabric.loses(17);
  static_cast<void>(seeker.member->step(Time(Duration(2000))));
  CHECK(seeker.fabric.asked == std::vector{NodeId(7)});
}

TEST_CASE("of those present one that differs is waited for if it began first, and left out if another that agrees did") {
  const std::vector<NodeId> present{NodeId(1), NodeId(2), NodeId(3)};
  const std::vector<Founding::Met> met{{{NodeId(3), 100}, true}};
  const auto among = [&](std::vector<Apart> apart) { return founders_among(present, {NodeId(0), 105}, met, apart); };
  CHECK(among({}) == present);
  CHECK(among({{NodeId(2), 101, {}}}) == std::vector{NodeId(1), NodeId(3)});
  CHECK(among({{NodeId(2), 99, {}}}).size() == 3);
  CHECK(among({{NodeId(2), 0, {}}}).size() == 3);  // it is in a view, or nobody knows when it began
}

TEST_CASE("a process founds beside a later one that differs, and waits for an earlier, unless one that agrees was first") {
  Seeker seeker;
  const auto differs = [&](std::uint32_t id, std::uint64_t incarnation) {
    seeker.fabric.connected(10 + id, id);
    seeker.fabric.says(10 + id, encode({"g", {1, 3}}, Hello{NodeId(id), incarnation, true, ViewId(0)}, NodeId(2), {}));
  };
  const Time now(Duration(1000));
  seeker.fabric.there = {NodeId(3)};
  SECTION("a later one") {
    differs(3, 103);
    CHECK(seeker.member->step(now).progress);
    CHECK(seeker.member->state() == MemberState::active);
  }
  SECTION("an earlier one") {
    differs(3, 99);
    static_cast<void>(seeker.member->step(now));
    CHECK(seeker.member->state() == MemberState::looking);
    CHECK(seeker.member->awaited().nodes == std::vector{NodeId(3)});
    REQUIRE(seeker.member->awaited().apart.size() == 1);
    CHECK_THAT(seeker.member->awaited().apart[0].reason, Catch::Contains("configurations differ"));
    seeker.fabric.there = {NodeId(0), NodeId(3)};
    seeker.fabric.connected(10, 0);
    seeker.fabric.says(10, encode(group, Hello{NodeId(0), 98, true, ViewId(0)}, NodeId(2), {}));
    static_cast<void>(seeker.member->step(now));
    CHECK(seeker.member->awaited().nodes.empty());  // node 0 founds with it
  }
}

TEST_CASE("a process ends if most of the named founders differ, and goes on waiting beside as many that do as do not") {
  Seeker seeker({NodeId(0), NodeId(2), NodeId(3)});
  const auto differs = [&](std::uint32_t id) {
    seeker.fabric.connected(10 + id, id);
    seeker.fabric.says(10 + id, encode({"g", {1, 3}}, Hello{NodeId(id), 100 + id, true, ViewId(0)}, NodeId(2), {}));
    static_cast<void>(seeker.member->step(Time(Duration(1000))));
  };
  differs(1);
  differs(3);
  CHECK(seeker.member->state() == MemberState::looking);  // node 1 is no founder
  differs(0);
  REQUIRE(seeker.member->state() == MemberState::failed);
  CHECK(seeker.member->failure()->kind() == ErrorKind::refused);
  CHECK_THAT(seeker.member->failure()->message(), Catch::Contains("most of the founders, node 0, 3"));
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
  CHECK(seeker.fabric.looks == 1);
  static_cast<void>(seeker.member->step(now + PresentWatch::look_interval));
  CHECK(seeker.fabric.looks == 2);
}

}  // namespace
}  // namespace spindrift::views
