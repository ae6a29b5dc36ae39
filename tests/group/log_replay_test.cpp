// The own log for the application: exactly what was appended, in order, a little at a time.
#include <catch2/catch.hpp>

#include <cstdint>
#include <string>

#include <spindrift/group/log_replay.hpp>

#include "logs_fixture.hpp"

namespace spindrift::group {
namespace {

constexpr SubgroupId subgroup(5);

/// Takes the messages of versions [from, to), and compares them; the largest count that came at once.
std::size_t take_all(LoggingNode& node, std::uint64_t from, std::uint64_t to) {
  LogReplay replay(node.journal(), subgroup, from, to, [&] { node.note_event(); });
  std::uint64_t version = from;
  std::size_t most = 0;
  node.await([&] {
    for (auto chunk = replay.next(); !chunk.empty(); chunk = replay.next()) {
      most = std::max(most, chunk.size());
      for (const Delivery& each : chunk) {
        REQUIRE(each.version == version);
        REQUIRE(each.sequence == SequenceNumber(version));
        REQUIRE(each.view == ViewId(4));
        REQUIRE(each.sender == NodeId(static_cast<std::uint32_t>(version % 3)));
        REQUIRE(reinterpret_cast<std::uintptr_t>(each.payload.data()) % 8 == 0);
        const std::string text(reinterpret_cast<const char*>(each.payload.data()), each.payload.size());
        REQUIRE(text == LoggingNode::text_of("message", version++));
      }
    }
    REQUIRE_FALSE(replay.failure());
    return replay.done();
  });
  CHECK(version == to);
  return most;
}

}  // namespace

TEST_CASE("a replay gives what was appended, and nothing of other subgroups") {
  const JournalHost host;
  LoggingNode node(host, 1);
  for (int i = 0; i < 20; ++i) {
    node.append(subgroup, 100);
    node.append(SubgroupId(1), 10);
  }
  CHECK(take_all(node, 0, 2000) == 512);
  CHECK(take_all(node, 1700, 1999) == 299);
  CHECK(take_all(node, 2000, 2000) == 0);
}

TEST_CASE("messages of a replay that were given back come once more, with the same times") {
  const JournalHost host;
  LoggingNode node(host, 1);
  node.append(subgroup, 600);
  LogReplay replay(node.journal(), subgroup, 0, 600, [&] { node.note_event(); });
  std::uint64_t version = 0;
  node.await([&] {
    for (auto chunk = replay.next(); !chunk.empty(); chunk = replay.next()) {
      REQUIRE(chunk.front().version == version);
      const std::size_t taken = (chunk.size() + 2) / 3;
      replay.give_back(chunk.size() - taken);
      version += taken;
      REQUIRE(replay.time(version - 1) == node.logs().stamps().of(subgroup, version - 1));
      CHECK_FALSE(replay.time(version));
      CHECK(replay.done() == (version == 600));
      CHECK_FALSE(replay.failure());
    }
    return replay.done();
  });
  CHECK(version == 600);
}

TEST_CASE("messages of a replay have the times that they were stamped with") {
  const JournalHost host;
  LoggingNode node(host, 1);
  for (int i = 0; i < 20; ++i) {
    node.append(subgroup, 50);
    node.append(SubgroupId(1), 10);
  }
  LogReplay replay(node.journal(), subgroup, 0, 1000, [&] { node.note_event(); });
  CHECK_FALSE(replay.time(0));
  std::uint64_t version = 0;
  std::uint64_t before = 1;
  node.await([&] {
    for (auto chunk = replay.next(); !chunk.empty(); chunk = replay.next()) {
      const std::uint64_t first = version;
      for (; version < first + chunk.size(); ++version) {
        REQUIRE(replay.time(version) == node.logs().stamps().of(subgroup, version));
        REQUIRE(replay.time(version) >= before);
        before = *replay.time(version);
      }
      CHECK_FALSE(replay.time(version));
      if (first > 0) CHECK_FALSE(replay.time(first - 1));
    }
    return replay.done();
  });
  CHECK(version == 1000);
}

TEST_CASE("a replay gives the log as it is since it began anew") {
  const JournalHost host;
  LoggingNode source(host, 1);
  source.append(subgroup, 900);
  const auto stream = source.stream(subgroup, {});
  {
    LoggingNode node(host, 2);
    node.append(subgroup, 1500, "other");
    const auto writer = node.logs().write(subgroup);
    writer->write(stream);
    CHECK_FALSE(node.logs().stamps().of(subgroup, 0));
    CHECK(take_all(node, 0, 900) > 0);
    CHECK(take_all(node, 450, 900) > 0);
  }
  LoggingNode node(host, 2);
  CHECK(take_all(node, 0, 900) > 0);
  CHECK(take_all(node, 450, 900) > 0);
}

TEST_CASE("messages of a replay that are large come few at once, and one that is larger than that comes alone") {
  const JournalHost host;
  LoggingNode node(host, 1, {});
  const auto append = [&](std::size_t bytes) {
    const std::vector<std::byte> payload(bytes, std::byte{7});
    const Delivery delivery{NodeId(1), SenderRank(0), MessageIndex(0), SequenceNumber(0), payload};
    node.logs().append(subgroup, std::span(&delivery, 1));
  };
  for (int i = 0; i < 10; ++i) append(300'001);
  append(3'000'000);
  append(1);
  LogReplay replay(node.journal(), subgroup, 0, 12, [&] { node.note_event(); });
  std::vector<std::size_t> counts;
  std::vector<std::size_t> sizes;
  node.await([&] {
    for (auto chunk = replay.next(); !chunk.empty(); chunk = replay.next()) {
      counts.push_back(chunk.size());
      for (const Delivery& each : chunk) {
        sizes.push_back(each.payload.size());
        REQUIRE(std::ranges::all_of(each.payload, [](std::byte byte) { return byte == std::byte{7}; }));
      }
    }
    return replay.done();
  });
  CHECK(counts == std::vector<std::size_t>{3, 3, 3, 1, 1, 1});
  CHECK(sizes.size() == 12);
  CHECK(sizes[10] == 3'000'000);
}

TEST_CASE("a replay that nobody takes any more ends, and one of messages that are not there fails") {
  const JournalHost host;
  LoggingNode node(host, 1);
  node.append(subgroup, 5000);
  {
    LogReplay replay(node.journal(), subgroup, 0, 5000, [&] { node.note_event(); });
    node.await([&] { return !replay.next().empty(); });
    CHECK_FALSE(replay.done());
  }
  LogReplay replay(node.journal(), subgroup, 4990, 5001, [&] { node.note_event(); });
  std::size_t taken = 0;
  node.await([&] {
    for (auto chunk = replay.next(); !chunk.empty(); chunk = replay.next()) taken += chunk.size();
    return replay.failure().has_value();
  });
  CHECK(taken == 0);  // what could not be completed is not shown
  CHECK(replay.failure()->to_string().find("message 5000") != std::string::npos);
  CHECK_FALSE(replay.done());
}

}  // namespace spindrift::group
