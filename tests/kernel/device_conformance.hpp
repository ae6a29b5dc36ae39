// Every device of kernel/physical.hpp is tried with this: a few devices in one process, driven by polling all of them.
#pragma once

#include <catch2/catch.hpp>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>
#include <functional>
#include <iterator>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <spindrift/core/clock.hpp>
#include <spindrift/kernel/physical.hpp>

namespace conformance {

using namespace spindrift;
using namespace spindrift::kernel;
using Kind = PhysicalOperation::Kind;
using EventKind = PhysicalEvent::Kind;

/// The machine's time, until it is stopped, and what a test adds to it.
class TestClock final : public Clock {
 public:
  [[nodiscard]] Time now() const noexcept override { return stopped_.value_or(machine_.now()) + ahead_; }
  void advance(Duration by) noexcept { ahead_ += by; }
  void stop() noexcept { stopped_ = machine_.now(); }

 private:
  SystemClock machine_;
  std::optional<Time> stopped_;
  Duration ahead_{};
};

/// One class of queue pairs of one kind of device.
struct Provider {
  std::string name;
  bool connectionless = false;  ///< the class that the suite uses of it
  std::size_t address_at = 16;  ///< where its metadata have the IPv4 address
  std::size_t port_at = 20;     ///< and the ports
  std::size_t port_bytes = 4;
  bool acknowledges_messages = true;  ///< a message that completed is at the peer
  bool answers_by_itself = false;     ///< a peer's adapter does, whatever its process does
  Duration answer_max{};              ///< of silence, as made
  std::function<Result<std::unique_ptr<PhysicalDevice>>(const DeviceSizes&, const Clock&)> make;
};
/// Every provider that there is; with SPINDRIFT_TEST_DEVICE those whose names begin so, in classes that have any.
[[nodiscard]] const std::vector<Provider>& providers();

enum class Class : std::uint8_t { any, connectionless, connected };
/// Each provider of the class in its turn: the test runs once with each.
[[nodiscard]] inline const Provider& generated(Class which = Class::any) {
  const char* const wanted = std::getenv("SPINDRIFT_TEST_DEVICE");
  const auto all_of = [which](std::string_view name) {
    std::vector<std::size_t> fitting;
    for (std::size_t i = 0; i < providers().size(); ++i) {
      const bool of_class = which == Class::any || providers()[i].connectionless == (which == Class::connectionless);
      if (of_class && providers()[i].name.starts_with(name)) fitting.push_back(i);
    }
    return fitting;
  };
  std::vector<std::size_t> fitting = all_of(wanted == nullptr ? "" : wanted);
  if (fitting.empty()) fitting = all_of("");
  return providers()[GENERATE_COPY(from_range(fitting))];
}

/// One event, with a copy of its bytes.
struct Heard {
  EventKind kind;
  OperationStatus status;
  std::uint64_t id;
  std::string bytes;
};

class Station;

/// A queue pair of a station, and what it has said.
struct Line {
  std::unique_ptr<PhysicalQueuePair> pair;
  std::deque<Heard> heard;
  bool gives_back = true;  ///< a message's buffer, at once

  [[nodiscard]] std::size_t count(EventKind kind) const {
    return static_cast<std::size_t>(
        std::count_if(heard.begin(), heard.end(), [&](const Heard& h) { return h.kind == kind; }));
  }
  [[nodiscard]] const Heard* find(EventKind kind, std::uint64_t id) const {
    const auto at = std::find_if(heard.begin(), heard.end(), [&](const Heard& h) { return h.kind == kind && h.id == id; });
    return at == heard.end() ? nullptr : &*at;
  }
  [[nodiscard]] bool completed(std::uint64_t id) const { return find(EventKind::completed, id) != nullptr; }
  [[nodiscard]] OperationStatus status(std::uint64_t id) const {
    const Heard* const completion = find(EventKind::completed, id);
    REQUIRE(completion != nullptr);
    return completion->status;
  }
  [[nodiscard]] std::vector<std::string> messages() const {
    std::vector<std::string> all;
    for (const Heard& h : heard) {
      if (h.kind == EventKind::received) all.push_back(h.bytes);
    }
    return all;
  }
  void poll() {
    PhysicalEvent events[16];
    for (std::size_t count = pair->poll(events); count > 0; count = pair->poll(events)) {
      for (std::size_t i = 0; i < count; ++i) {
        const auto* const text = reinterpret_cast<const char*>(events[i].bytes.data());
        heard.push_back({events[i].kind, events[i].status, events[i].id, std::string(text, events[i].bytes.size())});
        if (events[i].kind == EventKind::received && gives_back) pair->give_back(events[i].id);
      }
    }
  }
};

/// Memory and its keys. Goes before its device.
struct Area {
  Area(PhysicalDevice& of, std::size_t bytes, fabric::Access access) : device(&of), memory(bytes) {
    auto registered = of.register_memory(memory, access);
    REQUIRE(registered.ok());
    keys = *registered;
  }
  ~Area() { device->deregister(keys); }
  Area(const Area&) = delete;
  Area& operator=(const Area&) = delete;

