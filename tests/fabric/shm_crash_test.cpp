// Processes that die, stop and come back.
#include "child.hpp"
#include "harness.hpp"

#include <poll.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <semaphore>
#include <thread>

#include <spindrift/core/file_descriptor.hpp>
#include <spindrift/fabric/rendezvous.hpp>

using namespace spindrift;
using namespace spindrift::fabric;
using namespace spindrift::fabric::test;

namespace {

/// Has the first thread of a child halt where it begins to end, until this goes.
class HeldExit {
 public:
  explicit HeldExit(pid_t child) : child_(child) {
    REQUIRE(::ptrace(PTRACE_SEIZE, child, nullptr, PTRACE_O_TRACEEXIT) == 0);
  }
  ~HeldExit() {
    int status = 0;
    ::waitpid(child_, &status, __WALL);  // that it has halted
    ::ptrace(PTRACE_DETACH, child_, nullptr, nullptr);
  }
  HeldExit(const HeldExit&) = delete;
  HeldExit& operator=(const HeldExit&) = delete;

 private:
  pid_t child_;
};

/// Sleeps as a poller does, until a peer is lost or the deadline has passed, and returns the reason of the loss.
std::string sleep_until_lost(Endpoint& endpoint, Time deadline) {
  for (;;) {
    endpoint.fabric->prepare_sleep();
    endpoint.pump();
    if (endpoint.count(Event::Kind::lost) > 0 || now() >= deadline) break;
    endpoint.fabric->sleep(deadline);
  }
  endpoint.fabric->cancel_sleep();
  for (const Event& event : endpoint.inbox) {
    if (event.kind == Event::Kind::lost) return event.reason->message();
  }
  return "nothing was lost";
}

}  // namespace

TEST_CASE("a killed process is reported at once, by its pid") {
  const TemporaryDirectory directory;
  Endpoint a(1, make_shm_or_throw(NodeId(1), directory.path()));
  std::vector<double> delays_us;
  for (int round = 0; round < 10; ++round) {
    Child child(directory.path(), "2", "stay");
    await(a, Event::Kind::connected);
    const std::string expected = child.name("2") + " died";
    const Time killed = now();
    child.kill(SIGKILL);
    const Event lost = await(a, Event::Kind::lost);
    delays_us.push_back(std::chrono::duration<double, std::micro>(now() - killed).count());
    REQUIRE(lost.reason->message() == expected);
    REQUIRE(lost.dying);
    const Event died = await(a, Event::Kind::died);
    REQUIRE(died.peer == lost.peer);
    REQUIRE(died.complete);
    child.reap();
  }
  std::sort(delays_us.begin(), delays_us.end());
  std::printf("kill -9 to `lost`: median %.0f us, worst of %zu: %.0f us\n", delays_us[delays_us.size() / 2],
              delays_us.size(), delays_us.back());
}

TEST_CASE("a death is known before the process is gone, which may take long, and wakes all who sleep") {
  const TemporaryDirectory directory;
  std::vector<std::unique_ptr<Endpoint>> survivors;
  for (const std::uint32_t node : {1U, 4U, 5U}) {
    survivors.push_back(std::make_unique<Endpoint>(node, make_shm_or_throw(NodeId(node), directory.path())));
    value_or_throw(survivors.back()->fabric->connect({NodeId(2), ""}));
  }
  Child child(directory.path(), "2", "stay");
  for (const auto& each : survivors) await(*each, Event::Kind::connected);
  // Its first thread halts on its way out, as one that takes down gigabytes does for a while.
  const HeldExit held_exit(child.id());
  const FileDescriptor process(static_cast<int>(::syscall(SYS_pidfd_open, child.id(), 0)));
  const Time deadline = now() + std::chrono::seconds(60);
  std::vector<std::string> reasons(survivors.size());
  std::vector<std::thread> sleepers;
  for (std::size_t i = 0; i < survivors.size(); ++i)
    sleepers.emplace_back([&, i] { reasons[i] = sleep_until_lost(*survivors[i], deadline); });
  child.kill(SIGKILL);
  for (std::thread& each : sleepers) each.join();
  CHECK(now() < deadline);
  for (const std::string& reason : reasons) CHECK(reason == child.name("2") + " died");
  pollfd over{process.get(), POLLIN, 0};
  CHECK(::poll(&over, 1, 0) == 0);
}

