// The core stepped through every short sequence of what can happen to one pair's work: posts, completions, faults, and the
// way to another queue pair. Whatever comes, requests are told once, in the order of their posts, and no space is lost.
#include "vq_fixture.hpp"

#include <algorithm>
#include <cmath>
#include <span>

using namespace core_alone;

namespace {

enum class Step : std::uint8_t { write, read, complete, flush_newest, fault, carry, crowd, tight, steps };

/// One pair, which begins on the first queue pair, and another on the second that takes its room.
struct Steps : World {
  void take(Step step) {
    switch (step) {
      case Step::write: return request(VQ_WRITE);
      case Step::read: return request(VQ_READ);
      case Step::complete: return complete_oldest();
      case Step::flush_newest: return flush_newest();
      case Step::fault: return fault();
      case Step::carry: return carry();
      case Step::crowd: return crowd();
      case Step::tight: room = room == 1 ? 1000 : 1; return;
      case Step::steps: return;
    }
  }

  void request(std::uint16_t operation) {
    if (post(pair, {next}, operation) == 1) taken.push_back(next++);
  }
  vq_physical* here() { return vq_find(&pool, pair)->physical; }
  std::vector<Posted> live() {
    std::vector<Posted> live;
    for (const Posted& one : posted) {
      const vq_slot& slot = one.physical->slots[static_cast<std::uint32_t>(one.id)];
      if (slot.state == VQ_SLOT_POSTED && slot.turn == one.id >> 32) live.push_back(one);
    }
    return live;
  }
  void complete_oldest() {
    if (const auto all = live(); !all.empty()) complete(all.front());
  }
  /// An ordered queue pair says it of the last that it has; then all before are done.
  void flush_newest() {
    if (const auto all = live(); !all.empty()) complete(all.back(), VQ_FLUSHED);
  }
  void fault() {
    vq_on_broken(&pool, here());
    static_cast<void>(vq_replay(&pool, here(), here(), 0));
  }
  void carry() {
    vq_physical* const from = here();
    vq_physical* const to = from == &physicals[0] ? &physicals[1] : &physicals[0];
    vq_on_broken(&pool, from);
    if (vq_replay(&pool, from, to, 1) == 0) from->state = VQ_PHYSICAL_READY;
  }
  void crowd() {
    for (std::uint64_t id = 5000; id < 5003; ++id) static_cast<void>(post(other, {id}));
  }

  /// Everything that is still to happen happens.
  void drain() {
    room = 1000;
    for (int pass = 0; pass < 40; ++pass) {
      for (vq_physical& physical : std::span(physicals).first(2)) {
        vq_end_wait(&physical);
        static_cast<void>(vq_replay(&pool, &physical, &physical, 0));
      }
      complete_oldest();
    }
  }
  void check_told() {
    for (const std::uint64_t id : World::told()) {
      if (id < 5000) all_told.push_back(id);
    }
    REQUIRE(all_told.size() <= taken.size());
    REQUIRE(std::equal(all_told.begin(), all_told.end(), taken.begin()));
  }

  const std::uint64_t pair = bound(0);
  const std::uint64_t other = bound(1, 2);
  std::uint64_t next = 1;
  Ids taken, all_told;
};

}  // namespace

TEST_CASE(
    "through every short sequence of posts, completions, faults and carriages each request is told once and in order") {
  constexpr auto kinds = static_cast<unsigned>(Step::steps);
  constexpr unsigned length = 6;
  const auto sequences = static_cast<unsigned>(std::pow(kinds, length));
  for (unsigned sequence = 0; sequence < sequences; ++sequence) {
    Steps steps;
    CAPTURE(sequence);
    steps.take(Step::write);
    for (unsigned left = sequence, i = 0; i < length; ++i, left /= kinds) {
      steps.take(static_cast<Step>(left % kinds));
      steps.check_told();
    }
    steps.drain();
    const bool failed = vq_find(&steps.pool, steps.pair)->state == VQ_PAIR_FAILED;
    if (failed) continue;  // something later was done before what was flushed, and its user is told
    steps.check_told();
    REQUIRE(steps.all_told == steps.taken);
    REQUIRE(vq_find(&steps.pool, steps.pair)->slots.count == 0);
    REQUIRE(steps.physicals[0].pairs + steps.physicals[1].pairs == 2);
    for (const vq_physical& physical : steps.physicals) REQUIRE(physical.under_way + physical.held == 0);
    REQUIRE(steps.completions.reserved == 0);
  }
}

