// Handlers that hold up the thread which runs the protocol: their member goes on showing that it lives, everybody waits for
// it, and nobody takes it for dead.
#include <catch2/catch.hpp>

#include <array>
#include <chrono>
#include <future>
#include <thread>

#include <spindrift/group/status.hpp>
#include <spindrift/group/upcall_heartbeats.hpp>

#include "group_fixture.hpp"

using namespace spindrift;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;
using group::UpcallHeartbeats;

namespace {

const std::vector<NodeId> everybody{NodeId(0), NodeId(1), NodeId(2)};
const std::string impatient = "suspect_after_ms = 300\njoin_timeout_ms = 60000\n";
constexpr auto long_silence = 1500ms;  // of five patiences; that nothing comes of it has no event

/// Blocks whoever passes first, until it is opened.
class Bar {
 public:
  void pass() {
    if (passed_.exchange(true)) return;
    begun_.set_value();
    opened_.get_future().wait();
  }
  void await_first() { begun_.get_future().wait(); }
  void open() { opened_.set_value(); }

 private:
  std::atomic<bool> passed_{false};
  std::promise<void> begun_;
  std::promise<void> opened_;
};

void take_all(Group& group) {
  for (const char* name : {"orders", "ticks"}) group.subgroup(name).on_delivery([](auto) {});
}

/// Heartbeats that only write down what the thread would do, and whose turns are taken by hand.
struct SteppedHeartbeats {
  explicit SteppedHeartbeats(Duration stuck_after = 0s)
      : heartbeats(8s, stuck_after,
                   {[this](auto whose) { lives.push_back(whose); },
                    [this](auto, Duration lasted) { reports.push_back(lasted); },
                    [this](const auto& stuck) { given_up.push_back(stuck.lasted); }},
                   clock) {}
  void turn() {
    now += 1s;
    heartbeats.on_turn(now);
  }
  SystemClock clock;
  Time now{};
  std::vector<UpcallHeartbeats::Whose> lives;
  std::vector<Duration> reports;
  std::vector<Duration> given_up;
  UpcallHeartbeats heartbeats;
};

}  // namespace

TEST_CASE("an upcall that two turns have seen is covered up from then on, and told of after a second, then each ten") {
  SteppedHeartbeats stepped;
  stepped.turn();
  {
    const UpcallHeartbeats::Upcall upcall(stepped.heartbeats, SubgroupId(7));
    stepped.turn();
    CHECK(stepped.lives.empty());
    for (int i = 0; i < 12; ++i) stepped.turn();
  }
  CHECK(stepped.lives == std::vector<UpcallHeartbeats::Whose>(12, UpcallHeartbeats::Whose(SubgroupId(7))));
  CHECK(stepped.reports == std::vector<Duration>{1s, 11s});
  stepped.turn();
  stepped.turn();
  CHECK(stepped.lives.size() == 12);
  CHECK_FALSE(stepped.heartbeats.take_stuck());
}

TEST_CASE("the thread that rests while no upcall comes covers the next one that lasts, each time") {
  /// Counts the turns.
  struct CountingClock final : Clock {
    [[nodiscard]] Time now() const noexcept override {
      turns.fetch_add(1);
      turns.notify_all();
      return SystemClock().now();
    }
    mutable std::atomic<std::uint64_t> turns{0};
  } clock;
  std::atomic<std::uint64_t> lives{0};
  const auto show_life = [&lives](UpcallHeartbeats::Whose) {
    lives.fetch_add(1);
    lives.notify_all();
  };
  UpcallHeartbeats heartbeats(80ms, {}, {show_life, [](auto, Duration) {}, [](const auto&) {}}, clock);
  value_or_throw(heartbeats.start());
  for (int round = 0; round < 5; ++round) {
    const std::uint64_t turns = clock.turns.load();
    if (round == 0) clock.turns.wait(turns);  // it has looked once, and rests or is about to
    const std::uint64_t before = lives.load();
    const UpcallHeartbeats::Upcall upcall(heartbeats, SubgroupId(0));
    lives.wait(before);
    CHECK(clock.turns.load() >= turns + 2);
  }
}

TEST_CASE("upcalls that follow each other are no long one") {
  SteppedHeartbeats stepped;
  for (int i = 0; i < 20; ++i) {
    const UpcallHeartbeats::Upcall upcall(stepped.heartbeats, SubgroupId(0));
    stepped.turn();
  }
  CHECK(stepped.lives.empty());
}

TEST_CASE("nobody shows that a member lives while it is back in the protocol on behalf of a handler") {
  SteppedHeartbeats stepped;
  const UpcallHeartbeats::Upcall upcall(stepped.heartbeats, std::nullopt);
  stepped.turn();
  stepped.turn();
  CHECK(stepped.lives.size() == 1);
  {
    const UpcallHeartbeats::Interlude protocol(stepped.heartbeats);
    stepped.turn();
    stepped.turn();
    stepped.turn();
  }
  CHECK(stepped.lives.size() == 1);
  stepped.turn();
  stepped.turn();
  CHECK(stepped.lives.size() == 2);
}

TEST_CASE("an upcall that takes too long is covered up no longer, and its member learns how long it took") {
  SteppedHeartbeats stepped(5s);
  {
    const UpcallHeartbeats::Upcall upcall(stepped.heartbeats, SubgroupId(0));
    for (int i = 0; i < 10; ++i) stepped.turn();
  }
  CHECK(stepped.lives.size() == 4);
  CHECK(stepped.given_up == std::vector<Duration>{5s});  // while it lasts: it may never return
  const auto stuck = stepped.heartbeats.take_stuck();
  REQUIRE(stuck);
  CHECK(stuck->lasted == Duration(5s));
  CHECK(stuck->whose == UpcallHeartbeats::Whose(SubgroupId(0)));
  CHECK_FALSE(stepped.heartbeats.take_stuck());
}

