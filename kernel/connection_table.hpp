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

/// `Connection` is the device's connected queue pair. It takes itself out of the table when it goes.
template <class Connection>
class ConnectionTable {
 public:
  /// `answer_max`: for how long a peer may be silent.
  explicit ConnectionTable(Duration answer_max) : absence_(answer_max) {}

  [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }
  void add(Connection& connection, Time now) {
    if (all_.empty()) absence_.on_pass(now);  // while nobody can be silent, nobody is away
    all_.emplace(connection.life(), &connection);
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
      if (absence_.away()) connection->excuse(now);
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
  /// The first call that is up; see Device::accepted.
  [[nodiscard]] Device::Accepted take() {
    forget_broken();
    const auto at = std::find_if(calls_.begin(), calls_.end(), [](const Call& call) { return call.connection->up(); });
    if (at == calls_.end()) return {};
    Device::Accepted result{std::move(at->connection), at->token};
    calls_.erase(at);
    return result;
  }

 private:
  static constexpr std::size_t most = 64;
  struct Call {
    std::unique_ptr<Connection> connection;
    std::uint64_t token = 0;
  };

  void forget_broken() {
    calls_.remove_if([](const Call& call) { return call.connection->broken(); });
  }

  Absence absence_;
  std::map<std::uint32_t, Connection*> all_;
  std::list<Call> calls_;  // goes first: its connections take themselves out of `all_`
};

}  // namespace spindrift::kernel
