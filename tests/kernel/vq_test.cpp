// The core by itself: what a device could do at the worst moment, and a pair's way from one physical queue pair to another.
#include <catch2/catch.hpp>

#include <array>
#include <cstring>
#include <vector>

#include <spindrift/kernel/vq.h>

namespace {

constexpr std::uint32_t depth = 8;

struct World {
  struct Posted {
    vq_physical* physical;
    vq_request request;
    std::uint64_t id;
    bool signaled;
    vq_header header;
  };

  World() {
    const vq_world world{.context = this,
                         .local_allowed = [](void*, const vq_pair*, const vq_request*) { return 1; },
                         .remote_allowed = [](void* self, const vq_pair*,
                                              const vq_request*) { return static_cast<World*>(self)->remote_allowed; },
                         .post = take,
                         .node = 3,
                         .start = 4,
                         .message_bytes_max = 100,
                         .metadata_bytes = 0};
    vq_pool_init(&pool, &world, pairs.data(), static_cast<std::uint32_t>(pairs.size()));
    for (std::size_t i = 0; i < physicals.size(); ++i)
      vq_physical_init(&physicals[i], slots[i].data(), depth, i != 2, nullptr);
    vq_completions_init(&completions, ring.data(), static_cast<std::uint32_t>(ring.size()));
  }

  static std::uint32_t take(void* self, vq_physical* physical, const vq_posted* list, std::uint32_t count) {
    auto& world = *static_cast<World*>(self);
    std::uint32_t taken = 0;
    for (; taken < count && world.room > 0; ++taken, --world.room) {
      const vq_posted& one = list[taken];
      world.posted.push_back({physical, *one.request, one.id, one.signaled != 0, {}});
      if (one.request->operation == VQ_SEND) world.posted.back().header = one.header;
    }
    return taken;
  }

  std::uint64_t bound(std::size_t physical, std::uint32_t peer = 1, std::uint32_t flags = 0) {
    const std::uint64_t pair = vq_create(&pool, &completions, flags);
    const std::size_t place = static_cast<std::uint32_t>(pair);
    REQUIRE(vq_bind(&pool, pair, &physicals[physical], peer, 500, 1, messages[place].data(), 4) == 0);
    return pair;
  }
  std::int32_t post(std::uint64_t pair, std::vector<std::uint64_t> ids, std::uint16_t operation = VQ_WRITE,
                    std::uint16_t flags = VQ_SIGNALED) {
    std::vector<vq_request> list;
    for (const std::uint64_t id : ids) {
      list.push_back({});
      list.back().wr_id = id;
      list.back().operation = operation;
      list.back().flags = flags;
    }
    std::uint32_t at = 0;
    return vq_post(&pool, pair, list.data(), static_cast<std::uint32_t>(list.size()), &at);
  }
  void complete(const Posted& one, vq_status status = VQ_DONE) {
    vq_on_completion(&pool, one.physical, one.id, static_cast<std::uint8_t>(status));
  }
  std::vector<std::uint64_t> told() {
    std::vector<std::uint64_t> ids;
    vq_completion one{};
    while (vq_take(&completions, &one, 1) == 1)
      ids.push_back(one.status == VQ_DONE ? one.wr_id : one.wr_id + 1000 * one.status);
    return ids;
  }
  [[nodiscard]] std::vector<std::uint64_t> on_the_wire(std::size_t from) const {
    std::vector<std::uint64_t> ids;
    for (std::size_t i = from; i < posted.size(); ++i) ids.push_back(posted[i].request.wr_id);
    return ids;
  }
  [[nodiscard]] vq_header header(std::uint64_t pair, std::uint64_t sequence) const {
    vq_header header{};
    header.magic = VQ_MAGIC;
    header.version = VQ_HEADER_VERSION;
    header.kind = VQ_KIND_DATA;
    header.to = pair;
    header.from = 500;
    header.sequence = sequence;
    header.window = 4;
    return header;
  }
  vq_verdict hear(std::uint64_t pair, std::uint64_t sequence, std::uint64_t buffer = 0, vq_kind kind = VQ_KIND_DATA) {
    vq_header one = header(pair, sequence);
    one.kind = static_cast<std::uint8_t>(kind);
    return vq_on_message(&pool, &physicals[0], buffer, reinterpret_cast<const unsigned char*>(&one), sizeof one);
  }

  std::array<vq_pair, 6> pairs{};
  std::array<std::array<vq_slot, depth>, 3> slots{};
  std::array<vq_physical, 3> physicals{};  ///< the last without order
  std::array<std::array<vq_message, 4>, 6> messages{};
  std::array<vq_completion, 64> ring{};
  vq_completions completions{};
  vq_pool pool{};
  std::vector<Posted> posted;
  std::uint32_t room = 1000;
  int remote_allowed = 1;
};

using Ids = std::vector<std::uint64_t>;

}  // namespace

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
    taken.consumed = vq_find(&world.pool, pair)->sent;
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
  CHECK(vq_find(&world.pool, pair)->under_way == 1);
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
