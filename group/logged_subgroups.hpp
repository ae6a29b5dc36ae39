// The logged subgroups of this process between the protocol, which has their logs, and the application, which gets the
// messages of a log that it has not got before any that is delivered now.
//
// The invariant to remember: what the application was given of a log are messages that follow each other, each once; the
// first of them is the first that this node still had when the application could be given something, and so is one behind
// which the log began anew.
//
// The poller's, but for what says otherwise.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <spindrift/core/view.hpp>
#include <spindrift/group/log_replay.hpp>
#include <spindrift/group/node_journal.hpp>
#include <spindrift/group/stored_logs.hpp>
#include <spindrift/smc/delivery.hpp>

namespace spindrift::group {

/// A call of an application thread; its outcome is the version of the first message that is kept. See Subgroup::trim_log.
struct TrimCall {
  SubgroupId subgroup;
  std::uint64_t below = 0;  ///< versions below it go
  std::optional<Result<std::uint64_t>> outcome{};
};

class LoggedSubgroups {
 public:
  /// `journal` outlives it. `layout`: all subgroups of it. `wake` wakes the poller, from any thread.
  LoggedSubgroups(NodeJournal& journal, std::vector<SubgroupView> layout, std::function<void()> wake)
      : journal_(journal),
        layout_(std::move(layout)),
        wake_(std::move(wake)),
        logs_(journal, [this](SubgroupId id) { return layout_.at(id.value()).profile.message_bytes_max; }, wake_) {}

  [[nodiscard]] views::SubgroupLogs& logs() noexcept { return logs_; }
  /// As NodeJournal::full_since_ms.
  [[nodiscard]] std::uint64_t disk_full_since_ms() const noexcept { return journal_.full_since_ms(); }
  /// The application is to get the messages up to that version. Throws resource.
  void replay(SubgroupId id, std::uint64_t to);
  /// The application makes that of a log, so that more of it is needed, or less.
  enum class Use : std::uint8_t {
    messages,  ///< it needs those that the subgroup's history keeps
    object,    ///< all messages make an object, and those behind a checkpoint make the same
  };
  /// Lower versions are durable at all members: those that the subgroup's history keeps no more may be trimmed, and what
  /// needs a checkpoint in their place has that on the disk.
  void on_durable(SubgroupId id, std::uint64_t version, Use use);
  /// Trims the messages of lower versions than `below`, for the sake of room. Lower ones than `durable` are durable at all
  /// members. Returns the version of the first message of the log then; segments go as soon as nobody needs them. Errors:
  /// bad_argument (an object is made of the log, and it has no history, which alone has checkpoints made of it; it ends
  /// before that version; or there is none), refused (some of these are not durable at all members, not given to the
  /// application, or in no checkpoint, where one is needed).
  [[nodiscard]] Result<std::uint64_t> trim(SubgroupId id, std::uint64_t below, std::uint64_t durable, Use use);
  /// Goes on with that, while segments are left of it.
  void trim_further();
  /// For `Use::object`: the version that the next checkpoint is to have; nothing: there is none to make. Lower versions than
  /// `durable` are durable at all members.
  [[nodiscard]] std::optional<std::uint64_t> next_checkpoint(SubgroupId id, std::uint64_t durable);
  /// The version of the first message of that log; those before were trimmed.
  [[nodiscard]] std::uint64_t first(SubgroupId id) const { return logs_.first(id); }
  [[nodiscard]] StoredLogs& stored() noexcept { return logs_; }
  [[nodiscard]] NodeJournal& journal() noexcept { return journal_; }
  /// The application, if it makes an object, is to begin with a state before it gets messages: it has been given none, or
  /// the log begins behind the last one.
  [[nodiscard]] bool lacks_state(SubgroupId id) const;
  /// An object has the state of that checkpoint, and is to get the messages behind it.
  void begin_at(SubgroupId id, std::uint64_t version);
  /// Some are still to be given to it.
  [[nodiscard]] bool at_work(SubgroupId id) const { return replays_.contains(id); }
  [[nodiscard]] bool at_work() const noexcept { return !replays_.empty(); }
  /// The application is given these messages of that subgroup now, as they were delivered.
  void note(SubgroupId id, std::span<const Delivery> batch) {
    const bool logged = id.value() < layout_.size() && layout_[id.value()].storage == SubgroupStorage::logged;
    if (!logged || batch.empty()) return;
    given_[id] = batch.back().version + 1;
    logs_.stamps().forget(id, batch.front().version);
  }
  /// The time in its log, in nanoseconds since 1970, of a message that the application is given now.
  [[nodiscard]] std::uint64_t time(SubgroupId id, std::uint64_t version);
  /// From any thread: as LogStamps::settled, by the clock of now.
  [[nodiscard]] std::uint64_t settled(SubgroupId id, std::uint64_t applied);

  /// Gives what was read to those that take it: `accepts(id)` says so, `deliver(id, batch)` gives it, and says how many were
  /// taken, and `busy(id)` says that the last of it is still with the handler. `begins(id)` says, before the first of it,
  /// that the application has what it begins with. True if anything was given. Errors: of the disk.
  template <class Accepts, class Begins, class Deliver, class Busy>
  [[nodiscard]] Result<bool> step(const Accepts& accepts, const Begins& begins, const Deliver& deliver, const Busy& busy) {
    bool any = false;
    for (auto at = replays_.begin(); at != replays_.end();) {
      const SubgroupId id = at->first;
      const bool takes = accepts(id);
      if (takes && at->second.stage == Stage::waiting && begins(id)) at->second.stage = Stage::given;
      if (at->second.stage == Stage::waiting) {
        ++at;
        continue;
      }
      if (auto failure = at->second.reading->failure()) return *std::move(failure);
      if (const auto batch = takes ? at->second.reading->next() : std::span<const Delivery>(); !batch.empty()) {
        const std::size_t taken = deliver(id, batch);
        at->second.reading->give_back(batch.size() - taken);
        note(id, batch.first(taken));
        any = true;
      }
      at = !busy(id) && is_over(id, at->second) ? replays_.erase(at) : std::next(at);
    }
    return any;
  }

 private:
  enum class Stage : std::uint8_t { waiting, given };  ///< for what the application begins with
  struct Replay {
    std::unique_ptr<LogReplay> reading;
    std::uint64_t to = 0;  ///< at least that of `reading`
    Stage stage = Stage::waiting;
  };
  /// As above; 0: it has been given none.
  [[nodiscard]] std::uint64_t given(SubgroupId id) const;
  /// The version of the next message that the application is to be given.
  [[nodiscard]] std::uint64_t next(SubgroupId id) const;
  /// Goes on, if more was asked for meanwhile.
  [[nodiscard]] bool is_over(SubgroupId id, Replay& replay);
  [[nodiscard]] std::unique_ptr<LogReplay> read(SubgroupId id, std::uint64_t to);
  /// Lower versions are needed by nobody: those before it, as far as the application, and what is made of the log, allows.
  [[nodiscard]] std::uint64_t trim_limit(SubgroupId id, std::uint64_t version, Use use);

  NodeJournal& journal_;
  const std::vector<SubgroupView> layout_;
  std::function<void()> wake_;
  StoredLogs logs_;
  std::map<SubgroupId, std::uint64_t> given_;  // versions below it
  std::map<SubgroupId, Replay> replays_;
  std::map<SubgroupId, std::uint64_t> trims_;  // versions below it, of which segments may still be there
};

}  // namespace spindrift::group
