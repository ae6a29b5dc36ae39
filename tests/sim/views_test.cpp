// Whole runs with views: what they must notice they notice; scenarios come out as they say, and no crash at any effect of a
// view change does harm.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include <spindrift/core/log.hpp>

#include "two_nodes.hpp"
#include "views/crash_points.hpp"
#include "views/fleet.hpp"
#include "views/minimize.hpp"
#include "views/script.hpp"
#include "views/torn_passes.hpp"

namespace spindrift::sim {
namespace {

template <class Plant>
std::string found_in_run(Plant&& plant) {
  REQUIRE(log::set_levels("off").ok());
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Fleet fleet(Plan::of(seed));
    bool planted = false;
    plant(fleet, planted);
    fleet.run();
    if (planted) return fleet.report().violation() ? fleet.report().violation()->invariant : "nothing";
  }
  return "never planted";
}

}  // namespace

TEST_CASE("a member that does not find its way is found (V13)") {
  REQUIRE(log::set_levels("off").ok());
  Plan plan = Plan::of(7);
  plan.events_max = 100;
  Fleet fleet(plan);
  fleet.run();
  REQUIRE(fleet.report().violation());
  CHECK(fleet.report().violation()->invariant == "V13");
}

TEST_CASE("more members that are gone than links broke are found (V14)") {
  REQUIRE(log::set_levels("off").ok());
  Plan plan = two_that_found();
  plan.broken_links = 1;
  plan.faults_end = 100'000'000;
  plan.actions.push_back({10'000'000, Action::Kind::cut, 0, 1, 1'000, 0, Cut::everything});
  Fleet fleet(plan);
  fleet.run();
  REQUIRE(fleet.report().violation());
  CHECK(fleet.report().violation()->invariant == "V14");
}

TEST_CASE("a member that gives up although all others are dead is found (V19)") {
  REQUIRE(log::set_levels("off").ok());
  Plan plan = two_that_found();
  plan.deaths = true;  // but each is on a host of its own, where nobody testifies
  plan.faults_end = 100'000'000;
  plan.actions.push_back({10'000'000, Action::Kind::crash, 0, 0, 0, 0, Cut::nothing});
  Fleet fleet(plan);
  fleet.run();
  REQUIRE(fleet.report().violation());
  CHECK(fleet.report().violation()->invariant == "V19");
}

TEST_CASE("a member that ends for lag although its application took everything is found (V15)") {
  REQUIRE(log::set_levels("off").ok());
  for (const bool told_to : {true, false}) {
    Plan plan = two_that_found();
    if (told_to) plan.nodes[0].lagging_after = 1'000'000'000;
    Fleet fleet(plan);
    fleet.set_meddler([](Fleet&, std::uint32_t process, views::Member& member) {
      if (process == 0 && member.state() == views::MemberState::active) member.stop(Error(ErrorKind::lagging, "planted"));
    });
    fleet.run();
    REQUIRE(fleet.report().violation());
    CHECK(fleet.report().violation()->invariant == "V15");
  }
}

TEST_CASE("a run notices a second delivery, a wrong view, and a message that never comes") {
  CHECK(found_in_run([](Fleet& fleet, bool& planted) {
          fleet.set_tamper([&planted](Fleet& at, std::uint32_t, std::uint32_t subgroup, std::vector<Delivery>& batch) {
            if (planted || at.plan().subgroups[subgroup].mode != DeliveryMode::ordered) return;
            batch.push_back(batch.back());
            planted = true;
          });
        }) == "M2");
  CHECK(found_in_run([](Fleet& fleet, bool& planted) {
          fleet.set_view_tamper([&planted](Fleet&, std::uint32_t, View& view) {
            if (planted || view.id.value() < 1 || view.members.size() < 2) return;
            view.incarnations[0] ^= 2;
            planted = true;
          });
        }) != "nothing");
  CHECK(found_in_run([](Fleet& fleet, bool& planted) {
          fleet.set_meddler([&planted](Fleet& at, std::uint32_t process, views::Member& member) {
            if (planted || member.state() != views::MemberState::active || at.plan().storm) return;
            const auto& actions = at.plan().actions;
            if (std::any_of(actions.begin(), actions.end(), [](const Action& a) { return a.kind != Action::Kind::start; }))
              return;
            const std::uint32_t stream = at.history().add_stream(process, 0);
            if (!member.epoch()->view().subgroups[0].member_position(member.self())) return;
            at.history().stream(stream).issued = at.history().stream(stream).committed = 1;
            planted = true;
          });
        }) == "M8");
}

TEST_CASE("what is larger than the fabric's largest message arrives in parts") {
  REQUIRE(log::set_levels("off").ok());
  std::size_t joins = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Plan plan = Plan::of(seed);
    plan.fabric.message_bytes_max = 128;  // less than a view notice, a refusal or a piece of a state
    Fleet fleet(plan);
    fleet.run();
    INFO(plan.describe());
    CHECK_FALSE(fleet.report().failed());
    joins += fleet.report().hits(Probe::state_loaded);
  }
  CHECK(joins > 0);
}

TEST_CASE("an upcall that the application did not ask for, and an empty one, are found in runs with views (M11)") {
  for (const bool empty : {false, true}) {
    CHECK(found_in_run([empty](Fleet& fleet, bool& planted) {
            fleet.set_meddler([&planted, empty](Fleet& at, std::uint32_t, views::Member& member) {
              Process* const process = at.newest(member.self().value());
              for (std::uint32_t s = 0; s < at.plan().subgroups.size() && !planted; ++s) {
                if (!member.epoch() || process->accepts(SubgroupId(s)) != empty) continue;
                const Delivery stray{};
                process->on_delivery(SubgroupId(s), std::span(&stray, empty ? 0 : 1));
                planted = true;
              }
            });
          }) == "M11");
  }
}

TEST_CASE("a place in the order that the specification does not give is found, though all members give it alike (M4)") {
  CHECK(found_in_run([](Fleet& fleet, bool& planted) {
          fleet.set_tamper([&planted](Fleet& at, std::uint32_t, std::uint32_t subgroup, std::vector<Delivery>& batch) {
            if (at.plan().subgroups[subgroup].mode == DeliveryMode::unordered) return;
            for (Delivery& each : batch) each.sequence = SequenceNumber(each.sequence.value() + 1);
            planted = true;
          });
        }) == "M4");
}

TEST_CASE("an object that ends otherwise at one member is found (M12)") {
  CHECK(found_in_run([](Fleet& fleet, bool& planted) {
          fleet.set_tamper([&](Fleet& at, std::uint32_t process, std::uint32_t subgroup, std::vector<Delivery>& batch) {
            if (planted || at.history().delivered(process, subgroup) < 4 || at.members_seen_by(0).size() < 2) return;
            if (at.plan().subgroups[subgroup].mode == DeliveryMode::unordered) return;
            const auto ends = [](const Action& action) { return action.kind == Action::Kind::crash; };
            if (std::ranges::any_of(at.plan().actions, ends)) return;  // it may end before another sees the same object
            MessageHead head;
            std::memcpy(&head, batch.front().payload.data(), sizeof head);
            if (head.counter() % 5 != 0) return;  // behind an object's last piece another is none of it, and passed over
            at.objects().on_delivery(process, subgroup, batch.front());  // and again, as the run goes on
            planted = true;
          });
        }) == "M12");
}

TEST_CASE("a member that lets others at messages of a subgroup that they are not in is found (P1)") {
  REQUIRE(log::set_levels("off").ok());
  Plan plan = two_that_found();
  plan.nodes.push_back({});
  plan.founders.push_back(2);
  plan.actions.push_back({3, Action::Kind::start, 2, 0, 0, 0, Cut::nothing});
  for (NodePlan& node : plan.nodes) node.host = 0;
  plan.subgroups[0].members = 0b011;
  plan.senders.push_back({.node = 0, .subgroup = 0, .messages = 40, .think_ns_max = 1000});
  const auto found_where = [&](bool split, bool planted) -> std::string {
    Plan chosen = plan;
    if (split) chosen.split_rows();
    Fleet fleet(chosen);
    fleet.set_meddler([&](Fleet& at, std::uint32_t process, views::Member& member) {
      if (process != 0 || member.state() != views::MemberState::active || !std::exchange(planted, false)) return;
      for (const std::uint32_t peer : {0U, 1U}) {
        const auto key = member.epoch()->beside(SubgroupId(0)).ring->key;
        static_cast<void>(at.network().endpoint(0).expose(fabric::PeerId(peer), key, fabric::Access::read));
      }
    });
    fleet.run();
    return fleet.report().violation() ? fleet.report().violation()->invariant : "nothing";
  };
  CHECK(found_where(true, true) == "P1");
  CHECK(found_where(true, false) == "nothing");
  CHECK(found_where(false, false) == "nothing");
}

// A write that was copied when it was posted is not changed by it, but then the row is not what came (S3).
TEST_CASE("a source that changes while it is on its way is found in runs with views (R6)") {
  REQUIRE(log::set_levels("off").ok());
  std::map<std::string, int> found;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    Plan plan = two_that_found();
    plan.seed = seed;
    plan.senders.push_back({.node = 0, .subgroup = 0, .messages = 40, .think_ns_max = 1000});
    Fleet fleet(plan);
    fleet.set_meddler([](Fleet&, std::uint32_t process, views::Member& member) {
      if (process != 0 || member.state() != views::MemberState::active) return;
      const auto& block = member.epoch()->table().layout(member.epoch()->self()).subgroup(SubgroupId(0));
      for (std::byte& byte : member.epoch()->row().memory.subspan(block->ring, block->ring_bytes)) byte ^= std::byte{1};
    });
    fleet.run();
    REQUIRE(fleet.report().violation());
    ++found[fleet.report().violation()->invariant];
  }
  CHECK(found["R6"] > 0);
}

