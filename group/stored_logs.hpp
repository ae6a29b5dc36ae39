// The logs of a node's logged subgroups in its journal, and streams of what the logs of other nodes lack of them.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>

#include <spindrift/core/history_bounds.hpp>
#include <spindrift/group/kept_checkpoints.hpp>
#include <spindrift/group/log_index.hpp>
#include <spindrift/group/log_stamps.hpp>
#include <spindrift/group/node_journal.hpp>
#include <spindrift/group/state_thread.hpp>
#include <spindrift/store/entry.hpp>
#include <spindrift/views/subgroup_logs.hpp>

namespace spindrift::group {

class StoredLogs final : public views::SubgroupLogs {
 public:
  /// The largest message of a subgroup, in bytes: another node's stream has no larger one.
  using Limit = std::function<std::uint64_t(SubgroupId)>;

  /// `journal` outlives it. `on_ready` is called on a thread of these logs when a reader has become ready; throws nothing.
  StoredLogs(NodeJournal& journal, Limit message_bytes_max, std::function<void()> on_ready);
  /// Readers that are not ready fail; those that are go on serving.
  ~StoredLogs() override;
  StoredLogs(const StoredLogs&) = delete;
  StoredLogs& operator=(const StoredLogs&) = delete;

  [[nodiscard]] views::LogPoint end(SubgroupId subgroup) const override;
  [[nodiscard]] bool is_cut_short(SubgroupId subgroup) const override;
  [[nodiscard]] std::uint64_t durable(SubgroupId subgroup) const override;
  [[nodiscard]] bool accepts() const override { return journal_.has_room() && !journal_.full(); }
  void append(SubgroupId subgroup, std::span<const Delivery> batch) override;
  void flush() override { journal_.flush(); }
  [[nodiscard]] std::optional<Error> failure() const override { return journal_.failure(); }
  [[nodiscard]] std::unique_ptr<views::StateReader> read(SubgroupId subgroup, const views::LogPoint& from,
                                                         std::uint64_t to) override;
  [[nodiscard]] std::unique_ptr<views::LogWriter> write(SubgroupId subgroup) override;

  /// The version of the first message of that log; what it had before was trimmed.
  [[nodiscard]] std::uint64_t first(SubgroupId subgroup) const;
  /// Lower versions than `limit` of that log may go, where the bounds keep none of them: the application was given these,
  /// and all members of the subgroup have them, or later ones alone.
  void trim(SubgroupId subgroup, const HistoryBounds& bounds, std::uint64_t limit);
  /// The same without bounds: lower versions than `limit` go as far as whole places of the index do. False: segments that
  /// nobody needs are still there, for somebody reads them, or they have the last record of views; to be called again.
  [[nodiscard]] bool trim_below(SubgroupId subgroup, std::uint64_t limit);

  /// The newest checkpoint of this log that the journal has as a whole, be it on the disk or not; null: there is none.
  [[nodiscard]] const store::Checkpoint* checkpoint(SubgroupId subgroup) const;
  /// The newest that is on the disk; null: there is none.
  [[nodiscard]] const store::Checkpoint* durable_checkpoint(SubgroupId subgroup);
  /// Whether a next one of a version up to `limit` would let more of the log go than it takes itself, by what the last one
  /// took, and none is on its way.
  [[nodiscard]] bool wants_checkpoint(SubgroupId subgroup, const HistoryBounds& bounds, std::uint64_t limit);
  /// A checkpoint of so many bytes begins, as of that place of the log; nothing of one that is not whole counts any more.
  void begin_state(SubgroupId subgroup, const views::LogPoint& at, std::uint64_t bytes,
                   store::CheckpointOf of = store::CheckpointOf::present);
  /// The next bytes of it; with the last of them it is whole. Never waits.
  void append_state(SubgroupId subgroup, std::span<const std::byte> bytes);
  /// The one that was begun and is not whole; null: there is none.
  [[nodiscard]] const store::Checkpoint* coming_checkpoint(SubgroupId subgroup) const;
  /// The rest of it does not follow.
  void drop_state(SubgroupId subgroup) { log(subgroup).checkpoints.drop_coming(); }

  /// The times of what `append` took, until they are forgotten. Its functions from any thread.
  [[nodiscard]] LogStamps& stamps() noexcept { return stamps_; }

 private:
  class Writer;
  struct Mark {
    store::JournalPosition position;  ///< when everything before it is durable
    std::uint64_t version = 0;        ///< so are the messages before this one
  };
  /// A log that has begun anew, as it was before: until the base is on the disk a restart finds that.
  struct Former {
    store::JournalPosition needed_from;
    store::JournalPosition base;
  };
  /// The log that another member's took the place of, until it is known how much of it that has.
  struct Replaced {
    std::uint64_t end = 0;  ///< its version
    ViewId view;            ///< of its last message
  };
  struct Log {
    store::LogEnd end;
    std::uint64_t durable = 0;  ///< of what is known
    std::deque<Mark> marks{};   ///< of what is on its way to the disk
    LogIndex index;
    KeptCheckpoints checkpoints{};
    std::optional<Former> former{};  ///< the disk has this still
    std::optional<Replaced> replaced{};

    /// It ends where the newest was made, and not with the same messages.
    [[nodiscard]] bool contradicts_checkpoint() const noexcept {
      const store::Checkpoint* const newest = checkpoints.whole();
      return newest != nullptr && newest->version == end.version && newest->link != end.link;
    }
  };

  [[nodiscard]] Log& log(SubgroupId subgroup);
  [[nodiscard]] static const store::Checkpoint* within(const Log& log, const store::Checkpoint* checkpoint) noexcept;
  void append(Log& log, const store::EntryHead& head, std::span<const std::byte> payload);
  void mark(Log& log);
  void begin_anew(SubgroupId subgroup, const views::LogPoint& begin, bool with_checkpoint);
  void tell_dropped(SubgroupId subgroup);
  /// Lets go what no log needs. False: as of trim_below.
  bool trim_journal();
  void append_piece(Log& log, std::span<const std::byte> state);
  /// The journal is needed from there on, for that log.
  [[nodiscard]] store::JournalPosition needed_from(Log& log) const;

  NodeJournal& journal_;
  Limit message_bytes_max_;
  std::function<void()> on_ready_;
  std::map<SubgroupId, Log> logs_;  // that have an entry
  LogStamps stamps_;
  std::stop_source end_;            // of the work on the thread
  std::shared_ptr<StateThread> thread_ = std::make_shared<StateThread>();  // readers may outlive this
};

}  // namespace spindrift::group
