// The core by itself: messages, what they say of each other, and how long they keep their places.
#include "vq_fixture.hpp"

using namespace core_alone;

TEST_CASE("a fence that the device had no room for is owed still") {
  World world;
  const std::uint64_t pair = world.bound(0);
  CHECK(world.post(pair, {1}) == 1);
  CHECK(vq_move(&world.pool, pair, &world.physicals[1], 9, 1) == 0);
  CHECK(vq_pay(&world.pool, pair) == 1);  // it waits for what is under way
  world.room = 0;
  world.complete(world.posted[0]);
  CHECK(vq_pay(&world.pool, pair) == 1);
  world.room = 10;
  CHECK(vq_pay(&world.pool, pair) == 0);
  REQUIRE(world.posted.size() == 2);
  CHECK(world.posted[1].header.kind == VQ_KIND_FENCE);
  world.complete(world.posted[1]);
  CHECK(world.hear(pair, 1, 0, VQ_KIND_FENCED) == VQ_DROPPED);
  CHECK(vq_find(&world.pool, pair)->physical == &world.physicals[1]);
}

TEST_CASE("a pair that gave up its move is not moved by the answer that comes late, nor is its next move") {
  World world;
  const std::uint64_t pair = world.bound(0);
  CHECK(vq_move(&world.pool, pair, &world.physicals[1], 9, 1) == 0);
  REQUIRE(world.posted.size() == 1);
  world.complete(world.posted[0]);
  CHECK(world.post(pair, {1}) == 0);
  vq_stay(&world.pool, pair);
  CHECK(world.post(pair, {1}) == 1);
  CHECK(vq_move(&world.pool, pair, &world.physicals[1], 9, 1) == 0);
  world.complete(world.posted[1]);
  REQUIRE(world.posted.size() == 3);
  CHECK(world.posted[2].header.kind == VQ_KIND_FENCE);
  CHECK(world.posted[2].header.sequence == 2);
  world.complete(world.posted[2]);
  CHECK(world.hear(pair, 1, 0, VQ_KIND_FENCED) == VQ_DROPPED);  // says nothing of what was posted since
  CHECK(vq_find(&world.pool, pair)->physical == &world.physicals[0]);
  CHECK(world.hear(pair, 3, 0, VQ_KIND_FENCED) == VQ_DROPPED);  // of a fence that there was not
  CHECK(world.pool.rejected == 1);
  CHECK(world.hear(pair, 2, 0, VQ_KIND_FENCED) == VQ_DROPPED);
  CHECK(vq_find(&world.pool, pair)->physical == &world.physicals[1]);
}

TEST_CASE("a fence that was heard before does not take the place of a later one") {
  World world;
  const std::uint64_t pair = world.bound(0);
  CHECK(world.hear(pair, 2, 0, VQ_KIND_FENCE) == VQ_DROPPED);
  CHECK(world.hear(pair, 1, 0, VQ_KIND_FENCE) == VQ_DROPPED);
  CHECK(vq_pay(&world.pool, pair) == 0);
  REQUIRE(world.posted.size() == 1);
  CHECK(world.posted[0].header.kind == VQ_KIND_FENCED);
  CHECK(world.posted[0].header.sequence == 2);
}

TEST_CASE("messages that overtake each other on the way are taken in their order, each once") {
  World world;
  const std::uint64_t pair = world.bound(0);
  CHECK(world.hear(pair, 2, 12) == VQ_KEPT);
  CHECK(vq_next_message(&world.pool, pair) == nullptr);
  CHECK(world.hear(pair, 1, 11) == VQ_KEPT);
  CHECK(world.hear(pair, 1, 91) == VQ_DROPPED);
  CHECK(vq_next_message(&world.pool, pair)->buffer == 11);
  vq_consume(&world.pool, pair);
  CHECK(vq_next_message(&world.pool, pair)->buffer == 12);
  CHECK(world.hear(pair, 5, 15) == VQ_KEPT);  // in the first one's place
  CHECK(world.hear(pair, 1, 91) == VQ_DROPPED);
  vq_consume(&world.pool, pair);
  CHECK(world.hear(pair, 3, 13) == VQ_KEPT);
  CHECK(world.hear(pair, 4, 14) == VQ_KEPT);
  for (const std::uint64_t buffer : {13U, 14U, 15U}) {
    CHECK(vq_next_message(&world.pool, pair)->buffer == buffer);
    vq_consume(&world.pool, pair);
  }
  CHECK(world.pool.rejected == 0);
}

TEST_CASE("more than the window is refused, and so is a message from before a pair's number was used again") {
  World world;
  const std::uint64_t pair = world.bound(0);
  CHECK(world.hear(pair, 4) == VQ_KEPT);
  CHECK(world.hear(pair, 5) == VQ_DROPPED);
  CHECK(world.pool.rejected == 1);
  CHECK(vq_close(&world.pool, pair) == 0);
  const std::uint64_t next = world.bound(0);
  CHECK(static_cast<std::uint32_t>(next) == static_cast<std::uint32_t>(pair));
  CHECK(world.hear(pair, 1) == VQ_DROPPED);
  CHECK(world.post(pair, {1}) == VQ_BAD_PAIR);
  CHECK(world.hear(next, 1) == VQ_KEPT);
}

