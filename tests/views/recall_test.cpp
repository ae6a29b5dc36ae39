// The conclusions from nodes' records: which view is the last, and which nodes may found the next.
#include <catch2/catch.hpp>

#include <algorithm>

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

TEST_CASE("half of a view with an even number of members is no majority, of an accepted one neither") {
  const RecordedView last = view(7, {0, 1, 2, 3});
  CHECK(recalled({of(0, last), of(1, last)}).state == State::waits);
  CHECK(recalled({of(0, last), of(1, last), of(3, last)}).state == State::enough);
  const RecordedView decree = view(8, {0, 4});
  CHECK(recalled({of(0, last, {decree}), of(1, last, {decree}), of(2, last)}).state == State::waits);
  CHECK(recalled({of(0, last, {decree}), of(1, last, {decree}), of(2, last), of(4)}).state == State::enough);
}

TEST_CASE("a decree is void from when the members that have not refused it are no majority") {
  const RecordedView last = view(7, {0, 1, 2, 3, 4});
  const RecordedView decree = view(8, {0, 1, 5, 6, 7, 8, 9});
  CHECK(recalled({of(0, last, {decree}), of(3, last), of(4, last)}).state == State::waits);
  const Recalled three = recalled({of(0, last, {decree}), of(2, last), of(3, last), of(4, last)});
  CHECK(three.state == State::enough);
  CHECK(founders(three) == ids({0, 2, 3, 4}));
  RecordedView even = last;
  even.members.pop_back();  // two of four that refuse leave no majority
  CHECK(recalled({of(0, even, {decree}), of(2, even), of(3, even)}).state == State::enough);
  CHECK(recalled({of(0, even, {decree}), of(1, even, {decree}), of(3, even)}).state == State::waits);
}

TEST_CASE("the refusal of a node that has lost its record proves nothing") {
  const RecordedView last = view(7, {0, 1, 2, 3, 4});
  const RecordedView founding = view(8, {0, 1, 2}, true);
  CHECK(recalled({of(0, last, {founding}), forgetful(2), of(3, last), of(4, last)}).state == State::waits);
  CHECK(recalled({of(0, last, {founding}), of(2, last), of(3, last), of(4, last)}).state == State::enough);
}

TEST_CASE("a decree of another view than the last is never void: who could have decided it is unknown") {
  const RecordedView last = view(7, {0, 1, 2});
  const RecordedView later = view(9, {0, 5, 6});
  CHECK(recalled({of(0, last, {later}), of(1, last), of(2, last)}).state == State::waits);
}

TEST_CASE("without a last view no founding is void, for the named founders may be others than those that refuse it") {
  const RecordedView founding = view(0, {0, 1, 2}, true);
  CHECK(recalled({of(0, {}, {founding}), of(4)}).state == State::waits);
  CHECK(recalled({of(0, {}, {founding}), of(1), of(4)}).state == State::enough);
  const RecordedView ended = view(6, {});
  CHECK(recalled({of(0, ended, {view(7, {0, 1, 2}, true)}), of(4, ended)}).state == State::waits);
}

TEST_CASE("what was accepted before the last view was decided, or has no members, is not open") {
  const RecordedView last = view(7, {0, 1, 2});
  CHECK(recalled({of(0, view(5, {0, 1}), {view(6, {0, 8, 9})}), of(1, last), of(2, last)}).state == State::enough);
  CHECK(recalled({of(0, last, {view(8, {})}), of(1, last, {view(8, {})})}).state == State::enough);
}

TEST_CASE("the id is greater than those of void, of open and of earlier views that are remembered") {
  const RecordedView last = view(7, {0, 1, 2});
  CHECK(recalled({of(0, last, {view(12, {0, 1}, true)}), of(1, last), of(2, last)}).next == ViewId(13));  // void
  CHECK(recalled({of(0, last, {view(12, {0, 1}, true)}), of(1, last, {view(12, {0, 1}, true)})}).next == ViewId(13));
  CHECK(recalled({of(0, last, {view(12, {})}), of(1, last)}).next == ViewId(13));
}

