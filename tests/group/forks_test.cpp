// A process that is a member, and the children that it forks: they are none, and hold nothing of it up.
#include <catch2/catch.hpp>

#include <csignal>
#include <functional>
#include <string>
#include <utility>

#include <sys/wait.h>
#include <unistd.h>

#include "group_fixture.hpp"

using namespace spindrift;

namespace {

/// Ends the child when it ends, or hears how that ended.
class Child {
 public:
  explicit Child(const std::function<int()>& run) : pid_(::fork()) {
    if (pid_ == 0) ::_exit(run());
    REQUIRE(pid_ > 0);
  }
  ~Child() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// Its exit code; 128 and the number of the signal that ended it.
  [[nodiscard]] int wait() {
    int status = 0;
    REQUIRE(::waitpid(std::exchange(pid_, -1), &status, 0) > 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  pid_t pid_;
};

int sleeps_for_good() {
  while (true) ::pause();
}

bool is_refused(const std::function<void()>& call) {
  try {
    call();
  } catch (const Exception& thrown) {
    return thrown.error().kind() == ErrorKind::bad_argument && thrown.error().message().find("forked") != std::string::npos;
  }
  return false;
}

void ignore(std::span<const Delivery>) {}

}  // namespace

TEST_CASE("a member leaves and comes back at once though a child that its process has forked lives on") {
  for (const char* fabric : {"shm", "tcp"}) {
    CAPTURE(fabric);
    GroupFixture fixture(fabric);
    auto groups = fixture.join(2);
    for (auto& group : groups) group->subgroup("orders").on_delivery(ignore);
    for (auto& group : groups) group->subgroup("ticks").on_delivery(ignore);
    const Child child(sleeps_for_good);
    groups[1].reset();
    groups[1] = std::make_unique<Group>(fixture.config(1, 2));
    CHECK(groups[1]->view().members.size() == 2);
    groups[1]->subgroup("orders").on_delivery(ignore);
    groups[1]->subgroup("ticks").on_delivery(ignore);
  }
}

TEST_CASE("a child is no member: its calls are refused, its end takes nothing away, and what it would send reaches nobody") {
  GroupFixture fixture;
  auto groups = fixture.join(2);
  std::atomic<int> got = 0;
  for (auto& group : groups) {
    group->subgroup("orders").on_delivery([&](std::span<const Delivery> batch) { got += static_cast<int>(batch.size()); });
    group->subgroup("ticks").on_delivery(ignore);
  }
  Subgroup& orders = groups[0]->subgroup("orders");
  Child child([&] {
    if (!is_refused([&] { orders.send("one"); })) return 1;
    if (!is_refused([&] { static_cast<void>(orders.try_send(3, [](std::span<std::byte>) {})); })) return 2;
    if (!is_refused([&] { static_cast<void>(groups[0]->view()); })) return 3;
    if (!is_refused([&] { groups[0]->leave(); })) return 4;
    if (groups[0]->open()) return 5;
    groups.clear();
    return 0;
  });
  CHECK(child.wait() == 0);
  orders.send("two");
  for (auto& group : groups) group->leave();
  CHECK(got == 2);
}
