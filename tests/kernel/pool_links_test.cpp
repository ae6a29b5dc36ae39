// The fabric over virtual queue pairs asks a pool for newcomers, for their messages in turn, and whether a process is there.
#include "pool_fixture.hpp"

using namespace spindrift;
using namespace spindrift::kernel;
using namespace spindrift::kernel::sim;

namespace {

std::string text_of(const std::optional<std::vector<std::byte>>& bytes) {
  return bytes ? std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size()) : "nothing";
}

PairId newcomer(Node& at) {
  const auto next = at.pool->next_accepted(Port(1));
  REQUIRE(next.ok());
  REQUIRE(*next);
  return **next;
}

}  // namespace

TEST_CASE("who is accepted is told once, and both sides take each other's messages pair by pair") {
  SimNetwork network(1);
  Node a(network, 0);
  Node b(network, 1);
  CHECK(b.pool->next_accepted(Port(1)).error().kind() == ErrorKind::group_closed);
  REQUIRE(b.pool->bind(Port(1), b.completions, 8).ok());
  const PairId one = a.pair(b);
  const PairId two = a.pair(b);
  CHECK(a.post(one, {a.send(a.put("one"))}) == 1);
  CHECK(a.post(two, {a.send(a.put("two", 8))}) == 1);
  settle(network, a, b);
  const PairId first = newcomer(b);
  const PairId second = newcomer(b);
  CHECK_FALSE(*b.pool->next_accepted(Port(1)));
  // In any order: one that takes nothing holds up nobody else.
  const bool crossed = text_of(b.pool->take_message(second)) == "one";
  CHECK(text_of(b.pool->take_message(first)) == (crossed ? "two" : "one"));
  CHECK(text_of(b.pool->take_message(first)) == "nothing");
  CHECK_FALSE(*b.pool->pop_message(Port(1)));
  CHECK(b.post(first, {b.send(b.put("answer"))}) == 1);
  settle(network, a, b);
  CHECK(text_of(a.pool->take_message(crossed ? two : one)) == "answer");
  CHECK(text_of(a.pool->take_message(crossed ? one : two)) == "nothing");
  for (int i = 0; i < 100; ++i) {  // more than a window: what is taken gives credit
    CHECK(a.post(one, {a.send(a.put("more"))}) == 1);
    settle(network, a, b);
    CHECK(text_of(b.pool->take_message(crossed ? second : first)) == "more");
    settle(network, a, b);
    a.take();
  }
}

TEST_CASE("a message that would have to be fetched fails its pair where none may be") {
  SimNetwork network(1);
  Node a(network, 0, {}, {.fetch_bytes_max = 0});
  Node b(network, 1);
  REQUIRE(b.pool->bind(Port(1), b.completions, 8).ok());
  const PairId pair = a.pair(b);
  CHECK(a.post(pair, {a.send(a.put("hello"))}) == 1);
  settle(network, a, b);
  const PairId accepted = newcomer(b);
  CHECK(text_of(b.pool->take_message(accepted)) == "hello");
  settle(network, a, b);
  CHECK(b.post(accepted, {b.send(std::span(b.memory).first(b.pool->message_bytes_max() + 1))}) == 1);
  settle(network, a, b);
  CHECK(text_of(a.pool->take_message(pair)) == "nothing");
  CHECK(a.pool->failure(pair) == OperationStatus::local_error);
}

TEST_CASE("memory of own requests alone is written from and read into, and no peer reaches it") {
  SimNetwork network(1);
  Node a(network, 0);
  Node b(network, 1);
  std::vector<std::byte> own(1 << 14, std::byte{5});
  const auto keys = a.pool->register_local(own);
  REQUIRE(keys.ok());
  REQUIRE(b.pool->bind(Port(1), b.completions, 8).ok());
  const PairId pair = a.pair(b);
  Request write = a.write(b, own, 0);
  write.local_memory = *keys;
  CHECK(a.post(pair, {write}) == 1);
  settle(network, a, b);
  CHECK(std::equal(own.begin(), own.end(), b.target.begin()));
  // A large message is one that the peer reads from there.
  Request large = a.send(std::span(own).first(a.pool->message_bytes_max() + 1));
  large.local_memory = *keys;
  CHECK(a.refused(pair, {large}) == ErrorKind::bad_argument);
  a.take();
  CHECK(a.pool->deregister(*keys).ok());
  CHECK(a.refused(pair, {write}) == ErrorKind::bad_argument);
}

