// Rosters in a run: which nodes every process's file names, where processes listen, what they want changed, and whether the
// views grant it. (docs/protocol.md, "The roster")
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

/// The kind of change that a process wants by that action; nothing: it is about something else.
[[nodiscard]] std::optional<RosterChange::Kind> change_of(Action::Kind kind) noexcept;
/// Whether that action is about a subgroup.
[[nodiscard]] constexpr bool is_of_subgroup(Action::Kind kind) noexcept {
  return kind == Action::Kind::create || kind == Action::Kind::drop || kind == Action::Kind::change ||
         kind == Action::Kind::resize;
}

class Rosters {
 public:
  Rosters(const Plan& plan, Report& report) : plan_(plan), report_(report), places_(plan.nodes.size()) {}

  /// As the node's file says it: the nodes with which the group begins, where they were then, and itself where it is now.
  [[nodiscard]] Roster file_of(std::uint32_t node) const;
  [[nodiscard]] std::string endpoint_of(std::uint32_t node) const { return endpoint_at(places_[node]); }
  /// The node's later processes listen elsewhere.
  void relocate(std::uint32_t node, std::uint64_t place) { places_[node] = place; }

  /// A process begins to listen, while these views run.
  void on_start(std::uint32_t process, std::uint32_t node, const std::vector<const View*>& running);
  /// A process wants that, in this view. False: it is impossible.
  [[nodiscard]] bool on_wish(std::uint32_t process, const RosterChange& change, const View& view);
  /// The change that a process wants by that action.
  [[nodiscard]] RosterChange wish_of(const Action& action, const Roster& now) const;
  /// V16, V17, V20, V22: the roster of a view that a process begins. `before`: of the view before, if that is known.
  void on_view(std::uint32_t process, const View& view, const View* before);
  /// It is the same, or the next one that differs.
  [[nodiscard]] static bool follows(const Roster& roster, const Roster& before);

  /// V18: a process leaves this view in order, with that roster for the next one.
  void on_left(std::uint32_t process, const View& view, const Roster& with);

  /// Whether a group may have turned that process away: at some time since its start the roster did not admit its node.
  [[nodiscard]] bool unlisted(std::uint32_t process) const {
    return starts_.contains(process) && starts_.at(process).unlisted;
  }
  /// Whether that process could find some member of this view by its file, and then all of them by the view's roster.
  [[nodiscard]] bool finds(std::uint32_t process, const View& view,
                           const std::function<std::optional<std::string>(NodeId)>& endpoint_of_member) const;
  /// V18: a wish of a process that the views have neither granted nor made impossible.
  [[nodiscard]] std::optional<std::string> open_wish(std::uint32_t process) const;

  [[nodiscard]] static std::string endpoint_at(std::uint64_t place) { return place == 0 ? "" : "p" + std::to_string(place); }

 private:
  using Violate = std::function<void(const char* invariant, const std::string& what)>;
  void check_added(const View& view, const View* before, const Violate& violate);

  struct Start {
    NodeId node;
    bool unlisted = false;
    Roster file;
  };

  const Plan& plan_;
  Report& report_;
  std::vector<std::uint64_t> places_;  // by node
  std::map<std::uint32_t, Start> starts_;
  std::map<std::uint32_t, std::vector<RosterChange>> wishes_;  // by process
};

}  // namespace spindrift::sim
