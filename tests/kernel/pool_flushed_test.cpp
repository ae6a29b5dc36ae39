// A queue pair without order flushes operations by another's fault, and does not break: as libfabric's connectionless ones
// do.
#include "pool_fixture.hpp"

#include <set>

using namespace spindrift;
using namespace spindrift::kernel;
using namespace spindrift::kernel::sim;

namespace {

constexpr SimOptions flushing{.ordered = false, .flushes = true};

}  // namespace

TEST_CASE("what is flushed by another's fault is posted again, though no queue pair breaks") {
  SimNetwork network(GENERATE(range(1U, 40U)));
  Node a(network, 0, flushing);
  Node b(network, 1, flushing);
  const PairId bad = a.pair(b);
  const PairId good = a.pair(b);
  Request wrong = a.write(b, a.put("x"), 0, 99);
  wrong.remote_key = 12345;
  CHECK(a.post(good, {a.write(b, a.put("one", 0), 0, 1)}) == 1);
  CHECK(a.post(bad, {wrong, a.write(b, a.put("never", 32), 500, 100)}) == 2);
  CHECK(a.post(good, {a.write(b, a.put("two", 64), 8, 2), a.write(b, a.put("three", 128), 16, 3),
                      a.write(b, a.put("four", 192), 24, 4)}) == 3);
  settle(network, a, b);
  std::vector<std::uint64_t> good_ones;
  for (const Completion& completion : a.take()) {
    if (completion.pair == good) {
      CHECK(completion.status == OperationStatus::done);
      good_ones.push_back(completion.context);
    } else if (completion.context == 99) {
      CHECK(completion.status == OperationStatus::access_refused);
    }
  }
  CHECK(good_ones == std::vector<std::uint64_t>{1, 2, 3, 4});
  CHECK(b.text(0, 3) + b.text(8, 3) + b.text(16, 5) + b.text(24, 4) == "onetwothreefour");
  CHECK(a.pool->failure(bad) == OperationStatus::access_refused);
  CHECK_FALSE(a.pool->failure(good));
  CHECK(a.device->flushed() > 0);
  CHECK(a.pool->counts().replays > 0);
  CHECK(a.pool->counts().breaks == 0);
}

TEST_CASE("more than a pass takes of events is flushed, and all of it is told before any is posted again") {
  SimNetwork network(GENERATE(range(1U, 20U)));
  SimOptions deep = flushing;
  deep.send_depth = 128;
  Node a(network, 0, deep);
  Node b(network, 1, deep);
  const PairId bad = a.pair(b);
  Request wrong = a.write(b, a.put("x"), 0, 99);
  wrong.remote_key = 12345;
  CHECK(a.post(bad, {wrong}) == 1);
  constexpr std::size_t others = 50;
  for (std::size_t i = 0; i < others; ++i) CHECK(a.post(a.pair(b), {a.write(b, a.put("g", 16), i, i)}) == 1);
  network.run();
  for (int pass = 0; pass < 10; ++pass) {
    a.progress();
    network.run();
  }
  std::set<std::uint64_t> told;
  for (const Completion& completion : a.take()) {
    if (completion.context == 99) continue;
    CHECK(completion.status == OperationStatus::done);
    CHECK(told.insert(completion.context).second);
  }
  CHECK(told.size() == others);
  CHECK(b.text(0, others) == std::string(others, 'g'));
  CHECK(a.device->flushed() >= others - 2);
}

TEST_CASE("what is posted while something waits to be posted again comes behind it") {
  SimNetwork network(GENERATE(range(1U, 40U)));
  Node a(network, 0, flushing);
  Node b(network, 1, flushing);
  const PairId good = a.pair(b);
  std::uint64_t next = 0;
  std::uint64_t told = 0;
  for (int round = 0; round < 100; ++round) {
    const PairId bad = a.pair(b);
    Request wrong = a.write(b, a.put("x", 4096), 0, 99);
    wrong.remote_key = 12345;
    CHECK(a.post(bad, {wrong}) == 1);
    for (std::uint64_t posts = 1 + network.draw(4); posts > 0; --posts) {
      std::memcpy(a.memory.data() + 8 * (next % 64), &next, 8);
      next += a.post(good, {a.write(b, std::span(a.memory).subspan(8 * (next % 64), 8), 0, next)});
    }
    for (std::uint64_t steps = network.draw(4); steps > 0; --steps) network.step();
    if (network.draw(2) == 0) a.progress();
    for (const Completion& completion : a.take()) {
      if (completion.pair == good) CHECK(completion.context == told++);
    }
    a.pool->close(bad);
  }
  settle(network, a, b);
  for (const Completion& completion : a.take()) {
    if (completion.pair == good) CHECK(completion.context == told++);
  }
  CHECK(told == next);
  CHECK_FALSE(a.pool->failure(good));
  std::uint64_t last = 0;
  std::memcpy(&last, b.target.data(), sizeof last);
  CHECK(last == next - 1);
}
