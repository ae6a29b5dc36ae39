// Replicated objects in logged subgroups: the log makes them again, and nothing but the object hears of it.
#include <catch2/catch.hpp>

#include <algorithm>
#include <atomic>
#include <functional>
#include <istream>
#include <memory>
#include <mutex>
#include <ostream>
#include <stdexcept>
#include <string>
#include <vector>

#include <spindrift/group/replicated.hpp>

#include "logged_fixture.hpp"
#include "tally.hpp"

namespace spindrift {
namespace {

constexpr Duration patience = std::chrono::seconds(20);

/// Has what was written to it, in order. A log alone can make it again: it gives no way to save it.
class Diary {
 public:
  explicit Diary(std::function<void()> on_write = {}) : on_write_(std::move(on_write)) {}

  std::size_t write(const std::string& line) {
    lines_.push_back(std::make_unique<std::string>(line));
    if (on_write_) on_write_();
    return lines_.size();
  }
  void write_and_throw(const std::string& line) {
    static_cast<void>(write(line));
    throw std::runtime_error(line);
  }
  [[nodiscard]] std::vector<std::string> lines() const {
    ++asked;
    std::vector<std::string> copies;
    for (const auto& line : lines_) copies.push_back(*line);
    return copies;
  }
  using Methods = Replicates<&Diary::write, &Diary::write_and_throw, &Diary::lines>;

  static inline std::atomic<int> asked{0};  ///< how often any replica of this process ran the query

 private:
  std::function<void()> on_write_;
  std::vector<std::unique_ptr<std::string>> lines_;
};

/// The same program a version later.
class GrownDiary {
 public:
  std::size_t write(const std::string& line) { return line.size(); }
  void tear_out() {}
  using Methods = Replicates<&GrownDiary::write, &GrownDiary::tear_out>;
};

/// A program and its next version: one method more, in another order, and a query less.
class Balance {
 public:
  int add(int value) { return sum_ += value; }
  int subtract(int value) { return sum_ -= value; }
  int clear() { return sum_ = 0; }
  [[nodiscard]] int sum() const { return sum_; }

 private:
  int sum_ = 0;
};
class EarlierSum : public Balance {
 public:
  using Methods = Replicates<&Balance::add, &Balance::sum, &Balance::subtract>;
};
class LaterSum : public Balance {
 public:
  using Methods = Replicates<&Balance::subtract, &Balance::clear, &Balance::add>;
  using FormerMethods = Formerly<EarlierSum::Methods>;
};

/// Could be saved, and counts how often it is.
class SavedTally {
 public:
  int add(int value) { return sum_ += value; }
  [[nodiscard]] int sum() const { return sum_; }
  void save(std::ostream& to) const {
    ++saved;
    to << sum_;
  }
  void load(std::istream& from) {
    ++saved;
    from >> sum_;
  }
  using Methods = Replicates<&SavedTally::add, &SavedTally::sum>;

  static inline std::atomic<int> saved{0};  ///< or loaded

