// Strong ids mix with nothing but their own kind.
#include <catch2/catch.hpp>

#include <type_traits>
#include <unordered_set>

#include <spindrift/core/ids.hpp>

using namespace spindrift;

TEST_CASE("ids of different kinds do not convert, and numbers only on request") {
  STATIC_REQUIRE_FALSE(std::is_convertible_v<NodeId, Rank>);
  STATIC_REQUIRE_FALSE(std::is_constructible_v<Rank, NodeId>);
  STATIC_REQUIRE_FALSE(std::is_convertible_v<std::uint32_t, NodeId>);
  STATIC_REQUIRE_FALSE(std::is_convertible_v<NodeId, std::uint32_t>);
  STATIC_REQUIRE(std::is_trivially_copyable_v<NodeId>);
  STATIC_REQUIRE(sizeof(SequenceNumber) == 8);
}

TEST_CASE("ids start at zero, count up and are ordered by value") {
  MessageIndex index;
  CHECK(index.value() == 0);
  CHECK((++index).value() == 1);
  CHECK(MessageIndex(1) == index);
  CHECK(MessageIndex(0) < index);
}

TEST_CASE("ids can be keys of unordered containers") {
  const std::unordered_set<NodeId> nodes = {NodeId(1), NodeId(2), NodeId(1)};
  CHECK(nodes.size() == 2);
}
