// Fields that keep their versions, in a group with journals: the log makes versions and times again, also a newcomer's.
#include <catch2/catch.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <spindrift/group/persistent.hpp>
#include <spindrift/group/replicated.hpp>

#include "logged_fixture.hpp"

namespace spindrift {
namespace {

constexpr Duration patience = std::chrono::seconds(20);

/// A version, its time in nanoseconds since 1970, and the value.
using Line = std::tuple<std::uint64_t, std::int64_t, int>;

/// A number, and all that were added, by deltas.
class Meter {
 public:
  struct Sum {
    using Delta = int;
    void apply(int more) { value += more; }
    int value = 0;
  };

  std::uint64_t set(int value) {
    last_.set(value);
    sum_.edit(value);
    return *last_.latest_version();
  }
  void trim(std::uint64_t below) { last_.trim(below); }

  [[nodiscard]] std::vector<Line> lines() const { return lines_of(last_, [](int value) { return value; }); }
  [[nodiscard]] std::vector<Line> sums() const { return lines_of(sum_, [](const Sum& sum) { return sum.value; }); }
  /// Nothing: it is not known yet, or so many sums came since that the one of then is not kept any more.
  [[nodiscard]] std::optional<std::pair<int, int>> at_time(std::int64_t ns) const {
    const LogTime time{std::chrono::nanoseconds(ns)};
    switch (last_.state_at(time)) {
      case VersionState::kept:
        if (sum_.state_at(time) == VersionState::trimmed) return std::nullopt;
        return std::pair(*last_.at_time(time), sum_.at_time(time)->value);
      case VersionState::not_yet: return std::nullopt;
      case VersionState::never_was:
      case VersionState::trimmed: break;
    }
    return std::pair(0, 0);
  }
  [[nodiscard]] int state(std::uint64_t version) const { return static_cast<int>(last_.state(version)); }
  using Methods = Replicates<&Meter::set, &Meter::trim, &Meter::lines, &Meter::at_time>;

 private:
  template <class T, class Read>
  static std::vector<Line> lines_of(const Persistent<T>& field, Read read) {
    std::vector<Line> all;
    for (const KeptVersion& kept : field.versions())
      all.emplace_back(kept.version, kept.time.time_since_epoch().count(), read(*field.at(kept.version)));
    return all;
  }

  Persistent<int> last_;
  Persistent<Sum> sum_{KeepVersions{.count = 50, .deltas_max = 7}};
};

std::vector<Replicated<Meter>> attach_all(std::vector<std::unique_ptr<Group>>& groups) {
  std::vector<Replicated<Meter>> replicas;
  for (auto& group : groups) {
    group->subgroup("ticks").on_delivery([](std::span<const Delivery>) {});
    replicas.push_back(group->replicated<Meter>("orders"));
  }
  return replicas;
}

/// The lines without their times, which differ between members.
std::vector<std::pair<std::uint64_t, int>> versions_of(const std::vector<Line>& lines) {
  std::vector<std::pair<std::uint64_t, int>> all;
  for (const auto& [version, time, value] : lines) all.emplace_back(version, value);
  return all;
}

std::int64_t now_ns() {
  return LogTime(std::chrono::system_clock::now()).time_since_epoch().count();
}

}  // namespace

TEST_CASE_METHOD(LoggedFixture, "fields of three members that were all stopped have their versions and times again") {
  std::vector<std::vector<Line>> lines;
  std::vector<std::vector<Line>> sums;
  const std::int64_t begun = now_ns();
  for (int round = 0; round < 3; ++round) {
    auto groups = join_logged(0, 3);
    auto meters = attach_all(groups);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      CHECK(meters[i].query<&Meter::lines>() == lines[i]);
      CHECK(meters[i].query<&Meter::sums>() == sums[i]);
      CHECK(meters[i].query<&Meter::state>(8u) == static_cast<int>(VersionState::trimmed));
    }
    std::vector<Future<std::uint64_t>> calls;
    for (unsigned i = 0; i < 100; ++i) calls.push_back(meters[i % 3].update<&Meter::set>(static_cast<int>(i)));
    static_cast<void>(meters[0].ordered_query<&Meter::lines>());  // takes a version, and changes nothing
    meters[0].update<&Meter::trim>(10u).durable(patience);
    for (const auto& call : calls) call.durable(patience);
    lines.clear();
    sums.clear();
    for (std::size_t i = 0; i < 3; ++i) {
      meters[0].ordered_query_at<&Meter::lines>(NodeId(static_cast<std::uint32_t>(i))).get(patience);
      lines.push_back(meters[i].query<&Meter::lines>());
      sums.push_back(meters[i].query<&Meter::sums>());
      CHECK(versions_of(lines[i]) == versions_of(lines[0]));
      CHECK(versions_of(sums[i]) == versions_of(sums[0]));
      CHECK(std::get<0>(lines[i].front()) == 10);
      CHECK(sums[i].size() == 50);
      std::int64_t before = begun;
      for (const auto& [version, time, value] : lines[i]) {
        CHECK(time >= before);
        before = time;
      }
      CHECK(before <= now_ns());
    }
    leave_all(groups);
  }
}

