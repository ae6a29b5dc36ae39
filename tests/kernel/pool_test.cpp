// Virtual queue pairs behave as reliable connections do, and what the paper's algorithm loses, counts twice or lets one user
// do to another does not happen here.
#include "pool_fixture.hpp"

#include <algorithm>

using namespace spindrift;
using namespace spindrift::kernel;
using namespace spindrift::kernel::sim;

namespace {

std::vector<std::uint64_t> contexts(const std::vector<Completion>& completions) {
  std::vector<std::uint64_t> numbers;
  for (const Completion& completion : completions) numbers.push_back(completion.context);
  return numbers;
}

}  // namespace

TEST_CASE("a virtual queue pair is connected without anything happening, and writes and reads") {
  SimNetwork network(1);
  const bool ordered = GENERATE(true, false);
  Node a(network, 0, {.ordered = ordered});
  Node b(network, 1, {.ordered = ordered});
  const PairId pair = a.pair(b);
  CHECK_FALSE(network.step());  // nothing was posted for it
  b.put("from b", 64);
  CHECK(a.post(pair, {a.write(b, a.put("hello"), 100, 1), a.read(b, std::span(a.memory).subspan(512, 6), 64, 2)}) == 2);
  settle(network, a, b);
  CHECK(b.text(100, 5) == "hello");
  CHECK(std::memcmp(a.memory.data() + 512, "from b", 6) == 0);
  CHECK(contexts(a.take()) == std::vector<std::uint64_t>{1, 2});
}

TEST_CASE("lists longer than any queue go through, each signaled request completes once, and space is never miscounted") {
  SimNetwork network(2);
  const bool ordered = GENERATE(true, false);
  Node a(network, 0, {.ordered = ordered, .send_depth = 8});
  Node b(network, 1, {.ordered = ordered});
  const PairId pair = a.pair(b);
  std::vector<std::uint64_t> seen;
  std::vector<std::uint64_t> wanted;
  std::uint64_t number = 0;
  for (std::size_t round = 0; round < 2000; ++round) {
    std::vector<Request> list;
    for (std::size_t i = 0; i < 1 + round % 13; ++i) {
      list.push_back(a.write(b, a.put("x"), 0, ++number));
      list.back().signaled = number % 3 == 0;  // long runs without a signal
      if (list.back().signaled) wanted.push_back(number);
    }
    std::span<const Request> left = list;
    while (!left.empty()) {
      auto posted = a.pool->post(pair, left);
      REQUIRE(posted.ok());
      left = left.subspan(*posted);
      network.step();
      a.progress();
      for (const Completion& completion : a.take()) seen.push_back(completion.context);
    }
  }
  settle(network, a, b);
  for (const Completion& completion : a.take()) seen.push_back(completion.context);
  CHECK(seen == wanted);
  CHECK(a.device->under_way_max() == 8);
}

TEST_CASE("one wrong request in a list: nothing of it is taken, and the virtual queue pair goes on") {
  SimNetwork network(3);
  Node a(network, 0);
  Node b(network, 1);
  const PairId pair = a.pair(b);
  const Request good = a.write(b, a.put("x"), 0, 1);
  Request foreign = good;
  std::vector<std::byte> unregistered(8);
  foreign.local = unregistered;
  Request past_the_end = good;
  past_the_end.local = std::span(a.memory.data() + a.memory.size() - 1, 2);
  Request no_such = good;
  no_such.kind = static_cast<Request::Kind>(9);
  for (const Request& wrong : {foreign, past_the_end, no_such}) {
    CHECK(a.refused(pair, {good, wrong, good}) == ErrorKind::bad_argument);
    CHECK_FALSE(network.step());
    CHECK(a.post(pair, {good, good}) == 2);
    settle(network, a, b);
    CHECK(a.take().size() == 2);
  }
  CHECK(a.pool->post(PairId(77), std::vector{good}).error().kind() == ErrorKind::group_closed);
}