TEST_CASE("an upcall does not return while its member is shown to live") {
  SystemClock clock;
  Bar bar;
  std::atomic<bool> returned{false};
  UpcallHeartbeats heartbeats(8s, 0s, {[&](auto) { bar.pass(); }, [](auto, Duration) {}, [](const auto&) {}}, clock);
  std::promise<void> entered;
  std::promise<void> go_on;
  std::thread poller([&] {
    {
      const UpcallHeartbeats::Upcall upcall(heartbeats, std::nullopt);
      entered.set_value();
      go_on.get_future().wait();
    }
    returned = true;
  });
  entered.get_future().wait();
  heartbeats.on_turn(Time{});
  std::thread turns([&] { heartbeats.on_turn(Time{} + 1s); });
  bar.await_first();
  go_on.set_value();
  std::this_thread::sleep_for(20ms);  // an upcall that returned too early would mostly have by now
  CHECK_FALSE(returned.load());
  bar.open();
  poller.join();
  turns.join();
  CHECK(returned.load());
}

TEST_CASE("a member whose handler holds it up for long keeps its place, in every fabric, and says who is at work") {
  GroupFixture fixture(GENERATE("shm", "tcp", "shm+tcp", "ofi:tcp"));
  Bar bar;
  auto groups = fixture.join(3, impatient);
  groups[0]->subgroup("orders").on_delivery([&](auto) { bar.pass(); });
  groups[0]->subgroup("ticks").on_delivery([](auto) {});
  for (unsigned i = 1; i < 3; ++i) take_all(*groups[i]);
  const std::string status = fixture.directory() + "/test/status/0.status";
  groups[1]->subgroup("orders").send("one");
  bar.await_first();
  while (!Contains("subgroup orders").match(value_or_throw(group::read_status(status)).waits.handler))
    std::this_thread::yield();
  std::this_thread::sleep_for(long_silence);
  for (const auto& each : groups) CHECK(each->view().members == everybody);
  bar.open();
  groups[2]->leave();
  groups[1]->leave();
  while (!value_or_throw(group::read_status(status)).waits.handler.empty()) std::this_thread::yield();
  groups[0]->leave();
}

TEST_CASE("a view that ends while a member's handler holds it up waits for that member") {
  GroupFixture fixture(GENERATE("shm", "tcp", "ofi:tcp"));
  Bar bar;
  auto groups = fixture.join(3, impatient);
  groups[0]->subgroup("orders").on_delivery([&](auto) { bar.pass(); });
  groups[0]->subgroup("ticks").on_delivery([](auto) {});
  for (unsigned i = 1; i < 3; ++i) take_all(*groups[i]);
  groups[1]->subgroup("orders").send("one");
  bar.await_first();
  auto leaving = std::async(std::launch::async, [&] { groups[2]->leave(); });
  CHECK(leaving.wait_for(long_silence) == std::future_status::timeout);
  bar.open();
  leaving.get();
  const std::vector<NodeId> rest{NodeId(0), NodeId(1)};
  while (groups[1]->view().members != rest) std::this_thread::yield();
  while (groups[0]->view().members != rest) std::this_thread::yield();
  groups[1]->leave();
  groups[0]->leave();
}

TEST_CASE("a handler of views holds up its member in a view that others have begun, and nobody goes without it") {
  GroupFixture fixture(GENERATE("shm", "tcp", "ofi:tcp"));
  Bar bar;
  const std::string extra = impatient + "founders = 0, 1\n";
  GroupOptions options;
  options.on_view = [&](const NewView& news) {
    if (news.view.id == ViewId(1)) bar.pass();
  };
  std::unique_ptr<Group> other;
  std::thread joining([&] { other = std::make_unique<Group>(fixture.config(1, 3, extra)); });
  Group busy(fixture.config(0, 3, extra), options);
  joining.join();
  take_all(busy);
  take_all(*other);
  auto newcomer = std::async(std::launch::async, [&] { return std::make_unique<Group>(fixture.config(2, 3, extra)); });
  bar.await_first();
  std::this_thread::sleep_for(long_silence);
  bar.open();
  auto third = newcomer.get();
  take_all(*third);
  for (Group* each : {third.get(), other.get(), &busy}) CHECK(each->view().members == everybody);
  for (Group* each : {third.get(), other.get(), &busy}) each->leave();
}

TEST_CASE("a member whose handler never lets it go on ends with that reason, and the others go on without it") {
  GroupFixture fixture;
  Bar bar;
  auto groups = fixture.join(3, impatient + "handler_stuck_after_ms = 600\n");
  groups[0]->subgroup("orders").on_delivery([&](auto) { bar.pass(); });
  groups[0]->subgroup("ticks").on_delivery([](auto) {});
  for (unsigned i = 1; i < 3; ++i) take_all(*groups[i]);
  groups[1]->subgroup("orders").send("one");
  bar.await_first();
  const std::vector<NodeId> rest{NodeId(1), NodeId(2)};
  for (unsigned i = 1; i < 3; ++i) {
    while (groups[i]->view().members != rest) std::this_thread::yield();
  }
  bar.open();
  try {
    groups[0]->wait();
    FAIL("the group goes on");
  } catch (const Exception& failure) {
    CHECK(failure.error().kind() == ErrorKind::handler_failed);
    CHECK_THAT(failure.what(), Contains("handler_stuck_after_ms"));
  }
  groups[1]->leave();
  groups[2]->leave();
}
