// The checkers of who is in which view find what they are for.
#include <catch2/catch.hpp>

#include "story.hpp"

namespace spindrift::sim {

TEST_CASE("a removal without a cause, and a member that never started, are found (V6)") {
  Story story;
  story.found_all();
  story.install(0, story.view(1, {0, 1}), {{NodeId(2), "a mood"}});
  CHECK(story.found() == "V6");
  Story other;
  View view = other.view(0, {0, 1, 2});
  view.incarnations[2] = 777;
  other.install(0, view);
  CHECK(other.found() == "V6");
}

TEST_CASE("a newcomer that was taken in without a link with a member is found (V6)") {
  for (const bool linked : {true, false}) {
    Story story;
    story.history.set_heard([&](std::uint32_t reader, std::uint32_t speaker) {
      return reader != 1 || speaker != 2 || linked;
    });
    for (std::uint32_t i = 0; i < 2; ++i) story.install(i, story.view(0, {0, 1}));
    story.install(0, story.view(1, {0, 1, 2}), {}, false, {}, {NodeId(2)});
    CHECK(story.found() == (linked ? "nothing" : "V6"));
  }
}

TEST_CASE("a founding of processes of which two had not met is found (V6)") {
  for (const bool linked : {true, false}) {
    Story story;
    story.history.set_heard([&](std::uint32_t reader, std::uint32_t speaker) {
      return reader != 1 || speaker != 2 || linked;
    });
    story.install(0, story.view(0, {0, 1, 2}));
    CHECK(story.found() == (linked ? "nothing" : "V6"));
  }
}

TEST_CASE("a member that is removed because a newcomer accuses it is found (V6)") {
  for (const bool newcomer : {true, false}) {
    Story story;
    story.history.set_suspects([](ViewId, std::uint32_t process) { return views::RankSet(process == 1 ? 0b100 : 0, 0); });
    story.history.blame(2);
    story.install(0, newcomer ? story.view(0, {0, 1}) : story.view(0, {0, 1, 2}));
    story.install(0, story.view(1, {0, 1, 2}), {}, false, {}, std::vector<NodeId>(newcomer ? 1 : 0, NodeId(2)));
    story.install(0, story.view(2, {0, 2}), {{NodeId(1), "node 2 suspects it"}});
    CHECK(story.found() == (newcomer ? "V6" : "nothing"));
  }
}

TEST_CASE("views that change and change nothing are found (V6)") {
  Story story;
  story.found_all();
  for (std::uint64_t id = 1; id <= 3; ++id) story.install(0, story.view(id, {0, 1, 2}));
  CHECK(story.found() == "nothing");
  story.install(0, story.view(4, {0, 1, 2}));
  CHECK(story.found() == "V6");
}

TEST_CASE("a change that is not told is found (V6)") {
  Story story;
  story.found_all();
  story.history.blame(2);
  story.install(0, story.view(1, {0, 1}));
  CHECK(story.found() == "V6");
}

TEST_CASE("a node that is twice in a view is found (J4)") {
  Story story;
  story.history.on_start(3, 2, 103);
  View view = story.view(0, {0, 1, 2});
  view.members.emplace_back(2);
  view.incarnations.push_back(103);
  story.install(0, view);
  CHECK(story.found() == "J4");
}

TEST_CASE("an imposter in a view is found (J5)") {
  Plan plan = three_nodes();
  plan.nodes[2].imposter = true;
  Story story(plan);
  story.install(0, story.view(0, {0, 1, 2}));
  CHECK(story.found() == "J5");
}

namespace {

/// All members of view 1 end, and node 2 founds one with that id, where so many of them remember the last.
void found_anew(Story& story, std::uint64_t id, std::size_t remembering) {
  story.history.set_decided([](const View&) { return false; });
  story.history.set_remembering([remembering](const View&) { return remembering; });
  for (std::uint32_t i = 0; i < 3; ++i) story.install(i, story.view(1, {0, 1, 2}));
  for (std::uint32_t i = 0; i < 3; ++i) story.history.on_end(i);
  story.history.on_start(3, 2, 103);
  View view = story.view(id, {2});
  view.incarnations = {103};
  story.install(3, view);
}

}  // namespace

TEST_CASE("a group that is founded anew may have the last one's ids once that is forgotten, and not before (V3)") {
  for (const std::size_t remembering : {std::size_t{2}, std::size_t{1}}) {
    Story story;
    found_anew(story, 1, remembering);
    CHECK(story.found() == (remembering == 1 ? "nothing" : "V3"));
  }
}

TEST_CASE("a group that is founded with a later id is another one if nobody remembers the last, and goes on from it else") {
  for (const std::size_t remembering : {std::size_t{1}, std::size_t{0}}) {
    Story story;
    found_anew(story, 2, remembering);
    CHECK(story.found() == "nothing");
    CHECK(story.history.generation() == (remembering == 0 ? 1 : 0));
  }
}

TEST_CASE("a founding beside a living majority of the last view is found (V21)") {
  for (const std::uint32_t living : {1u, 2u}) {
    Story story;
    story.history.set_decided([](const View&) { return false; });
    story.found_all();
    for (std::uint32_t i = living; i < 3; ++i) story.history.on_end(i);
    story.history.on_start(3, 2, 103);
    View view = story.view(1, {2});
    view.incarnations = {103};
    story.install(3, view);
    CHECK(story.found() == (living == 2 ? "V21" : "nothing"));
  }
}

TEST_CASE("a founding is beside nobody who has left by a view that was decided, and was in no view yet (V21)") {
  for (const std::uint32_t left : {1u, 2u}) {
    Story story;
    story.history.set_decided([](const View&) { return false; });
    // View 1, which nobody is in: of node 0 alone, or of nodes 0 and 1.
    story.history.set_next([left](const View& view) -> std::optional<std::vector<std::uint64_t>> {
      if (view.id != ViewId(0)) return std::nullopt;
      return left == 2 ? std::vector<std::uint64_t>{102} : std::vector<std::uint64_t>{101, 100};
    });
    story.found_all();
    story.history.on_end(2);
    story.history.on_start(3, 2, 103);
    View view = story.view(2, {2});
    view.incarnations = {103};
    story.install(3, view);
    CHECK(story.found() == (left == 2 ? "nothing" : "V21"));
  }
}

TEST_CASE("a slow founder may go into its view when the others of it have founded a later one (J4, V21)") {
  for (const bool decided : {false, true}) {
    Story story;
    story.history.set_decided([decided](const View& view) { return decided && view.id == ViewId(2); });
    for (std::uint32_t i = 0; i < 2; ++i) story.install(i, story.view(3, {0, 1}));
    story.install(2, story.view(2, {1, 2}));
    CHECK(story.found() == (decided ? "J4" : "nothing"));
  }
}

}  // namespace spindrift::sim
