// The checkers find what they are for: rows and rings written by hand, each with one violation.
#include <catch2/catch.hpp>

#include <cstring>

#include "checker.hpp"
#include "payload.hpp"

namespace spindrift::sim {
namespace {

View two_members(DeliveryMode mode) {
  View view;
  view.id = ViewId(1);
  view.members = {NodeId(10), NodeId(20)};
  SubgroupView subgroup;
  subgroup.name = "s";
  subgroup.members = view.members;
  subgroup.senders = view.members;
  subgroup.mode = mode;
  subgroup.profile = {.ring_bytes = 4096, .window_messages = 3, .message_bytes_max = 1024};
  view.subgroups = {subgroup};
  return view;
}

/// Two members whose rows the test writes; the second holds a mirror of the first's.
struct Stage final : NetworkListener {
  explicit Stage(DeliveryMode mode = DeliveryMode::ordered)
      : view(two_members(mode)),
        ledger(view, report),
        checker(view, ledger, report),
        network(scheduler, Random(1, Purpose::fabric), FabricOptions{}, report, *this, view.members) {
    checker.set_network(network);
    for (std::uint32_t i = 0; i < 2; ++i) {
      REQUIRE(network.endpoint(i).listen({view.members[i], {}}).ok());
      rows[i] = network.endpoint(i).allocate(ledger.layout(Rank(i)).bytes(), "row").value();
      checker.on_row(Rank(i), rows[i].memory.data());
    }
    REQUIRE(network.endpoint(0).connect({view.members[1], {}}).ok());
    run();
    fabric::Event event;
    for (std::uint32_t i = 0; i < 2; ++i) {
      REQUIRE(network.endpoint(i).poll(std::span(&event, 1)) == 1);
      peers[i] = event.peer;
    }
    mirror = network.endpoint(1).allocate(ledger.layout(Rank(0)).bytes(), "mirror").value();
    REQUIRE(network.endpoint(1).expose(peers[1], mirror.key, fabric::Access::write).ok());
    run();
  }

  void run() {
    while (!scheduler.empty()) scheduler.run_one();
  }
  void on_news(std::uint32_t) override {}
  void on_posted(const Write& write) override { checker.on_posted(write); }
  void on_landing(const Write& write, std::uint64_t offset, const std::byte* bytes, std::size_t size) override {
    checker.on_landing(write, offset, bytes, size);
  }
  void on_landed(const Write& write, std::uint64_t offset, std::size_t size) override {
    checker.on_landed(write, offset, size);
  }

  [[nodiscard]] const sst::SubgroupBlock& block(std::uint32_t rank) const {
    return *ledger.layout(Rank(rank)).subgroup(SubgroupId(0));
  }
  [[nodiscard]] std::string found() const { return report.violation() ? report.violation()->invariant : "nothing"; }
  void set(std::uint32_t rank, std::uint64_t offset, std::uint64_t value) {
    store_release(rows[rank].memory.data() + offset, value);
  }
  std::byte* ring(std::uint32_t rank) { return rows[rank].memory.data() + block(rank).ring; }

