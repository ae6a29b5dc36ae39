// The news that an application hears of a view that begins.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <spindrift/core/view.hpp>

namespace spindrift::views {

/// A member that a view change removed, and why.
struct Removal {
  NodeId node;         ///< its later starts are other members
  std::string reason;  ///< for people, with who says so
  /// The member that accused it first, as far as this one knows: this one by its own finding, or another. Nothing: others
  /// alone know.
  std::optional<NodeId> by{};
};

/// A view that begins here.
struct NewView {
  const View& view;             ///< valid during the call
  std::vector<NodeId> joined;   ///< relative to the view before; for the own first view: all others
  std::vector<NodeId> left;     ///< on their own wish
  std::vector<Removal> failed;  ///< removed
  /// Subgroups of which all members that had the state are gone with the view before: they begin anew, now, or when they
  /// are adequate again. Newcomers are told the same as the others.
  std::vector<SubgroupId> state_lost;
  std::vector<NodeId> behind{};  ///< members that do not speak the newest version of the protocol that this process speaks
};

}  // namespace spindrift::views
