// Private messages on their way to the poller: in order, with their tags, and never too large.
#include <catch2/catch.hpp>

#include <array>
#include <vector>

#include <spindrift/core/bytes.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/group/private_messages.hpp>

using namespace spindrift;
using group::PrivateMessages;

TEST_CASE("private messages are taken once, in order, each with its tag in front") {
  PrivateMessages messages;
  messages.limit(PrivateMessages::tag_bytes + 4);
  CHECK_FALSE(messages.any());
  messages.add(NodeId(1), PrivateMessages::of_application, field_bytes(std::uint16_t{7}));
  messages.add(NodeId(2), PrivateMessages::of_replica(SubgroupId(4)), {});
  REQUIRE(messages.any());

  const auto taken = messages.take();
  CHECK_FALSE(messages.any());
  CHECK(messages.take().empty());
  REQUIRE(taken.size() == 2);
  CHECK(taken[0].to == NodeId(1));
  const auto first = PrivateMessages::parse(taken[0].bytes);
  REQUIRE(first);
  CHECK(first->tag == PrivateMessages::of_application);
  CHECK(field_at_front<std::uint16_t>(first->bytes) == 7);
  CHECK(taken[1].to == NodeId(2));
  const auto second = PrivateMessages::parse(taken[1].bytes);
  REQUIRE(second);
  CHECK(second->tag == 5);
  CHECK(second->bytes.empty());
}

TEST_CASE("a private message may be as large as the limit without the tag, and no larger") {
  PrivateMessages messages;
  messages.limit(PrivateMessages::tag_bytes + 2);
  CHECK(messages.bytes_max() == 2);
  messages.add(NodeId(1), 0, field_bytes(std::uint16_t{0}));
  CHECK_THROWS_AS(messages.add(NodeId(1), 0, field_bytes(std::uint16_t{0}, std::uint8_t{0})), Exception);
  CHECK(messages.take().size() == 1);
}

TEST_CASE("bytes without a whole tag are no private message, and no replica has the application's tag") {
  const std::array<std::byte, 7> cut_off{};
  CHECK_FALSE(PrivateMessages::parse(cut_off));
  CHECK(PrivateMessages::of_replica(SubgroupId(0)) != PrivateMessages::of_application);
  CHECK(PrivateMessages::of_replica(SubgroupId(UINT32_MAX)) != PrivateMessages::of_application);
}