  smc::Reservation reservation(std::uint32_t rank, std::uint64_t offset, std::uint64_t number, std::uint64_t bytes) {
    smc::Reservation made;
    made.header = ring(rank) + offset;
    made.payload = {made.header + smc::header_bytes, bytes};
    made.number = number;
    return made;
  }
  /// Reserves, fills and publishes one message at the next place.
  void send(std::uint32_t rank, std::uint64_t bytes, std::uint64_t after_sequence = 0) {
    const auto made = reservation(rank, tail[rank], next_number[rank], bytes);
    const std::size_t sent = ledger.on_reserved(0, rank, made, 77);
    fill_payload(made.payload, 77, 0, bytes);
    ledger.on_committed(0, rank, sent, after_sequence);
    put(rank, {static_cast<std::uint32_t>(bytes), smc::RecordKind::data, next_number[rank]}, smc::record_bytes(bytes), 1);
  }
  void put(std::uint32_t rank, smc::RecordHeader header, std::uint64_t bytes, std::uint64_t count) {
    store_release(ring(rank) + tail[rank], header.encode());
    tail[rank] += bytes;
    ++next_number[rank];
    set(rank, block(rank).committed, ledger.word(Rank(rank), block(rank).committed) + count);
    ledger.refresh(0, rank);
  }
  /// Both members say that they received (and delivered) everything below.
  void acknowledge(std::uint64_t received, std::uint64_t delivered) {
    for (std::uint32_t i = 0; i < 2; ++i) {
      set(i, block(i).received, received);
      set(i, block(i).delivered, delivered);
    }
  }
  Delivery delivery(std::uint32_t rank, std::uint64_t index, std::uint64_t bytes) {
    return {view.members[rank], SenderRank(rank), MessageIndex(index), SequenceNumber(index * 2 + rank),
            std::span(ring(rank) + smc::header_bytes, bytes)};
  }
  void deliver(std::uint32_t at, Delivery what) { checker.on_delivery(Rank(at), 0, std::span(&what, 1)); }
  void post(std::uint64_t offset, std::uint64_t bytes, std::uint64_t local_shift = 0) {
    fabric::Operation operation;
    operation.peer = peers[0];
    operation.local = rows[0].memory.data() + offset + local_shift;
    operation.bytes = bytes;
    operation.region = mirror.key;
    operation.offset = offset;
    REQUIRE(network.endpoint(0).post(std::span(&operation, 1)).ok());
    run();
  }