TEST_CASE("a peer is starved while its poller waits for a CPU or has one, and not while it sleeps, is stopped or dead") {
  const TemporaryDirectory directory;
  Endpoint a(1, make_shm_or_throw(NodeId(1), directory.path()));
  Endpoint b(4, make_shm_or_throw(NodeId(4), directory.path()));
  value_or_throw(b.fabric->connect({NodeId(1), ""}));
  const PeerId spinner = await(a, Event::Kind::connected).peer;
  std::atomic<bool> spins{true};
  std::atomic<bool> polls{false};
  std::binary_semaphore over(0);
  std::thread poller([&] {
    b.fabric->prepare_sleep();
    b.fabric->cancel_sleep();
    polls = true;
    while (spins) {
    }
    over.acquire();
  });
  while (!polls) std::this_thread::yield();
  CHECK(a.fabric->starved(spinner));
  spins = false;
  while (a.fabric->starved(spinner)) std::this_thread::yield();  // it needs a moment to sleep
  over.release();
  poller.join();
  while (a.fabric->starved(spinner)) std::this_thread::yield();  // there is no such thread, once the kernel has taken it off
  Child child(directory.path(), "2", "stay");
  const PeerId peer = await(a, Event::Kind::connected).peer;
  child.kill(SIGSTOP);
  int status = 0;
  REQUIRE(::waitpid(child.id(), &status, WUNTRACED) == child.id());
  CHECK_FALSE(a.fabric->starved(peer));
  child.kill(SIGKILL);
  await(a, Event::Kind::lost);
  CHECK_FALSE(a.fabric->starved(peer));
}

TEST_CASE("a peer is not to blame for its silence while the thread that would hear it has no end of other work") {
  const TemporaryDirectory directory;
  Endpoint a(1, make_shm_or_throw(NodeId(1), directory.path()));
  Endpoint b(4, make_shm_or_throw(NodeId(4), directory.path()));
  value_or_throw(b.fabric->connect({NodeId(1), ""}));
  const PeerId quiet = await(a, Event::Kind::connected).peer;
  while (a.fabric->starved(quiet)) std::this_thread::yield();  // both are asleep before long
  std::atomic<bool> calls{true};
  std::thread stranger([&] {
    const auto group = value_or_throw(Rendezvous::open(directory.path(), "group"));
    while (calls) static_cast<void>(group.call(NodeId(1)));
  });
  const auto deadline = now() + std::chrono::seconds(20);
  while (!a.fabric->starved(quiet) && now() < deadline) std::this_thread::yield();
  CHECK(now() < deadline);
  calls = false;
  stranger.join();
}

TEST_CASE("what a process sent before its death comes before the news of it, and what it exposed can still be read") {
  const TemporaryDirectory directory;
  Endpoint a(1, make_shm_or_throw(NodeId(1), directory.path()));
  Child child(directory.path(), "2", "speak");
  drive({&a}, [&] { return a.count(Event::Kind::exposed) == 1; });
  const auto at =
      std::find_if(a.inbox.begin(), a.inbox.end(), [](const Event& e) { return e.kind == Event::Kind::exposed; });
  const auto mapped = a.fabric->map(at->peer, at->region);
  drive({&a}, [&] { return a.count(Event::Kind::lost) == 1; });
  REQUIRE(a.inbox.size() >= 7);  // perhaps that the process is gone by now, too
  REQUIRE(text_of(a.inbox[1]) == "one");
  REQUIRE(text_of(a.inbox[2]) == "two");
  REQUIRE(text_of(a.inbox[3]) == "three");
  REQUIRE(text_of(a.inbox[5]) == "four");
  REQUIRE(a.inbox[6].kind == Event::Kind::lost);
  REQUIRE(mapped);  // also where the death was polled together with the exposure
  REQUIRE((*mapped)[0] == std::byte{77});
}

