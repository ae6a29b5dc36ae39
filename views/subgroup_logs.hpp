// The logs of a node's logged subgroups, as the protocol uses them. Injected: the node's journal in production, a value of
// the simulator in tests. The message of version v is the v-th of its subgroup, from 0, in the order in which all deliver.
//
// The invariant to remember: `durable` never says more than what the node's next process finds, whenever this one is killed.
//
// The poller's, as are the readers and writers.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include <spindrift/core/result.hpp>
#include <spindrift/smc/delivery.hpp>
#include <spindrift/views/log_point.hpp>
#include <spindrift/views/upcalls.hpp>

namespace spindrift::views {

/// Takes what another node's `SubgroupLogs::read` gives, and appends it. Destroyed before all of it came: what came so far
/// is in the log.
class LogWriter : public StateWriter {
 public:
  /// So far it is what a correct source gives; from the first impossible byte on nothing is appended.
  [[nodiscard]] virtual bool valid() const noexcept = 0;
};

class SubgroupLogs {
 public:
  virtual ~SubgroupLogs() = default;

  /// The end of that log, behind all that was appended, be it durable or not. Before anything is appended: where the node's
  /// processes before have left it.
  [[nodiscard]] virtual LogPoint end(SubgroupId subgroup) const = 0;
  /// It began anew with another node's checkpoint, and its process ended before all came that lies before that: no object
  /// can be made of it, and nobody can go on with it alone.
  [[nodiscard]] virtual bool is_cut_short(SubgroupId subgroup) const = 0;
  /// The messages of lower versions are durable.
  [[nodiscard]] virtual std::uint64_t durable(SubgroupId subgroup) const = 0;
  /// Whether there is room. If not, deliveries that can wait do, until the disk has taken more.
  [[nodiscard]] virtual bool accepts() const = 0;
  /// These messages follow in the log, also without room. Never waits; `sequence` and `view` of each are kept.
  virtual void append(SubgroupId subgroup, std::span<const Delivery> batch) = 0;
  /// Behind a pass: what was appended is to become durable now.
  virtual void flush() = 0;
  /// Why nothing becomes durable any more, for good: the member has to end. Nothing: it does.
  [[nodiscard]] virtual std::optional<Error> failure() const = 0;

  /// The first `to` messages of this log, which has them, as far as one that ends at `from` lacks them: all of them, if this
  /// one has another link there, or does not reach so far. Ready when it was read.
  [[nodiscard]] virtual std::unique_ptr<StateReader> read(SubgroupId subgroup, const LogPoint& from, std::uint64_t to) = 0;
  /// For what another node has read so for this one's `end`. If that was all, this log begins anew.
  [[nodiscard]] virtual std::unique_ptr<LogWriter> write(SubgroupId subgroup) = 0;
};

}  // namespace spindrift::views