TEST_CASE("a step that does something although nothing is new is found in runs with views (S6)") {
  CHECK(found_in_run([](Fleet& fleet, bool& planted) {
          // A message that is committed and that nobody is told of waits for the next step that has a cause.
          fleet.set_meddler([&planted, calls = 0](Fleet& at, std::uint32_t process, views::Member& member) mutable {
            if (++calls % 8 != 0 || member.state() != views::MemberState::active) return;
            views::SendGate::Claim claim;
            views::SendGate& gate = *member.gate(SubgroupId(0));
            if (gate.reserve(smallest_message, claim) != views::SendGate::Outcome::reserved) return;
            const std::uint32_t stream = at.history().add_stream(process, 0);
            at.history().write_message(stream, claim.reservation.payload);
            at.history().on_committed(stream);
            gate.commit(claim);
            planted = true;
          });
        }) == "S6");
}

TEST_CASE("founders that do not find together in time are found (L1)") {
  REQUIRE(log::set_levels("off").ok());
  Plan plan = two_that_found();
  plan.fabric.connect_ns_max = 1'000'000'000'000;
  Fleet fleet(plan);
  fleet.run();
  REQUIRE(fleet.report().violation());
  CHECK(fleet.report().violation()->invariant == "L1");
}

// The healing starts some of the nodes that never started.
TEST_CASE("a newcomer that nobody takes in is found (L6)") {
  REQUIRE(log::set_levels("off").ok());
  std::map<std::string, int> found;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    Plan plan = two_that_found();
    plan.seed = seed;
    plan.nodes.push_back({.host = 2});
    Fleet fleet(plan);
    // Whatever the newcomer says is held up, for ever.
    fleet.set_meddler([](Fleet& at, std::uint32_t, views::Member&) {
      for (std::uint32_t to = 0; to < 2; ++to) at.act({0, Action::Kind::cut, 2, to, 0, 0, Cut::everything});
    });
    fleet.run();
    ++found[fleet.report().violation() ? fleet.report().violation()->invariant : "nothing"];
  }
  CHECK(found["L6"] > 0);
  CHECK(found["L6"] + found["nothing"] == 8);
}

