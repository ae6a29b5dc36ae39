// The connections of one device: all that live, by the life that their completions name, and among them calls that the
// device has answered and that nobody has taken yet.
//
// Threading: the device's. A call that broke before anybody took it is as if it had never been.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <utility>

#include <spindrift/core/absence.hpp>
#include <spindrift/kernel/physical.hpp>

namespace spindrift::kernel {

/// How one connection is, and since when its peer is silent.
class ConnectionState {
 public:
  ConnectionState(std::uint32_t life, Duration answer_max, Time now) : life_(life), answer_max_(answer_max), heard_(now) {}

  [[nodiscard]] std::uint32_t life() const noexcept { return life_; }
  [[nodiscard]] bool up() const noexcept { return stage_ == Stage::up; }
  [[nodiscard]] bool broken() const noexcept { return stage_ == Stage::broken; }

  /// The peer's silence counts from now on.
  void hear(Time now) noexcept { heard_ = now; }
  /// It is up; false if it was, or is broken.
  bool establish(Time now) noexcept {
    if (stage_ != Stage::connecting) return false;
    stage_ = Stage::up;
    hear(now);
    return true;
  }
  /// It is broken; false if it was.
  bool end() noexcept { return std::exchange(stage_, Stage::broken) != Stage::broken; }
  /// From when on the peer counts as lost, if it does not answer. `waits`: it has something to answer.
  [[nodiscard]] Time silent_at(bool waits) const noexcept {
    return stage_ == Stage::connecting || (up() && waits) ? heard_ + answer_max_ : never;
  }

 private:
  enum class Stage : std::uint8_t { connecting, up, broken };

  const std::uint32_t life_;
  const Duration answer_max_;
  Stage stage_ = Stage::connecting;
  Time heard_;
};

/// `Connection` is the device's connected queue pair. It takes itself out of the table when it goes.
template <class Connection>
class ConnectionTable {
 public:
  /// `answer_max`: for how long a peer may be silent.
  explicit ConnectionTable(Duration answer_max) : absence_(answer_max) {}

  [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }
  void add(Connection& connection, Time now) {
    if (all_.empty()) absence_.on_pass(now);  // while nobody can be silent, nobody is away
    all_.emplace(connection.state().life(), &connection);
  }
  void remove(std::uint32_t life) { all_.erase(life); }
  /// Null if there is none.
  [[nodiscard]] Connection* find(std::uint32_t life) const noexcept {
    const auto at = all_.find(life);
    return at == all_.end() ? nullptr : at->second;
  }
  /// The first of which it holds; null if there is none.
  template <class Predicate>
  [[nodiscard]] Connection* find_if(Predicate&& holds) const {
    const auto at = std::find_if(all_.begin(), all_.end(), [&](const auto& each) { return holds(*each.second); });
    return at == all_.end() ? nullptr : at->second;
  }

  void progress(Time now) {
    absence_.on_pass(now);
    for (const auto& [life, connection] : all_) {
      if (absence_.away()) connection->state().hear(now);
      connection->progress(now);
    }
    forget_broken();
  }
  /// Whether none of them has an event for its owner.
  [[nodiscard]] bool quiet() const noexcept {
    return std::none_of(all_.begin(), all_.end(), [](const auto& each) { return each.second->has_events(); });
  }
  [[nodiscard]] Time next_look() const noexcept {
    Time next = never;
    for (const auto& [life, connection] : all_) next = std::min(next, connection->next_look());
    return next;
  }

  /// So many calls wait that the next caller is to be turned away.
  [[nodiscard]] bool calls_full() const noexcept { return calls_.size() >= most; }
  /// A call was answered. `token`: as the caller said it.
  void answer(std::unique_ptr<Connection> connection, std::uint64_t token) {
    calls_.push_back({std::move(connection), token});
  }
  [[nodiscard]] bool waits(const Connection* connection) const noexcept {
    return std::any_of(calls_.begin(), calls_.end(), [&](const Call& call) { return call.connection.get() == connection; });
  }
  /// The first call that is up, as PhysicalDevice::accepted has it; the device makes progress if there is none.
  [[nodiscard]] PhysicalDevice::Accepted take(PhysicalDevice& device) {
    PhysicalDevice::Accepted first = take_up();
    if (first.queue_pair != nullptr) return first;
    device.progress();
    return take_up();
  }

 private:
  static constexpr std::size_t most = 64;
  struct Call {
    std::unique_ptr<Connection> connection;
    std::uint64_t token = 0;
  };

  [[nodiscard]] PhysicalDevice::Accepted take_up() {
    forget_broken();
    const auto at =
        std::find_if(calls_.begin(), calls_.end(), [](const Call& call) { return call.connection->state().up(); });
    if (at == calls_.end()) return {};
    PhysicalDevice::Accepted result{std::move(at->connection), at->token};
    calls_.erase(at);
    return result;
  }
  void forget_broken() {
    calls_.remove_if([](const Call& call) { return call.connection->state().broken(); });
  }

  Absence absence_;
  std::map<std::uint32_t, Connection*> all_;
  std::list<Call> calls_;  // goes first: its connections take themselves out of `all_`
};

}  // namespace spindrift::kernel