TEST_CASE("the completions that wait for their user bound what is taken, and none is lost") {
  SimNetwork network(4);
  Node a(network, 0);
  Node b(network, 1);
  CompletionQueue small(4);
  auto pair = a.pool->create(small, {});
  REQUIRE(pair.ok());
  REQUIRE(a.pool->connect(*pair, b.device->metadata(), Port(1)).ok());
  const std::vector<Request> ten(10, a.write(b, a.put("x"), 0, 5));
  CHECK(a.post(*pair, ten) == 4);
  settle(network, a, b);
  CHECK(a.post(*pair, ten) == 0);  // four completions wait
  std::array<Completion, 2> two;
  CHECK(small.take(two) == 2);
  CHECK(a.post(*pair, ten) == 2);
  settle(network, a, b);
  std::array<Completion, 8> rest;
  CHECK(small.take(rest) == 4);
}

TEST_CASE("who floods a shared queue pair leaves room for who comes later") {
  SimNetwork network(5);
  Node a(network, 0, {.send_depth = 16});
  Node b(network, 1);
  const PairId flooder = a.pair(b);
  const PairId other = a.pair(b);
  const std::vector<Request> many(64, a.write(b, a.put("x"), 0));
  const std::size_t flood = a.post(flooder, many);
  CHECK(flood >= 4);
  CHECK(flood <= 8);
  CHECK(a.post(other, many) >= 2);
}

TEST_CASE("an access that the peer refuses fails its own virtual queue pair, the others' requests are posted again") {
  SimNetwork network(GENERATE(range(1U, 40U)));
  Node a(network, 0);
  Node b(network, 1);
  const PairId bad = a.pair(b);
  const PairId good = a.pair(b);
  Request wrong = a.write(b, a.put("x"), 0, 99);
  wrong.remote_key = 12345;
  CHECK(a.post(good, {a.write(b, a.put("one", 0), 0, 1)}) == 1);
  CHECK(a.post(bad, {wrong, a.write(b, a.put("never", 32), 500, 100)}) == 2);
  CHECK(a.post(good, {a.write(b, a.put("two", 64), 8, 2), a.write(b, a.put("three", 128), 16, 3)}) == 2);
  settle(network, a, b);
  std::vector<std::uint64_t> good_ones;
  for (const Completion& completion : a.take()) {
    if (completion.pair == good) {
      CHECK(completion.status == OperationStatus::done);
      good_ones.push_back(completion.context);
    } else {
      CHECK(completion.status == (completion.context == 99 ? OperationStatus::access_refused : OperationStatus::flushed));
    }
  }
  CHECK(good_ones == std::vector<std::uint64_t>{1, 2, 3});
  CHECK(b.text(0, 3) + b.text(8, 3) + b.text(16, 5) == "onetwothree");
  CHECK(a.pool->failure(bad) == OperationStatus::access_refused);
  CHECK_FALSE(a.pool->failure(good));
  CHECK(a.refused(bad, {a.write(b, a.put("x"), 0)}) == ErrorKind::member_lost);
  CHECK(a.pool->counts().breaks == 1);
}

TEST_CASE("a virtual queue pair that wants its requests carried out once at most fails where others are replayed") {
  SimNetwork network(6);
  Node a(network, 0);
  Node b(network, 1);
  const PairId once = a.pair(b, Port(1), {.once = true});
  const PairId replayed = a.pair(b);
  CHECK(a.post(once, {a.write(b, a.put("x"), 0, 1)}) == 1);
  CHECK(a.post(replayed, {a.write(b, a.put("x"), 0, 2)}) == 1);
  a.device->break_down();
  settle(network, a, b);
  const auto completions = a.take();
  REQUIRE(completions.size() == 2);
  CHECK(completions[0].status == OperationStatus::flushed);
  CHECK(completions[1].status == OperationStatus::done);
  CHECK(a.pool->failure(once) == OperationStatus::flushed);
}

