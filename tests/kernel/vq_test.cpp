// The core by itself: what a device could do at the worst moment, and a pair's way from one physical queue pair to another.
#include "vq_fixture.hpp"

using namespace core_alone;

TEST_CASE(
    "requests without a signal do not use up the space: the last of a list is signaled to the device, not to the user") {
  World world;
  const std::uint64_t pair = world.bound(0);
  for (std::uint64_t round = 0; round < 50; ++round) {
    CHECK(world.post(pair, {1, 2, 3, 4, 5, 6}, VQ_WRITE, 0) == 6);
    CHECK(world.posted.back().signaled);
    world.complete(world.posted.back());
  }
  CHECK(world.told().empty());
  CHECK(world.physicals[0].under_way == 0);
  CHECK(world.completions.reserved == 0);
}

TEST_CASE("completions of nothing, of an earlier use of a slot, or said twice are strays") {
  World world;
  const std::uint64_t pair = world.bound(0);
  CHECK(world.post(pair, {1}) == 1);
  const World::Posted first = world.posted[0];
  world.complete(first);
  world.complete(first);
  CHECK(world.post(pair, {2}) == 1);
  CHECK(static_cast<std::uint32_t>(world.posted[1].id) == static_cast<std::uint32_t>(first.id));  // the same slot
  world.complete(first);
  vq_on_completion(&world.pool, &world.physicals[0], 1'000'000, VQ_DONE);
  CHECK(world.told() == Ids{1});
  CHECK(world.physicals[0].strays == 3);
  world.complete(world.posted[1]);
  CHECK(world.told() == Ids{2});
}

TEST_CASE("completions that come in any order are told in the order of posts") {
  World world;
  const std::uint64_t pair = world.bound(2);
  CHECK(world.post(pair, {1, 2, 3}) == 3);
  world.complete(world.posted[2]);
  world.complete(world.posted[1]);
  CHECK(world.told().empty());
  world.complete(world.posted[0]);
  CHECK(world.told() == Ids{1, 2, 3});
}

TEST_CASE("nothing is put behind what was flushed, and it is posted again in the first order") {
  World world;
  const std::uint64_t one = world.bound(0);
  const std::uint64_t two = world.bound(0);
  CHECK(world.post(one, {1}) == 1);
  CHECK(world.post(two, {11, 12}) == 2);
  CHECK(world.post(one, {2}) == 1);
  for (const auto& posted : std::vector(world.posted)) world.complete(posted, VQ_FLUSHED);
  CHECK(world.post(one, {3}) == 0);  // the device has not said yet that it is broken
  vq_on_broken(&world.pool, &world.physicals[0]);
  CHECK(world.post(one, {3}) == 0);
  CHECK(world.told().empty());
  world.room = 3;
  CHECK(vq_replay(&world.pool, &world.physicals[0], &world.physicals[0], 0) == 1);
  CHECK(world.post(one, {3}) == 0);
  world.room = 10;
  CHECK(vq_replay(&world.pool, &world.physicals[0], &world.physicals[0], 0) == 0);
  CHECK(world.on_the_wire(4) == Ids{1, 11, 12, 2});
  CHECK(world.post(one, {3}) == 1);
  world.complete(world.posted.back());
  CHECK(world.told() == Ids{1, 11, 12, 2, 3});
}

TEST_CASE("a device that breaks without a word about what was under way loses none of it") {
  World world;
  const std::uint64_t pair = world.bound(0);
  CHECK(world.post(pair, {1, 2}) == 2);
  vq_on_broken(&world.pool, &world.physicals[0]);
  CHECK(vq_replay(&world.pool, &world.physicals[0], &world.physicals[0], 0) == 0);
  CHECK(world.on_the_wire(2) == Ids{1, 2});
  world.complete(world.posted[0]);  // late, of the first time
  CHECK(world.told().empty());
  world.complete(world.posted.back());
  CHECK(world.told() == Ids{1, 2});
}

TEST_CASE("a pair of which something later is done than what was flushed fails: the earlier would undo the later") {
  World world;
  const std::uint64_t pair = world.bound(2);
  CHECK(world.post(pair, {1, 2}) == 2);
  world.complete(world.posted[1]);
  world.complete(world.posted[0], VQ_FLUSHED);
  vq_on_broken(&world.pool, &world.physicals[2]);
  CHECK(world.told() == Ids{1 + 1000 * VQ_FLUSHED, 2});
  CHECK(vq_replay(&world.pool, &world.physicals[2], &world.physicals[2], 0) == 0);
  CHECK(world.posted.size() == 2);
  CHECK(world.post(pair, {3}) == VQ_FAILED);
}

