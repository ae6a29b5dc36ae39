// The report that the status files of a group's nodes make together: which nodes live, which view is the newest, and which
// node vouches for the end of which.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <spindrift/group/status.hpp>

namespace spindrift::tools {

/// One node's file, and what has become of the process that wrote it.
struct NodeReport {
  enum class Condition {
    running,  ///< it lives
    stopped,  ///< it lives, and does nothing until a signal lets it go on
    ended,    ///< it wrote how it ended
    gone,     ///< it is gone without a word, and was in no view
    died,     ///< it was in a view, and is gone without a word
    removed,  ///< it lives, and has not taken note that the others removed it: it is stopped, or reaches nobody
  };
  group::MemberStatus status;
  Condition condition = Condition::running;

  /// It has lost the majority of its view, and keeps its state.
  [[nodiscard]] bool stranded() const noexcept { return lives() && !status.waits.majority.empty(); }
  /// Its process is there, and was not removed as far as is known.
  [[nodiscard]] bool lives() const noexcept { return condition == Condition::running || condition == Condition::stopped; }
};

/// In words: what it says of itself while it runs, else how it ended.
[[nodiscard]] std::string condition_text(const NodeReport& node);

/// The count of what waits for a handler that is paused: "up to 340 messages of each sender wait".
[[nodiscard]] std::string waiting_text(const group::MemberStatus::Pause& pause);

/// A node's word on a removal.
struct Testimony {
  NodeId witness;
  std::string reason;
  std::optional<NodeId> by;  ///< whose finding it was, as far as the witness knows
};

/// A removal or a leave, seen by some nodes.
struct Departure {
  ViewId view;  ///< the first one without the node
  NodeId node;
  bool failed = false;
  std::string reason;  ///< of a failure, as the first witness has it
  std::vector<NodeId> witnesses;
  std::vector<Testimony> testimonies;  ///< of a failure, by witness
  std::uint64_t at_ms = 0;
};

struct GroupReport {
  std::vector<NodeReport> nodes;  ///< by node id
  std::vector<Error> problems;    ///< files that could not be read, by their text

  [[nodiscard]] bool partition_safety() const;
  /// The status with the greatest view in the newest founding, of a node that runs, else of any; null if nobody has seen a
  /// view. A founding in which nobody runs is older than one in which somebody does.
  [[nodiscard]] const group::MemberStatus* newest() const;
  /// The node whose status `newest` is has lost the majority of that view.
  [[nodiscard]] bool newest_is_stranded() const;
  /// The nodes that the group has drained, as a member that runs here has it; none if none does.
  [[nodiscard]] std::vector<NodeId> drained() const;
  /// Oldest first; one entry for the same event seen by several nodes. Those of the newest founding alone: an earlier one
  /// has views of the same numbers.
  [[nodiscard]] std::vector<Departure> departures() const;
  /// Whether that node's process was in the founding that `newest` is of, or in no view: it shared a view with one that was.
  [[nodiscard]] bool of_newest_founding(const group::MemberStatus& status) const;
  /// Since when a member is in the group, by its earliest witness.
  [[nodiscard]] std::uint64_t since_ms(const group::MemberStatus::MemberEntry& member) const;

 private:
  [[nodiscard]] std::vector<const NodeReport*> founding_of(const NodeReport& first) const;
};

/// Reads every status file of a directory. Errors: resource if the directory cannot be read; broken files are problems.
[[nodiscard]] Result<GroupReport> read_group(const std::string& directory);

}  // namespace spindrift::tools
