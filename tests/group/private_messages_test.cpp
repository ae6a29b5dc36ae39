// Private messages on their way to the poller: in order, with their tags, never too large, and never more than there is room
// for.
#include <catch2/catch.hpp>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include <spindrift/core/bytes.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/group/private_messages.hpp>

using namespace spindrift;
using group::PrivateMessages;
using Outcome = PrivateMessages::Outcome;
using group::PrivateRoute;
using Way = PrivateRoute::Way;

namespace {

constexpr std::size_t large_bytes = PrivateMessages::window_bytes / 4 - PrivateMessages::room_beside_bytes;

PrivateRoute open_route(std::uint32_t connection = 1) { return {Way::open, fabric::PeerId(connection)}; }
PrivateMessages::Routes all_open() {
  return [](NodeId) { return open_route(); };
}
PrivateMessages::Routes all(const PrivateRoute& route) {
  return [route](NodeId) { return route; };
}

/// Takes messages of any size that the tests need.
struct Messages : PrivateMessages {
  Messages() { limit(2 * window_bytes); }
  /// Adds a message that takes a quarter of the window.
  Outcome add_large(NodeId to) { return try_add(to, std::vector<std::byte>(large_bytes - tag_bytes)); }
  /// The receiver tells that it has taken so many quarters of the window.
  bool told(NodeId from, std::uint64_t quarters, const PrivateRoute& route = open_route()) {
    return on_told(from, route, field_bytes(quarters * (window_bytes / 4), std::uint64_t{0}));
  }
};

}  // namespace

TEST_CASE("private messages are taken once, in order, each with its tag in front") {
  PrivateMessages messages;
  messages.limit(PrivateMessages::tag_bytes + 4);
  CHECK_FALSE(messages.any());
  CHECK(messages.try_add(NodeId(1), field_bytes(std::uint16_t{7})) == Outcome::taken);
  messages.add_answer(NodeId(1), PrivateMessages::of_replica(SubgroupId(4)), {});
  REQUIRE(messages.any());

  const auto taken = messages.take(all_open());
  CHECK_FALSE(messages.any());
  CHECK(messages.take(all_open()).empty());
  REQUIRE(taken.size() == 2);
  CHECK(taken[0].to == NodeId(1));
  const auto first = PrivateMessages::parse(taken[0].bytes);
  REQUIRE(first);
  CHECK(first->tag == PrivateMessages::of_application);
  CHECK(field_at_front<std::uint16_t>(first->bytes) == 7);
  const auto second = PrivateMessages::parse(taken[1].bytes);
  REQUIRE(second);
  CHECK(second->tag == 5);
  CHECK(second->bytes.empty());
}

TEST_CASE("a private message may be as large as the limit without the tag, and no larger") {
  PrivateMessages messages;
  messages.limit(PrivateMessages::tag_bytes + 2);
  CHECK(messages.bytes_max() == 2);
  CHECK(messages.try_add(NodeId(1), field_bytes(std::uint16_t{0})) == Outcome::taken);
  CHECK_THROWS_AS(messages.try_add(NodeId(1), field_bytes(std::uint16_t{0}, std::uint8_t{0})), Exception);
  CHECK_THROWS_AS(messages.add(NodeId(1), field_bytes(std::uint16_t{0}, std::uint8_t{0})), Exception);
  CHECK(messages.take(all_open()).size() == 1);
}

TEST_CASE("bytes without a whole tag are no private message, and no tag is of two kinds") {
  const std::array<std::byte, 7> cut_off{};
  CHECK_FALSE(PrivateMessages::parse(cut_off));
  CHECK_FALSE(PrivateMessages::queried(PrivateMessages::of_application));
  CHECK_FALSE(PrivateMessages::queried(PrivateMessages::of_flow));
  CHECK_FALSE(PrivateMessages::queried(PrivateMessages::of_query(SubgroupId(UINT32_MAX)) + 1));
  for (const SubgroupId id : {SubgroupId(0), SubgroupId(UINT32_MAX)}) {
    CHECK(PrivateMessages::of_replica(id) != PrivateMessages::of_application);
    CHECK(PrivateMessages::of_replica(id) != PrivateMessages::of_flow);
    CHECK(PrivateMessages::queried(PrivateMessages::of_query(id)) == id);
    CHECK_FALSE(PrivateMessages::queried(PrivateMessages::of_replica(id)));
  }
}

TEST_CASE("a receiver gets a window of private messages until it tells that it took them, and others go on") {
  Messages messages;
  for (int i = 0; i < 4; ++i) CHECK(messages.add_large(NodeId(1)) == Outcome::taken);
  CHECK(messages.add_large(NodeId(1)) == Outcome::full);
  CHECK(messages.add_large(NodeId(2)) == Outcome::taken);
  CHECK(messages.take(all_open()).size() == 5);
  CHECK(messages.add_large(NodeId(1)) == Outcome::full);
  CHECK(messages.told(NodeId(1), 1));
  CHECK(messages.add_large(NodeId(1)) == Outcome::taken);
  CHECK(messages.add_large(NodeId(1)) == Outcome::full);
  CHECK(messages.take(all_open()).size() == 1);
}

