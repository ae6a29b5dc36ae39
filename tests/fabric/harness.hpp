// The fabric's tests share this: endpoints of every provider, and waiting for events with a limit that only a hang reaches.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <stdlib.h>

#include <catch2/catch.hpp>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/log.hpp>
#include <spindrift/core/log_file.hpp>
#include <spindrift/fabric/connected/endpoint.hpp>
#include <spindrift/fabric/fabric.hpp>
#include <spindrift/fabric/shm/shm.hpp>

namespace spindrift::fabric::test {

inline Time now() { return SystemClock().now(); }
/// How long nothing may take; longer by SPINDRIFT_TEST_SLOWNESS where the machine is emulated.
inline const Duration hang = std::chrono::seconds(60) * [] {
  const char* const slowness = std::getenv("SPINDRIFT_TEST_SLOWNESS");
  return slowness == nullptr ? 1 : std::max(1, std::atoi(slowness));
}();

void begin_new_group();

/// A fresh directory, removed with its content.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "spindrift-fabric-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    path_ = name;
    begin_new_group();
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// The lines that were logged while it lives.
class Log {
 public:
  explicit Log(const TemporaryDirectory& directory) : path_(directory.path() + "/log") {
    value_or_throw(log::configure(log::Level::info, path_));
  }
  ~Log() { static_cast<void>(log::configure(log::Level::warn, "")); }
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;
  [[nodiscard]] std::string text() const {
    static_cast<void>(log::await_written(std::chrono::seconds(60)));
    std::stringstream all;
    all << std::ifstream(path_).rdbuf();
    return all.str();
  }

 private:
  std::string path_;
};

inline std::size_t count_of(const std::string& text, const std::string& word) {
  std::size_t count = 0;
  for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

/// Makes the endpoints of one group; each provider under test is one of these.
struct Provider {
  std::string name;
  std::function<std::unique_ptr<Fabric>(NodeId self, const std::string& runtime_directory)> make;
  std::size_t leisure_descriptors = 0;  ///< that a pair of endpoints may open when it likes, whatever is asked of it
};

[[nodiscard]] std::unique_ptr<Fabric> make_tcp_or_throw(NodeId self, const std::string& runtime_directory);
[[nodiscard]] std::unique_ptr<Fabric> make_verbs_or_throw(NodeId self, const std::string& runtime_directory);

/// A fabric of shm and that one.
[[nodiscard]] std::unique_ptr<Fabric> make_mixed_or_throw(NodeId self, const std::string& runtime_directory,
                                                          std::unique_ptr<connected::Endpoint> far);

/// All providers that must keep the interface's promises and that this machine has: verbs needs an RDMA device, and a line
/// says so where there is none. With SPINDRIFT_TEST_FABRIC set, those alone whose name begins so.
[[nodiscard]] std::vector<Provider> providers();

inline std::unique_ptr<Fabric> make_shm_or_throw(NodeId self, const std::string& runtime_directory) {
  return value_or_throw(make_shm({.self = self, .runtime_directory = runtime_directory, .group_name = "group"}));
}

/// The address at which a node of the groups of this process listens, for providers that ask: a loopback address of its own,
/// whose other bytes are the process's; or one for all of a group, and a port of its own, once an endpoint was made for
/// Hosts::one. A TemporaryDirectory begins a new group, with a new port.
[[nodiscard]] Address address_of(NodeId node);
/// The same on an RDMA device: the devices' addresses in turn, and a port of the node's own.
[[nodiscard]] Address verbs_address_of(NodeId node);

/// An endpoint and the events that it has given so far and nobody asked for.
struct Endpoint {
  NodeId node;
  std::unique_ptr<Fabric> fabric;
  std::deque<Event> inbox;

  Endpoint(std::uint32_t id, std::unique_ptr<Fabric> provider) : node(id), fabric(std::move(provider)) {
    value_or_throw(fabric->listen(address(node)));
  }

  [[nodiscard]] Address address(NodeId of) const {
    return fabric->traits().name.ends_with("verbs") ? verbs_address_of(of) : address_of(of);
  }

  void connect(const Endpoint& to) { connect(to.node); }
  void connect(NodeId to) { value_or_throw(fabric->connect(address(to))); }

  std::size_t pump() {
    std::array<Event, 16> events;
    const std::size_t count = fabric->poll(events);
    std::move(events.begin(), events.begin() + static_cast<std::ptrdiff_t>(count), std::back_inserter(inbox));
    return count;
  }

  [[nodiscard]] std::size_t count(Event::Kind kind) const {
    return static_cast<std::size_t>(
        std::count_if(inbox.begin(), inbox.end(), [kind](const Event& event) { return event.kind == kind; }));
  }
};

/// The first event of that kind at `at`; the others are driven meanwhile, as a provider may need their progress.
inline Event await(Endpoint& at, Event::Kind kind, std::initializer_list<Endpoint*> others = {}) {
  const Time limit = now() + hang;
  const auto find = [&] {
    return std::find_if(at.inbox.begin(), at.inbox.end(), [kind](const Event& event) { return event.kind == kind; });
  };
  while (true) {
    for (Endpoint* other : others) other->pump();
    at.fabric->prepare_sleep();
    at.pump();
    if (const auto found = find(); found != at.inbox.end()) {
      at.fabric->cancel_sleep();
      Event event = std::move(*found);
      at.inbox.erase(found);
      return event;
    }
    if (now() > limit) throw std::runtime_error("no such event came: kind " + std::to_string(static_cast<int>(kind)));
    at.fabric->sleep(std::min(limit, now() + std::chrono::milliseconds(others.size() == 0 ? 1000 : 2)));
  }
}

/// Drives all until the condition holds.
inline void drive(std::initializer_list<Endpoint*> all, const std::function<bool()>& until) {
  const Time limit = now() + hang;
  while (!until()) {
    for (Endpoint* endpoint : all) endpoint->pump();
    if (now() > limit) throw std::runtime_error("the condition never held");
  }
}

/// Mappings of shared memory and descriptors that this process holds; without those that threads which watch keys open at
/// any time, for a moment, or longer where the machine is crowded: directories, and files of keys.
struct Held {
  std::size_t mappings = 0;
  std::size_t descriptors = 0;
  bool operator==(const Held&) const = default;
};

inline Held held() {
  Held count;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) count.mappings += line.find("memfd:spindrift") != std::string::npos;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code closed_meanwhile;
    const std::string target = std::filesystem::read_symlink(entry, closed_meanwhile).string();
    const bool watches = std::filesystem::is_directory(entry, closed_meanwhile) || target.find("/keys/") != target.npos;
    if (!closed_meanwhile && !watches) ++count.descriptors;
  }
  return count;
}

