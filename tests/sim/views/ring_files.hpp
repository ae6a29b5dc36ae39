// Sizes of rings in a run: what the file of every process says, what is wanted, and whether the views have that.
// (docs/protocol.md, "Sizes of rings")
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <spindrift/core/roster.hpp>
#include <spindrift/core/view.hpp>

#include "../report.hpp"
#include "plan.hpp"

namespace spindrift::sim {

class RingFiles {
 public:
  /// The process that has that incarnation.
  using ProcessOf = std::function<std::optional<std::uint32_t>(std::uint64_t incarnation)>;

  RingFiles(const Plan& plan, Report& report, ProcessOf process_of)
      : plan_(plan), report_(report), process_of_(std::move(process_of)), editions_(plan.nodes.size()) {}

  /// The node's file is of that edition from now on: its later processes read it.
  void edit(std::uint32_t node, std::uint64_t edition) { editions_[node] = edition; }
  /// The layout by the file that a process of the node reads now.
  [[nodiscard]] LayoutFunction on_start(std::uint32_t process, std::uint32_t node);
  /// Somebody wants that, if it is about a subgroup of the layout.
  void on_wish(const RosterChange& change);
  /// V24, as of a view that a process begins. `before`: the view before, if that is known.
  void on_view(std::uint32_t process, const View& view, const View* before) const;
  /// V25: what the files of all members of that view say, and the group has not adopted.
  [[nodiscard]] std::optional<std::string> not_adopted(const View& view) const;

 private:
  [[nodiscard]] std::vector<SubgroupPlan> file(std::uint64_t edition) const;
  [[nodiscard]] std::vector<RingSizes> sizes_of(std::uint64_t edition) const;
  [[nodiscard]] bool all_say(const View& view, const std::vector<RingSizes>& sizes) const;

  const Plan& plan_;
  Report& report_;
  ProcessOf process_of_;
  std::vector<std::uint64_t> editions_;                   // by node
  std::map<std::uint32_t, std::vector<RingSizes>> said_;  // by process
  std::vector<RingSizes> wanted_;
};

}  // namespace spindrift::sim