TEST_CASE("a write that is news may be asked for, and nothing else") {
  SimNetwork network(1);
  Node a(network, 0);
  Node b(network, 1);
  const PairId pair = a.pair(b);
  Request write = a.write(b, a.put("news"), 0);
  write.news = true;
  CHECK(a.post(pair, {write}) == 1);
  Request read = a.read(b, std::span(a.memory).subspan(64, 8), 0);
  read.news = true;
  CHECK(a.refused(pair, {read}) == ErrorKind::bad_argument);
}

TEST_CASE("pairs of a process that started again are none that its peers' old ones may speak to") {
  SimNetwork network(1);
  auto id_of_first = [&](std::uint32_t start) {
    auto device = network.add();
    CompletionQueue completions(8);
    PoolOptions options;
    options.start = start;
    auto pool = Pool::open(*device, options);
    REQUIRE(pool.ok());
    return (*pool)->create(completions, {}).value();
  };
  CHECK(id_of_first(1) != id_of_first(2));
  CHECK(id_of_first(UINT32_MAX) != PairId());
}

TEST_CASE("a connected queue pair that breaks ends all pairs to its peer at once, if it is to be taken for the peer's end") {
  SimNetwork network(1);
  const bool is_loss = GENERATE(true, false);
  PoolOptions options;
  options.connected_max = 1;
  options.promote_posts = 1;
  options.sample_period = std::chrono::milliseconds(1);
  options.break_is_loss = is_loss;
  Node a(network, 0, {.proves = true}, options);
  Node b(network, 1, {.proves = true});
  Node c(network, 2, {.proves = true});
  REQUIRE(b.pool->bind(Port(1), b.completions, 8).ok());
  const PairId to_b = a.pair(b);
  const PairId also_to_b = a.pair(b);
  const PairId to_c = a.pair(c);
  CHECK(a.post(to_b, {a.write(b, a.put("talk"), 0)}) == 1);
  a.now += std::chrono::milliseconds(2);
  settle(network, a, b, c);
  REQUIRE(a.pool->counts().connected == 1);
  a.device->report(
      {.kind = PhysicalEvent::Kind::broken, .status = OperationStatus::done, .id = 0, .bytes = {}, .reason = "killed"});
  settle(network, a, b, c);
  CHECK(a.pool->failure(to_b).has_value() == is_loss);
  CHECK(a.pool->failure(also_to_b).has_value() == is_loss);
  CHECK_FALSE(a.pool->failure(to_c));
}

TEST_CASE("a call that is posted again after a fault reaches nobody whose pair was closed meanwhile") {
  std::uint32_t heard = 0;
  for (std::uint32_t seed = 0; seed < 40; ++seed) {
    SimNetwork network(seed);
    Node a(network, 0);
    Node b(network, 1);
    REQUIRE(b.pool->bind(Port(1), b.completions, 8).ok());
    const PairId pair = a.pair(b);
    CHECK(a.post(pair, {a.send(a.put("once"))}) == 1);
    a.device->break_down();  // which may have carried it out
    b.progress();
    PairId accepted;
    const bool came = b.pop(Port(1), &accepted) == "once";
    if (came) b.pool->close(accepted);
    heard += came ? 1 : 0;
    a.progress();  // before it hears what the other side has said to it
    settle(network, a, b);
    CAPTURE(seed, came);
    CHECK(b.pop() == (came ? "nothing" : "once"));
    CHECK(b.pool->counts().accepted == 1);
    CHECK(b.pool->counts().rejected == 0);
    CHECK(a.pool->counts().replays == 1);
  }
  CHECK(heard > 0);
  CHECK(heard < 40);
}

TEST_CASE("a call is heard by whoever has heard nothing of it, though a pair for it had failed before") {
  std::uint32_t failed = 0;
  for (std::uint32_t seed = 0; seed < 40; ++seed) {
    SimNetwork network(seed);
    Node a(network, 0);
    Node b(network, 1);
    REQUIRE(b.pool->bind(Port(1), b.completions, 8).ok());
    CHECK(a.post(a.pair(b), {a.send(std::span(a.memory).first(a.pool->message_bytes_max() + 1))}) == 1);
    a.device->break_down();
    b.progress();  // fetches what is too large to be sent
    failed += b.pool->counts().accepted == 1 ? 1 : 0;
    b.pool->on_peer_lost(a.device->metadata());
    settle(network, a, b);
    CAPTURE(seed);
    CHECK(b.pop().size() == a.pool->message_bytes_max() + 1);
  }
  CHECK(failed > 0);
}