TEST_CASE("an id that is remembered of views of different nodes is contested, whoever remembers which") {
  const RecordedView last = view(7, {0, 1, 2});
  const RecordedView one = view(8, {0, 1}, true);
  const RecordedView other = view(8, {2, 1}, true);
  CHECK_FALSE(recalled({of(0, last), of(1, last)}).contested);
  CHECK_FALSE(recalled({of(0, last, {one}), of(1, last, {one})}).contested);
  CHECK(recalled({of(0, last, {one}), of(1, last, {one, other})}).contested);
  CHECK(recalled({of(2, last, {other}), of(1, last), of(0, last, {one})}).contested);
  CHECK_FALSE(recalled({of(0, last, {one}), of(1, last, {other, view(9, {1, 0}, true)})}).contested);  // an earlier one
  CHECK(recalled({of(0, view(8, {0, 3})), of(1, last, {one})}).contested);
}

TEST_CASE("the roster and the founder are those of the latest view, of foundings with one id that of the lower node") {
  const auto admitting_all = [](RecordedView each, std::uint64_t edition) {
    each.roster.edition = edition;
    for (std::uint32_t node = 0; node < 10; ++node) each.roster.nodes.push_back({NodeId(node), ""});
    return each;
  };
  const RecordedView last = admitting_all(view(7, {0, 1, 2}), 1);
  const RecordedView decree = admitting_all(view(8, {2, 1, 3}), 2);
  CHECK(recalled({of(0, last), of(1, last)}).roster == last.roster);
  const Recalled open = recalled({of(0, last), of(1, last, {decree}), of(2, last, {decree})});
  CHECK(open.state == State::enough);
  CHECK(open.roster == decree.roster);
  CHECK(founders(open) == ids({2, 1, 0}));
  const RecordedView higher = admitting_all(view(9, {2, 1}, true), 3);
  const RecordedView lower = admitting_all(view(9, {1, 2, 3}, true), 4);
  for (const auto& accepted : {std::vector{higher, lower}, std::vector{lower, higher}}) {
    const Recalled both = recalled({of(3, {}, accepted), of(2, last, accepted), of(1, last, accepted)});
    CHECK(both.state == State::enough);
    CHECK(both.roster == lower.roster);
    CHECK(founders(both) == ids({1, 2, 3}));
  }
}

TEST_CASE("who is not in the roster of a view that may have been decided does not count in the last one either") {
  const RecordedView last = view(7, {0, 1, 2});
  RecordedView decree = view(8, {0, 1});
  decree.roster.nodes = {{NodeId(0), ""}, {NodeId(1), ""}};
  CHECK(recalled({of(0, last, {decree}), of(2, last)}).state == State::waits);
  CHECK(founders(recalled({of(0, last, {decree}), of(1, last, {decree}), of(2, last)})) == ids({0, 1}));
}