TEST_CASE("messages come once and in order, to a port that accepts who connects, and back") {
  SimNetwork network(7);
  const bool ordered = GENERATE(true, false);
  Node server(network, 0, {.ordered = ordered});
  Node a(network, 1, {.ordered = ordered});
  Node b(network, 2, {.ordered = ordered});
  REQUIRE(server.pool->bind(Port(1), server.completions, 10).ok());
  CHECK(server.pool->bind(Port(1), server.completions, 10).error().kind() == ErrorKind::refused);
  const PairId from_a = a.pair(server);
  const PairId from_b = b.pair(server);
  CHECK(a.post(from_a, {a.send(a.put("a1"), 1)}) == 1);
  CHECK(b.post(from_b, {b.send(b.put("b1"), 1)}) == 1);
  settle(network, server, a, b);
  PairId first;
  PairId second;
  const std::string one = server.pop(Port(1), &first);
  const std::string two = server.pop(Port(1), &second);
  CHECK(((one == "a1" && two == "b1") || (one == "b1" && two == "a1")));
  CHECK(first != second);
  CHECK(server.pop() == "nothing");
  CHECK(server.pool->counts().accepted == 2);
  // Back, through the pair that the message came from.
  const PairId to_a = one == "a1" ? first : second;
  CHECK(server.post(to_a, {server.send(server.put("reply"))}) == 1);
  settle(network, server, a, b);
  CHECK(a.message(from_a) == "reply");
  CHECK(a.message(from_a) == "nothing");
}

TEST_CASE("a sender may be a window ahead of its reader, not more, and goes on when the reader does") {
  SimNetwork network(8);
  Node server(network, 0, {}, {.window = 4});
  Node a(network, 1, {}, {.window = 4});
  REQUIRE(server.pool->bind(Port(1), server.completions, 10).ok());
  const PairId pair = a.pair(server);
  std::vector<std::string> got;
  std::size_t sent = 0;
  const auto send_some = [&] {
    for (auto posted = std::size_t{1}; posted == 1 && sent < 20;) {
      posted = a.post(pair, {a.send(a.put(std::string(1, static_cast<char>('a' + sent)), sent))});
      sent += posted;
      settle(network, server, a);
      a.take();
    }
  };
  send_some();
  CHECK(sent == 1);  // the first one asks for the window
  CHECK(server.pop() == "a");
  settle(network, server, a);
  send_some();
  CHECK(sent == 5);
  for (std::string text = server.pop(); text != "nothing"; text = server.pop()) {
    got.push_back(text);
    settle(network, server, a);
    send_some();
  }
  CHECK(sent == 20);
  CHECK(got.size() == 19);
  CHECK(std::is_sorted(got.begin(), got.end()));
  CHECK(got.back() == "t");
}

TEST_CASE("a reader that takes nothing keeps no buffer from others") {
  SimNetwork network(9);
  Node server(network, 0, {.receive_buffers = 2});
  Node a(network, 1);
  CompletionQueue lazy_completions(64);
  REQUIRE(server.pool->bind(Port(1), lazy_completions, 100).ok());
  REQUIRE(server.pool->bind(Port(2), server.completions, 100).ok());
  for (int i = 0; i < 20; ++i) CHECK(a.post(a.pair(server, Port(1)), {a.send(a.put("ignored"))}) == 1);
  CHECK(a.post(a.pair(server, Port(2)), {a.send(a.put("heard", 64))}) == 1);
  settle(network, server, a);
  CHECK(server.pop(Port(2)) == "heard");
}

TEST_CASE("a large message is read from the sender's memory, which is the receiver's until it has it") {
  SimNetwork network(10);
  Node server(network, 0);
  Node a(network, 1);
  REQUIRE(server.pool->bind(Port(1), server.completions, 10).ok());
  const PairId pair = a.pair(server);
  const std::string large(5000, 'L');
  const std::string second(3000, 'M');
  CHECK(a.post(pair, {a.send(a.put(large), 1)}) == 1);
  settle(network, server, a);
  CHECK(a.take().empty());
  CHECK(a.pool->deregister(a.keys).error().kind() == ErrorKind::would_block);
  PairId back;
  CHECK(server.pop(Port(1), &back) == large);
  settle(network, server, a);
  CHECK(contexts(a.take()) == std::vector<std::uint64_t>{1});
  CHECK(a.post(pair, {a.send(a.put("small"), 2), a.send(a.put(second, 100), 3), a.send(a.put("last", 6000), 4)}) == 3);
  settle(network, server, a);
  CHECK(contexts(a.take()) == std::vector<std::uint64_t>{2});  // the large one is not over, so nor is what follows
  CHECK(server.pop() == "small");
  settle(network, server, a);
  CHECK(server.pop() == second);
  settle(network, server, a);
  CHECK(server.pop() == "last");
  settle(network, server, a);
  CHECK(contexts(a.take()) == std::vector<std::uint64_t>{3, 4});
  // The other way, to the pair that called.
  CHECK(server.post(back, {server.send(server.put(second), 8)}) == 1);
  CHECK(a.message(pair) == "nothing");
  settle(network, server, a);
  CHECK(contexts(server.take()).empty());
  CHECK(a.message(pair) == second);
  settle(network, server, a);
  CHECK(contexts(server.take()) == std::vector<std::uint64_t>{8});
}

