// A handler on a thread of its own: what it is given, when it is free again, and how it ends.
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <spindrift/group/handler_worker.hpp>

using namespace spindrift;

namespace {

Delivery delivery_of(const std::string& text) {
  Delivery delivery{};
  delivery.payload = std::as_bytes(std::span(text));
  return delivery;
}

std::string text_of(const Delivery& delivery) {
  return {reinterpret_cast<const char*>(delivery.payload.data()), delivery.payload.size()};
}

void await_free(const HandlerWorker& worker) {
  while (worker.busy()) std::this_thread::yield();
}

}  // namespace

TEST_CASE("a worker's handler gets copies, each of which begins at a multiple of eight") {
  std::atomic<bool> released{false};
  std::vector<std::string> heard;
  bool aligned = true;
  HandlerWorker worker(
      [&](std::span<const Delivery> batch) {
        while (!released) std::this_thread::yield();
        for (const Delivery& delivery : batch) {
          heard.push_back(text_of(delivery));
          aligned = aligned && reinterpret_cast<std::uintptr_t>(delivery.payload.data()) % 8 == 0;
        }
      },
      [] {});
  std::array<std::string, 3> texts{"one", "three", "a longer one"};
  const std::array<Delivery, 3> batch{delivery_of(texts[0]), delivery_of(texts[1]), delivery_of(texts[2])};
  worker.give(batch);
  for (std::string& text : texts) std::fill(text.begin(), text.end(), '-');  // the sender has its ring back
  released = true;
  await_free(worker);
  CHECK(heard == std::vector<std::string>{"one", "three", "a longer one"});
  CHECK(aligned);
}

TEST_CASE("a worker that tells that it is done is free") {
  std::unique_ptr<HandlerWorker> worker;
  std::atomic<int> told = 0;
  std::atomic<int> told_while_busy = 0;
  worker = std::make_unique<HandlerWorker>([](auto) {},
                                           [&] {
                                             if (worker->busy()) ++told_while_busy;
                                             ++told;
                                           });
  const std::string text = "one";
  const Delivery one = delivery_of(text);
  for (int i = 1; i <= 100; ++i) {
    worker->give({&one, 1});
    while (told.load() < i) std::this_thread::yield();
  }
  CHECK(told_while_busy == 0);
}

TEST_CASE("a worker that ends handles first what it was given") {
  const std::string text = "one";
  const Delivery one = delivery_of(text);
  for (int i = 0; i < 200; ++i) {
    std::atomic<int> handled = 0;
    {
      HandlerWorker worker([&](std::span<const Delivery> batch) { handled += static_cast<int>(batch.size()); }, [] {});
      worker.give({&one, 1});
    }
    REQUIRE(handled == 1);
  }
}

TEST_CASE("a worker keeps what its handler threw") {
  HandlerWorker worker([](auto) { throw std::runtime_error("out of cheese"); }, [] {});
  const std::string text = "one";
  const Delivery one = delivery_of(text);
  CHECK_FALSE(worker.failure());
  worker.give({&one, 1});
  await_free(worker);
  REQUIRE(worker.failure());
  CHECK_THROWS_WITH(std::rethrow_exception(worker.failure()), "out of cheese");
}
