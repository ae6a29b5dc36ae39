// Observers with what they got, and members with what they delivered, for tests of observers.
#pragma once

#include <algorithm>
#include <chrono>
#include <deque>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <spindrift/group/observer.hpp>

#include "group_fixture.hpp"

namespace spindrift {

/// An observer with what it got.
struct Watch {
  explicit Watch(const Config& config, std::string_view subgroup = "orders", ObserverOptions options = {})
      : observer(config, subgroup, handlers(), options) {}

  ObserverHandlers handlers() {
    return {[this](const Delivery& message) {
              lines.push_back(std::to_string(message.sender.value()) + ":" +
                              std::string(reinterpret_cast<const char*>(message.payload.data()), message.payload.size()));
              places.push_back(MessagePlace::of(message));
            },
            [this](const Gap& gap) { gaps.push_back(gap); }};
  }
  template <class Condition>
  void until(Condition condition) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!condition()) {
      REQUIRE(std::chrono::steady_clock::now() < limit);
      if (observer.poll() == 0 && !condition()) static_cast<void>(observer.wait(-1, std::chrono::milliseconds(1000)));
    }
  }
  void until_fed() {
    until([this] { return observer.source().has_value(); });
  }
  void until_lines(std::size_t least) {
    until([this, least] { return lines.size() >= least; });
  }

  /// Messages that it got, and those that it was told it has missed.
  [[nodiscard]] std::size_t accounted() const {
    std::size_t sum = lines.size();
    for (const Gap& gap : gaps) sum += gap.messages.value();
    return sum;
  }

  std::vector<std::string> lines;
  std::vector<MessagePlace> places;
  std::vector<Gap> gaps;
  Observer observer;
};

/// Deliveries of every member, in "orders".
inline std::deque<Journal> keep_journals(std::vector<std::unique_ptr<Group>>& groups) {
  std::deque<Journal> journals(groups.size());
  for (std::size_t i = 0; i < groups.size(); ++i) {
    groups[i]->subgroup("orders").on_delivery(
        [&journal = journals[i]](std::span<const Delivery> batch) { journal.keep(batch); });
    groups[i]->subgroup("ticks").on_delivery([](std::span<const Delivery>) {});
  }
  return journals;
}

}  // namespace spindrift
