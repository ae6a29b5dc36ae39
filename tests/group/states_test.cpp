// States that take long to save and to load: whom that holds up, and whom not.
#include <catch2/catch.hpp>

#include <chrono>
#include <condition_variable>
#include <future>
#include <istream>
#include <mutex>
#include <ostream>

#include "group_fixture.hpp"

using namespace spindrift;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;

namespace {

/// A place where application threads are held up until a test lets them go on.
class Barrier {
 public:
  void close() {
    std::lock_guard lock(mutex_);
    closed_ = true;
  }
  void open() {
    std::lock_guard lock(mutex_);
    closed_ = false;
    changed_.notify_all();
  }
  void pass() {
    std::unique_lock lock(mutex_);
    ++arrived_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return !closed_; });
  }
  void await_arrival() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return arrived_ > 0; });
  }
  int arrived() {
    std::lock_guard lock(mutex_);
    return arrived_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool closed_ = false;
  int arrived_ = 0;
};

/// A member whose state is all that it has delivered in "orders".
class Keeper {
 public:
  explicit Keeper(const Config& config) {
    GroupOptions options;
    options.on_view = [this](const NewView& news) {
      std::lock_guard lock(mutex_);
      members_ = news.view.members;
      failed_ += news.failed.size();
      for (const views::Removal& each : news.failed) last_reason_ = each.reason;
      changed_.notify_all();
    };
    group_ = std::make_unique<Group>(config, std::move(options));
  }
  void begin() {
    group_->subgroup("orders").on_state(
        [this](std::ostream& to) {
          saving.pass();
          if (!save_fault.empty()) throw std::runtime_error(save_fault);
          std::lock_guard lock(mutex_);
          to << lines_;
        },
        [this](std::istream& from) {
          loading.pass();
          std::lock_guard lock(mutex_);
          lines_.assign(std::istreambuf_iterator<char>(from), {});
          changed_.notify_all();
        });
    group_->subgroup("orders").on_delivery([this](std::span<const Delivery> batch) {
      std::lock_guard lock(mutex_);
      for (const Delivery& each : batch)
        lines_.append(reinterpret_cast<const char*>(each.payload.data()), each.payload.size());
      changed_.notify_all();
    });
    group_->subgroup("ticks").on_delivery([this](std::span<const Delivery> batch) {
      std::lock_guard lock(mutex_);
      ticks_ += batch.size();
      changed_.notify_all();
    });
  }

  Group& group() { return *group_; }
  void send(const std::string& text) { group_->subgroup("orders").send(text); }
  std::string lines() {
    std::lock_guard lock(mutex_);
    return lines_;
  }
  std::size_t failed() {
    std::lock_guard lock(mutex_);
    return failed_;
  }
  std::string last_reason() {
    std::lock_guard lock(mutex_);
    return last_reason_;
  }
  bool sees_a_failure_within(std::chrono::milliseconds time) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, time, [&] { return failed_ > 0; });
  }
  void await_lines(const std::string& text) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return lines_ == text; });
  }
  void await_ticks(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return ticks_ >= count; });
  }
  void await_members(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return members_.size() == count; });
  }

  Barrier saving;
  Barrier loading;
  std::string save_fault;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string lines_;
  std::size_t ticks_ = 0;
  std::size_t failed_ = 0;
  std::string last_reason_;
  std::vector<NodeId> members_;
  std::unique_ptr<Group> group_;
};

const std::string extra = "founders = 0, 1\nsuspect_after_ms = 300\njoin_timeout_ms = 60000\n";

/// Nodes 0 and 1 of four, which have delivered "ab".
struct Founders {
  explicit Founders(const GroupFixture& fixture) {
    std::thread joining([&] { one = std::make_unique<Keeper>(fixture.config(1, 4, extra)); });
    zero = std::make_unique<Keeper>(fixture.config(0, 4, extra));
    joining.join();
    for (Keeper* each : {zero.get(), one.get()}) each->begin();
    zero->send("a");
    zero->send("b");
    for (Keeper* each : {zero.get(), one.get()}) each->await_lines("ab");
  }
  std::unique_ptr<Keeper> zero;
  std::unique_ptr<Keeper> one;
};

