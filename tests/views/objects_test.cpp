// Objects far larger than the rings, over the fabrics that every machine has: every byte arrives, in order, among messages,
// and the end of a sender is the end of its object.
#include <catch2/catch.hpp>

#include <condition_variable>
#include <future>
#include <mutex>

#include <spindrift/core/digest.hpp>
#include <spindrift/objects.hpp>

#include "group_fixture.hpp"

using namespace spindrift;

namespace {

/// Bytes of an object by its seed, word by word; `offset` is a multiple of 8.
void fill_object(std::uint64_t seed, std::uint64_t offset, std::span<std::byte> to) {
  for (std::size_t at = 0; at < to.size(); at += 8) {
    std::uint64_t word = ((offset + at) / 8 + seed) * 0x9e3779b97f4a7c15;
    word ^= word >> 31;
    std::memcpy(to.data() + at, &word, std::min<std::size_t>(8, to.size() - at));
  }
}

/// What one member gets: whether every piece is as its sender made it, and the ends.
class Receiver {
 public:
  explicit Receiver(Group& group) {
    channel_ = &group.objects("orders", {.on_piece = [this](const ObjectPiece& piece) { on_piece(piece); },
                                         .on_end = [this](const ObjectEnd& end) { on_end(end); },
                                         .on_message = [this](const Delivery&) { on_message(); }});
  }
  ObjectChannel& channel() { return *channel_; }
  ObjectEnd await_end(std::size_t which) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return ends_.size() > which; });
    return ends_[which];
  }
  void await_messages(std::size_t least) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return messages_ >= least; });
  }
  void await_bytes(std::uint64_t least) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return bytes_ >= least; });
  }
  [[nodiscard]] bool damaged() {
    std::lock_guard lock(mutex_);
    return damaged_;
  }

 private:
  void on_piece(const ObjectPiece& piece) {
    wanted_.resize(piece.bytes.size());
    fill_object(piece.sender.value() * 1000 + piece.object, piece.offset, wanted_);
    std::lock_guard lock(mutex_);
    damaged_ |= digest_of(wanted_).words != digest_of(piece.bytes).words;
    bytes_ += piece.bytes.size();
    changed_.notify_all();
  }
  void on_end(const ObjectEnd& end) {
    std::lock_guard lock(mutex_);
    ends_.push_back(end);
    changed_.notify_all();
  }
  void on_message() {
    std::lock_guard lock(mutex_);
    ++messages_;
    changed_.notify_all();
  }

  ObjectChannel* channel_ = nullptr;
  std::vector<std::byte> wanted_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<ObjectEnd> ends_;
  std::uint64_t bytes_ = 0;
  std::size_t messages_ = 0;
  bool damaged_ = false;
};

const std::string sizes =
    "join_timeout_ms = 20000\n[SUBGROUP/DEFAULT]\nmax_smc_payload_size = 256 KiB\nlarge_message_bytes = 4096\n"
    "bulk_ring_bytes = 1 MiB\nring_size = 64 KiB\n";

/// Its number. On any thread, so without assertions.
std::uint64_t send(Receiver& from, std::uint32_t node, std::uint64_t object, std::uint64_t bytes) {
  return from.channel().send_object(
      bytes, [&](std::uint64_t offset, std::span<std::byte> to) { fill_object(node * 1000 + object, offset, to); });
}

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

TEST_CASE("objects far larger than the rings arrive whole at a neighbour that reads them in place and at a stranger") {
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

TEST_CASE("when a sender is gone in the middle of its object, the others hear so, with as many bytes") {
  GroupFixture fixture;
  auto groups = fixture.join(3, sizes);
  Receiver sender(*groups[0]);
  Receiver first(*groups[1]);
  Receiver second(*groups[2]);
  std::mutex mutex;
  std::condition_variable changed;
  bool gone = false;
  bool threw = false;
  std::thread sending([&] {
    try {
      sender.channel().send_object(64 << 20, [&](std::uint64_t offset, std::span<std::byte> to) {
        fill_object(1, offset, to);
        if (offset < 8 << 20) return;
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return gone; });
        throw std::runtime_error("and never came back");
      });
    } catch (const std::exception&) {
      threw = true;
    }
  });
  first.await_bytes(8 << 20);
  second.await_bytes(8 << 20);
  std::thread leaving([&] {
    try {
      groups[0]->leave();
    } catch (const Exception&) {
      // removed first: as gone as if it had left
    }
  });
  {
    std::lock_guard lock(mutex);
    gone = true;
  }
  changed.notify_all();
  sending.join();
  leaving.join();
  CHECK(threw);
  const ObjectEnd one = first.await_end(0);
  const ObjectEnd other = second.await_end(0);
  CHECK(one.why != ObjectEnd::Why::complete);
  CHECK(one.why == other.why);
  CHECK(one.bytes == other.bytes);
  groups[1]->leave();
  groups[2]->leave();
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