TEST_CASE("the roster of the latest view is found where one that was not to be in it remembers the view without") {
  RecordedView whole = view(8, {0, 1});
  whole.roster = {5, {{NodeId(0), "a:1"}, {NodeId(1), "b:1"}, {NodeId(9), "c:1"}}, {}};
  const RecordedView before = view(7, {0, 1, 2});
  const Remembering left = of(2, view(8, {0, 1}));  // it held no roster of the view that went on
  const std::vector<Remembering> gone_on{of(0, whole), of(1, whole), left};
  const std::vector<Remembering> accepted{of(0, before, {whole}), of(1, before, {whole}), left};
  const std::vector<Remembering> open{of(0, before, {whole}), of(1, before), of(2, before, {view(8, {0, 1})})};
  for (std::vector<Remembering> here : {gone_on, accepted, open}) {
    for (int turn = 0; turn < 3; ++turn) {
      const Recalled recalled_ = recall(here);
      CHECK(recalled_.state == State::enough);
      CHECK(recalled_.next == ViewId(9));
      CHECK(recalled_.roster == whole.roster);
      CHECK(recalled_.founders.front().node == NodeId(0));
      std::rotate(here.begin(), here.begin() + 1, here.end());
    }
  }
  RecordedView other = whole;  // what it accepted of another leader, and is not in itself, is not that view
  other.roster.edition = 4;
  CHECK(recalled({of(2, view(8, {0, 1})), of(3, before, {other}), of(0, before, {whole}), of(1, before, {whole})}).roster ==
        whole.roster);
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

TEST_CASE("of several neighbors the latest view is told, of those that live and of those that do not") {
  const ViewRecord own{100, view(7, {0, 1, 2}), {}};
  for (const bool lives : {false, true}) {
    const ViewMemory::Neighbor latest{NodeId(1), lives, {100, view(9, {1}), {}}};
    const ViewMemory::Neighbor later{NodeId(2), !lives, {100, view(8, {1, 2}), {}}};
    CHECK(remembered(own, std::vector{latest, later}).beside->id == ViewId(9));
    CHECK(remembered(own, std::vector{later, latest}).beside->id == ViewId(9));
    CHECK(remembered(ViewRecord{100, {}, {}}, std::vector{latest}).beside->id == ViewId(9));
  }
}

TEST_CASE("what is said has another digest whenever anything of it differs, and none if it is of no view") {
  CHECK(digest_of(Remembered{ViewRecord{100, {}, {}}, {}}) == 0);
  const RecordedView last = view(7, {0, 1, 2});
  RecordedView roster = last;
  roster.roster.edition = 1;
  RecordedView incarnation = last;
  incarnation.members[0].incarnation = 900;
  const std::vector<Remembered> all{
      {{100, last, {}}, {}},         {{101, last, {}}, {}},
      {{100, roster, {}}, {}},       {{100, incarnation, {}}, {}},
      {{100, last, {last}}, {}},     {{100, last, {view(7, {0, 1, 2}, true)}}, {}},
      {{100, last, {}}, last},       {{100, last, {}}, roster},
      {{100, {}, {}}, last},         {{100, last, {}, ViewRecord::Standing::removed}, {}}};
  for (std::size_t a = 0; a < all.size(); ++a) {
    CHECK(digest_of(all[a]) != 0);
    for (std::size_t b = 0; b < a; ++b) CHECK(digest_of(all[a]) != digest_of(all[b]));
  }
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
  const auto words = [&](std::vector<Remembering> here) { return words_of(recall(here), here[0].who.node, own); };
  CHECK(words({of(1, last)}) == "the last view of the group had nodes 0, 1, 2, of which 1 is here: 1 of nodes 0, 2 has to "
        "come (start it unless it runs)");
  CHECK(words({of(1, view(7, {0, 1}))}) == "the last view of the group had nodes 0, 1, of which 1 is here: node 0 has to "
        "come (start it unless it runs)");
  CHECK(words({of(1, last), forgetful(0)}) ==
        "the last view of the group had nodes 0, 1, 2, of which 1 is here, and 0 has lost the record of it: node 2 has to "
        "come (start it unless it runs)");
  ViewRecord removed{100, view(8, {3, 4}), {}, ViewRecord::Standing::left};
  removed.last->roster.nodes = {{NodeId(3), ""}, {NodeId(4), ""}};
  CHECK(words_of(recall(std::vector{of(1, removed.last)}), NodeId(1), removed) ==
        "the group went on without node 1, which had left it; it is not in the group's roster any more (spindrift group add "
        "lets it in again); the last view of the group had nodes 3, 4, of which none is here: nodes 3, 4 have to come "
        "(start those that do not run)");
}

TEST_CASE("a record is read as it was written, whole, and nothing else is one") {
  Roster roster{2, {{NodeId(0), "a:1"}, {NodeId(1), ""}}, {NodeId(1)}};
  ViewRecord record{5, view(7, {0, 1}), {view(8, {0}), view(9, {0, 2}, true)}, ViewRecord::Standing::removed};
  record.last->roster = roster;
  record.logs_from = 4;
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