/// Two linked endpoints: node 1 as `a`, node 2 as `b`, each with the other's PeerId. One calls the other: of two calls that
/// cross, the lesser one's socket may outlive the link for a moment, and `held` would count it.
struct Pair {
  TemporaryDirectory directory;
  Endpoint a;
  Endpoint b;
  PeerId b_at_a;
  PeerId a_at_b;
  bool mappable = false;  ///< at both
  const std::size_t leisure_descriptors;

  explicit Pair(const Provider& provider)
      : a(1, provider.make(NodeId(1), directory.path())),
        b(2, provider.make(NodeId(2), directory.path())),
        leisure_descriptors(provider.leisure_descriptors) {
    a.connect(b);
    const Event b_there = await(a, Event::Kind::connected, {&b});
    const Event a_there = await(b, Event::Kind::connected, {&a});
    b_at_a = b_there.peer;
    a_at_b = a_there.peer;
    mappable = b_there.mappable && a_there.mappable;
  }
};

inline Operation send_of(PeerId peer, std::string& text) {
  Operation operation;
  operation.kind = Operation::Kind::send;
  operation.peer = peer;
  operation.local = reinterpret_cast<std::byte*>(text.data());
  operation.bytes = text.size();
  return operation;
}

inline void send(Endpoint& from, PeerId to, std::string text) {
  const Operation operation = send_of(to, text);
  value_or_throw(from.fabric->post({&operation, 1}));
}

inline std::string text_of(const Event& event) {
  return {reinterpret_cast<const char*>(event.bytes.data()), event.bytes.size()};
}

}  // namespace spindrift::fabric::test
