// The status that a member shows of itself to people and programs of its host: a small file beside its counters, replaced
// whole at every change, that outlives the process. Written by the poller, read by `spindrift group`. It is testimony, not
// protocol: nothing in the group depends on it.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/ids.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/core/view.hpp>
#include <spindrift/views/upcalls.hpp>

namespace spindrift::group {

struct MemberStatus {
  struct MemberEntry {
    NodeId node;
    std::uint64_t incarnation = 0;
    std::uint64_t since_ms = 0;  ///< wall clock: when this node saw it join; the own first view for all that were there
    bool operator==(const MemberEntry&) const = default;
  };
  struct SubgroupEntry {
    std::string name;
    DeliveryMode mode = DeliveryMode::ordered;
    std::vector<NodeId> members;
    std::vector<NodeId> senders;
    std::string inadequate;  ///< why it has no members in this view; empty: it has
    std::string blocked;     ///< why sends of this node wait; empty: they do not
    bool operator==(const SubgroupEntry&) const = default;
  };
  struct Change {
    ViewId view;
    std::uint64_t at_ms = 0;  ///< wall clock
    std::vector<NodeId> members;
    std::vector<NodeId> joined;
    std::vector<NodeId> left;
    std::vector<views::Removal> failed;
  };
  struct End {
    std::string kind;    ///< "left", or an ErrorKind's name: "removed", "no majority", …
    std::string reason;  ///< empty after a graceful leave
    std::uint64_t at_ms = 0;
  };

  /// In words, each empty where it waits for nothing.
  struct Waits {
    std::string group;    ///< what it lacks while it looks for its group: "nodes 0, 2"
    std::string leave;    ///< what a leave that lasts waits for
    std::string sends;    ///< whom its sends wait for most of the time
    std::string handler;  ///< its handler that has been at work for long, for which all members wait
    bool operator==(const Waits&) const = default;
  };

  std::string group;
  NodeId node;
  std::uint64_t incarnation = 0;
  std::uint64_t process = 0;  ///< its id
  std::uint64_t process_started =
      0;  ///< by the kernel's count, so that a later process of the same id is another; 0: unknown
  bool partition_safety = true;
  std::string state;                 ///< a MemberState's name
  std::uint64_t state_since_ms = 0;  ///< wall clock: since when it is in that state
  std::optional<ViewId> view;        ///< none before the first
  std::vector<MemberEntry> members;  ///< by rank
  std::vector<SubgroupEntry> subgroups;
  std::deque<Change> changes;  ///< oldest first, at most changes_max
  std::optional<End> end;
  std::uint64_t began_ms = 0;   ///< wall clock: when the process began to look for its group
  Waits waits;

  static constexpr std::size_t changes_max = 32;
};

/// The calendar, for what people read; the protocol never sees it.
[[nodiscard]] std::uint64_t wall_clock_ms();

/// Replaces the file at `path` whole: a reader sees the old or the new one. Errors: resource.
[[nodiscard]] Result<void> write_status(const std::string& path, const MemberStatus& status);
/// The last word about this process, which is about to end: its status at `path`, with that end. No StatusKeeper of this
/// process writes from then on. A status of another process stays as it is. Any thread. Errors: bad_input, resource.
[[nodiscard]] Result<void> write_last_status(const std::string& path, MemberStatus::End end);
/// Reads and checks every field. In texts, whatever is no printable ASCII is a question mark: a file may be anybody's, and
/// is printed. Errors: bad_input, resource, naming the file.
[[nodiscard]] Result<MemberStatus> read_status(const std::string& path);

/// Since when the process of that id runs, in the kernel's clock ticks since boot; 0 if none runs, or it is not known.
[[nodiscard]] std::uint64_t process_start_ticks(std::uint64_t process);
/// Whether the process that wrote this still runs and has not ended its membership: one of the same id that started at
/// another time is another.
[[nodiscard]] bool runs(const MemberStatus& status);

/// A member's own status, kept and written through. Not thread-safe: the poller's. What cannot be written is logged, once
/// until it can be again; the group goes on.
class StatusKeeper {
 public:
  /// `first` names the process and its group; state and what follows is filled in here.
  StatusKeeper(std::string path, MemberStatus first);

  /// Call before the application hears of the view.
  void on_view(const views::NewView& news, std::uint64_t now_ms);
  /// `state` is a MemberState's name, which several states may have; `end` is set once it is the last.
  void on_state(std::string state, std::optional<MemberStatus::End> end);
  /// While a view is changing: the applications that it waits for. Empty: it waits for none.
  void on_waiting(std::string applications);
  /// Everything that it waits for at present, outside of handlers.
  void on_waits(const MemberStatus::Waits& waits);
  /// The handler that holds up this member, with how long it has; empty: none. Another thread's while the poller is in it.
  void on_handler_at_work(const std::string& what);
  /// Tries again, once a second, what could not be written. Returns when to call it next; never: everything is written.
  [[nodiscard]] Time look(Time now);
  /// That it gave up before it was in a view.
  void on_failure(const Error& why);

  [[nodiscard]] const MemberStatus& status() const noexcept { return status_; }

 private:
  void block_subgroups();
  void write();

  std::string path_;
  MemberStatus status_;
  std::string waits_for_;  // while the view is changing
  bool unwritten_ = false;  // the file is not as the status is, which the log has said
  Time try_at_{};           // again, then
};

}  // namespace spindrift::group