TEST_CASE("a process that leaves in order is told apart from one that died") {
  const TemporaryDirectory directory;
  Endpoint a(1, make_shm_or_throw(NodeId(1), directory.path()));
  Child child(directory.path(), "2", "leave");
  const Event connected = await(a, Event::Kind::connected);
  send(a, connected.peer, "go");
  const Event lost = await(a, Event::Kind::lost);
  REQUIRE(lost.reason->message() == child.name("2") + " closed the connection");
  REQUIRE_FALSE(lost.dying);
  REQUIRE(child.reap() == 0);
}

TEST_CASE("a restarted process gives a new link, whether it or the survivor asks") {
  const TemporaryDirectory directory;
  Endpoint a(1, make_shm_or_throw(NodeId(1), directory.path()));
  if (GENERATE(true, false)) value_or_throw(a.fabric->connect({NodeId(2), ""}));
  PeerId before;
  for (int round = 0; round < 10; ++round) {
    Child child(directory.path(), "2", "stay");
    const Event connected = await(a, Event::Kind::connected);
    REQUIRE(connected.peer > before);
    before = connected.peer;
    child.kill(SIGKILL);
    // Not reaped yet, so that its successor may start while it is still dying.
    Child successor(directory.path(), "3", "stay");
    REQUIRE(await(a, Event::Kind::lost).peer == before);
    REQUIRE(await(a, Event::Kind::connected).node == NodeId(3));
    successor.kill(SIGKILL);
    const Event lost = await(a, Event::Kind::lost);
    REQUIRE(lost.node == NodeId(3));
    before = lost.peer;
  }
}

TEST_CASE("the survivor alone asks for a link with a process that restarts in place") {
  const TemporaryDirectory directory;
  Endpoint a(1, make_shm_or_throw(NodeId(1), directory.path()));
  value_or_throw(a.fabric->connect({NodeId(2), ""}));
  for (int round = 0; round < 10; ++round) {
    Endpoint b(2, make_shm_or_throw(NodeId(2), directory.path()));
    const PeerId peer = await(a, Event::Kind::connected).peer;
    b.fabric.reset();
    REQUIRE(await(a, Event::Kind::lost).peer == peer);
  }
}

TEST_CASE("what was mapped of a killed process stays readable through its successors, until it is unmapped") {
  const TemporaryDirectory directory;
  Endpoint a(1, make_shm_or_throw(NodeId(1), directory.path()));
  const Held before = held();
  std::vector<std::pair<Event, std::span<const std::byte>>> mapped;
  for (int round = 0; round < 20; ++round) {
    value_or_throw(a.fabric->connect({NodeId(2), ""}));
    Child child(directory.path(), "2", "show");
    const PeerId peer = await(a, Event::Kind::connected).peer;
    const Event exposed = await(a, Event::Kind::exposed);
    REQUIRE(exposed.peer == peer);
    mapped.emplace_back(exposed, value_or_throw(a.fabric->map(peer, exposed.region)));
    child.kill(SIGKILL);
    REQUIRE(await(a, Event::Kind::lost).peer == peer);
    child.reap();
  }
  for (const auto& [exposed, memory] : mapped) REQUIRE(memory[5000] == std::byte{78});
  for (const auto& [exposed, memory] : mapped) {
    a.fabric->unmap(exposed.peer, exposed.region);
    REQUIRE_FALSE(a.fabric->map(exposed.peer, exposed.region).ok());
  }
  drive({&a}, [&] { return held() == before; });
}

TEST_CASE("a process that was disconnected and then killed gives way to its successor") {
  const TemporaryDirectory directory;
  Endpoint a(1, make_shm_or_throw(NodeId(1), directory.path()));
  for (int round = 0; round < 10; ++round) {
    Child child(directory.path(), "2", "stay");
    const PeerId peer = await(a, Event::Kind::connected).peer;
    a.fabric->disconnect(peer);
    child.kill(SIGKILL);
    child.reap();
    value_or_throw(a.fabric->connect({NodeId(2), ""}));
    Child successor(directory.path(), "2", "stay");
    const Event again = await(a, Event::Kind::connected);
    REQUIRE(again.peer > peer);
    send(a, again.peer, "hello");
    successor.kill(SIGKILL);
    REQUIRE(await(a, Event::Kind::lost).peer == again.peer);
    for (const Event& event : a.inbox) REQUIRE(event.kind == Event::Kind::died);
    a.inbox.clear();
  }
}