TEST_CASE("a thread that waits for ever is found in runs with views (L2)") {
  REQUIRE(log::set_levels("off").ok());
  Plan plan = two_that_found();
  plan.senders.push_back({.node = 0, .subgroup = 0, .messages = 1, .think_ns_max = 1, .hold_ns_max = 1});
  Fleet fleet(plan);
  // A gate that is shut behind the member's back.
  fleet.set_meddler([](Fleet&, std::uint32_t process, views::Member& member) {
    if (process == 0 && member.state() == views::MemberState::active) member.gate(SubgroupId(0))->close();
  });
  fleet.run();
  REQUIRE(fleet.report().violation());
  CHECK(fleet.report().violation()->invariant == "L2");
}

TEST_CASE("views end by passes that overlap, also with the death of some members") {
  REQUIRE(log::set_levels("off").ok());
  TornPassesResult sum;
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    const TornPassesResult result = run_torn_passes(seed);
    INFO("seed " << seed);
    CHECK(result.failure == "");
    sum.torn += result.torn;
    sum.decided += result.decided;
    sum.stuck += result.stuck;
  }
  CHECK(sum.torn > 1000);
  CHECK(sum.decided > 1000);
  CHECK(sum.stuck > 10);
}

TEST_CASE("a failing plan is struck down to what its violation needs") {
  REQUIRE(log::set_levels("off").ok());
  Plan plan = Plan::of(2);
  plan.events_max = 400;  // every run fails by this, also the smallest
  const Minimized smallest = minimize(plan);
  CHECK(smallest.invariant == "V13");
  CHECK(smallest.plan.senders.size() + smallest.plan.actions.size() < plan.senders.size() + plan.actions.size());
  CHECK(minimize(Plan::of(2)).invariant.empty());
}

