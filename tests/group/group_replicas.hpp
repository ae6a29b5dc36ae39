// An object in subgroup "orders" of every member of a GroupFixture's group.
#pragma once

#include <memory>
#include <vector>

#include <spindrift/group/replicated.hpp>

#include "group_fixture.hpp"

namespace spindrift {

/// By node. What comes in "ticks" is dropped, so that members can leave.
template <class T>
std::vector<Replicated<T>> replicas_of(std::vector<std::unique_ptr<Group>>& groups) {
  std::vector<Replicated<T>> replicas;
  for (auto& group : groups) {
    replicas.push_back(group->replicated<T>("orders"));
    group->subgroup("ticks").on_delivery([](auto) {});
  }
  return replicas;
}

}  // namespace spindrift
