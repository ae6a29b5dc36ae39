// Operations that wait for an adapter: their room, their order, and which of them ask for a completion.
#include <catch2/catch.hpp>

#include <array>
#include <string>
#include <vector>

#include <spindrift/kernel/receive_buffers.hpp>
#include <spindrift/kernel/verbs/send_queue.hpp>

using namespace spindrift;
using namespace spindrift::kernel;
using namespace spindrift::kernel::verbs;
using Kind = PhysicalOperation::Kind;

namespace {

struct Sends {
  explicit Sends(std::uint32_t depth) : sizes{.send_depth = depth, .message_bytes_max = 256} {
    own.add(7, memory);
    queue.set_headers_key(99);
  }

  PhysicalOperation write(std::uint64_t id, bool signaled) {
    PhysicalOperation made;
    made.signaled = signaled;
    made.id = id;
    made.local = memory.data();
    made.bytes = 8;
    made.local_key = 7;
    made.remote_address = 0x1000;
    made.remote_key = 5;
    return made;
  }
  std::size_t take(const PhysicalOperation& operation) { return queue.take({&operation, 1}, requests); }
  /// The ids and statuses of the completions among the events that are there.
  std::vector<std::pair<std::uint64_t, OperationStatus>> completions() {
    std::vector<std::pair<std::uint64_t, OperationStatus>> all;
    std::array<PhysicalEvent, 64> events;
    const std::size_t count = queue.events().take(events);
    for (std::size_t i = 0; i < count; ++i) all.emplace_back(events[i].id, events[i].status);
    return all;
  }

  DeviceSizes sizes;
  std::vector<std::byte> memory = std::vector<std::byte>(512);
  OwnMemory own;
  SendQueue queue{sizes, own, nullptr};
  std::vector<verbs::AdapterRequest> requests;
};

using Told = std::vector<std::pair<std::uint64_t, OperationStatus>>;

}  // namespace

TEST_CASE("one completion ends all requests before it, and tells those that were asked about") {
  Sends sends(64);
  for (std::uint64_t id = 1; id <= 4; ++id) REQUIRE(sends.take(sends.write(id, id == 2 || id == 4)) == 1);
  REQUIRE(sends.requests.size() == 4);
  CHECK_FALSE(sends.requests[0].signaled);
  CHECK(sends.requests[3].signaled);
  sends.queue.on_done(sends.requests[3].number);
  CHECK(sends.completions() == Told{{2, OperationStatus::done}, {4, OperationStatus::done}});
  CHECK(sends.queue.idle());
}

TEST_CASE("requests that nobody asks about still ask for a completion in time to free their places") {
  Sends sends(8);
  for (std::uint64_t id = 0; id < 8; ++id) REQUIRE(sends.take(sends.write(id, false)) == 1);
  CHECK(sends.take(sends.write(8, false)) == 0);
  CHECK(sends.requests[1].signaled);
  CHECK(sends.requests[7].signaled);
  sends.queue.on_done(sends.requests[3].number);
  CHECK(sends.completions().empty());
  std::vector<PhysicalOperation> more;
  for (std::uint64_t id = 8; id < 16; ++id) more.push_back(sends.write(id, false));
  CHECK(sends.queue.take(more, sends.requests) == 4);
}

TEST_CASE("completions that nobody has taken hold their places") {
  Sends sends(2);
  REQUIRE(sends.take(sends.write(1, true)) == 1);
  REQUIRE(sends.take(sends.write(2, true)) == 1);
  sends.queue.on_done(sends.requests[1].number);
  CHECK(sends.take(sends.write(3, true)) == 0);
  CHECK(sends.completions().size() == 2);
  CHECK(sends.take(sends.write(3, true)) == 1);
}

TEST_CASE("what is refused is told in its turn, by a write of nothing where nobody asked before it") {
  Sends sends(64);
  PhysicalOperation wrong = sends.write(2, false);
  wrong.local_key = 8;
  REQUIRE(sends.take(wrong) == 1);
  CHECK(sends.requests.empty());
  CHECK(sends.completions() == Told{{2, OperationStatus::local_error}});
  REQUIRE(sends.take(sends.write(1, false)) == 1);
  REQUIRE(sends.take(wrong) == 1);
  REQUIRE(sends.requests.size() == 2);
  CHECK(sends.requests[1].signaled);
  CHECK(sends.requests[1].piece_count == 0);
  CHECK(sends.completions().empty());
  sends.queue.on_done(sends.requests[1].number);
  CHECK(sends.completions() == Told{{2, OperationStatus::local_error}});
  // Behind one that is asked about it needs no request.
  REQUIRE(sends.take(sends.write(3, true)) == 1);
  REQUIRE(sends.take(wrong) == 1);
  REQUIRE(sends.requests.size() == 3);
  CHECK(sends.completions().empty());
  sends.queue.on_done(sends.requests[2].number);
  CHECK(sends.completions() == Told{{3, OperationStatus::done}, {2, OperationStatus::local_error}});
}