TEST_CASE("a closed virtual queue pair is gone when nothing of it is under way, and its number is not used again") {
  SimNetwork network(11);
  Node a(network, 0, {}, {.pairs_max = 2});
  Node b(network, 1);
  const PairId pair = a.pair(b);
  CHECK(a.post(pair, {a.write(b, a.put("x"), 0, 1), a.write(b, a.put("x"), 0, 2)}) == 2);
  a.pool->close(pair);
  CHECK_FALSE(a.pool->is_gone(pair));
  CHECK(a.pool->post(pair, std::vector{a.write(b, a.put("x"), 0)}).error().kind() == ErrorKind::group_closed);
  settle(network, a, b);
  CHECK(a.pool->is_gone(pair));
  CHECK(a.take().empty());
  const PairId next = a.pair(b);
  CHECK(next != pair);
  CHECK(a.post(next, {a.write(b, a.put("y"), 0, 3)}) == 1);
  settle(network, a, b);
  CHECK(contexts(a.take()) == std::vector<std::uint64_t>{3});
  a.pool->close(next);
  CHECK(a.device->resolved() == 0);
}

TEST_CASE("a peer that dies takes the virtual queue pairs to it along, and no other") {
  SimNetwork network(GENERATE(range(1U, 20U)));
  const bool ordered = GENERATE(true, false);
  Node a(network, 0, {.ordered = ordered});
  Node b(network, 1, {.ordered = ordered});
  Node c(network, 2, {.ordered = ordered});
  const PairId to_b = a.pair(b);
  const PairId idle_to_b = a.pair(b);
  const PairId to_c = a.pair(c);
  CHECK(a.post(to_c, {a.write(c, a.put("c1"), 0, 1)}) == 1);
  CHECK(a.post(to_b, {a.write(b, a.put("b1", 32), 0, 2)}) == 1);
  CHECK(a.post(to_c, {a.write(c, a.put("c2", 64), 8, 3)}) == 1);
  network.kill(*b.device);
  settle(network, a, c);
  for (const Completion& completion : a.take())
    CHECK(completion.status == (completion.pair == to_b ? OperationStatus::peer_lost : OperationStatus::done));
  CHECK(a.pool->failure(to_b) == OperationStatus::peer_lost);
  CHECK(a.pool->failure(idle_to_b) == OperationStatus::peer_lost);
  CHECK_FALSE(a.pool->failure(to_c));
  CHECK(c.text(0, 2) + c.text(8, 2) == "c1c2");
  auto again = a.pool->create(a.completions, {});
  REQUIRE(again.ok());
  CHECK(a.pool->connect(*again, b.device->metadata(), Port(1)).error().kind() == ErrorKind::member_lost);
  a.pool->close(to_b);
  a.pool->close(idle_to_b);
  CHECK(a.pool->connect(*again, b.device->metadata(), Port(1)).ok());  // it may be back
}

