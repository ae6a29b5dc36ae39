// The logs of the nodes' logged subgroups in a run: each outlives its node's processes, on a disk that is late and may fail.
// A process that dies leaves what was durable, and a beginning of the rest; one that ends in order leaves all.
//
// The node makes checkpoints of what it may trim where an object is made of a log: of an object's state there is no more
// here than the place of the log that it follows from, of which the bytes that go to another node are made.
//
// The invariant to remember: what `durable` has said is there when the node's next process opens its logs.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include <spindrift/views/subgroup_logs.hpp>

#include "../random.hpp"
#include "../report.hpp"
#include "../scheduler.hpp"
#include "plan.hpp"

namespace spindrift::sim {

struct LogEntry {
  NodeId sender;
  ViewId view;
  SequenceNumber sequence;
  std::vector<std::byte> payload;
  Digest link{};  ///< of the log up to here, this one included
};
using LogEntries = std::vector<std::shared_ptr<const LogEntry>>;

/// The link behind that entry, by the one before it.
[[nodiscard]] Digest link_behind(const Digest& before, const LogEntry& entry);
/// Whether they are the same message at the same place, whatever their logs were before.
[[nodiscard]] bool same_message(const LogEntry& a, const LogEntry& b);

/// The state at that place of a log: of some bytes, or some thousands.
[[nodiscard]] std::vector<std::byte> state_at(const views::LogPoint& place);

/// Messages of a log from the place on where it begins: none of lower versions is there.
struct LogContent {
  LogEntries entries{};     ///< by version; null before the beginning
  views::LogPoint begin{};
  std::optional<views::LogPoint> checkpoint{};  ///< the last one, of which the disk has the state
  [[nodiscard]] bool is_cut_short() const { return begin.version > 0 && checkpoint && checkpoint->version > entries.size(); }

  [[nodiscard]] Digest link_at(std::uint64_t version) const {
    return version == begin.version ? begin.link : entries[version - 1]->link;
  }
  /// Messages of lower versions are there no more; `version` is not behind the end.
  void trim(std::uint64_t version);
};

/// The log of one subgroup at one node.
struct NodeLog {
  LogContent now{};
  std::uint64_t durable = 0;
  std::optional<LogContent> before{};  ///< it has begun anew, and the disk has this still
  std::optional<views::LogPoint> made{};  ///< a checkpoint that the disk has not yet, or has without saying so
  std::uint32_t lost_before = 0;         ///< with the node's record, when there had been so many processes, last; 0: never

  [[nodiscard]] const LogEntries& entries() const noexcept { return now.entries; }
  [[nodiscard]] views::LogPoint end() const { return {now.entries.size(), now.link_at(now.entries.size())}; }
};

class NodeLogs final : public Handler {
 public:
  struct Hooks {
    std::function<void(std::uint32_t process)> wake;     ///< its disk has done something
    std::function<void(std::uint32_t process)> on_step;  ///< others could tell that it came so far
    std::function<void(std::uint32_t process, std::uint32_t subgroup, std::uint64_t version, const LogEntry&)> on_append;
  };

  NodeLogs(Scheduler& scheduler, const Plan& plan, Report& report, Hooks hooks);
  ~NodeLogs();

  /// The logs of that node, for a process that begins; good as long as this object. Null: no subgroup is logged.
  [[nodiscard]] views::SubgroupLogs* open(std::uint32_t process, std::uint32_t node);
  /// The process dies, or ends in order.
  void crash(std::uint32_t process);
  void end(std::uint32_t process);
  /// The members of its subgroup have told that what lies before `told` is durable at all of them, and the process's
  /// application was given what lies before `given`: the node may trim that, and make a checkpoint there.
  void may_trim(std::uint32_t process, std::uint32_t subgroup, std::uint64_t told, std::uint64_t given);
  /// The node's logs are lost, together with its record, behind so many processes of all nodes.
  void lose(std::uint32_t node, std::size_t processes);
  /// From now on disks are quick, and do not fail.
  void calm() { calm_ = true; }
  /// The disk of that process has failed.
  [[nodiscard]] bool failed(std::uint32_t process) const;

  [[nodiscard]] const NodeLog& log(std::uint32_t node, std::uint32_t subgroup) const { return logs_[node][subgroup]; }
  [[nodiscard]] NodeLog& log(std::uint32_t node, std::uint32_t subgroup) { return logs_[node][subgroup]; }

  void on_event(EventKind kind, std::uint32_t which) override;

 private:
  class ProcessLogs;
  class Writer;
  class Reader;

  void append(ProcessLogs& of, std::uint32_t subgroup, LogEntry entry);
  void begin_anew(ProcessLogs& of, std::uint32_t subgroup, const views::LogPoint& begin,
                  const std::optional<views::LogPoint>& checkpoint);
  void make_checkpoint(NodeLog& log, std::uint64_t least, std::uint64_t most);
  void begin_write(ProcessLogs& of);
  void end_write(ProcessLogs& of);

  Scheduler& scheduler_;
  Random random_;
  Random checkpoints_;
  const Plan& plan_;
  Report& report_;
  Hooks hooks_;
  bool calm_ = false;
  std::vector<std::vector<NodeLog>> logs_;                        // by node, by subgroup
  std::map<std::uint32_t, std::unique_ptr<ProcessLogs>> opened_;  // by process
};

}  // namespace spindrift::sim