TEST_CASE("small private messages take room, too") {
  Messages messages;
  std::size_t taken = 0;
  while (messages.try_add(NodeId(1), {}) == Outcome::taken) ++taken;
  CHECK(taken == PrivateMessages::window_bytes / (PrivateMessages::room_beside_bytes + PrivateMessages::tag_bytes));
}

TEST_CASE("answers take their place without room, and are posted when there is some") {
  Messages messages;
  for (int i = 0; i < 6; ++i) messages.add_answer(NodeId(1), 1, std::vector<std::byte>(large_bytes - 8));
  CHECK(messages.add_large(NodeId(1)) == Outcome::full);
  CHECK(messages.take(all_open()).size() == 4);
  CHECK(messages.take(all_open()).empty());
  CHECK(messages.any());
  CHECK(messages.told(NodeId(1), 3));
  CHECK(messages.take(all_open()).size() == 2);
  CHECK_FALSE(messages.any());
}

TEST_CASE("too many answers that wait are known as such until they are posted or dropped") {
  Messages messages;
  const std::vector<std::byte> half(PrivateMessages::answers_bytes_max / 2);
  messages.limit(PrivateMessages::answers_bytes_max);
  messages.add_answer(NodeId(1), 1, half);
  CHECK_FALSE(messages.crowded());
  messages.add_answer(NodeId(1), 1, half);
  CHECK(messages.crowded());
  CHECK(messages.take(all_open()).size() == 1);  // what is larger than the window goes alone
  CHECK_FALSE(messages.crowded());
  messages.add_answer(NodeId(1), 1, half);
  CHECK(messages.crowded());
  CHECK(messages.take(all({})).empty());
  CHECK_FALSE(messages.crowded());
}

TEST_CASE("private messages wait for a member that is coming, and are dropped with one that is gone") {
  Messages messages;
  for (int i = 0; i < 4; ++i) CHECK(messages.add_large(NodeId(1)) == Outcome::taken);
  CHECK(messages.take(all({Way::shut})).empty());
  CHECK(messages.take(all({Way::shut, fabric::PeerId(1)})).empty());
  CHECK(messages.any());
  CHECK(messages.add_large(NodeId(1)) == Outcome::full);
  CHECK(messages.take(all({})).empty());
  CHECK_FALSE(messages.any());
  CHECK(messages.add_large(NodeId(1)) == Outcome::taken);
  CHECK(messages.take(all_open()).size() == 1);
}

TEST_CASE("a member that is gone needs no room, whether a message waits for it or not") {
  Messages messages;
  for (int i = 0; i < 4; ++i) CHECK(messages.add_large(NodeId(1)) == Outcome::taken);
  CHECK(messages.take(all_open()).size() == 4);
  Outcome outcome = Outcome::full;
  std::thread waiter([&] { outcome = messages.add(NodeId(1), std::vector<std::byte>(large_bytes - 8)); });
  messages.on_gone(NodeId(1));
  waiter.join();
  CHECK(outcome == Outcome::taken);
  messages.on_gone(NodeId(1));
  CHECK(messages.take(all_open()).empty());
  messages.on_gone(NodeId(7));  // nobody wrote to it
}

TEST_CASE("a new connection begins with all of its room") {
  Messages messages;
  for (int i = 0; i < 4; ++i) CHECK(messages.add_large(NodeId(1)) == Outcome::taken);
  CHECK(messages.take(all_open()).size() == 4);
  messages.add_answer(NodeId(1), 1, std::vector<std::byte>(large_bytes));
  CHECK(messages.take(all_open()).empty());
  CHECK(messages.take(all(open_route(2))).size() == 1);
  CHECK(messages.add_large(NodeId(1)) == Outcome::taken);
  CHECK_FALSE(messages.told(NodeId(1), 4, open_route(2)));
}

TEST_CASE("a receiver tells what it took by quarters of a window") {
  Messages sender;
  Messages receiver;
  for (int i = 0; i < 4; ++i) CHECK(sender.add_large(NodeId(1)) == Outcome::taken);
  for (const auto& message : sender.take(all_open())) receiver.on_taken(NodeId(0), open_route(), message.bytes.size() - 1);
  CHECK(receiver.any());
  const auto told = receiver.take(all({Way::shut, fabric::PeerId(1)}));  // the sender need not be ready for that
  REQUIRE(told.size() == 1);
  const auto parsed = PrivateMessages::parse(told[0].bytes);
  REQUIRE(parsed);
  CHECK(parsed->tag == PrivateMessages::of_flow);
  CHECK(sender.on_told(NodeId(1), open_route(), parsed->bytes));
  for (int i = 0; i < 3; ++i) CHECK(sender.add_large(NodeId(1)) == Outcome::taken);
  CHECK(sender.add_large(NodeId(1)) == Outcome::full);  // of the first four, four bytes are not told
  receiver.on_taken(NodeId(0), open_route(), 4);
  CHECK(receiver.take(all_open()).empty());
}

