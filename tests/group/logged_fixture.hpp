// Groups of several members in one process whose subgroup "orders" is logged: a second group of the same fixture finds what
// the first one left.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <spindrift/core/config/config.hpp>
#include <spindrift/group/group.hpp>

#include "group_fixture.hpp"

namespace spindrift {

class LoggedFixture : public GroupFixture {
 public:
  LoggedFixture() : GroupFixture("shm") {}

  [[nodiscard]] std::string with_journals(unsigned members) const {
    std::string founders;
    for (unsigned i = 0; i < members; ++i) founders += (i == 0 ? "" : ",") + std::to_string(i);
    return "founders = " + founders + "\njoin_timeout_ms = 20000\n[PERS]\nfile_path = " + directory() + "/journals";
  }
  /// "orders" is logged.
  [[nodiscard]] GroupOptions logged(unsigned members, const HistoryBounds& history = {}) const {
    GroupOptions options;
    const LayoutFunction configured = *config(0, members, with_journals(members)).layout_function();
    options.layout = [configured, history](const std::vector<NodeId>& nodes, const View* previous) {
      std::vector<SubgroupView> subgroups = configured(nodes, previous);
      for (SubgroupView& each : subgroups) {
        if (each.name != "orders") continue;
        each.storage = SubgroupStorage::logged;
        each.history = history;
      }
      return subgroups;
    };
    return options;
  }
  /// Joins those from `first` on.
  [[nodiscard]] std::vector<std::unique_ptr<Group>> join_logged(unsigned first, unsigned members,
                                                                 const HistoryBounds& history = {}) {
    return join_from(first, members, with_journals(members), logged(members, history));
  }
};

}  // namespace spindrift