TEST_CASE("no crash at any effect of a view change does harm, nor a second one after it") {
  REQUIRE(log::set_levels("off").ok());
  using Change = CrashPointOptions::Change;
  for (const Change change : {Change::crash, Change::leave, Change::join}) {
    const std::uint64_t stride = change == Change::join ? 997 : 31;
    const CrashPointResult result = run_crash_points({.nodes = 3, .change = change, .every = 1, .stride = stride});
    INFO(to_string(change) << ": " << result.failure);
    CHECK(result.failure.empty());
    CHECK(result.boundaries > 50);
    CHECK(result.pairs_run > 10);
    CHECK(result.pairs_run == (result.pairs + stride - 1) / stride);
  }
}

TEST_CASE("every scenario comes out as it says") {
  REQUIRE(log::set_levels("off").ok());
  std::size_t scripts = 0;
  for (const auto& entry : std::filesystem::directory_iterator(SPINDRIFT_SIM_SCRIPTS)) {
    if (entry.path().extension() != ".txt") continue;
    ++scripts;
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      std::ifstream script(entry.path());
      const ScriptResult result = run_script(script, false, seed);
      INFO(entry.path().filename().string() << ", seed " << seed << ": " << result.failure);
      CHECK(result.failure.empty());
      CHECK(result.expectations > 0);
    }
  }
  CHECK(scripts >= 10);
}

TEST_CASE("a scenario that expects what does not come fails, and says where") {
  REQUIRE(log::set_levels("off").ok());
  std::istringstream wrong("nodes 3\nexpect view of 0 is 0,1,2\nafter 1ms crash 1\nexpect view of 0 is 0,1,2,3\n");
  CHECK(run_script(wrong).failure.find("line 4") != std::string::npos);
  std::istringstream nonsense("nodes 3\nat 1ms dance 1\n");
  CHECK(run_script(nonsense).failure.find("dance") != std::string::npos);
  std::istringstream hasty("nodes 3\nat 1ms send 0 orders 5 hastily 1ms\n");
  CHECK(run_script(hasty).failure.find("hastily") != std::string::npos);
}

