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

/// The member that feeds the observer leaves, twice, while `send(from, to)` sends numbers: the observer goes on with the
/// next one, and its messages have no hole that it was not told of.
template <class Send>
void follow_two_leavers(Watch& watch, std::vector<std::unique_ptr<Group>>& groups, const Send& send) {
  const auto source_leaves = [&] {
    const NodeId source = *watch.observer.source();
    const auto at = std::find_if(groups.begin(), groups.end(), [&](const auto& each) { return each->self() == source; });
    (*at)->leave();
    groups.erase(at);
    return source;
  };
  send(0, 100);
  watch.until_lines(100);
  const NodeId first = source_leaves();
  watch.until([&] { return watch.observer.source() && watch.observer.source() != first; });
  send(100, 200);
  watch.until_lines(200);
  CHECK(watch.gaps.empty());

  source_leaves();
  send(200, 210);  // perhaps before the next one has heard that it has to feed
  watch.until([&] { return watch.observer.source() == groups[0]->self(); });
  send(210, 300);
  watch.until([&] { return !watch.lines.empty() && watch.lines.back().ends_with(":299"); });
  const std::size_t missing = 300 - watch.lines.size();
  REQUIRE(watch.gaps.size() == (missing == 0 ? 0 : 1));
  for (const Gap& gap : watch.gaps) {
    CHECK(gap.after == watch.places[199]);
    REQUIRE(gap.last);
    CHECK(*gap.last < watch.places[200]);
  }
  for (std::size_t i = 0; i < watch.lines.size(); ++i)
    CHECK(watch.lines[i].ends_with(":" + std::to_string(i < 200 ? i : i + missing)));
}

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
