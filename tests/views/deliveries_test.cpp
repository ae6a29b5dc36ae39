// Some deliveries go through to the application, others wait: which, and for what.
#include <catch2/catch.hpp>

#include <vector>

#include <spindrift/views/deliveries.hpp>

#include "application.hpp"
#include "ends_of_logs.hpp"

namespace spindrift::views {
namespace {

constexpr NodeId self(0);
constexpr SubgroupId first(0);
constexpr SubgroupId second(1);

RankSet set_of(std::initializer_list<std::uint32_t> ranks) {
  RankSet set;
  for (const std::uint32_t rank : ranks) set.add(Rank(rank));
  return set;
}

/// Nodes 0 … 2; both subgroups have all of them.
View view_of(std::uint64_t id) {
  View view;
  view.id = ViewId(id);
  view.members = {NodeId(0), NodeId(1), NodeId(2)};
  view.incarnations = {100, 101, 102};
  view.subgroups.resize(2);
  for (SubgroupView& subgroup : view.subgroups) subgroup.members = subgroup.senders = view.members;
  return view;
}

struct Stage {
  Application application;
  Deliveries deliveries{self, 2, 1000, application};

  void begin(std::uint64_t id, RankSet loaded) { deliveries.begin_view(view_of(id), {loaded, loaded}, {}); }
  void come(const std::string& characters, NodeId sender = NodeId(1)) {
    deliver([&](std::span<const Delivery> batch) { deliveries.on_delivery(first, batch); }, characters, sender);
  }
};

TEST_CASE("deliveries go through to an application that takes them, behind the boundary of their view") {
  Stage stage;
  stage.begin(7, RankSet::first(3));
  stage.come("ab");
  CHECK(stage.application.heard[0] == "7ab");
  stage.deliveries.pass_boundaries();
  CHECK(stage.application.heard[1] == "7");
  CHECK_FALSE(stage.deliveries.flush());
  CHECK(stage.deliveries.drained() == 2);
  CHECK(stage.deliveries.handed_over());
}

TEST_CASE("what the application cannot take at the end of a view waits, in order, and counts as not handed over") {
  Stage stage;
  stage.begin(7, RankSet::first(3));
  stage.come("a");
  stage.application.ready = false;
  CHECK_FALSE(stage.deliveries.accepts(first));
  stage.come("b");
  CHECK_FALSE(stage.deliveries.accepts(first));  // the senders' rings hold the rest
  CHECK(stage.deliveries.handed_over());   // as much as the application takes
  CHECK_FALSE(stage.deliveries.all_taken());
  CHECK(stage.deliveries.drained() == 0);
  stage.application.ready = true;
  CHECK_FALSE(stage.deliveries.handed_over());
  stage.come("c");
  CHECK(stage.application.heard[0] == "7a");
  CHECK(stage.deliveries.flush());
  CHECK(stage.application.heard[0] == "7abc");
  CHECK(stage.deliveries.all_taken());
  CHECK(stage.deliveries.drained() == 2);
}

TEST_CASE("while a handler is at work nothing is handed over, and the view does not end") {
  Stage stage;
  stage.begin(7, RankSet::first(3));
  stage.application.works = true;
  stage.come("a");
  CHECK_FALSE(stage.deliveries.handed_over());
  CHECK_FALSE(stage.deliveries.all_taken());
  CHECK(stage.deliveries.drained() == 0);
  stage.application.at_work = false;
  CHECK(stage.deliveries.handed_over());
}

TEST_CASE("while a state is on its way deliveries wait, and go behind what waited at its source") {
  Stage source;
  source.begin(7, RankSet::first(3));
  source.application.ready = false;
  source.come("xy");

  Stage newcomer;
  newcomer.begin(7, set_of({1, 2}));
  CHECK(newcomer.deliveries.loading(first));
  newcomer.come("ab");
  CHECK_FALSE(newcomer.deliveries.flush());
  CHECK(newcomer.deliveries.drained() == 0);
  CHECK(newcomer.deliveries.handed_over());  // there is nothing that the application could take
  CHECK_FALSE(newcomer.deliveries.end_loading(first, std::vector<std::byte>(3)));
  CHECK(newcomer.deliveries.loading(first));
  REQUIRE(newcomer.deliveries.end_loading(first, source.deliveries.kept(first)));
  CHECK_FALSE(newcomer.deliveries.loading(first));
  CHECK(newcomer.deliveries.loading(second));
  CHECK(newcomer.deliveries.flush());
  CHECK(newcomer.application.heard[0] == "7xyab");
}

TEST_CASE("a state that begins anew in the next view includes what waited for the one before") {
  Stage newcomer;
  newcomer.begin(7, set_of({1, 2}));
  newcomer.come("ab", self);
  newcomer.begin(8, set_of({1, 2}));
  newcomer.come("c");
  REQUIRE(newcomer.deliveries.end_loading(first, {}));
  CHECK(newcomer.deliveries.flush());
  CHECK(newcomer.application.heard[0] == "78c");
  CHECK(newcomer.application.dropped[0] == 0);
}

TEST_CASE("own messages that wait for a state are reported when the state is lost, those of all views before together") {
  Stage newcomer;
  newcomer.begin(7, set_of({1, 2}));
  newcomer.come("ab", self);
  newcomer.come("x");
  newcomer.begin(8, set_of({1}));
  newcomer.come("c", self);
  newcomer.begin(9, RankSet::first(3));  // nobody was left: all begin anew
  CHECK(newcomer.application.dropped[0] == 3);
  newcomer.begin(10, RankSet::first(3));
  CHECK(newcomer.application.dropped[0] == 3);
}

TEST_CASE("behind its state, a newcomer's deliveries are kept until its application first is ready") {
  Stage stage;
  stage.application.ready = false;
  stage.begin(7, set_of({1, 2}));
  REQUIRE(stage.deliveries.end_loading(first, {}));
  CHECK(stage.deliveries.accepts(first));
  stage.come("a");
  CHECK(stage.application.heard[0] == "7");
  stage.application.ready = true;
  CHECK(stage.deliveries.flush());
  CHECK(stage.application.heard[0] == "7a");
  stage.application.ready = false;
  CHECK_FALSE(stage.deliveries.accepts(first));
}

TEST_CASE("while a state is saved a member takes what comes, up to a bound, and hands it over behind the save") {
  Stage stage;
  stage.begin(7, RankSet::first(3));
  stage.come("a");
  stage.application.saved = false;
  CHECK(stage.deliveries.accepts(first));
  stage.come("b");
  CHECK(stage.deliveries.accepts(first));
  CHECK(stage.application.heard[0] == "7a");
  CHECK_FALSE(stage.deliveries.flush());
  CHECK(stage.deliveries.handed_over());  // a view may end
  CHECK_FALSE(stage.deliveries.taken(first));
  stage.come(std::string(1000, 'c'));
  CHECK_FALSE(stage.deliveries.accepts(first));

  stage.application.saved = true;
  CHECK_FALSE(stage.deliveries.accepts(first));  // behind what is kept
  while (stage.deliveries.flush()) {}
  CHECK(stage.application.heard[0] == "7ab" + std::string(1000, 'c'));
  CHECK(stage.deliveries.accepts(first));
}

TEST_CASE("what comes during a save goes behind that state to a newcomer of the next view") {
  Stage source;
  source.begin(7, RankSet::first(3));
  source.application.saved = false;
  source.come("xy");
  source.begin(8, set_of({0, 1}));

  Stage newcomer;
  newcomer.begin(8, set_of({1, 2}));
  newcomer.come("z");
  REQUIRE(newcomer.deliveries.end_loading(first, source.deliveries.kept(first)));
  while (newcomer.deliveries.flush()) {}
  CHECK(newcomer.application.heard[0] == "8xy8z");
}

TEST_CASE("what waits since a member last had a log goes to its application with the log, when it has that again") {
  const auto logged = [](std::uint64_t id, std::vector<NodeId> members) {
    View view = view_of(id);
    view.subgroups.resize(1);
    view.subgroups[0].storage = SubgroupStorage::logged;
    view.subgroups[0].members = view.subgroups[0].senders = std::move(members);
    view.subgroups[0].log_holders = {{NodeId(0), 100}, {NodeId(1), 101}};
    return view;
  };
  Application application;
  EndsOfLogs logs;
  Deliveries deliveries(self, 1, 1000, application, {}, &logs);
  deliveries.begin_view(logged(7, view_of(7).members), {RankSet::first(3)}, {});
  CHECK(application.replays == std::vector<std::uint64_t>{5});
  application.ready = false;
  deliver([&](std::span<const Delivery> batch) { deliveries.on_delivery(first, batch); }, "ab");
  // Too few are there for the subgroup, and others have its log; those end, and it does.
  deliveries.begin_view(logged(8, {}), {set_of({1})}, {});
  deliveries.begin_view(logged(9, {}), {set_of({0})}, {});
  CHECK(application.replays == std::vector<std::uint64_t>{5, 7});
  application.ready = true;
  while (deliveries.flush()) {}
  CHECK(application.heard[0] == "789");
}

}  // namespace
}  // namespace spindrift::views
