// The conclusions from nodes' records: which view is the last, and which nodes may found the next.
#include <catch2/catch.hpp>

#include <spindrift/views/recall.hpp>

namespace spindrift::views {
namespace {

using State = Recalled::State;

std::vector<Join> nodes(std::vector<std::uint32_t> ids) {
  std::vector<Join> joins;
  for (const std::uint32_t id : ids) joins.push_back({NodeId(id), 100 + id});
  return joins;
}
RecordedView view(std::uint64_t id, std::vector<std::uint32_t> ids, bool founded = false) {
  return {ViewId(id), nodes(std::move(ids)), {}, founded};
}
/// A later process of the node, whose record begins with its first one.
Remembering of(std::uint32_t node, std::optional<RecordedView> last = {}, std::vector<RecordedView> accepted = {}) {
  return {{NodeId(node), 500 + node}, {{100, std::move(last), std::move(accepted)}, {}}};
}
Remembering forgetful(std::uint32_t node) {
  return {{NodeId(node), 500 + node}, {{500, {}, {}}, {}}};
}
Recalled recalled(std::vector<Remembering> here) { return recall(here); }
std::vector<NodeId> founders(const Recalled& recalled) {
  std::vector<NodeId> all;
  for (const Join& each : recalled.founders) all.push_back(each.node);
  return all;
}
std::vector<NodeId> ids(std::vector<std::uint32_t> numbers) {
  std::vector<NodeId> all;
  for (const std::uint32_t number : numbers) all.emplace_back(number);
  return all;
}

}  // namespace

TEST_CASE("where nobody remembers a view it is the first day") {
  const Recalled first = recalled({of(0), forgetful(1)});
  CHECK(first.state == State::first_day);
  CHECK(first.next == ViewId(0));
}

TEST_CASE("a majority of the last view founds the next one, behind every id that is remembered") {
  const RecordedView last = view(7, {2, 0, 1});
  CHECK(recalled({of(0, last)}).state == State::waits);
  const Recalled enough = recalled({of(0, last), of(1, last)});
  CHECK(enough.state == State::enough);
  CHECK(enough.next == ViewId(8));
  CHECK(founders(enough) == ids({0, 1}));
  CHECK(founders(recalled({of(0, last), of(1, last), of(2, last)})) == ids({2, 0, 1}));
  CHECK(recalled({of(0, last), forgetful(1)}).state == State::waits);
}

TEST_CASE("a node that died as a newcomer counts, for it has kept its record since") {
  CHECK(recalled({of(0, view(3, {0, 5})), of(5)}).state == State::enough);
  CHECK(recalled({of(0, view(3, {0, 5})), forgetful(5)}).state == State::waits);
}

TEST_CASE("nodes that were left behind wait for those that went on") {
  const Recalled waits = recalled({of(0, view(4, {1, 2, 3})), of(1, view(5, {2, 3, 4})), of(2, view(6, {3, 4, 5}))});
  CHECK(waits.state == State::waits);
  REQUIRE(waits.awaited.size() == 1);
  CHECK(waits.awaited[0].id == ViewId(6));
  CHECK(waits.awaited[0].nodes == ids({3, 4, 5}));
  CHECK(waits.awaited[0].here.empty());
}

TEST_CASE("a group whose last members left has ended: it is founded as on the first day, under other ids") {
  const Recalled ended = recalled({of(0, view(9, {})), of(1, view(7, {0}))});
  CHECK(ended.state == State::first_day);
  CHECK(ended.next == ViewId(10));
}

TEST_CASE("a decree that may have been decided needs a majority of its view, too") {
  const RecordedView last = view(7, {0, 1, 2});
  const RecordedView decree = view(8, {0, 1, 3, 4, 5});
  CHECK(recalled({of(0, last, {decree}), of(2, last)}).state == State::waits);
  CHECK(recalled({of(0, last, {decree}), of(1, last, {decree}), of(3)}).state == State::enough);
  CHECK(recalled({of(0, last, {decree}), of(1, last, {decree})}).state == State::waits);
}

TEST_CASE("a decree that a majority has not accepted is void, and those that refuse it found") {
  const RecordedView last = view(7, {0, 1, 2});
  const Recalled recalled_ = recalled({of(0, last, {view(8, {0, 3, 4, 5})}), of(1, last), of(2, last)});
  CHECK(recalled_.state == State::enough);
  CHECK(recalled_.next == ViewId(9));
  CHECK(founders(recalled_) == ids({0, 1, 2}));
}

TEST_CASE("a founding that a member has not accepted is void, and that member founds with the others") {
  const RecordedView last = view(7, {0, 1, 2, 3, 4});
  const RecordedView founding = view(8, {0, 1, 2, 9}, true);
  const std::vector<Remembering> three{of(0, last, {founding}), of(3, last), of(4, last)};
  CHECK(recall(three).state == State::waits);
  std::vector<Remembering> four = three;
  four.push_back(of(9));
  CHECK(recall(four).state == State::enough);
  CHECK(founders(recall(four)) == ids({0, 3, 4, 9}));
}

TEST_CASE("who is not in the roster any more does not count") {
  RecordedView last = view(7, {0, 1, 2});
  last.roster.nodes = {{NodeId(0), ""}, {NodeId(1), ""}};
  CHECK(recalled({of(0, last), of(2, last)}).state == State::waits);
  const Recalled enough = recalled({of(0, last), of(1, last), of(2, last)});
  CHECK(founders(enough) == ids({0, 1}));
  CHECK(enough.roster == last.roster);
}

TEST_CASE("the last view of a neighbor is told where it is a later one") {
  const ViewRecord own{100, view(7, {0, 1, 2}), {}};
  const ViewMemory::Neighbor later{NodeId(2), false, {100, view(8, {2}), {}}};
  const ViewMemory::Neighbor earlier{NodeId(1), true, {100, view(6, {0, 1, 2}), {}}};
  const Remembered said = remembered(own, std::vector{earlier, later});
  REQUIRE(said.beside);
  CHECK(said.beside->id == ViewId(8));
  CHECK_FALSE(remembered(own, std::vector{earlier}).beside);
  Remembering here = of(0, own.last);
  here.said = said;
  CHECK(recalled({here, of(1, own.last)}).state == State::waits);
}

TEST_CASE("foundings of the same nodes are remembered as one, of the earlier processes, and only so many of others") {
  ViewRecord record;
  record.since = 1;
  RecordedView again = view(9, {1, 0}, true);
  again.members[0].incarnation = 900;
  CHECK(record.accept(view(8, {0, 1}, true)));
  CHECK(record.accept(again));
  REQUIRE(record.accepted.size() == 1);
  CHECK(record.accepted[0].id == ViewId(9));
  CHECK(incarnation_in(record.accepted[0], NodeId(1)) == 101);
  for (std::uint32_t i = 1; i < ViewRecord::accepted_max; ++i) CHECK(record.accept(view(9 + i, {0, 1 + i}, true)));
  CHECK_FALSE(record.accept(view(99, {77}, true)));
}

TEST_CASE("people are told which nodes of the last view are here, and how many of which others to start") {
  const RecordedView last = view(7, {0, 1, 2});
  const ViewRecord own{100, last, {}};
  const auto words = [&](std::vector<Remembering> here) { return words_of(recall(here).awaited, here[0].who.node, own); };
  CHECK(words({of(1, last)}) == "the last view of the group had nodes 0, 1, 2, of which 1 is here: start 1 of 0, 2");
  CHECK(words({of(1, view(7, {0, 1}))}) == "the last view of the group had nodes 0, 1, of which 1 is here: start 0");
  CHECK(words({of(1, last), forgetful(0)}) ==
        "the last view of the group had nodes 0, 1, 2, of which 1 is here, and 0 has lost the record of it: start 2");
  ViewRecord removed{100, view(8, {3, 4}), {}, ViewRecord::Standing::left};
  removed.last->roster.nodes = {{NodeId(3), ""}, {NodeId(4), ""}};
  CHECK(words_of(recall(std::vector{of(1, removed.last)}).awaited, NodeId(1), removed) ==
        "the group went on without node 1, which had left it; it is not in the group's roster any more (spindrift group add "
        "lets it in again); the last view of the group had nodes 3, 4, of which none is here: start 3, 4");
}

TEST_CASE("a record is read as it was written, whole, and nothing else is one") {
  Roster roster{2, {{NodeId(0), "a:1"}, {NodeId(1), ""}}, {NodeId(1)}};
  ViewRecord record{5, view(7, {0, 1}), {view(8, {0}), view(9, {0, 2}, true)}, ViewRecord::Standing::removed};
  record.last->roster = roster;
  ByteWriter writer;
  put_record(writer, record);
  const std::vector<std::byte> bytes = writer.take();
  ByteReader reader(bytes);
  ViewRecord read;
  REQUIRE(get_record(reader, read));
  CHECK((reader.complete() && read == record));
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const std::span<const std::byte> whole(bytes);
    ByteReader cut(whole.first(length));
    ViewRecord none;
    CHECK_FALSE((get_record(cut, none) && cut.complete()));
  }
}

}  // namespace spindrift::views
