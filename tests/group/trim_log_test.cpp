// Logs that a program trims: that is so at its member alone, and refused where somebody needs the messages.
#include <catch2/catch.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>

#include <spindrift/group/group.hpp>
#include <spindrift/group/replicated.hpp>

#include "logged_fixture.hpp"

namespace spindrift {
namespace {

using namespace std::chrono_literals;

constexpr Duration patience = 60s;

/// Versions that a handler was given.
class Versions {
 public:
  void listen(Group& group) {
    group.subgroup("ticks").on_delivery([](std::span<const Delivery>) {});
    group.subgroup("orders").on_delivery([this](std::span<const Delivery> batch) {
      const std::lock_guard lock(mutex_);
      for (const Delivery& each : batch) {
        if (!first_) first_ = each.version;
        last_ = each.version;
        ++count_;
      }
      changed_.notify_all();
    });
  }
  /// The first of them, when all from there up to this one have come.
  [[nodiscard]] std::uint64_t first_of(std::uint64_t last) {
    std::unique_lock lock(mutex_);
    REQUIRE(changed_.wait_for(lock, patience, [&] { return last_ && *last_ >= last; }));
    REQUIRE(count_ == *last_ + 1 - *first_);
    return *first_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<std::uint64_t> first_;
  std::optional<std::uint64_t> last_;
  std::uint64_t count_ = 0;
};

struct Sum {
  std::uint64_t add(std::uint64_t value) { return sum += value; }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(sum);
  }
  std::uint64_t sum = 0;
  using Methods = Replicates<&Sum::add>;
};

void send(Group& group, std::uint64_t first, std::uint64_t end) {
  for (std::uint64_t i = first; i < end; ++i) group.subgroup("orders").send(std::string(700, 'x'));
  REQUIRE(group.subgroup("orders").await_durable(end - 1, patience));
}

template <class Call>
Error error_of(const Call& call) {
  const auto error = thrown_by(call);
  REQUIRE(error);
  return *error;
}

class TrimFixture : public LoggedFixture {
 public:
  TrimFixture() {}
  [[nodiscard]] bool has_first_segment(std::uint32_t node) const {
    return std::filesystem::exists(directory() + "/journals/" + config(0, 1).group_name() + "/" + std::to_string(node) +
                                   "/0000000000000000.segment");
  }
  void await_trimmed(std::uint32_t node) const {
    const auto begun = std::chrono::steady_clock::now();
    while (has_first_segment(node)) REQUIRE(std::chrono::steady_clock::now() - begun < patience);
  }
};

constexpr std::uint64_t count = 4000;
constexpr std::uint64_t trimmed = 3000;

}  // namespace

TEST_CASE_METHOD(TrimFixture, "a log that is trimmed begins later at that member alone, and goes on at all") {
  {
    auto groups = join_logged(0, 2);
    Versions versions[2];
    for (unsigned i = 0; i < 2; ++i) versions[i].listen(*groups[i]);
    send(*groups[0], 0, count);
    CHECK(versions[0].first_of(count - 1) == 0);
    const std::uint64_t first = groups[0]->subgroup("orders").trim_log(trimmed, patience);
    CHECK(first <= trimmed);
    CHECK(first > trimmed / 2);
    await_trimmed(0);
    CHECK(has_first_segment(1));
    send(*groups[1], count, count + 10);
    leave_all(groups);
  }
  auto groups = join_logged(0, 2);
  Versions versions[2];
  for (unsigned i = 0; i < 2; ++i) versions[i].listen(*groups[i]);
  send(*groups[0], count + 10, count + 20);
  const std::uint64_t first = versions[0].first_of(count + 19);
  CHECK(first > 0);
  CHECK(first <= trimmed);
  CHECK(versions[1].first_of(count + 19) == 0);
  leave_all(groups);
}

TEST_CASE_METHOD(TrimFixture, "nothing is trimmed that is not there, or that somebody needs, and why is told") {
  {
    Versions first;
    auto groups = join_logged(0, 1);
    first.listen(*groups[0]);
    send(*groups[0], 0, 100);
    leave_all(groups);
  }
  auto groups = join_logged(0, 1);
  Group& group = *groups[0];
  // All of them are durable, and the program that was started anew has taken none yet.
  const Error early = error_of([&] { group.subgroup("orders").trim_log(50, patience); });
  CHECK(early.kind() == ErrorKind::refused);
  CHECK(early.fix() == "trim below 0, or later");
  Versions versions;
  versions.listen(group);
  CHECK(versions.first_of(99) == 0);
  CHECK(group.subgroup("orders").trim_log(50, patience) == 0);
  const Error behind = error_of([&] { group.subgroup("orders").trim_log(101, patience); });
  CHECK(behind.kind() == ErrorKind::bad_argument);
  CHECK(behind.fix() == "give version 100, or a lower one");
  const Error not_logged = error_of([&] { group.subgroup("ticks").trim_log(0, patience); });
  CHECK(not_logged.kind() == ErrorKind::bad_argument);
  leave_all(groups);
  CHECK(error_of([&] { group.subgroup("orders").trim_log(50, patience); }).kind() == ErrorKind::group_closed);
}

TEST_CASE_METHOD(TrimFixture, "a handler does not trim, for it would wait for its own return") {
  auto groups = join_logged(0, 1);
  Group& group = *groups[0];
  group.subgroup("ticks").on_delivery([](std::span<const Delivery>) {});
  std::atomic<bool> refused{false};
  group.subgroup("orders").on_delivery([&](std::span<const Delivery>) {
    const auto error = thrown_by([&] { group.subgroup("orders").trim_log(0); });
    refused = error && error->kind() == ErrorKind::bad_argument;
  });
  group.subgroup("orders").send("message");
  leave_all(groups);
  CHECK(refused);
}

TEST_CASE_METHOD(TrimFixture, "an object's log is not trimmed beyond its checkpoint, and without a history not at all") {
  const HistoryBounds none;
  const HistoryBounds last_hundred{.messages = 100, .bytes = 0, .age_ms = 0};
  const bool bounded = GENERATE(false, true);
  auto groups = join_logged(0, 1, bounded ? last_hundred : none);
  groups[0]->subgroup("ticks").on_delivery([](std::span<const Delivery>) {});
  auto sum = groups[0]->replicated<Sum>("orders");
  auto last = sum.update<&Sum::add>(1);
  last.durable(patience);
  const Error needed = error_of([&] { groups[0]->subgroup("orders").trim_log(1, patience); });
  CHECK(needed.kind() == (bounded ? ErrorKind::refused : ErrorKind::bad_argument));
  CHECK_THAT(needed.to_string(), Catch::Contains(bounded ? "are in no checkpoint" : "give the subgroup a \"history\""));
  leave_all(groups);
}

}  // namespace spindrift
