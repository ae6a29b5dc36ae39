// The fabric that notes what connecting takes: everything passes through it, and it notes what is about links and regions.
#include <catch2/catch.hpp>

#include <array>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <spindrift/bench/processes.hpp>
#include <spindrift/bench/watched_fabric.hpp>

using namespace spindrift;
using namespace spindrift::bench;
using fabric::Event;

namespace {

constexpr std::uint64_t call_ns = 20'000;

/// Computes for a while, so that a call takes time.
void take_time() {
  const std::uint64_t start_ns = nanoseconds_now();
  const std::uint64_t cpu_ns = thread_cpu_ns();
  while (nanoseconds_now() - start_ns < call_ns || thread_cpu_ns() - cpu_ns < call_ns) {
  }
}

/// Writes down who called it, and reports what it is told to.
class ScriptedFabric final : public fabric::Fabric {
 public:
  ScriptedFabric(std::vector<std::string>& calls, std::deque<Event>& events) : calls_(calls), events_(events) {}

  [[nodiscard]] const fabric::Traits& traits() const noexcept override { return traits_; }
  [[nodiscard]] Result<fabric::Region> allocate(std::size_t, std::string_view) override {
    note("allocate");
    return fabric::Region{};
  }
  void release(fabric::RegionKey) override {
    note("release");
    if (on_release) on_release();
  }
  [[nodiscard]] Result<void> listen(const fabric::Address&) override { return noted("listen"); }
  [[nodiscard]] Result<void> connect(const fabric::Address&) override { return noted("connect"); }
  void disconnect(fabric::PeerId) override { note("disconnect"); }
  [[nodiscard]] Result<void> expose(fabric::PeerId, fabric::RegionKey, fabric::Access) override { return noted("expose"); }
  [[nodiscard]] Result<std::span<const std::byte>> map(fabric::PeerId, fabric::RegionKey) override {
    note("map");
    return std::span<const std::byte>();
  }
  void unmap(fabric::PeerId, fabric::RegionKey) override { note("unmap"); }
  [[nodiscard]] Result<void> post(std::span<const fabric::Operation>) override { return noted("post"); }
  [[nodiscard]] std::uint64_t unsent_bytes(fabric::PeerId) const noexcept override { return 77; }
  [[nodiscard]] std::size_t poll(std::span<Event> events) override {
    note("poll");
    std::size_t count = 0;
    for (; count < events.size() && !events_.empty(); ++count) {
      events[count] = std::move(events_.front());
      events_.pop_front();
    }
    return count;
  }
  void notify() noexcept override { note("notify"); }
  void prepare_sleep() noexcept override { note("prepare_sleep"); }
  void sleep(Time) noexcept override { note("sleep"); }
  void cancel_sleep() noexcept override { note("cancel_sleep"); }
  void wake() noexcept override { note("wake"); }

  std::function<void()> on_release;

 private:
  void note(const char* call) {
    calls_.emplace_back(call);
    take_time();
  }
  Result<void> noted(const char* call) {
    note(call);
    return {};
  }

  fabric::Traits traits_{.name = "scripted"};
  std::vector<std::string>& calls_;
  std::deque<Event>& events_;
};

struct Watched {
  Watched() {
    auto made = std::make_unique<ScriptedFabric>(calls, events);
    scripted = made.get();
    fabric = watch_connecting(std::move(made), log);
  }
  std::size_t poll() {
    std::array<Event, 4> taken;
    return fabric->poll(taken);
  }
  void report(Event::Kind kind) {
    Event event;
    event.kind = kind;
    events.push_back(std::move(event));
  }

  std::vector<std::string> calls;
  std::deque<Event> events;
  ConnectingLog log;
  ScriptedFabric* scripted = nullptr;
  std::unique_ptr<fabric::Fabric> fabric;
};

}  // namespace