/// That nothing happens for so long has no event: on a busy machine it may go unnoticed, never the other way.
constexpr auto longer_than_silence_may_last = 1200ms;

}  // namespace

TEST_CASE("a group is loaded when its application has the state of every subgroup, and a handler cannot wait for that") {
  GroupFixture fixture;
  Founders all(fixture);
  CHECK(all.zero->group().is_loaded());
  all.zero->group().loaded(0ms);
  Group two(fixture.config(2, 4, extra));
  Journal ticks, orders;
  std::optional<Error> refused;
  two.subgroup("ticks").on_delivery([&](auto batch) {
    refused = thrown_by([&] { two.loaded(); });
    ticks.keep(batch);
  });
  all.one->group().subgroup("ticks").send("tick");
  ticks.await(1);
  REQUIRE(refused);
  CHECK(refused->kind() == ErrorKind::would_block);
  CHECK_FALSE(two.is_loaded());
  CHECK(thrown_by([&] { two.loaded(1ms); })->kind() == ErrorKind::timed_out);

  Barrier loading;
  loading.close();
  std::atomic<bool> returned{false};
  two.subgroup("orders").on_state([](std::ostream&) {}, [&](std::istream& from) {
    loading.pass();
    from.ignore(std::numeric_limits<std::streamsize>::max());
    returned = true;
  });
  two.subgroup("orders").on_delivery([&](auto batch) { orders.keep(batch); });
  loading.await_arrival();
  CHECK_FALSE(two.is_loaded());
  CHECK(thrown_by([&] { two.loaded(1ms); })->kind() == ErrorKind::timed_out);
  std::thread waiting([&] {
    two.loaded();
    CHECK(returned);
  });
  loading.open();
  waiting.join();
  CHECK(two.is_loaded());
  for (Group* const each : {&two, &all.zero->group(), &all.one->group()}) each->leave();
}

TEST_CASE("a member that has no way to load a subgroup's state ends with that, and the others go on") {
  GroupFixture fixture;
  Founders all(fixture);
  Group two(fixture.config(2, 4, extra));
  two.subgroup("ticks").on_delivery([](auto) {});
  two.subgroup("orders").on_delivery([](auto) {});
  const auto why = thrown_by([&] { two.wait(); });
  REQUIRE(why);
  CHECK(why->kind() == ErrorKind::unsupported);
  CHECK_THAT(why->message(), Catch::Contains("subgroup orders has a state with the others"));
  all.zero->send("c");
  for (Keeper* each : {all.zero.get(), all.one.get()}) each->await_lines("abc");
  for (Keeper* each : {all.zero.get(), all.one.get()}) each->group().leave();
}

TEST_CASE("a save that takes long holds up its subgroup at its member alone, and views go on: all get one state") {
  GroupFixture fixture(GENERATE("shm", "tcp"));
  Founders all(fixture);
  all.zero->saving.close();
  Keeper two(fixture.config(2, 4, extra));
  two.begin();
  all.zero->saving.await_arrival();
  CHECK_FALSE(all.one->sees_a_failure_within(longer_than_silence_may_last));
  all.one->send("c");
  all.one->group().subgroup("ticks").send("tick");
  all.zero->await_ticks(1);
  two.await_ticks(1);
  CHECK(all.zero->lines() == "ab");
  Keeper three(fixture.config(3, 4, extra));  // the view changes while the save is under way
  three.begin();
  all.zero->await_members(4);
  all.one->send("d");
  all.zero->saving.open();
  for (Keeper* each : {all.zero.get(), all.one.get(), &two, &three}) {
    each->await_lines("abcd");
    CHECK(each->failed() == 0);
  }
  CHECK(all.zero->saving.arrived() == 1);
  CHECK(all.one->saving.arrived() == 0);
  for (Keeper* each : {all.zero.get(), &three, all.one.get(), &two}) each->group().leave();
}

