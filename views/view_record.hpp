// The record of views, which a node keeps from one of its processes to the next: the last view that it knows to be decided,
// and those that it has accepted since, which others may have decided. Plain data, with its bytes, which are the same in a
// message and in a file. (docs/protocol.md, "After all have stopped")
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <spindrift/core/bytes.hpp>
#include <spindrift/core/roster.hpp>
#include <spindrift/core/view.hpp>
#include <spindrift/views/decree.hpp>
#include <spindrift/views/log_point.hpp>

namespace spindrift::views {

/// Those whose logs of a subgroup have all that was reported durable before a view.
struct RecordedLog {
  SubgroupId subgroup;
  std::uint64_t name = 0;       ///< digest of the subgroup's name: another at its place has another log
  std::vector<LogHolder> holders;  ///< at least one; in the view, or gone before it
  friend bool operator==(const RecordedLog&, const RecordedLog&) = default;
};

struct RecordedView {
  ViewId id;
  std::vector<Join> members;  ///< in rank order; none: the last members have left, and the group has ended
  Roster roster;              ///< empty where none is known
  bool founded = false;       ///< by the acceptance of all of its members; else by a decree of the view before
  std::vector<RecordedLog> logs{};  ///< of the logged subgroups that have one, by subgroup; none where the roster is unknown
  friend bool operator==(const RecordedView&, const RecordedView&) = default;
};

[[nodiscard]] std::uint64_t name_digest(const SubgroupView& subgroup) noexcept;
/// The view as a node remembers it: made by a decree.
[[nodiscard]] RecordedView recorded(const View& view);
/// Whether these are the same nodes, as whatever processes.
[[nodiscard]] bool same_nodes(const RecordedView& a, const RecordedView& b);
/// The view's incarnation of that node; nothing: it is no member.
[[nodiscard]] std::optional<std::uint64_t> incarnation_in(const RecordedView& view, NodeId node);

struct ViewRecord {
  /// The node's place in the last view.
  enum class Standing : std::uint8_t {
    member,   ///< it is in it, or was in none yet
    left,     ///< it left, as it had asked
    removed,  ///< the others go on without it
  };
  /// Most views in `accepted`: a node that would have to remember more promises nothing.
  static constexpr std::size_t accepted_max = 8;

  /// The first incarnation of the node that this record has all of: what an earlier one had is lost. Not 0.
  std::uint64_t since = 0;
  std::optional<RecordedView> last;    ///< known to be decided; nothing: none was, as far as the node knows
  std::vector<RecordedView> accepted;  ///< later ones, of different nodes each, which may be decided
  Standing standing = Standing::member;
  /// The first incarnation of the node that had its logs, where these are older than `since`, because its earlier views
  /// count no more, or younger, because they were lost without its views; else 0.
  std::uint64_t logs_from = 0;
  friend bool operator==(const ViewRecord&, const ViewRecord&) = default;

  [[nodiscard]] bool empty() const noexcept { return !last && accepted.empty(); }
  /// The first incarnation of the node that had the logs which are on its disk: what an earlier one had is lost.
  [[nodiscard]] std::uint64_t logs_since() const noexcept { return logs_from != 0 ? logs_from : since; }
  /// One more view is accepted, for good. In place of one of the same nodes, of which it keeps the earlier incarnations: a
  /// majority of either is one of the other. False: there are too many.
  [[nodiscard]] bool accept(RecordedView view);
};

/// Later than every process of that node that the record knows of: no process that takes it up has a lower incarnation,
/// whatever its clock says, or it would pass for one that this record has nothing of.
[[nodiscard]] std::uint64_t next_incarnation(const ViewRecord& record, NodeId node);
/// The node's logs are lost, and not this record of its views: its next process is the first that has what comes of them.
/// `now`: by the clock that incarnations come of.
void lose_logs(ViewRecord& record, NodeId node, std::uint64_t now);

void put_holders(ByteWriter& writer, const std::vector<LogHolder>& holders);
/// Holders, each node once, be they in a view or not. False: they are none.
[[nodiscard]] bool get_holders(ByteReader& reader, std::vector<LogHolder>& holders);
void put_known(ByteWriter& writer, const std::vector<KnownLog>& logs);
/// All the rest of the bytes. False: they are no ends of logs.
[[nodiscard]] bool get_known(ByteReader& reader, std::vector<KnownLog>& logs);
void put_logs(ByteWriter& writer, const std::vector<RecordedLog>& logs);
/// False: they are none.
[[nodiscard]] bool get_logs(ByteReader& reader, std::vector<RecordedLog>& logs);
void put_view(ByteWriter& writer, const RecordedView& view);
/// False: it is none.
[[nodiscard]] bool get_view(ByteReader& reader, RecordedView& view);
void put_record(ByteWriter& writer, const ViewRecord& record);
/// False: it is none.
[[nodiscard]] bool get_record(ByteReader& reader, ViewRecord& record);

}  // namespace spindrift::views