TEST_CASE("a watched fabric passes every call on, and times those about links and regions by their kind") {
  Watched watched;
  CHECK(watched.fabric->traits().name == "scripted");
  CHECK(watched.fabric->unsent_bytes({}) == 77);
  CHECK(watched.fabric->post({}));
  watched.fabric->notify();
  watched.fabric->prepare_sleep();
  watched.fabric->sleep({});
  watched.fabric->cancel_sleep();
  watched.fabric->wake();
  CHECK(watched.poll() == 0);
  CHECK(watched.log.open.ns + watched.log.links.ns + watched.log.regions.ns == 0);
  CHECK(watched.log.carved.at_ns == 0);

  CHECK(watched.fabric->listen({}));
  CHECK(watched.log.open.ns >= call_ns);
  CHECK(watched.log.links.ns == 0);
  CHECK(watched.fabric->connect({}));
  watched.fabric->disconnect({});
  CHECK(watched.log.links.ns >= 2 * call_ns);
  CHECK(watched.log.links.cpu_ns >= 2 * call_ns);
  CHECK(watched.log.regions.ns == 0);
  CHECK(watched.fabric->allocate(8, "row"));
  const auto carved_at_ns = watched.log.carved.at_ns;
  CHECK(carved_at_ns > 0);
  CHECK(watched.fabric->allocate(8, "mirror"));
  CHECK(watched.log.carved.at_ns == carved_at_ns);
  CHECK(watched.fabric->expose({}, {}, fabric::Access::write));
  CHECK(watched.fabric->map({}, {}));
  watched.fabric->unmap({}, {});
  watched.fabric->release({});
  CHECK(watched.log.regions.ns >= 6 * call_ns);
  CHECK(watched.log.regions.cpu_ns >= 6 * call_ns);
  const std::vector<std::string> expected{"post",   "notify", "prepare_sleep", "sleep",      "cancel_sleep", "wake",
                                          "poll",   "listen", "connect",       "disconnect", "allocate",     "allocate",
                                          "expose", "map",    "unmap",         "release"};
  CHECK(watched.calls == expected);
}

TEST_CASE("a poll counts if it reported a link or a region, and the first word of each kind is kept") {
  Watched watched;
  watched.report(Event::Kind::message);
  CHECK(watched.poll() == 1);
  CHECK(watched.log.links.ns + watched.log.regions.ns == 0);
  watched.report(Event::Kind::exposed);
  CHECK(watched.poll() == 1);
  CHECK(watched.log.regions.ns >= call_ns);
  CHECK(watched.log.links.ns == 0);
  CHECK(watched.log.exposed_at_ns > 0);
  CHECK(watched.log.connected.at_ns == 0);

  watched.report(Event::Kind::connected);
  watched.report(Event::Kind::message);
  CHECK(watched.poll() == 2);
  CHECK(watched.log.links.ns >= call_ns);
  const auto connected = watched.log.connected;
  CHECK(connected.at_ns > 0);
  CHECK(connected.cpu_ns > 0);
  CHECK(watched.log.lost.at_ns == 0);
  watched.report(Event::Kind::connected);
  watched.report(Event::Kind::lost);
  CHECK(watched.poll() == 2);
  CHECK(watched.log.connected.at_ns == connected.at_ns);
  CHECK(watched.log.last_connected_at_ns > connected.at_ns);
  CHECK(watched.log.lost.at_ns > connected.at_ns);
}

TEST_CASE("a call that waits for somebody is told apart from one whose thread was only not let run") {
  Watched watched;
  watched.fabric->release({});  // it computes, and whoever runs instead of it takes its CPU away
  CHECK(watched.log.regions.waits == 0);
  watched.scripted->on_release = [] {
    std::promise<void> news;
    std::thread other([&] {
      take_time();
      news.set_value();
    });
    news.get_future().wait();
    other.join();
  };
  // The other thread may be through before this one asks.
  for (int i = 0; i < 1000 && watched.log.regions.waits == 0; ++i) watched.fabric->release({});
  CHECK(watched.log.regions.waits > 0);
  CHECK(watched.log.links.waits == 0);
}