TEST_CASE("a receiver that tells of more than it was sent, or of nothing readable, is found out") {
  Messages messages;
  CHECK(messages.add_large(NodeId(1)) == Outcome::taken);
  CHECK_FALSE(messages.told(NodeId(1), 1));  // not posted yet
  CHECK(messages.take(all_open()).size() == 1);
  CHECK_FALSE(messages.told(NodeId(1), 2));
  CHECK_FALSE(messages.on_told(NodeId(1), open_route(), field_bytes(std::uint32_t{1})));
  CHECK_FALSE(messages.on_told(NodeId(1), open_route(), field_bytes(std::uint64_t{1})));
  CHECK_FALSE(messages.on_told(NodeId(1), open_route(), field_bytes(std::uint64_t{1}, std::uint64_t{2})));
  CHECK_FALSE(messages.on_told(NodeId(1), open_route(), field_bytes(std::uint64_t{1}, std::uint64_t{1})));  // nobody asked
  CHECK(messages.told(NodeId(1), 1));
}

TEST_CASE("who waits for room goes on when there is some, or when the application sends no more") {
  Messages messages;
  for (int i = 0; i < 4; ++i) CHECK(messages.add_large(NodeId(1)) == Outcome::taken);
  CHECK(messages.take(all_open()).size() == 4);
  Outcome first = Outcome::full;
  Outcome second = Outcome::full;
  std::thread waiter([&] { first = messages.add(NodeId(1), std::vector<std::byte>(large_bytes - 8)); });
  CHECK(messages.told(NodeId(1), 1));
  waiter.join();
  CHECK(first == Outcome::taken);
  std::thread last([&] { second = messages.add(NodeId(1), std::vector<std::byte>(large_bytes - 8)); });
  messages.close();
  last.join();
  CHECK(second == Outcome::closed);
  CHECK(messages.add_large(NodeId(2)) == Outcome::closed);
  std::thread poller([&] {
    CHECK(messages.take(all_open()).size() == 2);  // the one that waited, and the question what was taken
    messages.end();
  });
  messages.await_taken();
  poller.join();
  messages.add_answer(NodeId(1), 1, {});
  CHECK_FALSE(messages.any());
}

TEST_CASE("who sends no more is through when each receiver has taken all of it, and says so when it is asked") {
  Messages sender;
  Messages receiver;
  CHECK(sender.add_large(NodeId(1)) == Outcome::taken);
  const auto posted = sender.take(all_open());
  REQUIRE(posted.size() == 1);
  receiver.on_taken(NodeId(0), open_route(), posted[0].bytes.size());
  const auto by_itself = receiver.take(all_open());
  REQUIRE(by_itself.size() == 1);  // on its way when the sender closes: no answer to what it asks then
  CHECK(sender.try_add(NodeId(1), field_bytes(std::uint64_t{9})) == Outcome::taken);
  CHECK(sender.add_large(NodeId(2)) == Outcome::taken);
  sender.close();
  CHECK(sender.any());
  std::atomic<bool> through = false;
  std::thread waiter([&] {
    sender.await_taken();
    through = true;
  });
  const auto rest = sender.take([](NodeId node) { return node == NodeId(1) ? open_route() : PrivateRoute{Way::gone, {}}; });
  REQUIRE(rest.size() == 2);
  const auto question = PrivateMessages::parse(rest[1].bytes);
  REQUIRE(question);
  CHECK(question->tag == PrivateMessages::of_flow);
  CHECK(question->bytes.empty());
  CHECK(sender.take(all_open()).empty());  // asked once
  CHECK(sender.on_told(NodeId(1), open_route(), PrivateMessages::parse(by_itself[0].bytes)->bytes));
  CHECK_FALSE(through);
  receiver.on_taken(NodeId(0), open_route(), rest[0].bytes.size());
  receiver.on_asked(NodeId(0), open_route());
  const auto answer = receiver.take(all_open());
  REQUIRE(answer.size() == 1);
  CHECK(sender.on_told(NodeId(1), open_route(), PrivateMessages::parse(answer[0].bytes)->bytes));
  waiter.join();
  CHECK_FALSE(sender.on_told(NodeId(1), open_route(), field_bytes(std::uint64_t{0}, std::uint64_t{1})));  // once
}

TEST_CASE("who sends no more waits for nobody who is gone") {
  Messages sender;
  CHECK(sender.add_large(NodeId(1)) == Outcome::taken);
  CHECK(sender.take(all_open()).size() == 1);
  sender.close();
  CHECK(sender.take(all_open()).size() == 1);
  sender.on_gone(NodeId(1));
  sender.await_taken();
  CHECK(sender.take(all_open()).empty());
}
