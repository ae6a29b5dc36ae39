// Concludes from the records of nodes whose processes look for a group: that none was there, that these can go on from its
// last view, or for whom that waits. Pure functions. (docs/protocol.md, "After all have stopped")
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <spindrift/core/digest.hpp>
#include <spindrift/views/log_holders.hpp>
#include <spindrift/views/messages.hpp>
#include <spindrift/views/view_memory.hpp>

namespace spindrift::views {

/// A process that looks for a group, and what it has said.
struct Remembering {
  Join who;
  Remembered said;
};

/// A view that may be the last one, and which of its nodes are here.
struct LastView {
  ViewId id;
  std::vector<NodeId> nodes;      ///< its members
  std::vector<NodeId> here;       ///< those of them that look for a group, and have kept their record since
  std::vector<NodeId> forgetful;  ///< those that look for a group, and have lost it
  [[nodiscard]] bool has_majority() const noexcept { return 2 * here.size() > nodes.size(); }
};

struct Recalled {
  enum class State : std::uint8_t {
    first_day,  ///< nobody remembers a view that could go on: a group is founded as the first one was
    waits,      ///< for a majority of a view that may be the last one
    enough,     ///< for these to found the view that follows the last one
  };
  State state = State::first_day;
  ViewId next;                     ///< greater than every id that somebody remembers; 0 if nobody remembers one
  bool contested = false;          ///< the id before that is remembered of views of different nodes
  std::vector<Join> founders;      ///< those that found, if these are enough: in the order of the latest view, then by
                                   ///< node; the first asks
  bool left_behind = false;        ///< nobody here has a part in a view that is needed; those without which the group went
                                   ///< on are among the founders
  std::vector<NodeId> members;     ///< of the latest view, in rank order
  Roster roster;                   ///< of the view that they found; empty: none is known
  std::vector<LastView> awaited;   ///< `waits`: the views without a majority here
  std::vector<RecordedLog> logs;   ///< of the latest view, or of the last where that had no members
  std::vector<NodeLogs> have;      ///< the logs of those that look for a group
  std::vector<ForkedLog> forked;   ///< `waits`: nobody can tell which is the log
  std::vector<RecordedLog> without;  ///< `waits`: logs which none of those here has, with those that may come and have it
};

/// `here`: each node once.
[[nodiscard]] Recalled recall(std::span<const Remembering> here);

/// The words of a process about its record, and those of its neighbors. A member that goes on by the testimony of the dead
/// is of one host with them, and has recorded the view before it goes on in it; from what they accepted beyond nobody does.
[[nodiscard]] Remembered remembered(const ViewRecord& own, std::span<const ViewMemory::Neighbor> neighbors);
/// Differs where what is said does; 0: of no view.
[[nodiscard]] std::uint64_t digest_of(const Remembered& said);

/// The logs with which the founders go on without a majority. One that no recorded holder has who is here goes on as the
/// longest that a founder has, and what others had behind that is lost.
[[nodiscard]] std::vector<FirstLog> logs_by_force(const Recalled& recalled);
/// Those that nobody can tell apart.
[[nodiscard]] std::vector<ForkedLog> forked_by_force(const Recalled& recalled);

/// For people: the subgroups whose log none of the founders has for sure, with which log they go on, and what becomes of
/// what others have. Empty: there is none. `layout` has the names of subgroups.
[[nodiscard]] std::string words_of_lost_logs(const Recalled& recalled, std::span<const SubgroupView> layout);

/// For people, behind other words: that these nodes' records tell of the last view. Empty: there are none.
[[nodiscard]] std::string words_of_tellers(const std::vector<NodeId>& tellers);
/// For people: "the last view of the group had nodes 0, 1, 2, of which 1 is here: 1 of 0, 2 has to come (…)", and what would
/// be lost of each log without those that are missing. `self` has `own`. `layout` has the names of subgroups.
[[nodiscard]] std::string words_of(const Recalled& recalled, NodeId self, const ViewRecord& own,
                                   std::span<const SubgroupView> layout = {});

}  // namespace spindrift::views