TEST_CASE_METHOD(LoggedFixture, "a newcomer's fields have the versions of the others, and its times stay from then on") {
  auto groups = join_logged(0, 3);
  auto meters = attach_all(groups);
  for (int i = 0; i < 50; ++i) meters[2].update<&Meter::set>(i).get(patience);
  groups[2]->leave();
  groups[2].reset();
  for (int i = 50; i < 100; ++i) meters[0].update<&Meter::set>(i).get(patience);
  std::vector<Line> lines;
  for (int round = 0; round < 2; ++round) {
    auto back = join_logged(2, 3);
    Replicated<Meter> newcomer = attach_all(back)[0];
    newcomer.loaded(patience);
    if (round == 1) CHECK(newcomer.query<&Meter::lines>() == lines);
    if (round == 0) newcomer.update<&Meter::set>(100).durable(patience);
    lines = newcomer.query<&Meter::lines>();
    CHECK(versions_of(lines) == versions_of(meters[0].query<&Meter::lines>()));
    CHECK(lines.size() == 101);
    CHECK(newcomer.query<&Meter::at_time>(std::get<1>(lines[70])) != std::nullopt);
    leave_all(back);
  }
  groups[0]->leave();
  groups[1]->leave();
}

TEST_CASE_METHOD(LoggedFixture, "what was answered for a time, of two fields at once, stays the answer") {
  auto groups = join_logged(0, 2);
  auto meters = attach_all(groups);
  std::atomic<bool> over{false};
  std::jthread updates([&] {
    for (int i = 1; i <= 3000; ++i) {
      const auto call = meters[1].post<&Meter::set>(1);
      if (i % 20 == 0) call.get(patience);
    }
    over = true;
  });
  std::vector<std::pair<std::int64_t, std::pair<int, int>>> answers;
  unsigned not_yet = 0;
  for (bool last = false; !last;) {
    last = over;
    const std::int64_t time = now_ns();
    const auto answer = meters[0].query<&Meter::at_time>(time);
    if (answer) answers.emplace_back(time, *answer);
    not_yet += answer ? 0 : 1;
  }
  updates.join();
  meters[0].ordered_query<&Meter::lines>().get(patience);
  INFO(answers.size() << " answers, and " << not_yet << " times not yet");
  REQUIRE_FALSE(answers.empty());
  const std::vector<Line> lines = meters[0].query<&Meter::lines>();
  CHECK(lines.size() == 3000);
  std::size_t wrong = 0;
  for (const auto& [time, answer] : answers) {
    const auto is_before = [until = time](const Line& line) { return std::get<1>(line) <= until; };
    const auto sum = static_cast<int>(std::count_if(lines.begin(), lines.end(), is_before));
    wrong += answer != std::pair(sum == 0 ? 0 : 1, sum) ? 1 : 0;
  }
  CHECK(wrong == 0);
  CHECK(meters[0].query<&Meter::at_time>(now_ns() + 1'000'000'000'000) == std::nullopt);
  while (!meters[0].query<&Meter::at_time>(now_ns() - 1'000'000)) std::this_thread::yield();  // an idle log holds up nobody
  leave_all(groups);
}

TEST_CASE("an object with fields that keep versions is refused where the subgroup is not logged, and nothing else is lost") {
  GroupFixture fixture;
  Group group(fixture.config(0, 1));
  group.subgroup("ticks").on_delivery([](std::span<const Delivery>) {});
  const auto refused = thrown_by([&] { static_cast<void>(group.replicated<Meter>("orders")); });
  REQUIRE(refused);
  CHECK(refused->kind() == ErrorKind::bad_argument);
  CHECK_THAT(refused->to_string(), Catch::Contains("subgroup orders, node 0: a Persistent field has no versions"));
  group.subgroup("orders").on_delivery([](std::span<const Delivery>) {});  // it took no object
  group.leave();
}

}  // namespace spindrift