TEST_CASE("bytes that are no message, for nobody, or from somebody else are counted and do nothing") {
  SimNetwork network(12);
  Node server(network, 0);
  Node a(network, 1);
  REQUIRE(server.pool->bind(Port(1), server.completions, 2).ok());
  const PairId pair = a.pair(server);
  CHECK(a.post(pair, {a.send(a.put("good"))}) == 1);
  settle(network, server, a);
  PairId accepted;
  CHECK(server.pop(Port(1), &accepted) == "good");
  settle(network, server, a);

  auto forger = network.add();
  auto queue_pair = forger->open();
  REQUIRE(queue_pair.ok());
  const PeerHandle handle = *forger->resolve(server.device->metadata());
  vq_header header{};
  header.magic = VQ_MAGIC;
  header.version = VQ_HEADER_VERSION;
  header.kind = VQ_KIND_DATA;
  header.to = accepted.value();
  header.from = 4711;
  header.sequence = 2;
  header.window = 16;
  std::vector<vq_header> forged(10, header);
  forged[0].magic = 1;
  forged[1].version = 9;
  forged[2].kind = 77;
  forged[3].bytes = 100;        // that do not follow
  forged[4].to = 0xffffffffff;  // nobody
  forged[5].window = 0;
  forged[6].hello = 1;
  forged[6].to = 99;      // a port that nobody has bound
  forged[7].from = 4711;  // not who the pair talks to
  forged[8].from = 4711;
  forged[8].consumed = 1000;
  forged[9].kind = VQ_KIND_LARGE;  // of nothing
  std::vector<PhysicalOperation> operations;
  for (const vq_header& one : forged) {
    PhysicalOperation operation;
    operation.kind = PhysicalOperation::Kind::send;
    operation.peer = handle;
    operation.header = std::as_bytes(std::span(&one, 1));
    operations.push_back(operation);
  }
  const std::array<std::byte, 3> scrap{};
  operations.emplace_back();
  operations.back().kind = PhysicalOperation::Kind::send;
  operations.back().peer = handle;
  operations.back().header = scrap;
  CHECK((*queue_pair)->post(operations) == operations.size());
  settle(network, server, a);
  CHECK(server.pop() == "nothing");
  CHECK(server.pool->counts().rejected == operations.size() - 1);  // a message for a pair that is gone is no fault
  CHECK_FALSE(server.pool->failure(accepted));
  CHECK(a.post(pair, {a.send(a.put("still good"))}) == 1);
  settle(network, server, a);
  CHECK(server.pop() == "still good");
}

TEST_CASE("a port takes as many as it said, and the same one once") {
  SimNetwork network(13);
  Node server(network, 0);
  Node a(network, 1);
  REQUIRE(server.pool->bind(Port(1), server.completions, 2).ok());
  for (int i = 0; i < 3; ++i) CHECK(a.post(a.pair(server), {a.send(a.put("m"))}) == 1);
  a.device->break_down();  // the first words may be said twice
  settle(network, server, a);
  CHECK(server.pool->counts().accepted == 2);
  CHECK(server.pop() == "m");
  CHECK(server.pop() == "m");
  CHECK(server.pop() == "nothing");
}

TEST_CASE("a device without connectionless queue pairs, and a window that is no power of two, make no pool") {
  SimNetwork network(14);
  const auto device = network.add();
  CHECK(Pool::open(*device, {.window = 3}).error().kind() == ErrorKind::bad_argument);
  CHECK(Pool::open(*device, {.pairs_max = 0}).error().kind() == ErrorKind::bad_argument);
  const auto without = network.add({.connectionless = false});
  CHECK(Pool::open(*without, {}).error().kind() == ErrorKind::unsupported);
}

TEST_CASE("a large message is read once though others come while it is being read") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SimNetwork network(seed);
    Node server(network, 0);
    Node a(network, 1);
    REQUIRE(server.pool->bind(Port(1), server.completions, 10).ok());
    const PairId pair = a.pair(server);
    CHECK(a.post(pair, {a.send(a.put("first"))}) == 1);
    settle(network, server, a);
    CHECK(server.pop() == "first");
    settle(network, server, a);
    const std::string large(6000, 'x');
    CHECK(a.post(pair, {a.send(a.put(large, 100)), a.send(a.put("last", 8000))}) == 2);
    settle(network, server, a);
    CHECK(server.pop() == large);
    settle(network, server, a);
    CHECK(server.pop() == "last");
    settle(network, server, a);
    CHECK(server.pop() == "nothing");
  }
}
