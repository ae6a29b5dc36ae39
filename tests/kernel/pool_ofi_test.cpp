// Virtual queue pairs over libfabric's endpoints, on loopback: what the network in one thread plays, with real ones.
#include <catch2/catch.hpp>

#include <array>
#include <cstring>
#include <string>

#include <spindrift/kernel/ofi/ofi_device.hpp>
#include <spindrift/kernel/pool.hpp>

using namespace spindrift;
using namespace spindrift::kernel;

namespace {

template <class T>
T got(Result<T> result) {
  if (!result) FAIL(result.error().to_string());
  return std::move(result).value();
}

struct Node {
  Node(std::uint32_t number, std::uint32_t connected_max) {
    OfiDeviceOptions device_options;
    device_options.listen = "127.0.0.1:0";
    device_options.answer_max = std::chrono::seconds(2);
    device = got(make_ofi_device(device_options));
    PoolOptions options;
    options.self = NodeId(number);
    options.connected_max = connected_max;
    options.promote_posts = 20;
    options.sample_period = std::chrono::milliseconds(5);
    pool = got(Pool::open(*device, options));
    readable = got(pool->register_memory(memory, fabric::Access::read));
    writable = got(pool->register_memory(target, fabric::Access::write));
  }

  Request write(const Node& to, std::size_t from, std::size_t bytes, std::size_t offset, std::uint64_t context) {
    return {.context = context,
            .local = std::span(memory).subspan(from, bytes),
            .local_memory = readable,
            .remote_address = to.writable.remote_base + offset,
            .remote_key = to.writable.remote_key};
  }
  Request send(std::size_t from, std::size_t bytes, std::uint64_t context) {
    return {.kind = Request::Kind::send,
            .context = context,
            .local = std::span(memory).subspan(from, bytes),
            .local_memory = readable};
  }

  std::unique_ptr<PhysicalDevice> device;
  std::array<std::byte, 1 << 17> memory{};
  std::array<std::byte, 1 << 12> target{};
  CompletionQueue completions{64};
  MemoryKeys readable;
  MemoryKeys writable;
  std::unique_ptr<Pool> pool;
};

/// Drives the nodes until `done` says so; ten seconds without are a failure.
template <class Done>
void drive(std::initializer_list<Node*> nodes, Done done) {
  const SystemClock clock;
  const Time deadline = clock.now() + std::chrono::seconds(10);
  while (!done()) {
    for (Node* const node : nodes) static_cast<void>(got(node->pool->progress(clock.now())));
    if (clock.now() > deadline) FAIL("nothing happens any more");
  }
}

std::vector<Completion> take(Node& node) {
  std::vector<Completion> taken(64);
  taken.resize(node.completions.take(taken));
  return taken;
}

}  // namespace

TEST_CASE("virtual queue pairs over libfabric write, send, fetch what is large, and end with their peer alone") {
  const std::uint32_t connected_max = GENERATE(0U, 2U);
  Node a(0, connected_max);
  Node c(2, 0);
  auto b = std::make_unique<Node>(1, 0U);
  REQUIRE(b->pool->bind(Port(1), b->completions, 8).ok());
  const PairId to_b = got(a.pool->create(a.completions, {}));
  const PairId to_c = got(a.pool->create(a.completions, {.messages = false}));
  REQUIRE(a.pool->connect(to_b, b->device->metadata(), Port(1)).ok());
  REQUIRE(a.pool->connect(to_c, c.device->metadata(), Port(1)).ok());

  std::memcpy(a.memory.data(), "hello", 5);
  std::vector<Completion> done;
  const auto collect = [&](std::size_t count) {
    return [&, count] {
      for (const Completion& completion : take(a)) done.push_back(completion);
      return done.size() >= count;
    };
  };
  CHECK(got(a.pool->post(to_b, std::vector{a.write(*b, 0, 5, 100, 1), a.send(0, 5, 2)})) == 2);
  std::string text;
  const auto pop = [&] {
    auto message = got(b->pool->pop_message(Port(1)));
    if (message) text.assign(reinterpret_cast<const char*>(message->bytes.data()), message->bytes.size());
    return message.has_value();
  };
  drive({&a, b.get(), &c}, collect(2));
  drive({&a, b.get(), &c}, pop);
  CHECK(text == "hello");
  CHECK(std::memcmp(b->target.data() + 100, "hello", 5) == 0);

  // Enough of it to be given a connected queue pair, where there are any.
  for (std::uint64_t i = 0; i < 200; ++i) {
    done.clear();
    drive({&a, b.get(), &c}, [&] { return got(a.pool->post(to_b, std::vector{a.write(*b, 0, 5, 200, i)})) == 1; });
    drive({&a, b.get(), &c}, collect(1));
  }
  if (connected_max > 0) drive({&a, b.get(), &c}, [&] { return a.pool->counts().moves == 1; });

  std::memset(a.memory.data() + 1000, 'L', 100'000);
  done.clear();
  drive({&a, b.get(), &c}, [&] { return got(a.pool->post(to_b, std::vector{a.send(1000, 100'000, 77)})) == 1; });
  drive({&a, b.get(), &c}, pop);
  CHECK(text == std::string(100'000, 'L'));
  drive({&a, b.get(), &c}, [&] {
    static_cast<void>(collect(0)());
    return !done.empty() && done.back().context == 77;
  });

  b.reset();
  done.clear();
  drive({&a, &c}, [&] {
    if (!a.pool->failure(to_b)) static_cast<void>(a.pool->post(to_b, std::vector{a.send(0, 5, 9)}));
    return a.pool->failure(to_b).has_value();
  });
  static_cast<void>(take(a));
  done.clear();
  CHECK(got(a.pool->post(to_c, std::vector{a.write(c, 0, 5, 8, 3)})) == 1);
  drive({&a, &c}, collect(1));
  CHECK(done.front().status == OperationStatus::done);
  CHECK(std::memcmp(c.target.data() + 8, "hello", 5) == 0);
}
