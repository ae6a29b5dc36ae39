// Holders of the log of a subgroup, from view to view and after a stop: also where a disk was lost, and its node came back.
#include <catch2/catch.hpp>

#include <algorithm>
#include <optional>
#include <vector>

#include <spindrift/views/log_holders.hpp>
#include <spindrift/views/own_record.hpp>
#include <spindrift/views/recall.hpp>

#include "paper_memory.hpp"

namespace spindrift::views {
namespace {

using Holders = std::vector<LogHolder>;

SubgroupView orders(const std::vector<NodeId>& members) {
  SubgroupView subgroup;
  subgroup.name = "orders";
  subgroup.members = subgroup.senders = members;
  subgroup.storage = SubgroupStorage::logged;
  return subgroup;
}
std::vector<SubgroupView> everybody_logs(const std::vector<NodeId>& members, const View*) { return {orders(members)}; }

View view_of(std::uint64_t id, const std::vector<Join>& members, Holders holders) {
  View view;
  view.id = ViewId(id);
  for (const Join& each : members) {
    view.members.push_back(each.node);
    view.incarnations.push_back(each.incarnation);
  }
  view.subgroups = everybody_logs(view.members, nullptr);
  view.subgroups[0].log_holders = std::move(holders);
  return view;
}
Join process(std::uint32_t node, std::uint64_t incarnation) { return {NodeId(node), incarnation}; }
LogHolder holder(std::uint32_t node, std::uint64_t incarnation) { return {NodeId(node), incarnation}; }

/// Looks for a group; its node's record has all since that incarnation, and its log so many messages.
Remembering looks(Join who, std::uint64_t since, std::optional<RecordedView> last, std::uint64_t version) {
  Remembering process{who, {}};
  process.said.own.since = since;
  process.said.own.last = std::move(last);
  if (version > 0) process.said.logs = {{SubgroupId(0), {version, {{version, 7}}}}};
  return process;
}
/// As the founders find the log of the first subgroup.
FirstLog found(const std::vector<Remembering>& founders) {
  const Recalled recalled = recall(founders);
  const std::vector<FirstLog> logs = first_logs(recalled.logs, recalled.have);
  REQUIRE(logs.size() == 1);
  return logs[0];
}

/// In the last view node 2 alone has all.
Recalled without_holders(std::vector<Remembering> here) {
  const RecordedLog log{SubgroupId(0), name_digest(orders({})), {holder(2, 12)}};
  const RecordedView last{ViewId(7), {process(0, 10), process(1, 11), process(2, 12)}, {}, false, {log}};
  for (Remembering& each : here) each.said.own.last = last;
  return recall(here);
}

}  // namespace

TEST_CASE("holders stay from view to view as the processes that they are, and newcomers become some once they are loaded") {
  const View view = view_of(7, {process(0, 10), process(1, 11)}, {holder(0, 10), holder(1, 11)});
  Decree decree;
  decree.joins = {process(2, 12)};
  decree.failed.add(Rank(0));
  View next = view_of(8, {process(1, 11), process(2, 12)}, {});
  carry_logs(next, view, decree, {RankSet::first(1)});
  CHECK(next.subgroups[0].log_holders == Holders{holder(1, 11)});
  carry_logs(next, view, decree, {RankSet::first(2)});
  CHECK(next.subgroups[0].log_holders == Holders{holder(1, 11), holder(2, 12)});
}

TEST_CASE("while the log is away its holders are the processes that had it, also where their nodes are back without it") {
  const View view = view_of(7, {process(1, 11)}, {holder(0, 10)});
  Decree decree;
  decree.joins = {process(0, 50)};
  View next = view_of(8, {process(1, 11), process(0, 50)}, {});
  carry_logs(next, view, decree, {RankSet()});
  CHECK(next.subgroups[0].log_holders == Holders{holder(0, 10)});
  CHECK(next.subgroups[0].members.empty());
}

TEST_CASE("a first view goes on from the longest log of the holders that are here, as the processes that they are now") {
  const RecordedView last =
      recorded(view_of(7, {process(0, 10), process(1, 11), process(2, 12)}, {holder(0, 10), holder(1, 11)}));
  const FirstLog log = found({looks(process(0, 20), 10, last, 5), looks(process(1, 21), 11, last, 6),
                              looks(process(2, 22), 12, last, 9)});
  CHECK(log.holders == Holders{holder(0, 20), holder(1, 21)});
  CHECK(log.longest == std::vector{NodeId(1)});
}

TEST_CASE("a node that lost its disk and came back while the log was away is no holder after a stop") {
  // Node 0 had the log, lost its disk, and was in the last view as a process that began a record of its own.
  const RecordedView last = recorded(view_of(8, {process(1, 11), process(0, 50)}, {holder(0, 10), holder(2, 12)}));
  const FirstLog lost = found({looks(process(0, 60), 50, last, 0), looks(process(1, 21), 11, last, 0)});
  CHECK(lost.longest.empty());
  CHECK(lost.holders == last.logs[0].holders);
  // With its disk it is one.
  const FirstLog kept = found({looks(process(0, 60), 10, last, 4), looks(process(1, 21), 11, last, 0)});
  CHECK(kept.longest == std::vector{NodeId(0)});
  CHECK(kept.holders == Holders{holder(0, 60)});
}

TEST_CASE("founders wait for a holder that was in the view and may come, not for one that is here without its disk") {
  const RecordedView last =
      recorded(view_of(8, {process(1, 11), process(0, 50), process(2, 12)}, {holder(0, 10), holder(2, 12)}));
  const Remembering without_disk = looks(process(0, 60), 50, last, 0);
  const Remembering other = looks(process(1, 21), 11, last, 0);
  const Recalled waiting = recall(std::vector{without_disk, other});
  CHECK(waiting.state == Recalled::State::waits);
  CHECK(words_of(waiting, NodeId(1), other.said.own) ==
        "the log of subgroup 0 of the layout is with node 2, which is not here: start it");
  CHECK(recall(std::vector{without_disk, other, looks(process(2, 22), 12, last, 3)}).state == Recalled::State::enough);
  CHECK(recall(std::vector{without_disk, other, looks(process(2, 22), 22, {}, 0)}).state == Recalled::State::enough);
}

TEST_CASE("a minority is told who is missing, and what of each log would be lost without these") {
  const View before = view_of(8, {process(0, 10), process(1, 11), process(2, 12)}, {holder(0, 10), holder(1, 11)});
  const RecordedView last = recorded(before);
  const auto words = [&](const Remembering& who) {
    return words_of(recall(std::vector{who}), who.who.node, who.said.own, before.subgroups);
  };
  const std::string one = "has to come (start it unless it runs); ";
  CHECK(words(looks(process(1, 21), 11, last, 3)) ==
        "the last view of the group had nodes 0, 1, 2, of which 1 is here: 1 of nodes 0, 2 " + one +
            "node 1 has of the log of subgroup orders all that was reported durable, 3 messages; what node 0 may have "
            "behind that is lost without it");
  CHECK(words(looks(process(2, 22), 12, last, 2)) ==
        "the last view of the group had nodes 0, 1, 2, of which 2 is here: 1 of nodes 0, 1 " + one +
            "nobody here has all that was reported durable of the log of subgroup orders: it is lost without nodes 0, 1, "
            "but for the first 2 messages at most");
  CHECK(words(looks(process(2, 22), 12, last, 0)).ends_with("of the log of subgroup orders: it is lost without nodes 0, 1"));
  // By no layout a subgroup has its place alone.
  const Remembering holds = looks(process(1, 21), 11, last, 3);
  CHECK(words_of(recall(std::vector{holds}), NodeId(1), holds.said.own).find("subgroup 0 of the layout all that") !=
        std::string::npos);
}

TEST_CASE("founders whose logs are as long and not the same wait, and say whose") {
  const RecordedView last = recorded(view_of(7, {process(0, 10), process(1, 11)}, {holder(0, 10), holder(1, 11)}));
  const Remembering one = looks(process(0, 20), 10, last, 5);
  Remembering other = looks(process(1, 21), 11, last, 5);
  CHECK(recall(std::vector{one, other}).state == Recalled::State::enough);
  other.said.logs[0].end.link.words[1] ^= 1;
  const Recalled forked = recall(std::vector{one, other});
  CHECK(forked.state == Recalled::State::waits);
  REQUIRE(forked.forked.size() == 1);
  CHECK(forked.forked[0] == ForkedLog{SubgroupId(0), 5, {NodeId(0), NodeId(1)}});
  CHECK(words_of(forked, NodeId(0), one.said.own).starts_with(
      "the logs of subgroup 0 of the layout at nodes 0, 1 are not the same, of 5 messages each"));
  // A shorter one is completed, and compared then.
  other.said.logs[0].end.version = 4;
  CHECK(recall(std::vector{one, other}).state == Recalled::State::enough);
}

TEST_CASE("where a founding by force came to nothing, and who has more is back, the log goes by the view before it") {
  const RecordedView last = recorded(view_of(
      7, {process(0, 10), process(1, 11), process(2, 12), process(3, 13), process(4, 14)}, {holder(3, 13)}));
  // Nodes 0 and 1 promised themselves to it, and look still; its third process has died.
  RecordedView forced{ViewId(9), {process(2, 32), process(0, 30), process(1, 31)}, {}, true, last.logs};
  forced.logs[0].holders = {holder(0, 30)};
  const auto looks_on = [&](std::uint32_t node, std::uint64_t incarnation, std::uint64_t version) {
    Remembering each = looks(process(node, incarnation), 10 + node, last, version);
    each.said.own.accepted = {forced};
    return each;
  };
  std::vector<Remembering> here{looks_on(0, 30, 20), looks_on(1, 31, 0), looks_on(2, 42, 0)};
  const auto longest = [&] {
    const Recalled recalled = recall(here);
    CHECK(recalled.state == Recalled::State::enough);
    CHECK(recalled.founders.front().node == NodeId(2));  // as it was asked
    return first_logs(recalled.logs, recalled.have).at(0).longest;
  };
  SECTION("a holder is back that has more") {
    here.push_back(looks(process(3, 33), 13, last, 37));
    CHECK(longest() == std::vector{NodeId(3)});
  }
  SECTION("nobody waits for one") { CHECK(longest() == std::vector{NodeId(0)}); }
  SECTION("as well where all of its processes are gone, for their records know of no view of it") {
    here[0] = looks_on(0, 40, 20);
    here[1] = looks_on(1, 41, 0);
    here.push_back(looks(process(3, 33), 13, last, 37));
    CHECK(longest() == std::vector{NodeId(3)});
  }
  SECTION("but not behind a view of it") {
    here[0].said.own.last = forced;
    here.push_back(looks(process(3, 33), 13, last, 37));
    CHECK(longest() == std::vector{NodeId(0)});
  }
}

TEST_CASE("by force as well the log goes by the view before a founding that came to nothing") {
  const RecordedView last = recorded(view_of(
      7, {process(0, 10), process(1, 11), process(2, 12), process(3, 13), process(4, 14)}, {holder(3, 13)}));
  RecordedView forced{ViewId(9), {process(2, 32), process(0, 30)}, {}, true, last.logs};
  forced.logs[0].holders = {holder(0, 30)};
  const auto longest = [&] {
    Remembering promised = looks(process(0, 40), 10, last, 20);
    promised.said.own.accepted = {forced};
    const Recalled recalled = recall(std::vector{promised, looks(process(3, 33), 13, last, 37)});
    CHECK(recalled.state == Recalled::State::waits);
    CHECK(recalled.awaited.size() == 2);
    return logs_by_force(recalled).at(0).longest;
  };
  SECTION("half of it is here, without which the rest has delivered nothing") {
    CHECK(longest() == std::vector{NodeId(3)});
  }
  SECTION("the rest is a majority of it that may have gone on") {
    forced.members.push_back(process(1, 31));
    CHECK(longest() == std::vector{NodeId(0)});
  }
}

TEST_CASE("by force the longest log of those that found goes on where nobody who is here has all, and they alone hold it") {
  const Recalled recalled = without_holders({looks(process(0, 20), 10, {}, 5)});
  const std::vector<FirstLog> logs = logs_by_force(recalled);
  REQUIRE(logs.size() == 1);
  CHECK(logs[0].longest == std::vector{NodeId(0)});
  const std::vector<NodeLogs> both{{process(0, 20), 10, {{SubgroupId(0), {5, {}}}}},
                                   {process(1, 21), 11, {{SubgroupId(0), {6, {}}}}}};
  const std::vector<RecordedLog> kept = without_lost(recalled.logs, both, both);
  CHECK(kept.empty());
  CHECK(first_logs(kept, both)[0].longest == std::vector{NodeId(1)});
  CHECK(first_logs(kept, both)[0].holders == Holders{holder(1, 21)});
  const std::string words = words_of_lost_logs(recalled, std::vector{orders({})});
  CHECK(words.starts_with("subgroup orders goes on with the log of node 0, of 5 messages, the longest here: what follows in "
                          "the log of node 2 is lost"));
}

TEST_CASE("by force a log waits for its holder if that is here and founds nothing, and if no founder has any of it") {
  const Recalled beside = without_holders({looks(process(0, 20), 10, {}, 5), looks(process(2, 22), 12, {}, 9)});
  CHECK(logs_by_force(beside)[0].longest == std::vector{NodeId(2)});
  // Node 3 held it, and is in no part of the last view.
  const std::vector<NodeLogs> founders{{process(0, 20), 10, {{SubgroupId(0), {5, {}}}}}};
  const std::vector<NodeLogs> here{founders[0], {process(3, 23), 13, {{SubgroupId(0), {9, {}}}}}};
  const std::vector<RecordedLog> recorded{{SubgroupId(0), 1, {holder(3, 13)}}};
  CHECK(without_lost(recorded, here, founders) == recorded);
  CHECK(without_lost(recorded, founders, founders).empty());
  const Recalled none = without_holders({looks(process(0, 20), 10, {}, 0)});
  CHECK(logs_by_force(none)[0].longest.empty());
  CHECK(logs_by_force(none)[0].holders == Holders{holder(2, 12)});
  CHECK(words_of_lost_logs(none, {}).find("until node 2 comes back with its log") != std::string::npos);
}

TEST_CASE("by force the longest logs of those that found may differ, which is told") {
  std::vector<Remembering> here{looks(process(0, 20), 10, {}, 5), looks(process(1, 21), 11, {}, 5)};
  CHECK(forked_by_force(without_holders(here)).empty());
  here[1].said.logs[0].end.link.words[1] ^= 1;
  CHECK(forked_by_force(without_holders(here)) == std::vector{ForkedLog{SubgroupId(0), 5, {NodeId(0), NodeId(1)}}});
}

TEST_CASE("who is loaded in the course of a view says so as the process that it is") {
  PaperMemory memory;
  OwnRecord record(&memory, false);
  REQUIRE(record.begin(12));
  REQUIRE(record.install(view_of(7, {process(0, 10), process(2, 12)}, {holder(0, 10)})));
  REQUIRE(record.note_log(SubgroupId(0), NodeId(2)));
  REQUIRE(record.record().last);
  CHECK(record.record().last->logs[0].holders == Holders{holder(0, 10), holder(2, 12)});
  const FirstLog log = found({looks(process(0, 20), 20, {}, 0), Remembering{process(2, 22), {record.record(), {}, {}}}});
  CHECK(log.holders == Holders{holder(2, 22)});
}

TEST_CASE("who hears that a later view goes on without it keeps its logs, and counts for no earlier view") {
  PaperMemory memory;
  OwnRecord record(&memory, false);
  REQUIRE(record.begin(10));
  REQUIRE(record.install(view_of(7, {process(0, 10)}, {holder(0, 10)})));
  record.note_overtaken(10);
  CHECK(record.record().since == 11);
  CHECK(record.record().logs_since() == 10);
}

}  // namespace spindrift::views
