// Objects far larger than the rings, over the fabrics that every machine has: every byte arrives, in order, among messages,
// and the end of a sender is the end of its object.
#include <catch2/catch.hpp>

#include <future>

#include "object_fixture.hpp"

using namespace spindrift;

namespace {

/// Two members send an object each, the third messages.
void exchange(const std::string& fabric, std::uint64_t bytes) {
  GroupFixture fixture(fabric);
  auto groups = fixture.join(3, sizes);
  std::vector<std::unique_ptr<Receiver>> receivers;
  for (auto& group : groups) receivers.push_back(std::make_unique<Receiver>(*group));
  std::uint64_t numbers[2] = {};
  std::thread first([&] { numbers[0] = send(*receivers[0], 0, 1, bytes); });
  std::thread second([&] { numbers[1] = send(*receivers[1], 1, 1, bytes / 3); });
  constexpr std::size_t messages = 100;
  for (std::size_t i = 0; i < messages; ++i) receivers[2]->channel().send(std::as_bytes(std::span("between pieces")));
  first.join();
  second.join();
  CHECK((numbers[0] == 1 && numbers[1] == 1));
  for (auto& receiver : receivers) {
    CHECK(receiver->await_end(0).why == ObjectEnd::Why::complete);
    CHECK(receiver->await_end(1).why == ObjectEnd::Why::complete);
    CHECK(receiver->await_end(0).bytes + receiver->await_end(1).bytes == bytes + bytes / 3);
    receiver->await_messages(messages);
    CHECK_FALSE(receiver->damaged());
  }
  leave_all(groups);
}

}  // namespace

TEST_CASE("objects far larger than the rings arrive whole over shared memory") { exchange("shm", 192 << 20); }

TEST_CASE("objects far larger than the rings arrive whole over tcp, handed on by the others") {
  exchange("ofi:tcp", (96 << 20) + 13);
}

TEST_CASE("objects far larger than the rings arrive whole at a neighbor that reads them in place and at a stranger") {
  exchange("shm+ofi:tcp", (64 << 20) + 13);
}

TEST_CASE("an object that its reader gives up is withdrawn at all, and another may follow") {
  GroupFixture fixture;
  auto groups = fixture.join(2, sizes);
  Receiver here(*groups[0]);
  Receiver there(*groups[1]);
  const auto broken = [&](std::uint64_t offset, std::span<std::byte> to) {
    if (offset > 0) throw std::runtime_error("the disk is gone");
    fill_object(1, offset, to);
  };
  CHECK_THROWS_WITH(here.channel().send_object(1 << 20, broken), "the disk is gone");
  CHECK(send(here, 0, 2, 1000) == 2);
  CHECK(there.await_end(0).why == ObjectEnd::Why::withdrawn);
  CHECK(there.await_end(0).bytes == here.channel().piece_bytes_max());
  CHECK(there.await_end(1).why == ObjectEnd::Why::complete);
  CHECK(here.await_end(1).why == ObjectEnd::Why::complete);
  leave_all(groups);
}

TEST_CASE("of the objects that many threads send, no more are under way at once than receivers allow") {
  GroupFixture fixture;
  auto groups = fixture.join(1, sizes);
  constexpr std::size_t most = 2;
  constexpr std::size_t threads = 8;
  constexpr std::size_t objects_each = 10;
  std::size_t open = 0;  // the poller's, like what follows
  std::size_t most_open = 0;
  std::promise<void> all_ended;
  std::size_t ended = 0;
  const ObjectHandlers handlers{.on_piece =
                                    [&](const ObjectPiece& piece) {
                                      if (piece.offset == 0) most_open = std::max(most_open, ++open);
                                    },
                                .on_end =
                                    [&](const ObjectEnd&) {
                                      --open;
                                      if (++ended == threads * objects_each) all_ended.set_value();
                                    }};
  static_cast<void>(groups[0]->objects("orders", handlers));
  ObjectChannel channel(groups[0]->subgroup("orders"), handlers, most);  // its objects are handed to the handlers above
  std::vector<std::thread> sending;
  for (std::size_t i = 0; i < threads; ++i) {
    sending.emplace_back([&] {
      for (std::size_t k = 0; k < objects_each; ++k) {
        channel.send_object(4 * channel.piece_bytes_max(), [](std::uint64_t offset, std::span<std::byte> to) {
          fill_object(1, offset, to);
          std::this_thread::yield();  // to whoever may send another object between these pieces
        });
      }
    });
  }
  for (std::thread& thread : sending) thread.join();
  all_ended.get_future().wait();
  CHECK(most_open <= most);
  leave_all(groups);
}

TEST_CASE("objects need an ordered subgroup without another handler, and handlers of their own") {
  GroupFixture fixture;
  auto groups = fixture.join(1, sizes);
  const ObjectHandlers handlers{.on_piece = [](const ObjectPiece&) {}, .on_end = [](const ObjectEnd&) {}};
  CHECK_THROWS_WITH(static_cast<void>(groups[0]->objects("ticks", handlers)), Catch::Contains("unordered"));
  CHECK_THROWS_WITH(static_cast<void>(groups[0]->objects("orders", {})), Catch::Contains("no handler"));
  static_cast<void>(groups[0]->objects("orders", handlers));
  CHECK_THROWS_WITH(static_cast<void>(groups[0]->objects("orders", handlers)), Catch::Contains("has a handler already"));
  leave_all(groups);
}