  View view;
  Scheduler scheduler;
  Report report;
  Ledger ledger;
  Checker checker;
  Network network;
  fabric::Region rows[2];
  fabric::Region mirror;
  fabric::PeerId peers[2];
  std::uint64_t tail[2] = {};
  std::uint64_t next_number[2] = {};
};

}  // namespace

TEST_CASE("an honest exchange violates nothing") {
  Stage stage;
  stage.send(0, 100);
  stage.post(stage.block(0).ring, 112);
  stage.post(stage.block(0).control_line(), 64);
  stage.put(1, {1, smc::RecordKind::null_run, 0}, 8, 0);
  stage.acknowledge(1, 0);
  stage.deliver(0, stage.delivery(0, 0, 100));
  stage.deliver(1, stage.delivery(0, 0, 100));
  CHECK(stage.found() == "nothing");
}

TEST_CASE("a reservation over a message that somebody still needs is found (R1)") {
  Stage stage;
  stage.send(0, 100);
  stage.ledger.on_reserved(0, 0, stage.reservation(0, 64, 1, 10), 1);
  CHECK(stage.found() == "R1");
}

TEST_CASE("two reservations of the same space are found (R1)") {
  Stage stage;
  stage.ledger.on_reserved(0, 0, stage.reservation(0, 0, 0, 100), 1);
  stage.ledger.on_reserved(0, 0, stage.reservation(0, 64, 1, 100), 1);
  CHECK(stage.found() == "R1");
}

TEST_CASE("a record without its number is found (R2)") {
  Stage stage;
  stage.put(0, {8, smc::RecordKind::data, 5}, 16, 1);
  CHECK(stage.found() == "R2");
}

TEST_CASE("more records in flight than the window are found (R3)") {
  Stage stage;
  for (int i = 0; i < 4; ++i) stage.send(0, 8);
  CHECK(stage.found() == "R3");
}

TEST_CASE("a length that was not reserved is found (R4)") {
  Stage stage;
  stage.ledger.on_committed(0, 0, stage.ledger.on_reserved(0, 0, stage.reservation(0, 0, 0, 100), 1), 0);
  stage.put(0, {101, smc::RecordKind::data, 0}, 112, 1);
  CHECK(stage.found() == "R4");
}

TEST_CASE("a published reservation that nobody committed is found (M1)") {
  Stage stage;
  stage.ledger.on_reserved(0, 0, stage.reservation(0, 0, 0, 8), 1);
  stage.put(0, {8, smc::RecordKind::data, 0}, 16, 1);
  CHECK(stage.found() == "M1");
}

TEST_CASE("a message before one that its sender had delivered is found (M9)") {
  Stage stage;
  stage.send(0, 8, 1);
  CHECK(stage.found() == "M9");
}

TEST_CASE("nulls that nobody is owed are found (M10)") {
  Stage stage;
  stage.put(1, {1, smc::RecordKind::null_run, 0}, 8, 1);
  CHECK(stage.found() == "M10");
}

TEST_CASE("a null that reaches the application is found (M10)") {
  Stage stage;
  stage.send(1, 8);
  stage.put(0, {1, smc::RecordKind::null_run, 0}, 8, 1);
  stage.acknowledge(2, 0);
  stage.deliver(0, stage.delivery(0, 0, 0));
  CHECK(stage.found() == "M10");
}

TEST_CASE("an unordered delivery with a place in the order is found (M11)") {
  Stage stage(DeliveryMode::unordered);
  stage.send(1, 8);
  stage.deliver(0, stage.delivery(1, 0, 8));
  CHECK(stage.found() == "M11");
}

TEST_CASE("a delivery that one member did not acknowledge is found (M5w)") {
  Stage stage;
  stage.send(0, 8);
  stage.set(0, stage.block(0).received, 1);
  stage.deliver(0, stage.delivery(0, 0, 8));
  CHECK(stage.found() == "M5w");
}

TEST_CASE("an acknowledgement before the upcall is found (M5w)") {
  Stage stage;
  stage.send(0, 8);
  stage.acknowledge(1, 1);
  stage.deliver(0, stage.delivery(0, 0, 8));
  CHECK(stage.found() == "M5w");
}

TEST_CASE("a write that is no copy of the own row is found (S1)") {
  Stage stage;
  stage.post(stage.block(0).control_line(), 8, 64);
  CHECK(stage.found() == "S1");
}

TEST_CASE("a word of a mirror that falls is found (S2)") {
  Stage stage;
  stage.set(0, stage.block(0).received, 5);
  stage.post(stage.block(0).control_line(), 64);
  stage.set(0, stage.block(0).received, 4);
  stage.post(stage.block(0).control_line(), 64);
  CHECK(stage.found() == "S2");
}

TEST_CASE("a counter that is visible before its bytes is found (S3)") {
  Stage stage;
  stage.send(0, 100);
  stage.post(stage.block(0).control_line(), 64);
  CHECK(stage.found() == "S3");
}

TEST_CASE("activity that is posted before its words is found (S3)") {
  Stage stage;
  stage.set(0, stage.block(0).received, 1);
  stage.set(0, stage.ledger.layout(Rank(0)).activity_word(0), 1);
  stage.post(stage.ledger.layout(Rank(0)).activity_word(0), 64);
  CHECK(stage.found() == "S3");
}

TEST_CASE("a write that cuts a word is found (S4)") {
  Stage stage;
  stage.post(stage.block(0).control_line() + 4, 8);
  CHECK(stage.found() == "S4");
}

TEST_CASE("what was received differs if one message differs, but not with batches (R5)") {
  const auto outcome = [](std::uint64_t bytes) {
    Stage stage(DeliveryMode::unordered);
    stage.send(0, 8);
    stage.send(0, bytes);
    Delivery first = stage.delivery(0, 0, 8);
    Delivery second{NodeId(10), SenderRank(0), MessageIndex(1), SequenceNumber(0), std::span(stage.ring(0) + 24, bytes)};
    first.sequence = SequenceNumber(0);
    stage.deliver(1, first);
    const std::uint64_t one = stage.checker.outcome(Rank(1), 0);
    stage.deliver(1, second);
    CHECK(stage.found() == "nothing");
    CHECK(stage.checker.outcome(Rank(1), 0) != one);
    return stage.checker.outcome(Rank(1), 0);
  };
  CHECK(outcome(16) == outcome(16));
}

}  // namespace spindrift::sim