TEST_CASE("a load that takes long holds up its subgroup at the newcomer alone, and deliveries follow it") {
  GroupFixture fixture(GENERATE("shm", "tcp"));
  Founders all(fixture);
  Keeper two(fixture.config(2, 4, extra));
  two.loading.close();
  two.begin();
  two.loading.await_arrival();
  CHECK_FALSE(all.one->sees_a_failure_within(longer_than_silence_may_last));
  all.one->send("c");
  all.zero->await_lines("abc");
  all.one->group().subgroup("ticks").send("tick");
  two.await_ticks(1);
  CHECK(two.lines().empty());
  Keeper three(fixture.config(3, 4, extra));  // a view may begin meanwhile
  three.begin();
  three.await_lines("abc");
  two.loading.open();
  two.await_lines("abc");
  CHECK(two.loading.arrived() == 1);
  for (Keeper* each : {&two, &three, all.zero.get(), all.one.get()}) {
    CHECK(each->failed() == 0);
    each->group().leave();
  }
}

TEST_CASE("a source that leaves while it saves goes when the newcomer has the state") {
  GroupFixture fixture;
  Keeper zero(fixture.config(0, 4, "founders = 0\nsuspect_after_ms = 300\njoin_timeout_ms = 60000\n"));
  zero.begin();
  zero.send("a");
  zero.await_lines("a");
  zero.saving.close();
  Keeper two(fixture.config(2, 4, "founders = 0\nsuspect_after_ms = 300\njoin_timeout_ms = 60000\n"));
  zero.saving.await_arrival();
  auto leaver = std::async(std::launch::async, [&] { zero.group().leave(); });
  zero.saving.open();
  CHECK(leaver.wait_for(300ms) == std::future_status::timeout);  // the newcomer has no handlers yet
  two.begin();
  leaver.get();
  two.send("b");
  two.await_lines("ab");
  two.group().leave();
}

TEST_CASE("what a save throws costs the newcomer its place, with its words, and nobody who has the state") {
  GroupFixture fixture;
  Founders all(fixture);
  Keeper two(fixture.config(2, 4, extra));
  two.begin();
  two.await_lines("ab");
  all.zero->save_fault = "out of ink";
  try {
    Keeper three(fixture.config(3, 4, extra));
    three.begin();
    three.group().wait();
    FAIL("the newcomer goes on");
  } catch (const Exception& failure) {
    CHECK(failure.error().kind() == ErrorKind::removed);
  }
  two.send("c");
  two.await_lines("abc");
  CHECK_THAT(all.zero->last_reason(), Contains("node 0 could not save the state of subgroup orders for it: out of ink"));
  all.zero->save_fault.clear();
  Keeper again(fixture.config(3, 4, extra));
  again.begin();
  again.await_lines("abc");
  for (Keeper* each : {&again, &two, all.one.get(), all.zero.get()}) each->group().leave();
}

TEST_CASE("a founder that is alone and cannot save its state is no majority without its newcomer, and says both") {
  GroupFixture fixture;
  const std::string alone = "founders = 0\njoin_timeout_ms = 20000\n";
  Keeper zero(fixture.config(0, 2, alone));
  zero.begin();
  zero.save_fault = "out of ink";
  CHECK_THROWS_AS(
      [&] {
        Keeper one(fixture.config(1, 2, alone));
        one.begin();
        one.group().wait();
      }(),
      Exception);
  try {
    zero.group().wait();
    FAIL("the founder goes on");
  } catch (const Exception& failure) {
    CHECK(failure.error().kind() == ErrorKind::no_majority);
    CHECK_THAT(failure.what(), Contains("out of ink"));
  }
}

TEST_CASE("a newcomer may leave while its state is still being saved") {
  GroupFixture fixture;
  Founders all(fixture);
  all.zero->saving.close();
  auto two = std::make_unique<Keeper>(fixture.config(2, 4, extra));
  all.zero->saving.await_arrival();
  auto leaver = std::async(std::launch::async, [&] { two.reset(); });
  all.zero->saving.open();
  leaver.get();
  all.zero->await_members(2);
  all.zero->group().leave();
  all.one->group().leave();
}
