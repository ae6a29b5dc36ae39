// The poller's loop, look by look: when it yields, prepares and sleeps, and that it never sleeps on a look made too early.
#include <catch2/catch.hpp>

#include <chrono>
#include <set>
#include <string>
#include <vector>

#include <spindrift/group/poll_loop.hpp>

using namespace spindrift;
using namespace std::chrono_literals;
using Next = group::PollLoop::Next;

namespace {

Time at(std::chrono::microseconds since) { return Time(since); }

}  // namespace

TEST_CASE("a loop that sleeps yields for as long as it spins, prepares, looks once more, and sleeps") {
  group::PollLoop loop(true, 10us);
  CHECK(loop.on_work() == Next::nothing);
  CHECK(loop.on_nothing(at(100us)) == Next::yield);
  CHECK(loop.on_nothing(at(109us)) == Next::yield);
  CHECK(loop.on_nothing(at(110us)) == Next::prepare);
  CHECK(loop.on_nothing(at(111us)) == Next::sleep);
}

TEST_CASE("work that is found behind the preparation cancels the sleep") {
  group::PollLoop loop(true, 0us);
  CHECK(loop.on_nothing(at(1us)) == Next::prepare);
  CHECK(loop.on_work() == Next::cancel);
  CHECK(loop.on_work() == Next::nothing);
}

TEST_CASE("the time without work begins anew with work, and with every sleep") {
  group::PollLoop loop(true, 10us);
  CHECK(loop.on_nothing(at(0us)) == Next::yield);
  CHECK(loop.on_work() == Next::nothing);
  CHECK(loop.on_nothing(at(10us)) == Next::yield);
  CHECK(loop.on_nothing(at(20us)) == Next::prepare);
  CHECK(loop.on_nothing(at(20us)) == Next::sleep);
  CHECK(loop.on_nothing(at(30us)) == Next::yield);
  CHECK(loop.on_nothing(at(39us)) == Next::yield);
  CHECK(loop.on_nothing(at(40us)) == Next::prepare);
}

TEST_CASE("behind a sleep to its end a loop that finds nothing sleeps again without spinning, and behind work it spins") {
  group::PollLoop loop(true, 10us);
  CHECK(loop.on_nothing(at(0us)) == Next::yield);
  CHECK(loop.on_nothing(at(10us)) == Next::prepare);
  CHECK(loop.on_nothing(at(10us)) == Next::sleep);
  loop.on_slept_through();
  CHECK(loop.on_nothing(at(500us)) == Next::prepare);
  CHECK(loop.on_nothing(at(500us)) == Next::sleep);
  loop.on_slept_through();
  CHECK(loop.on_work() == Next::nothing);
  CHECK(loop.on_nothing(at(900us)) == Next::yield);
  CHECK(loop.on_nothing(at(910us)) == Next::prepare);
}

TEST_CASE("no two sleeps follow each other without a preparation between them") {
  group::PollLoop loop(true, 0us);
  for (int sleeps = 0; sleeps < 3; ++sleeps) {
    CHECK(loop.on_nothing(at(1us)) == Next::prepare);
    CHECK(loop.on_nothing(at(1us)) == Next::sleep);
  }
}

TEST_CASE("a loop that spins never sleeps") {
  group::PollLoop loop(false, 0us);
  for (const auto since : {0us, 1us, 1'000'000us}) CHECK(loop.on_nothing(at(since)) == Next::yield);
}

namespace {

/// Pollers that hand each item of work on to the next, each in a loop of its own, and what a fabric promises to those that
/// go to sleep: who prepared is woken by who notifies afterwards. Every step is one access to what they share; all orders of
/// steps are tried. Nobody else wakes anybody, so whoever sleeps over work sleeps for ever.
struct Pollers {
  enum class At : std::uint8_t { looking, deciding, handing_on, notifying, asleep };
  struct Poller {
    group::PollLoop loop{true, 0us};
    Next last = Next::nothing;  // what the loop said; with a spin of 0 it says in which state the loop is
    At at = At::looking;
    bool found = false;
    bool seen_to_sleep = false;
    bool woken = false;
    int work = 0;
  };

  explicit Pollers(std::size_t count, int items) : pollers(count) { pollers[0].work = items; }

  /// False: this one sleeps until it is woken.
  bool step(std::size_t which) {
    Poller& one = pollers[which];
    switch (one.at) {
      case At::looking:
        one.found = one.work > 0;
        one.at = one.found && which + 1 < pollers.size() ? At::handing_on : At::deciding;
        if (one.found) --one.work;
        if (one.found && which + 1 == pollers.size()) ++done;
        return true;
      case At::handing_on:
        ++pollers[which + 1].work;
        one.at = At::notifying;
        return true;
      case At::notifying:
        pollers[which + 1].woken |= pollers[which + 1].seen_to_sleep;
        one.at = At::deciding;
        return true;
      case At::deciding: decide(one); return true;
      case At::asleep:
        if (!one.woken) return false;
        wake(one);
        return true;
    }
    return false;
  }

  [[nodiscard]] std::string key() const {
    std::string text(1, static_cast<char>(done));
    for (const Poller& one : pollers) {
      for (const int part : {static_cast<int>(one.last), static_cast<int>(one.at), int{one.found}, int{one.seen_to_sleep},
                             int{one.woken}, one.work})
        text += static_cast<char>(part);
    }
    return text;
  }

  std::vector<Poller> pollers;
  int done = 0;

 private:
  static void decide(Poller& one) {
    one.last = one.found ? one.loop.on_work() : one.loop.on_nothing(Time());
    one.at = At::looking;
    if (one.last == Next::prepare) one.seen_to_sleep = true;
    if (one.last == Next::cancel) wake(one);
    if (one.last == Next::sleep) one.at = At::asleep;
  }
  static void wake(Poller& one) {
    one.at = At::looking;
    one.seen_to_sleep = one.woken = false;
  }
};

/// Tries every order of steps from here on, but for states that are known.
void explore(const Pollers& from, int items, std::set<std::string>& known) {
  if (!known.insert(from.key()).second) return;
  bool all_sleep = true;
  for (std::size_t which = 0; which < from.pollers.size(); ++which) {
    Pollers next = from;
    if (!next.step(which)) continue;
    all_sleep = false;
    explore(next, items, known);
  }
  if (all_sleep) REQUIRE(from.done == items);
}

}  // namespace

TEST_CASE("in whatever order pollers look, prepare, look, sleep and wake each other, none sleeps over work") {
  const std::size_t pollers = GENERATE(2U, 3U, 4U);
  std::set<std::string> known;
  explore(Pollers(pollers, 3), 3, known);
  CHECK(known.size() > 100);
}
