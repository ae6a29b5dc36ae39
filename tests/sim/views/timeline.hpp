// A plan's actions in the order in which they are drawn: each comes at a moment that only grows.
#pragma once

#include <cstdint>
#include <vector>

#include "../random.hpp"
#include "plan.hpp"

namespace spindrift::sim {

class Timeline {
 public:
  /// Both outlive this object.
  Timeline(Random& random, Plan& plan, Ticks begin = 0) : at(begin), random_(random), plan_(plan) {}

  /// So many nanoseconds go by, drawn as Random::spread does.
  void pass(std::uint64_t least, std::uint64_t most) { at += static_cast<Ticks>(random_.spread(least, most)); }
  void act(Action::Kind kind, std::uint32_t node, std::uint64_t count = 0) {
    plan_.actions.push_back({at, kind, node, 0, 0, count, Cut::nothing});
  }
  /// The plan's nodes, in any order.
  [[nodiscard]] std::vector<std::uint32_t> everybody() {
    std::vector<std::uint32_t> order;
    for (std::uint32_t i = 0; i < plan_.nodes.size(); ++i) order.push_back(i);
    random_.shuffle(order);
    return order;
  }

  Ticks at;  ///< of the next action

 private:
  Random& random_;
  Plan& plan_;
};

}  // namespace spindrift::sim