TEST_CASE("in a scenario an application takes nothing for as long as it is told to") {
  REQUIRE(log::set_levels("off").ok());
  const std::string refusing = "nodes 2\nat 1ms refuse 1 3ms\nafter 1us send 0 orders 5\nexpect delivered 0 orders 5\n";
  std::istringstream meanwhile(refusing + "run 1ms\nexpect delivered 1 orders 0\n");
  CHECK(run_script(meanwhile).failure.empty());
  std::istringstream afterwards(refusing + "run 4ms\nexpect delivered 1 orders 5\n");
  CHECK(run_script(afterwards).failure.empty());
}

TEST_CASE("in a scenario a large message is handed on, by who dies or stands still in the middle of it") {
  REQUIRE(log::set_levels("off").ok());
  const std::string four = "nodes 4\nbulk 8192\nexpect view of 3 is 0,1,2,3\nexpect view of 0 is 0,1,2,3\n";
  const auto plays = [](const std::string& text) {
    std::istringstream script(text);
    return run_script(script).failure;
  };
  // A member hands on none of its own messages.
  const std::string all = " large\nexpect delivered 1 orders 20\n";
  CHECK(plays(four + "after 1us crash 1 in relay 0\nafter 1us send 1 orders 20" + all) == "");
  CHECK(plays(four + "after 1us crash 1 in large 0\nafter 1us send 0 orders 20" + all) == "");
  CHECK(plays(four + "after 1us crash 1 in large 0\nafter 1us send 1 orders 1 large\nexpect view of 0 is 0,2,3\n") == "");
  CHECK(plays(four + "after 1us crash 1 in relay 0\nafter 1us send 0 orders 1 large\nexpect view of 0 is 0,2,3\n") == "");
  const std::string pause = "suspect never\n" + four + "after 1us pause 1 5ms in relay ";
  const std::string meanwhile = "\nafter 1us send 0 orders 1 large\nrun 4ms\nexpect delivered 0 orders 0\n";
  CHECK(plays(pause + "0" + meanwhile) == "");
  CHECK(plays(pause + "2" + meanwhile + "run 2ms\nexpect delivered 0 orders 1\n") == "");
  const std::string direct = "nodes 4\nbulk 8192 direct\nexpect view of 0 is 0,1,2,3\nafter 1us crash 1 in relay 0\n";
  CHECK(plays(direct + "after 1us send 0 orders 20 large\nexpect delivered 0 orders 20\n") == "");
  CHECK(plays("nodes 3\nbulk 8192 sometimes\n").find("sometimes") != std::string::npos);
  CHECK(plays(four + "after 1us pause 1 5ms in change 2\n").find("change") != std::string::npos);
}

TEST_CASE("in a scenario a cut of present connections stops what goes over them, and lets later ones be") {
  REQUIRE(log::set_levels("off").ok());
  const std::string cut = "nodes 3\nexpect view of 2 is 0,1,2\nafter 1us cut 2-0 present\n";
  std::istringstream stops("suspect never\n" + cut + "after 1us send 2 orders 5\nrun 5ms\nexpect delivered 0 orders 0\n");
  CHECK(run_script(stops).failure.empty());
  std::istringstream passes(cut + "after 1us crash 2\nafter 1us start 2\nexpect view of 2 is 0,1,2\n");
  CHECK(run_script(passes).failure.empty());
}

TEST_CASE("in a scenario a message takes as long to build as it may") {
  REQUIRE(log::set_levels("off").ok());
  std::istringstream slow("nodes 2\nat 1ms send 0 orders 5 built 1s\nrun 2ms\nexpect delivered 1 orders 0\n");
  CHECK(run_script(slow).failure.empty());
}

}  // namespace spindrift::sim
