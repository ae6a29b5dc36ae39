// The releases that the nodes of a run have, by the versions of the protocol that they speak, and whether the views'
// versions are as they should be. (docs/protocol.md, "Versions")
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <spindrift/core/view.hpp>
#include <spindrift/views/versions.hpp>

#include "../report.hpp"
#include "plan.hpp"

namespace spindrift::sim {

class Releases {
 public:
  /// The process that has that incarnation.
  using ProcessOf = std::function<std::optional<std::uint32_t>(std::uint64_t incarnation)>;

  Releases(const Plan& plan, Report& report, ProcessOf process_of)
      : report_(report),
        process_of_(std::move(process_of)),
        installed_(plan.nodes.size(), release_of(plan)) {}

  /// The node has another release from now on: its later processes are of it.
  void install(std::uint32_t node, views::Versions release) { installed_[node] = release; }
  /// The release of a process that starts.
  [[nodiscard]] views::Versions on_start(std::uint32_t process, std::uint32_t node);
  /// V26, as of a view that a process begins. `before`: the view before, if that is known.
  void on_view(std::uint32_t process, const View& view, const View* before) const;
  /// V27: a later version that all members of that view speak, and that the group has not gone on to.
  [[nodiscard]] std::optional<std::string> not_raised(const View& view) const;
  /// Whether the group may refuse that process for what it speaks. `newest`: the newest view; null: there is none.
  [[nodiscard]] bool unspoken(std::uint32_t process, const View* newest) const;

  static constexpr views::Versions first_release{17, 17};
  static constexpr views::Versions reviving_release{17, views::revivals_since};
  static constexpr views::Versions returning_release{17, views::logs_return_since};

 private:
  /// All nodes begin with that one; releases that are installed later come upon the first.
  [[nodiscard]] static views::Versions release_of(const Plan& plan);
  [[nodiscard]] std::optional<views::Versions> of(std::uint64_t incarnation) const;

  Report& report_;
  ProcessOf process_of_;
  std::vector<views::Versions> installed_;            // by node
  std::map<std::uint32_t, views::Versions> running_;  // by process
};

}  // namespace spindrift::sim