 private:
  int sum_ = 0;
};

std::vector<std::string> numbered_lines(const std::string& name, unsigned count) {
  std::vector<std::string> lines;
  for (unsigned i = 0; i < count; ++i) lines.push_back(name + " " + std::to_string(i));
  return lines;
}

template <class T>
std::vector<Replicated<T>> attach_all(std::vector<std::unique_ptr<Group>>& groups) {
  std::vector<Replicated<T>> replicas;
  for (auto& group : groups) {
    group->subgroup("ticks").on_delivery([](std::span<const Delivery>) {});
    replicas.push_back(group->replicated<T>("orders"));
  }
  return replicas;
}

}  // namespace

// More than a reading of the log gives at once, so that a query that did not wait would see a part.
TEST_CASE_METHOD(LoggedFixture, "a replicated object whose one member was started anew is made again by its log") {
  const std::vector<std::string> lines = numbered_lines("line", 3000);
  for (unsigned round = 0; round < 3; ++round) {
    auto groups = join_logged(0, 1);
    auto diaries = attach_all<Diary>(groups);
    if (round == 0) {
      std::optional<Future<std::size_t>> last;
      for (const std::string& line : lines) last = diaries[0].update<&Diary::write>(line);
      last->durable(patience);
      CHECK(last->is_durable());
      CHECK(last->get() == lines.size());
      CHECK(groups[0]->subgroup("orders").durable_version() == lines.size());
    }
    CHECK(diaries[0].query<&Diary::lines>() == lines);
    CHECK(diaries[0].is_loaded());
    CHECK(diaries[0].query_at<&Diary::lines>(NodeId(0)).get(patience) == lines);
    leave_all(groups);
  }
}

TEST_CASE_METHOD(LoggedFixture, "three members that were all stopped go on with their object, and nobody answers again") {
  std::vector<std::string> before;
  {
    auto groups = join_logged(0, 3);
    auto diaries = attach_all<Diary>(groups);
    std::vector<Future<std::size_t>> calls;
    for (unsigned i = 0; i < 300; ++i) calls.push_back(diaries[i % 3].update<&Diary::write>("line " + std::to_string(i)));
    calls.push_back(diaries[2].update<&Diary::write>("the last"));
    CHECK_THROWS_AS(diaries[1].update<&Diary::write_and_throw>("thrown").get(patience), std::runtime_error);
    CHECK(diaries[0].ordered_query_all<&Diary::lines>().all(patience).size() == 3);
    CHECK(diaries[0].ordered_query_at<&Diary::lines>(NodeId(2)).get(patience).size() == 302);
    for (const auto& call : calls) call.durable(patience);
    diaries[1].ordered_query<&Diary::lines>().durable(patience);
    before = diaries[0].query<&Diary::lines>();
    leave_all(groups);
  }
  REQUIRE(before.size() == 302);
  const int asked = Diary::asked;
  auto groups = join_logged(0, 3);
  auto diaries = attach_all<Diary>(groups);
  for (const auto& diary : diaries) diary.loaded(patience);
  CHECK(Diary::asked == asked);  // what only reads did not run again
  for (const auto& diary : diaries) CHECK(diary.query<&Diary::lines>() == before);
  const auto results = diaries[1].update<&Diary::write>("new").all(patience);
  CHECK(results.size() == 3);
  for (const auto& result : results) CHECK(result.value() == before.size() + 1);
  for (auto& group : groups) CHECK(group->view().members.size() == 3);  // nobody was accused
  leave_all(groups);
}

TEST_CASE_METHOD(LoggedFixture, "a newcomer beside a running group has its object by the log, and nobody saves a state") {
  auto groups = join_logged(0, 3);
  auto tallies = attach_all<SavedTally>(groups);
  for (int i = 1; i <= 100; ++i) tallies[static_cast<std::size_t>(i) % 3].update<&SavedTally::add>(i).get(patience);
  groups[2]->leave();
  groups[2].reset();
  for (int i = 101; i <= 200; ++i) static_cast<void>(tallies[0].update<&SavedTally::add>(i));
  auto back = join_logged(2, 3);
  const auto beside = tallies[1].update<&SavedTally::add>(1000);
  auto newcomer = attach_all<SavedTally>(back)[0];
  const auto of_newcomer = newcomer.update<&SavedTally::add>(10000);
  CHECK(of_newcomer.all(patience).size() == 3);
  of_newcomer.durable(patience);
  beside.durable(patience);
  CHECK(newcomer.query<&SavedTally::sum>() == 31100);
  CHECK(tallies[0].query_at<&SavedTally::sum>(NodeId(2)).get(patience) == 31100);
  CHECK(SavedTally::saved == 0);
  leave_all(back);
  groups[0]->leave();
  groups[1]->leave();
}

TEST_CASE_METHOD(LoggedFixture, "a newcomer's object of a type that gives no way to save it is made by the log") {
  auto groups = join_logged(0, 2);
  auto diaries = attach_all<Diary>(groups);
  diaries[0].update<&Diary::write>("one").stable(patience);
  groups[1]->leave();
  groups[1].reset();
  diaries[0].update<&Diary::write>("two").durable(patience);
  auto back = join_logged(1, 2);
  auto newcomer = attach_all<Diary>(back)[0];
  CHECK(newcomer.query<&Diary::lines>() == std::vector<std::string>{"one", "two"});
  leave_all(back);
  groups[0]->leave();
}

// A method that starts a call would start it once more with every start of its process.
TEST_CASE_METHOD(LoggedFixture, "a method that comes again from the log cannot start a call, and is_loaded tells it so") {
  std::mutex mutex;
  for (unsigned round = 0; round < 2; ++round) {
    auto groups = join_logged(0, 1);
    Group& group = *groups[0];
    group.subgroup("ticks").on_delivery([](std::span<const Delivery>) {});
    std::atomic<int> replayed{0};
    std::atomic<int> refused{0};
    std::optional<Replicated<Diary>> diary;
    const auto on_write = [&] {
      const std::lock_guard lock(mutex);
      if (!diary->is_loaded()) ++replayed;
      const auto error = thrown_by([&] { static_cast<void>(diary->ordered_query<&Diary::lines>()); });
      if (error && error->kind() == ErrorKind::would_block) ++refused;
    };
    {
      const std::lock_guard lock(mutex);  // the log comes as soon as the object is there
      diary.emplace(group.replicated<Diary>("orders", on_write));
    }
    if (round == 0) diary->update<&Diary::write>("one").durable(patience);
    CHECK(diary->query<&Diary::lines>() == std::vector<std::string>{"one"});
    CHECK(replayed == static_cast<int>(round));
    CHECK(refused == static_cast<int>(round));
    leave_all(groups);
  }
}

TEST_CASE_METHOD(LoggedFixture, "a program with other Methods than those in the log is refused by a sentence, and leaves") {
  {
    auto groups = join_logged(0, 1);
    auto diaries = attach_all<Diary>(groups);
    diaries[0].update<&Diary::write>("one").durable(patience);
    leave_all(groups);
  }
  {
    auto groups = join_logged(0, 1);
    auto grown = attach_all<GrownDiary>(groups);
    const auto refused = thrown_by([&] { grown[0].loaded(patience); });
    REQUIRE(refused);
    CHECK(refused->kind() == ErrorKind::refused);
    CHECK_THAT(refused->to_string(), Catch::Contains("node 0 cannot make the replicated object of subgroup orders from its "
                                                     "log: version 0, of node 0, is no call of this program's Methods") &&
                                         Catch::Contains("fix: name the list of the program that wrote it in Former"));
    const auto ended = thrown_by([&] { groups[0]->wait(); });
    REQUIRE(ended);
    CHECK(ended->kind() == ErrorKind::refused);
  }
  auto groups = join_logged(0, 1);
  auto diaries = attach_all<Diary>(groups);
  CHECK(diaries[0].query<&Diary::lines>() == std::vector<std::string>{"one"});
  leave_all(groups);
}

TEST_CASE_METHOD(LoggedFixture, "an object whose log was bounded, and lacks calls, is refused by a sentence") {
  {
    auto groups = join_logged(0, 1, {.messages = 20});
    groups[0]->subgroup("orders").on_delivery([](auto) {});
    for (unsigned i = 0; i < 4000; ++i) {
      groups[0]->subgroup("orders").send(std::string(1000, '.'));
      if (i % 100 == 99) REQUIRE(groups[0]->subgroup("orders").await_durable(i, patience));
    }
    leave_all(groups);
  }
  auto groups = join_logged(0, 1);
  auto diaries = attach_all<Diary>(groups);
  const auto refused = thrown_by([&] { diaries[0].loaded(patience); });
  REQUIRE(refused);
  CHECK(refused->kind() == ErrorKind::refused);
  CHECK_THAT(refused->to_string(), Catch::Contains("the log of subgroup orders begins with message ") &&
                                       Catch::Contains("there is no checkpoint of one"));
  CHECK(thrown_by([&] { groups[0]->wait(); }));
}

TEST_CASE_METHOD(LoggedFixture, "a later program runs the calls of a log whose list of methods it names") {
  {
    auto groups = join_logged(0, 1);
    auto sums = attach_all<EarlierSum>(groups);
    static_cast<void>(sums[0].update<&Balance::add>(50));
    static_cast<void>(sums[0].ordered_query<&Balance::sum>());
    sums[0].update<&Balance::subtract>(8).durable(patience);
    leave_all(groups);
  }
  for (const int expected : {42, 1}) {
    auto groups = join_logged(0, 1);
    auto sums = attach_all<LaterSum>(groups);
    CHECK(sums[0].query<&Balance::sum>() == expected);
    static_cast<void>(sums[0].update<&Balance::clear>());
    sums[0].update<&Balance::add>(1).durable(patience);
    leave_all(groups);
  }
}

TEST_CASE("a call in a subgroup that is not logged does not become durable, and whoever waits for it is told") {
  GroupFixture fixture;
  Group group(fixture.config(0, 1));
  group.subgroup("ticks").on_delivery([](std::span<const Delivery>) {});
  auto tally = group.replicated<Tally>("orders");
  const auto call = tally.update<&Tally::add>(1);
  const auto refused = thrown_by([&] { call.durable(patience); });
  REQUIRE(refused);
  CHECK(refused->kind() == ErrorKind::bad_argument);
  CHECK_THAT(refused->to_string(), Catch::Contains("\"storage\": \"logged\""));
  call.stable(patience);
  CHECK_FALSE(call.is_durable());
  group.leave();
}

}  // namespace spindrift