  void put(std::size_t at, std::string_view text) { std::memcpy(memory.data() + at, text.data(), text.size()); }
  [[nodiscard]] std::string text(std::size_t at, std::size_t bytes) const {
    return std::string(reinterpret_cast<const char*>(memory.data()) + at, bytes);
  }
  [[nodiscard]] std::uint64_t word(std::size_t at) const {
    std::uint64_t word = 0;
    std::memcpy(&word, memory.data() + at, sizeof word);
    return word;
  }

  PhysicalDevice* device;
  std::vector<std::byte> memory;
  MemoryKeys keys;
};

/// A device, with its lines. Polls them all; a connectionless one has its first line from the beginning.
class Station {
 public:
  Station(const Provider& provider, const DeviceSizes& sizes, const Clock& clock) {
    auto made = provider.make(sizes, clock);
    INFO((made ? std::string() : made.error().to_string()));
    REQUIRE(made.ok());
    device = std::move(made).value();
    if (provider.connectionless) static_cast<void>(open());
  }

  Line& open() {
    auto opened = device->open();
    REQUIRE(opened.ok());
    return lines.emplace_back(Line{std::move(opened).value(), {}, true});
  }
  [[nodiscard]] Line& line() { return lines.front(); }
  void poll() {
    for (Line& each : lines) each.poll();
    PhysicalDevice::Accepted accepted = device->accepted();
    if (accepted.queue_pair == nullptr) return;
    tokens.push_back(accepted.token);
    lines.emplace_back(Line{std::move(accepted.queue_pair), {}, true});
  }

  std::unique_ptr<PhysicalDevice> device;
  std::list<Line> lines;
  std::vector<std::uint64_t> tokens;  ///< of the calls that were taken
};

/// From one station to another.
struct Route {
  Line* line = nullptr;
  PeerHandle peer;
  Line* there = nullptr;  ///< where messages arrive
};

class World {
 public:
  explicit World(const Provider& provider, const DeviceSizes& sizes = {})
      : provider_(provider),
        sizes_(sizes),
        named_(Catch::MessageBuilder("World", CATCH_INTERNAL_LINEINFO, Catch::ResultWas::Info) << provider.name) {}

  [[nodiscard]] const Provider& provider() const noexcept { return provider_; }
  Station& station() { return add(sizes_); }
  Station& add(const DeviceSizes& sizes) {
    stations_.push_back(std::make_unique<Station>(provider_, sizes, clock));
    return *stations_.back();
  }
  void destroy(Station& station) {
    std::erase_if(stations_, [&](const auto& each) { return each.get() == &station; });
  }

  Route connect(Station& from, Station& to) {
    if (provider_.connectionless) {
      auto peer = from.device->resolve(to.device->metadata());
      REQUIRE(peer.ok());
      return {&from.line(), *peer, &to.line()};
    }
    const std::size_t before = to.lines.size();
    auto made = from.device->connect(to.device->metadata(), 1);
    REQUIRE(made.ok());
    Line& line = from.lines.emplace_back(Line{std::move(made).value(), {}, true});
    REQUIRE(until([&] { return line.count(EventKind::connected) == 1 && to.lines.size() == before + 1; }));
    return {&line, PeerHandle(), &to.lines.back()};
  }