TEST_CASE("an unsignaled request that fails is told, and one that does not is not") {
  World world;
  const std::uint64_t pair = world.bound(0);
  CHECK(world.post(pair, {1, 2, 3}, VQ_WRITE, 0) == 3);
  world.complete(world.posted[0]);
  CHECK(world.told().empty());
  world.complete(world.posted[1], VQ_ACCESS_REFUSED);
  CHECK(world.told() == Ids{2 + 1000 * VQ_ACCESS_REFUSED});
}

TEST_CASE("a range that wraps around is refused, here and at the peer") {
  World world;
  const std::uint64_t pair = world.bound(0);
  vq_request request{};
  request.operation = VQ_WRITE;
  request.bytes = 16;
  request.remote = UINT64_MAX - 15;
  CHECK(vq_post(&world.pool, pair, &request, 1, nullptr) == VQ_BAD_OPERATION);
  request.remote = 0;
  request.local = UINT64_MAX - 15;
  CHECK(vq_post(&world.pool, pair, &request, 1, nullptr) == VQ_BAD_OPERATION);
  request.local = UINT64_MAX - 16;
  request.remote = UINT64_MAX - 16;
  CHECK(vq_post(&world.pool, pair, &request, 1, nullptr) == 1);
}

TEST_CASE("the first failure of a pair is the one that is told") {
  World world;
  const std::uint64_t pair = world.bound(0);
  vq_fail(&world.pool, pair, VQ_ACCESS_REFUSED);
  vq_fail(&world.pool, pair, VQ_PEER_LOST);
  CHECK(vq_find(&world.pool, pair)->status == VQ_ACCESS_REFUSED);
}

TEST_CASE("news of what was consumed never takes back what was told before") {
  World world;
  const std::uint64_t pair = world.bound(0);
  vq_header header = world.header(pair, 1);
  const auto hear = [&] {
    return vq_on_message(&world.pool, &world.physicals[0], 0, reinterpret_cast<const unsigned char*>(&header),
                         sizeof header);
  };
  CHECK(world.post(pair, {1}, VQ_SEND) == 1);
  header.consumed = 1;
  CHECK(hear() == VQ_KEPT);
  CHECK(world.post(pair, {2, 3, 4, 5, 6}, VQ_SEND) == 4);  // as many as the window that the message told
  header.sequence = 2;
  header.consumed = 0;
  CHECK(hear() == VQ_KEPT);
  CHECK(vq_find(&world.pool, pair)->flow.consumed_by_peer == 1);
  header.sequence = 3;
  header.consumed = 6;
  CHECK(hear() == VQ_DROPPED);  // more than was sent
  CHECK(world.pool.rejected == 1);
  header.consumed = 5;
  CHECK(hear() == VQ_KEPT);
  CHECK(world.post(pair, {7}, VQ_SEND) == 1);
}

TEST_CASE("a large message that is carried to another queue pair is held there, and no longer where it was") {
  World world;
  const std::uint64_t pair = world.bound(0);
  CHECK(world.post(pair, {1}, VQ_SEND, VQ_SIGNALED | VQ_LARGE) == 1);
  REQUIRE(world.physicals[0].held == 1);
  vq_on_broken(&world.pool, &world.physicals[0]);
  CHECK(vq_replay(&world.pool, &world.physicals[0], &world.physicals[1], 1) == 0);
  CHECK(world.physicals[0].held == 0);
  CHECK(world.physicals[1].held == 1);
  CHECK((world.physicals[0].pairs == 0 && world.physicals[1].pairs == 1));
}

TEST_CASE("while something waits to be posted again on a queue pair that broke, nobody's new requests go before it") {
  World world;
  const std::uint64_t first = world.bound(0);
  const std::uint64_t other = world.bound(0, 2);
  CHECK(world.post(first, {1, 2}) == 2);
  vq_on_broken(&world.pool, &world.physicals[0]);
  world.room = 1;
  CHECK(vq_replay(&world.pool, &world.physicals[0], &world.physicals[0], 0) == 1);
  world.room = 1000;
  CHECK(world.post(other, {3}) == 0);
  CHECK(vq_replay(&world.pool, &world.physicals[0], &world.physicals[0], 0) == 0);
  CHECK(world.post(other, {3}) == 1);
}

TEST_CASE("a message is as long as its header says, or none") {
  World world;
  std::array<unsigned char, sizeof(vq_header) + 32> bytes{};
  vq_header header = world.header(1, 1);
  header.bytes = 10;
  header.metadata_bytes = 6;
  header.hello = 1;
  std::memcpy(bytes.data(), &header, sizeof header);
  for (std::uint32_t more = 0; more <= 32; ++more) {
    vq_header copy{};
    CHECK(vq_read_header(bytes.data(), static_cast<std::uint32_t>(sizeof header) + more, &copy) == (more == 16));
  }
}