TEST_CASE("a failure ends what came before it as done, and tells itself and what follows") {
  Sends sends(64);
  for (std::uint64_t id = 1; id <= 4; ++id) REQUIRE(sends.take(sends.write(id, id == 1)) == 1);
  sends.queue.on_failed(sends.requests[1].number, OperationStatus::access_refused);
  CHECK(sends.completions() == Told{{1, OperationStatus::done}, {2, OperationStatus::access_refused}});
  sends.queue.on_failed(sends.requests[2].number, OperationStatus::flushed);
  sends.queue.fail_all(OperationStatus::peer_lost);
  CHECK(sends.completions() == Told{{3, OperationStatus::flushed}, {4, OperationStatus::peer_lost}});
  // Words of the adapter about it that come later are about no operation.
  sends.queue.on_failed(sends.requests[3].number, OperationStatus::flushed);
  sends.queue.on_done(sends.requests[3].number);
  CHECK(sends.completions().empty());
}

TEST_CASE("a list that the adapter did not take ends as flushed, after what is before it") {
  Sends sends(64);
  REQUIRE(sends.take(sends.write(1, true)) == 1);
  const std::uint32_t first = sends.requests[0].number;
  sends.requests.clear();
  const PhysicalOperation list[] = {sends.write(2, false), sends.write(3, true)};
  REQUIRE(sends.queue.take(list, sends.requests) == 2);
  sends.queue.take_back(sends.requests);
  CHECK(sends.completions().empty());
  sends.queue.on_done(first);
  CHECK(sends.completions() ==
        Told{{1, OperationStatus::done}, {2, OperationStatus::flushed}, {3, OperationStatus::flushed}});
}

TEST_CASE("a message's header goes before its bytes, and has a place of its own until it is sent") {
  Sends sends(4);
  const std::string first = "first", second = "second";
  PhysicalOperation send = sends.write(1, true);
  send.kind = Kind::send;
  send.header = std::as_bytes(std::span(first));
  REQUIRE(sends.take(send) == 1);
  send.header = std::as_bytes(std::span(second));
  send.bytes = 0;
  REQUIRE(sends.take(send) == 1);
  const verbs::AdapterRequest& whole = sends.requests[0];
  REQUIRE(whole.piece_count == 2);
  CHECK(whole.pieces[0].lkey == 99);
  CHECK(whole.pieces[0].length == first.size());
  CHECK(std::string(reinterpret_cast<const char*>(whole.pieces[0].addr), first.size()) == first);
  CHECK(whole.pieces[1].addr == reinterpret_cast<std::uintptr_t>(sends.memory.data()));
  CHECK(whole.pieces[1].lkey == 7);
  CHECK(sends.requests[1].piece_count == 1);
  CHECK(std::string(reinterpret_cast<const char*>(sends.requests[1].pieces[0].addr), second.size()) == second);
}

TEST_CASE("messages and headers that are too long, and headers of what is no message, are refused") {
  Sends sends(64);
  const std::vector<std::byte> header(SendQueue::header_bytes_max + 1);
  PhysicalOperation send = sends.write(1, true);
  send.kind = Kind::send;
  send.header = header;
  REQUIRE(sends.take(send) == 1);
  send.header = std::span(header).first(128);
  send.bytes = 129;
  REQUIRE(sends.take(send) == 1);
  PhysicalOperation write = sends.write(3, true);
  write.header = std::span(header).first(1);
  REQUIRE(sends.take(write) == 1);
  CHECK(sends.requests.empty());
  CHECK(sends.completions().size() == 3);
}

TEST_CASE("a receive buffer goes from the adapter to the owner and back, and ids of another life are ignored") {
  const DeviceSizes sizes{.receive_buffers = 2, .message_bytes_max = 16};
  ReceiveBuffers buffers(sizes);
  buffers.start(3);
  const auto all = buffers.lend_all();
  REQUIRE(all.size() == 2);
  CHECK(all[1].place == 1);
  CHECK(all[1].bytes.size() == 16);
  const PhysicalEvent came = buffers.received(1, 99);
  CHECK(came.bytes.size() == 16);
  CHECK(came.bytes.data() == all[1].bytes.data());
  CHECK_FALSE(buffers.next_free());
  buffers.give_back(came.id ^ std::uint64_t{1} << 32U);
  CHECK_FALSE(buffers.next_free());
  buffers.give_back(came.id);
  buffers.spent(0);
  CHECK(buffers.lend_all().size() == 2);
}