  /// Polls everybody but those that are left out, until it holds; false after ten seconds without, or as many more as
  /// SPINDRIFT_TEST_SLOWNESS says of an emulated machine.
  template <class Predicate>
  [[nodiscard]] bool until(Predicate predicate, const Station* deaf = nullptr) {
    const char* const slowness = std::getenv("SPINDRIFT_TEST_SLOWNESS");
    const auto limit = std::chrono::steady_clock::now() +
                       std::chrono::seconds(10) * (slowness == nullptr ? 1 : std::max(std::atoi(slowness), 1));
    while (!predicate()) {
      if (std::chrono::steady_clock::now() > limit) return false;
      for (const auto& each : stations_) {
        if (each.get() != deaf) each->poll();
      }
    }
    return true;
  }
  /// After a peer has ended its connection to one of those that are left. A provider tells nobody that it has seen that too,
  /// but it closes its socket then.
  void await_end_of_connection() {
    const auto open_descriptors = [] {
      const std::filesystem::directory_iterator all("/proc/self/fd");
      return std::distance(begin(all), end(all));
    };
    const auto before = open_descriptors();
    REQUIRE(until([&] { return open_descriptors() < before; }));
  }
  /// Lets the time go by in which a peer may be silent, in steps shorter than a pause of this process.
  template <class Predicate>
  [[nodiscard]] bool until_silence(Predicate predicate, const Station* deaf) {
    for (int step = 0; step < 12 && !predicate(); ++step) {
      clock.advance(provider_.answer_max / 4);
      for (const auto& each : stations_) {
        if (each.get() != deaf) each->poll();
      }
    }
    return predicate();
  }

  /// Posts it and drives until it is over; returns how it ended.
  OperationStatus carry_out(const Route& route, const PhysicalOperation& operation, const Station* deaf = nullptr) {
    REQUIRE(route.line->pair->post({&operation, 1}) == 1);
    REQUIRE(until([&] { return route.line->completed(operation.id); }, deaf));
    return route.line->status(operation.id);
  }
  /// Posts it with the next id each time, after a look around, until one of them is done.
  template <class Look>
  [[nodiscard]] bool until_done(const Route& route, PhysicalOperation again, Look look) {
    const std::uint64_t before = again.id;
    return until([&] {
      if (again.id > before && !route.line->completed(again.id)) return false;
      if (again.id > before && route.line->status(again.id) == OperationStatus::done) return true;
      look();
      ++again.id;
      REQUIRE(route.line->pair->post({&again, 1}) == 1);
      return false;
    });
  }

  TestClock clock;

 private:
  const Provider& provider_;
  const DeviceSizes sizes_;
  const Catch::ScopedMessage named_;  ///< what fails says with which provider
  std::vector<std::unique_ptr<Station>> stations_;
};

/// Stations of one provider, for TEST_CASE_METHOD.
template <Class which>
struct Two : World {
  Two() : World(generated(which)) {}
  Station& a = station();
  Station& b = station();
};
template <Class which>
struct Three : Two<which> {
  Station& c = this->station();
};
using TwoStations = Two<Class::any>;
using ThreeStations = Three<Class::any>;
struct TwoConnectionless : Two<Class::connectionless> {
  /// Lets `a` write to `b` and `b` end, with nothing under way; returns the keys of the memory that went with it.
  [[nodiscard]] MemoryKeys write_before_the_end(const Route& to_b, Area& local);
};
using ThreeConnectionless = Three<Class::connectionless>;
using TwoConnected = Two<Class::connected>;

/// An operation on bytes of a local area and, unless it is a send, of a remote one.
inline PhysicalOperation operation(Kind kind, std::uint64_t id, PeerHandle peer, Area& local, std::size_t local_at,
                                   std::size_t bytes, const MemoryKeys& remote = {}, std::size_t remote_at = 0) {
  PhysicalOperation made;
  made.kind = kind;
  made.signaled = true;
  made.peer = peer;
  made.id = id;
  made.local = local.memory.data() + local_at;
  made.bytes = static_cast<std::uint32_t>(bytes);
  made.local_key = local.keys.local_key;
  made.remote_address = remote.remote_base + remote_at;
  made.remote_key = remote.remote_key;
  return made;
}

inline MemoryKeys TwoConnectionless::write_before_the_end(const Route& to_b, Area& local) {
  MemoryKeys lost_keys;
  {
    Area remote(*b.device, 8, fabric::Access::write);
    lost_keys = remote.keys;
    REQUIRE(carry_out(to_b, operation(Kind::write, 1, to_b.peer, local, 0, 8, lost_keys)) == OperationStatus::done);
  }
  destroy(b);
  await_end_of_connection();
  return lost_keys;
}

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

}  // namespace conformance