TEST_CASE("disconnect ends the wish for a link too") {
  const TemporaryDirectory directory;
  Endpoint a(1, make_shm_or_throw(NodeId(1), directory.path()));
  value_or_throw(a.fabric->connect({NodeId(2), ""}));
  value_or_throw(a.fabric->connect({NodeId(3), ""}));
  {
    const Endpoint b(2, make_shm_or_throw(NodeId(2), directory.path()));
    a.fabric->disconnect(await(a, Event::Kind::connected).peer);
  }
  const Endpoint successor(2, make_shm_or_throw(NodeId(2), directory.path()));
  // A node that it still wants arrives later; by then it has seen the successor arrive.
  const Endpoint c(3, make_shm_or_throw(NodeId(3), directory.path()));
  REQUIRE(await(a, Event::Kind::connected).node == NodeId(3));
  REQUIRE(a.inbox.empty());
}

TEST_CASE("what dead processes left in the directory is removed by the next start") {
  const TemporaryDirectory directory;
  const std::string group = directory.path() + "/group/";
  {
    Endpoint a(1, make_shm_or_throw(NodeId(1), directory.path()));
    Child child(directory.path(), "2", "stay");
    await(a, Event::Kind::connected);
    child.kill(SIGKILL);
    child.reap();
    std::filesystem::copy_file(group + "2.lock", group + "2.counters");
    std::filesystem::copy_file(group + "1.lock", group + "1.counters");
    std::filesystem::copy_file(group + "1.lock", group + "17.counters");
    std::filesystem::copy_file(group + "1.lock", group + "notes.txt");
    REQUIRE(std::filesystem::exists(group + "2.sock"));

    const Endpoint c(3, make_shm_or_throw(NodeId(3), directory.path()));
    for (const char* stale : {"2.sock", "2.lock", "2.counters", "17.counters", "17.lock"}) {
      CAPTURE(stale);
      REQUIRE_FALSE(std::filesystem::exists(group + stale));
    }
    for (const char* live : {"1.sock", "1.lock", "1.counters", "3.sock", "3.lock", "notes.txt"}) {
      CAPTURE(live);
      REQUIRE(std::filesystem::exists(group + live));
    }
  }
  REQUIRE_FALSE(std::filesystem::exists(group + "1.sock"));
  REQUIRE_FALSE(std::filesystem::exists(group + "1.lock"));
}

TEST_CASE("a peer that is far behind again and again, and takes all of it each time, stays linked") {
  Pair pair({"shm", make_shm_or_throw});
  constexpr std::size_t messages = 200;  // 6 MB, of which 2 are in sockets and the receiver's inbox
  for (int round = 0; round < 6; ++round) {
    for (std::size_t i = 0; i < messages; ++i) send(pair.a, pair.b_at_a, std::string(30000, 'x'));
    drive({&pair.b}, [&] { return pair.b.count(Event::Kind::message) == messages; });
    pair.b.inbox.clear();
    pair.a.pump();
    REQUIRE(pair.a.count(Event::Kind::lost) == 0);
  }
}

TEST_CASE("a peer that stops taking messages costs a bounded amount of memory, then its link") {
  const TemporaryDirectory directory;
  Endpoint a(1, make_shm_or_throw(NodeId(1), directory.path()));
  Child child(directory.path(), "2", "stay");
  const Event connected = await(a, Event::Kind::connected);
  child.kill(SIGSTOP);
  for (int i = 0; i < 1000; ++i) send(a, connected.peer, std::string(30000, 'x'));
  REQUIRE(await(a, Event::Kind::lost).reason->message() == child.name("2") + " does not take its messages");
}
