// Members' words about their logs, in a view in which nobody has some subgroup's: by these a log is taken up again when
// holders of it are back. Pure; of one view, in its Epoch. (docs/protocol.md, "Logged subgroups")
//
// The invariant to remember: who is named has all that was ever reported durable, unless those who run the group have said
// that nobody has it any more; and all who are named for one log have the same.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <spindrift/core/result.hpp>
#include <spindrift/core/view.hpp>
#include <spindrift/views/log_holders.hpp>
#include <spindrift/views/rank_set.hpp>

namespace spindrift::views {

class LogClaims {
 public:
  /// `loaded`: by subgroup, the members that had its state when the view began. `layout`: of the next view; null: nobody
  /// asks for logs. All three outlive this object.
  LogClaims(const View& view, const std::vector<RankSet>& loaded, const LayoutFunction* layout);

  /// Some log is away in this view: each member is to say what it has. True once.
  [[nodiscard]] bool asks() noexcept { return !away_.empty() && !std::exchange(asked_, true); }
  /// A member, also this one, says so; in place of what it said before.
  void hear(Rank from, NodeLogs said);

  /// By subgroup: the members that have its log, which was away: of its holders in the view those with the longest. None as
  /// long as one of the holders' nodes that are in the view has not said what it has; nor where the longest differ, or where
  /// nobody would have the log in the next view, for the layout leaves them out. Null: none of any log.
  [[nodiscard]] const std::vector<RankSet>* named() const noexcept { return named_ ? &*named_ : nullptr; }
  /// Those who run the group say that it goes on with the log of this subgroup that that node has, and with nobody's who is
  /// missing: it is named, and all members that have the same. `force`: also though what follows in the logs of the holders
  /// is lost; else the error says what that is. Errors: bad_argument (it is no member), refused (the log is not away, a
  /// holder is back with it, another member's goes further, …), no_majority (not forced), unsupported (an earlier version).
  [[nodiscard]] Result<void> adopt(SubgroupId subgroup, NodeId from, bool force);
  /// The logs for which nobody is named because they differ, that were not told of before.
  [[nodiscard]] std::vector<ForkedLog> take_forked();

 private:
  [[nodiscard]] std::vector<NodeLogs> said_of(const RecordedLog& log, bool& all) const;
  [[nodiscard]] std::vector<RankSet> found() const;
  void name();
  [[nodiscard]] Result<void> check_place(SubgroupId subgroup, const RankSet& named) const;
  [[nodiscard]] View next(const std::vector<RankSet>& found, std::vector<RankSet>& loaded) const;

  const View& view_;
  const std::vector<RankSet>& loaded_;
  const LayoutFunction* layout_;
  std::vector<RecordedLog> away_;
  std::map<Rank, NodeLogs> said_;
  std::map<SubgroupId, RankSet> adopted_;
  std::optional<std::vector<RankSet>> named_;
  std::vector<ForkedLog> told_;
  bool asked_ = false;
};

}  // namespace spindrift::views
