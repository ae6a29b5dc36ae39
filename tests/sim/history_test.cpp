// The checkers of what applications see find what they are for: histories made by hand, each with one violation.
#include <catch2/catch.hpp>

#include "story.hpp"

namespace spindrift::sim {
TEST_CASE("a group founded beside the rest of another is found (V3), one after its end is a new story") {
  Story story;
  story.found_all();
  for (const std::uint32_t node : {0U, 1U, 2U}) story.history.on_start(3 + node, node, 200 + node);
  View again = story.view(0, {0, 1, 2});
  again.incarnations = {200, 201, 202};
  story.history.on_end(0);
  story.history.on_end(1);
  SECTION("one is left") {
    story.install(3, again);
    CHECK(story.found() == "V3");
  }
  SECTION("nobody is left") {
    story.history.on_end(2);
    story.install(3, again);
    CHECK(story.found() == "nothing");
  }
}

TEST_CASE("an honest story violates nothing") {
  Story story;
  story.found_all();
  const auto first = story.message(0);
  const auto second = story.message(1);
  for (std::uint32_t i = 0; i < 3; ++i) {
    story.deliver(i, 0, first, 0);
    story.deliver(i, 1, second, 1);
  }
  story.history.blame(2);
  for (std::uint32_t i = 0; i < 2; ++i) story.install(i, story.view(1, {0, 1}), {{NodeId(2), "silent"}});
  CHECK(story.history.complete({0, 1}));
  CHECK(story.found() == "nothing");
}

TEST_CASE("a subgroup that is dropped before all that a member sent there was delivered is found (V23)") {
  Story story(three_nodes(DeliveryMode::ordered, 0));
  story.found_all();
  const auto message = story.message(0);
  View without = story.view(1, {0, 1, 2});
  without.subgroups[0] = in_view({}, {}, nullptr);
  SECTION("it was not delivered") {
    story.install(0, without);
    CHECK(story.found() == "V23");
  }
  SECTION("it was") {
    for (std::uint32_t i = 0; i < 3; ++i) story.deliver(i, 0, message, 0);
    for (std::uint32_t i = 0; i < 3; ++i) story.install(i, without);
    View again = story.view(2, {0, 1, 2});
    for (std::uint32_t i = 0; i < 3; ++i) story.install(i, again);
    const auto second = story.message(0);
    for (std::uint32_t i = 0; i < 3; ++i) story.deliver(i, 0, second, 0);
    CHECK(story.history.complete({0, 1, 2}));
    CHECK(story.found() == "nothing");
  }
  SECTION("it is still being written") {
    for (std::uint32_t i = 0; i < 3; ++i) story.deliver(i, 0, message, 0);
    std::vector<std::byte> half(64);
    story.history.write_message(story.streams[0], half);
    story.install(0, without);
    CHECK(story.found() == "V23");
  }
}

TEST_CASE("bytes that nobody sent are found (M1)") {
  Story story;
  story.found_all();
  auto payload = story.message(0);
  payload[40] ^= std::byte{1};
  story.deliver(1, 0, payload, 0);
  CHECK(story.found() == "M1");
}

TEST_CASE("a message that was only reserved is found (M1)") {
  Story story;
  story.found_all();
  std::vector<std::byte> payload(64);
  story.history.write_message(story.streams[0], payload);
  story.deliver(1, 0, payload, 0);
  CHECK(story.found() == "M1");
}

TEST_CASE("a message delivered again, in the same view or a later one, is found (M2)") {
  Story story;
  story.found_all();
  const auto payload = story.message(0);
  story.deliver(1, 0, payload, 0);
  story.install(1, story.view(1, {0, 1, 2}));
  story.deliver(1, 0, payload, 0);
  CHECK(story.found() == "M2");
}

TEST_CASE("a message that is left out is found (M3)") {
  Story story;
  story.found_all();
  (void)story.message(0);
  story.deliver(1, 0, story.message(0), 0);
  CHECK(story.found() == "M3");
}

TEST_CASE("two members that deliver in different order are found (M4)") {
  Story story;
  story.found_all();
  const auto first = story.message(0);
  const auto second = story.message(1);
  story.deliver(0, 0, first, 0);
  story.deliver(0, 1, second, 1);
  story.deliver(1, 1, second, 1);
  CHECK(story.found() == "M4");
}

TEST_CASE("a sequence number that falls is found (M4)") {
  Story story;
  story.found_all();
  story.deliver(0, 0, story.message(0), 5);
  story.deliver(0, 1, story.message(1), 4);  // the first fall may be the beginning of the view
  story.deliver(0, 2, story.message(2), 3);
  CHECK(story.found() == "M4");
}

TEST_CASE("a survivor that misses what a dead member delivered is found (M5)") {
  Story story;
  story.found_all();
  story.deliver(2, 0, story.message(0), 0);
  story.history.blame(2);
  story.install(0, story.view(1, {0, 1}), {{NodeId(2), "silent"}});
  CHECK(story.found() == "M5");
}

TEST_CASE("two survivors with different deliveries before the same view are found (M7)") {
  Story story;
  story.found_all();
  const auto late = story.message(0);
  story.history.blame(2);
  story.install(0, story.view(1, {0, 1}), {{NodeId(2), "silent"}});
  story.deliver(1, 0, late, 0);
  CHECK(story.found() == "M5");  // by the delivery already: others went on without it
  Story other;
  other.found_all();
  const auto payload = other.message(0);
  other.deliver(0, 0, payload, 0);
  other.deliver(1, 0, payload, 0);
  other.deliver(0, 1, other.message(1), 1);
  other.history.blame(2);
  other.install(0, other.view(1, {0, 1}), {{NodeId(2), "silent"}});
  other.install(1, other.view(1, {0, 1}), {{NodeId(2), "silent"}});
  CHECK(other.found() == "M7");
}

TEST_CASE("a committed message that is neither delivered nor reported is found (M8)") {
  for (const DeliveryMode mode : {DeliveryMode::ordered, DeliveryMode::unordered}) {
    Story story(three_nodes(mode));
    story.found_all();
    (void)story.message(0);
    story.history.check_complete({0, 1, 2});
    CHECK(story.found() == "M8");
  }
}

TEST_CASE("a view without the one that installs it is found (V1)") {
  Story story;
  story.install(2, story.view(0, {0, 1}));
  CHECK(story.found() == "V1");
}

TEST_CASE("a view that is left out is found (V2)") {
  Story story;
  story.found_all();
  story.install(0, story.view(2, {0, 1, 2}));
  CHECK(story.found() == "V2");
}

TEST_CASE("two views of one id are found (V3)") {
  Story story;
  story.found_all();
  for (std::uint32_t i = 0; i < 3; ++i) story.history.blame(i);
  story.install(0, story.view(1, {0, 1}), {{NodeId(2), "silent"}});
  story.install(2, story.view(1, {1, 2}), {{NodeId(0), "silent"}});
  CHECK(story.found() == "V3");
}

TEST_CASE("a delivery or a view after the end is found (V5)") {
  Story story;
  story.found_all();
  story.history.on_end(1);
  story.deliver(1, 0, story.message(0), 0);
  CHECK(story.found() == "V5");
}

TEST_CASE("a delivery before the newcomer's state is found, one behind it is honest (J1)") {
  for (const bool loaded : {true, false}) {
    Story story;
    story.install(0, story.view(0, {0, 1}));
    story.install(1, story.view(0, {0, 1}));
    const auto payload = story.message(0);
    story.deliver(0, 0, payload, 0);
    story.deliver(1, 0, payload, 0);
    const View next = story.view(1, {0, 1, 2});
    const auto state = story.history.save_state(0, 0);
    for (std::uint32_t i = 0; i < 2; ++i) story.history.on_view(i, {next, {NodeId(2)}, {}, {}, {}}, {false});
    story.install(2, next, {}, true);
    if (loaded) story.history.load_state(2, 0, state);
    story.deliver(2, 1, story.message(1), 0);
    CHECK(story.found() == (loaded ? "nothing" : "J1"));
  }
}

TEST_CASE("a state with one wrong byte is found (J1)") {
  Story story;
  story.found_all();
  auto state = story.history.save_state(0, 0);
  state.back() ^= std::byte{1};
  story.history.load_state(1, 0, state);
  CHECK(story.found() == "J1");
}

TEST_CASE("a message of one that is gone, delivered in a later view, is found (M6)") {
  Story story;
  story.found_all();
  const auto payload = story.message(2);
  story.history.blame(2);
  story.install(0, story.view(1, {0, 1}), {{NodeId(2), "silent"}});
  story.deliver(0, 2, payload, 0);
  CHECK(story.found() == "M6");
}

// Node 2 comes in view 1 and loads the state; the member that had it dies before it has.
TEST_CASE("a state that is lost and not told, or told though nobody ever had it, is found (J1)") {
  const auto lose = [](std::vector<SubgroupId> told) {
    Story story;
    for (std::uint32_t i = 0; i < 2; ++i) story.install(i, story.view(0, {0, 1}));
    for (std::uint32_t i = 0; i < 3; ++i) story.history.blame(i);
    for (std::uint32_t i = 0; i < 3; ++i) story.install(i, story.view(1, {0, 1, 2}), {}, i == 2, {}, {NodeId(2)});
    story.history.on_end(0);
    story.history.on_end(1);
    story.install(2, story.view(2, {2}), {{NodeId(0), "crashed"}, {NodeId(1), "crashed"}}, false, std::move(told));
    return story.found();
  };
  CHECK(lose({SubgroupId(0)}) == "nothing");
  CHECK(lose({}) == "J1");

  Plan large = three_nodes();
  large.subgroups[0].minimum = 3;
  Story never(large);
  for (std::uint32_t i = 0; i < 2; ++i) never.install(i, never.view(0, {0, 1}));
  never.install(0, never.view(1, {0, 1, 2}), {}, false, {SubgroupId(0)}, {NodeId(2)});
  CHECK(never.found() == "J1");
}

TEST_CASE("a message that one gets in the view in which it was sent and another in the next is found (M6)") {
  Story story(three_nodes(DeliveryMode::unordered));
  story.found_all();
  const auto payload = story.message(0);
  story.deliver(0, 0, payload, 0);
  story.install(1, story.view(1, {0, 1, 2}));
  story.deliver(1, 0, payload, 0);
  CHECK(story.found() == "M6");
}

TEST_CASE("a message that is delivered before its view began is found (M6)") {
  Story story;
  story.found_all();
  story.install(0, story.view(1, {0, 1, 2}));
  story.deliver(1, 0, story.message(0), 0);
  CHECK(story.found() == "M6");
}

TEST_CASE("a message sent again in the next view is delivered there by all (M6)") {
  Story story;
  story.found_all();
  const auto payload = story.message(0);
  for (std::uint32_t i = 0; i < 3; ++i) story.install(i, story.view(1, {0, 1, 2}));
  for (std::uint32_t i = 0; i < 3; ++i) story.deliver(i, 0, payload, 0);
  CHECK(story.found() == "nothing");
}

TEST_CASE("an unordered delivery with a place in the order is found in runs with views too (M11)") {
  Story story(three_nodes(DeliveryMode::unordered));
  story.found_all();
  story.deliver(1, 0, story.message(0), 3);
  CHECK(story.found() == "M11");
}

TEST_CASE("a newcomer that begins in the middle of its view is found (J2)") {
  Story story(three_nodes(DeliveryMode::ordered, 0));
  for (std::uint32_t i = 0; i < 2; ++i) story.install(i, story.view(0, {0, 1}));
  const View next = story.view(1, {0, 1, 2});
  for (std::uint32_t i = 0; i < 2; ++i) story.history.on_view(i, {next, {NodeId(2)}, {}, {}, {}}, {false});
  story.install(2, next);
  const auto first = story.message(0);
  const auto second = story.message(1);
  story.deliver(0, 0, first, 0);
  story.deliver(0, 1, second, 1);
  story.deliver(2, 1, second, 1);
  CHECK(story.found() == "J2");
}

TEST_CASE("a member that leaves without what the others deliver is found, before and after they go on (M7)") {
  for (const bool leaves_first : {true, false}) {
    Story story;
    story.found_all();
    const auto payload = story.message(0);
    story.deliver(0, 0, payload, 0);
    story.deliver(1, 0, payload, 0);
    if (leaves_first) story.history.check_left(2);
    story.history.blame(2);
    story.install(0, story.view(1, {0, 1}), {{NodeId(2), "it left"}});
    if (!leaves_first) story.history.check_left(2);
    CHECK(story.found() == "M7");
  }
}

TEST_CASE("a member that leaves before its message is delivered is found (M8)") {
  Story story;
  story.found_all();
  const auto payload = story.message(0);
  story.deliver(1, 0, payload, 0);
  story.history.check_left(0);
  CHECK(story.found() == "nothing");
  static_cast<void>(story.message(0));
  story.history.check_left(0);
  CHECK(story.found() == "M8");
}

TEST_CASE("a state that was saved for a view that ended is found (J3)") {
  Story story;
  for (std::uint32_t i = 0; i < 2; ++i) story.install(i, story.view(0, {0, 1}));
  const auto state = story.history.save_state(0, 0);  // for view 1, whose newcomer is node 2
  for (const std::uint64_t id : {1U, 2U}) {
    const View next = story.view(id, {0, 1, 2});
    for (std::uint32_t i = 0; i < 2; ++i) {
      story.history.on_view(i, {next, id == 1 ? std::vector{NodeId(2)} : std::vector<NodeId>{}, {}, {}, {}}, {false});
    }
    story.install(2, next, {}, true);
  }
  CHECK(story.found() == "nothing");
  story.history.load_state(2, 0, state);
  CHECK(story.found() == "J3");
}

TEST_CASE("a transfer that outlives its view is found (J3)") {
  Story story;
  story.found_all();
  story.history.check_transfer(2, ViewId(0));
  CHECK(story.found() == "nothing");
  story.install(2, story.view(1, {0, 1, 2}));
  story.history.check_transfer(2, ViewId(0));
  CHECK(story.found() == "J3");
}

TEST_CASE("a state that members take along when they leave is found (J6)") {
  for (const bool fails : {true, false}) {
    Story story;
    for (std::uint32_t i = 0; i < 2; ++i) story.install(i, story.view(0, {0, 1}));
    for (std::uint32_t i = 0; i < 3; ++i) story.install(i, story.view(1, {0, 1, 2}), {}, i == 2, {}, {NodeId(2)});
    REQUIRE(story.found() == "nothing");
    std::vector<views::Removal> failed;
    if (fails) failed.push_back({NodeId(1), "it gave no sign of life", std::nullopt});
    for (const std::uint32_t leaver : {0U, 1U}) story.history.blame(leaver);
    std::vector<NodeId> left{NodeId(0)};
    if (!fails) left.emplace_back(1);
    story.history.on_view(2, {story.view(2, {2}), {}, left, failed, {SubgroupId(0)}}, {false});
    CHECK(story.found() == (fails ? "nothing" : "J6"));
  }
}

TEST_CASE("a member that is to load a state that it has is found (J3)") {
  Story story;
  story.found_all();
  story.install(1, story.view(1, {0, 1, 2}), {}, true);
  CHECK(story.found() == "J3");
}

}  // namespace spindrift::sim