TEST_CASE("nothing is put behind what was flushed, though a credit was since") {
  World world;
  const std::uint64_t pair = world.bound(2);
  CHECK(world.post(pair, {1}) == 1);
  CHECK(world.hear(pair, 1) == VQ_KEPT);
  vq_consume(&world.pool, pair);
  CHECK(vq_pay(&world.pool, pair) == 0);  // the device has flushed 1, and nobody has been told
  REQUIRE(world.posted.size() == 2);
  world.complete(world.posted[0], VQ_FLUSHED);
  CHECK(world.post(pair, {2}) == 0);
  CHECK(vq_replay(&world.pool, &world.physicals[2], &world.physicals[2], 0) == 0);
  CHECK(world.post(pair, {2}) == 1);
  CHECK(world.on_the_wire(2) == Ids{1, 2});
  world.complete(world.posted[1]);
  world.complete(world.posted[2]);
  world.complete(world.posted[3]);
  CHECK(world.told() == Ids{1, 2});
}

TEST_CASE("what was flushed is posted again when it is known what became of all that was posted behind it") {
  World world;
  vq_physical* const shared = &world.physicals[2];
  const std::uint64_t pair = world.bound(2);
  CHECK(world.post(pair, {1, 2}) == 2);
  world.complete(world.posted[0], VQ_FLUSHED);
  CHECK(vq_replay(&world.pool, shared, shared, 0) == 1);
  CHECK(world.posted.size() == 2);
  const bool carried_out = GENERATE(false, true);
  world.complete(world.posted[1], carried_out ? VQ_DONE : VQ_FLUSHED);
  CHECK(vq_replay(&world.pool, shared, shared, 0) == 0);
  if (carried_out) {  // the earlier would undo the later
    CHECK(world.told() == Ids{1 + 1000 * VQ_FLUSHED, 2});
    CHECK(world.posted.size() == 2);
    CHECK(world.post(pair, {3}) == VQ_FAILED);
  } else {
    CHECK(world.on_the_wire(2) == Ids{1, 2});
    CHECK(world.post(pair, {3}) == 1);
  }
}

TEST_CASE("a lost peer fails its idle pairs too, before they break the queue pair again") {
  World world;
  const std::uint64_t busy = world.bound(0, 1);
  const std::uint64_t idle = world.bound(0, 1);
  const std::uint64_t other = world.bound(0, 2);
  CHECK(world.post(busy, {1}) == 1);
  world.complete(world.posted[0], VQ_PEER_LOST);
  CHECK(world.post(busy, {2}) == VQ_FAILED);
  CHECK(world.post(idle, {2}) == VQ_FAILED);
  CHECK(world.post(other, {2}) == 1);
}

TEST_CASE("a pair moves when nothing of it is under way, and takes nothing until then") {
  World world;
  const std::uint64_t pair = world.bound(0);
  CHECK(world.post(pair, {1}) == 1);
  CHECK(vq_move(&world.pool, pair, &world.physicals[1], 9, 0) == 0);
  CHECK(world.post(pair, {2}) == 0);
  CHECK(vq_move(&world.pool, pair, &world.physicals[2], 9, 0) == VQ_UNBOUND);  // one move at a time
  world.complete(world.posted[0]);
  CHECK(world.post(pair, {2}) == 1);
  CHECK(world.posted[1].physical == &world.physicals[1]);
  CHECK(world.physicals[0].pairs == 0);
  CHECK(world.physicals[1].pairs == 1);
  CHECK(vq_find(&world.pool, pair)->peer == 9);
}

TEST_CASE("what was flushed on a connected queue pair is carried over to another, before anything new") {
  World world;
  const std::uint64_t one = world.bound(0);
  const std::uint64_t two = world.bound(0);
  CHECK(world.post(one, {1, 2}) == 2);
  CHECK(world.post(two, {11}) == 1);
  for (const auto& posted : std::vector(world.posted)) world.complete(posted, VQ_FLUSHED);
  vq_on_broken(&world.pool, &world.physicals[0]);
  world.room = 1;
  CHECK(vq_replay(&world.pool, &world.physicals[0], &world.physicals[1], 7) == 2);
  CHECK(world.post(one, {3}) == 0);
  world.room = 10;
  CHECK(vq_replay(&world.pool, &world.physicals[0], &world.physicals[1], 7) == 0);
  CHECK(world.on_the_wire(3) == Ids{1, 2, 11});
  CHECK(world.post(one, {3}) == 1);
  for (std::size_t i = 3; i < world.posted.size(); ++i) {
    CHECK(world.posted[i].physical == &world.physicals[1]);
    world.complete(world.posted[i]);
  }
  CHECK(world.told() == Ids{1, 2, 11, 3});
  CHECK(world.physicals[0].under_way == 0);
  CHECK(world.physicals[0].pairs == 0);
  CHECK(world.physicals[1].under_way == 0);
}

TEST_CASE(
    "what is not known of the peer's memory is to be looked up, and what it has not is refused, before anything is posted") {
  World world;
  const std::uint64_t pair = world.bound(0);
  world.remote_allowed = -1;
  CHECK(world.post(pair, {1}) == VQ_LOOK_UP);
  world.remote_allowed = 0;
  CHECK(world.post(pair, {1}) == VQ_BAD_REMOTE);
  CHECK(world.posted.empty());
  CHECK(world.post(pair, {1}, VQ_SEND) == 1);
}