TEST_CASE("large messages that their peers do not take, and what is behind them, leave half the space to the others") {
  World world;
  std::vector<std::uint64_t> lazy;
  for (int i = 0; i < 5; ++i) lazy.push_back(world.bound(0));
  const std::uint64_t other = world.bound(0);
  for (const std::uint64_t pair : lazy) {
    world.post(pair, {1}, VQ_SEND, VQ_SIGNALED | VQ_LARGE);
    world.post(pair, {2, 3, 4, 5, 6, 7, 8});
  }
  CHECK(world.physicals[0].under_way >= depth / 2);
  for (const auto& posted : std::vector(world.posted)) world.complete(posted);
  const std::size_t before = world.posted.size();
  for (std::uint64_t i = 0; i < 20; ++i) {
    CHECK(world.post(other, {100 + i}) == 1);
    world.complete(world.posted.back());
  }
  CHECK(world.posted.size() == before + 20);
  for (const std::uint64_t pair : lazy) {
    vq_header taken = world.header(pair, 1);
    taken.consumed = vq_find(&world.pool, pair)->flow.sent;
    CHECK(vq_on_message(&world.pool, &world.physicals[0], 0, reinterpret_cast<const unsigned char*>(&taken), sizeof taken) ==
          VQ_KEPT);
  }
  CHECK(world.physicals[0].under_way == 0);
  CHECK(world.physicals[0].held == 0);
  CHECK(world.told().size() == world.posted.size());
}

TEST_CASE("credits use up no space behind a large message that the peer does not take") {
  World world;
  const std::uint64_t pair = world.bound(0);
  CHECK(world.post(pair, {1}, VQ_SEND, VQ_SIGNALED | VQ_LARGE) == 1);
  world.complete(world.posted[0]);
  for (std::uint64_t sequence = 1; sequence <= 40; ++sequence) {
    CHECK(world.hear(pair, sequence) == VQ_KEPT);
    vq_consume(&world.pool, pair);
    CHECK(vq_pay(&world.pool, pair) == 0);
    world.complete(world.posted.back());
  }
  CHECK(world.posted.size() > 20);
  CHECK(world.physicals[0].under_way == 1);
  CHECK(vq_find(&world.pool, pair)->slots.count == 1);
  vq_header taken = world.header(pair, 41);
  taken.consumed = 1;
  CHECK(vq_on_message(&world.pool, &world.physicals[0], 0, reinterpret_cast<const unsigned char*>(&taken), sizeof taken) ==
        VQ_KEPT);
  CHECK(world.told() == Ids{1});
}

TEST_CASE("a credit between requests leaves their order as it is") {
  World world;
  const std::uint64_t pair = world.bound(2);
  CHECK(world.post(pair, {1}) == 1);
  CHECK(world.hear(pair, 1) == VQ_KEPT);
  vq_consume(&world.pool, pair);
  CHECK(vq_pay(&world.pool, pair) == 0);
  CHECK(world.post(pair, {2}) == 1);
  CHECK(world.hear(pair, 2) == VQ_KEPT);
  CHECK(world.hear(pair, 3) == VQ_KEPT);
  vq_consume(&world.pool, pair);
  vq_consume(&world.pool, pair);
  CHECK(vq_pay(&world.pool, pair) == 0);
  REQUIRE(world.posted.size() == 4);
  world.complete(world.posted[1]);
  world.complete(world.posted[3]);  // the last of the pair
  CHECK(world.post(pair, {3}) == 1);
  for (const std::size_t at : {4U, 2U, 0U}) world.complete(world.posted[at]);
  CHECK(world.told() == Ids{1, 2, 3});
  CHECK(world.physicals[2].under_way == 0);
}

TEST_CASE("a stranger's word is its first message, for it has heard of no window yet") {
  World world;
  vq_header one = world.header(1, 2);
  one.hello = 1;
  const auto heard = [&] {
    return vq_on_message(&world.pool, &world.physicals[0], 0, reinterpret_cast<const unsigned char*>(&one), sizeof one);
  };
  CHECK(heard() == VQ_DROPPED);
  CHECK(world.pool.rejected == 1);
  one.sequence = 1;
  CHECK(heard() == VQ_STRANGER);
}

TEST_CASE("a credit that did not go is owed still") {
  World world;
  const std::uint64_t pair = world.bound(0);
  CHECK(world.hear(pair, 1) == VQ_KEPT);
  vq_consume(&world.pool, pair);
  world.room = 0;
  CHECK(world.post(pair, {1}, VQ_SEND) == 0);  // would have told
  CHECK(vq_pay(&world.pool, pair) == 1);
  world.room = 10;
  CHECK(vq_pay(&world.pool, pair) == 0);
  REQUIRE(world.posted.size() == 1);
  CHECK(world.posted[0].header.kind == VQ_KIND_CREDIT);
  CHECK(world.posted[0].header.consumed == 1);
  CHECK(vq_pay(&world.pool, pair) == 0);
  CHECK(world.posted.size() == 1);
  world.complete(world.posted[0]);
  CHECK(world.told().empty());
}
