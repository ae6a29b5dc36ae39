// The disks of the simulator do with checkpoints what a node's journal may do, and no more.
#include <catch2/catch.hpp>

#include <memory>
#include <utility>
#include <vector>

#include <spindrift/smc/delivery.hpp>

#include "story.hpp"
#include "views/node_logs.hpp"

namespace spindrift::sim {
namespace {

constexpr SubgroupId subgroup(0);

/// Nodes whose logs one object is made of.
struct Disks {
  explicit Disks(std::uint64_t seed) {
    plan.seed = seed;
    plan.subgroups[0].logged = plan.subgroups[0].object = true;
    plan.disks.resize(3);
    for (DiskPlan& disk : plan.disks) disk.keeps = 0;
    logs = std::make_unique<NodeLogs>(scheduler, plan, report,
                                      NodeLogs::Hooks{[](std::uint32_t) {}, [](std::uint32_t) {},
                                                      [](std::uint32_t, std::uint32_t, std::uint64_t, const LogEntry&) {}});
    for (std::uint32_t node = 0; node < 3; ++node) open.push_back(logs->open(node, node));
  }
  void append(std::uint32_t node, std::uint64_t count) {
    const std::vector<std::byte> payload(7);
    for (; count > 0; --count) {
      const std::uint64_t version = open[node]->end(subgroup).version;
      const Delivery delivery{NodeId(0), SenderRank(0),  MessageIndex(0), SequenceNumber(version),
                              payload,   ViewId(0), version};
      open[node]->append(subgroup, std::span(&delivery, 1));
    }
  }
  void write(std::uint32_t node) {
    open[node]->flush();
    while (!scheduler.empty()) scheduler.run_one();
  }
  /// The node makes a checkpoint of its log, which is durable everywhere.
  void make(std::uint32_t node) {
    const std::uint64_t end = open[node]->end(subgroup).version;
    for (int tries = 0; tries < 100 && !log(node).made; ++tries) logs->may_trim(node, 0, end, end);
    REQUIRE(log(node).made);
  }
  [[nodiscard]] std::vector<std::byte> stream(std::uint32_t node, const views::LogPoint& from) {
    const auto reader = open[node]->read(subgroup, from, open[node]->end(subgroup).version);
    std::vector<std::byte> bytes(reader->bytes());
    reader->read(0, bytes);
    return bytes;
  }
  bool take(std::uint32_t node, std::span<const std::byte> bytes) {
    const auto writer = open[node]->write(subgroup);
    writer->write(bytes);
    writer->finish();
    return writer->valid();
  }
  [[nodiscard]] const NodeLog& log(std::uint32_t node) const { return std::as_const(*logs).log(node, 0); }
  [[nodiscard]] std::string found() const { return report.violation() ? report.violation()->invariant : "nothing"; }

  Scheduler scheduler;
  Plan plan = three_nodes(DeliveryMode::ordered, 0);
  Report report;
  std::unique_ptr<NodeLogs> logs;
  std::vector<views::SubgroupLogs*> open;
};

/// The first node's log begins with a checkpoint in it.
struct TrimmedDisks : Disks {
  explicit TrimmedDisks(std::uint64_t seed) : Disks(seed) {
    append(0, 20);
    write(0);
    make(0);
    write(0);
    while (log(0).now.begin.version == 0) logs->may_trim(0, 0, 20, 20);
    append(0, 5);
  }
};

}  // namespace

TEST_CASE("a log is trimmed up to its last checkpoint when the disk has that, and no further") {
  Disks disks(1);
  disks.append(0, 20);
  disks.write(0);
  disks.make(0);
  const views::LogPoint made = *disks.log(0).made;
  CHECK(disks.log(0).now.begin.version == 0);
  CHECK_FALSE(disks.log(0).now.checkpoint);
  disks.write(0);
  CHECK(disks.log(0).now.checkpoint == made);
  for (int i = 0; i < 20; ++i) disks.logs->may_trim(0, 0, 20, 20);
  CHECK(disks.log(0).now.begin == made);
}

TEST_CASE("a crash takes a checkpoint that is not durable, or leaves it, and the end of a process leaves it") {
  int kept = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Disks disks(seed);
    disks.append(0, 20);
    disks.write(0);
    disks.make(0);
    const bool crashes = seed % 2 == 0;
    crashes ? disks.logs->crash(0) : disks.logs->end(0);
    CHECK_FALSE(disks.log(0).made);
    const bool there = disks.log(0).now.checkpoint.has_value();
    if (!crashes) CHECK(there);
    if (crashes && there) ++kept;
  }
  CHECK(kept > 0);
  CHECK(kept < 20);
}

TEST_CASE("a log that begins late goes to another node with its checkpoint, which that one has with it or not at all") {
  bool before = false;
  bool behind = false;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    TrimmedDisks disks(seed);
    const auto bytes = disks.stream(0, {});
    disks.append(1, 3);
    disks.write(1);
    REQUIRE(disks.take(1, bytes));
    CHECK(disks.log(1).end() == disks.log(0).end());
    CHECK(disks.log(1).now.begin == disks.log(0).now.begin);
    CHECK(disks.log(1).now.checkpoint == disks.log(0).now.checkpoint);
    disks.logs->crash(1);
    const bool old = disks.log(1).now.begin.version == 0;
    CHECK(disks.log(1).now.checkpoint.has_value() != old);
    if (old) CHECK(disks.log(1).entries().size() == 3);
    (old ? before : behind) = true;
    CHECK(disks.found() == "nothing");
  }
  CHECK(before);
  CHECK(behind);
}

TEST_CASE("a log that is sent with another state or link than its checkpoint's, or without one, is found (D9)") {
  TrimmedDisks disks(3);
  auto bytes = disks.stream(0, {});
  const views::LogPoint begin = disks.log(0).now.begin;
  SECTION("another state") { bytes[24 + 32] ^= std::byte{1}; }
  SECTION("another link") { bytes[24 + 8] ^= std::byte{1}; }
  SECTION("none") {
    const std::size_t with = 32 + state_at(*disks.log(0).now.checkpoint).size();
    bytes.erase(bytes.begin() + 24, bytes.begin() + 24 + static_cast<std::ptrdiff_t>(with));
    bytes[7] ^= std::byte{0x80};
  }
  REQUIRE(begin.version > 0);
  CHECK_FALSE(disks.take(1, bytes));
  CHECK(disks.found() == "D9");
  CHECK(disks.log(1).end() == views::LogPoint{});
}

TEST_CASE("a log whose link at its checkpoint's version turns out to be another is found (D9)") {
  TrimmedDisks disks(4);
  disks.make(0);
  disks.write(0);
  disks.append(0, 1);
  REQUIRE(disks.log(0).now.checkpoint->version > disks.log(0).now.begin.version);
  disks.logs->log(0, 0).now.checkpoint->link.words[1] ^= 1;
  CHECK_FALSE(disks.take(1, disks.stream(0, {})));
  CHECK(disks.found() == "D9");
  CHECK(disks.log(1).end() == views::LogPoint{});
  CHECK_FALSE(disks.log(1).now.checkpoint);
}

}  // namespace spindrift::sim
