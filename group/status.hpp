// The status that a member shows of itself to people and programs of its host: a small file, replaced whole some
// milliseconds after every change, that outlives the process. Read by `spindrift group`. It is testimony, not protocol:
// nothing in the group depends on it.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <spindrift/core/ids.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/core/view.hpp>
#include <spindrift/views/upcalls.hpp>

namespace spindrift::group {

/// With this begins what a status says of a member that its disk holds up, in place of a handler.
inline constexpr std::string_view waits_for_disk = "it waits for its disk";

struct MemberStatus {
  struct MemberEntry {
    NodeId node;
    std::uint64_t incarnation = 0;
    std::uint64_t since_ms = 0;  ///< wall clock: when this node saw it join; the own first view for all that were there
    bool operator==(const MemberEntry&) const = default;
  };
  /// The application's handler of a subgroup takes nothing, as it wants it, until it says that it goes on.
  struct Pause {
    std::uint64_t since_ms = 0;  ///< wall clock
    std::uint64_t messages = 0;  ///< that wait for it in this view: so many of each sender at most
    bool operator==(const Pause&) const = default;
  };
  struct SubgroupEntry {
    std::string name;
    DeliveryMode mode = DeliveryMode::ordered;
    std::vector<NodeId> members;
    std::vector<NodeId> senders;
    std::string inadequate;  ///< why it has no members in this view; empty: it has
    std::string blocked;     ///< why sends of this node wait; empty: they do not
    SubgroupStorage storage = SubgroupStorage::memory;
    std::optional<Pause> paused{};  ///< for long enough to be worth a word
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

  /// The process that was this node before.
  struct Predecessor {
    std::uint64_t process = 0;
    std::optional<ViewId> view;  ///< its last one
    std::optional<End> end;      ///< none: it was gone without a word
    std::uint64_t began_ms = 0;
  };

  struct Beginning {
    std::uint64_t at_ms = 0;                    ///< wall clock: when the process began to look for its group
    std::uint64_t ticks = 0;                    ///< the kernel's count at its start, for ids are used again; 0: unknown
    std::map<std::string, std::string> agreed;  ///< as agreed_values has it
    std::string journal;                        ///< the directory of its journal; empty: it keeps none
    std::optional<Predecessor> before;          ///< the last one that was in a view; else the last one, if there was any
  };

  /// In words, each empty where it waits for nothing.
  struct Waits {
    std::string group;    ///< what it lacks while it looks for its group: "nodes 0, 2"
    std::string leave;    ///< what a leave that lasts waits for
    std::string sends;    ///< whom its sends wait for most of the time
    std::string handler;  ///< its handler that has been at work for long, for which all members wait; or `waits_for_disk`
    std::string majority;  ///< of its view, which it has lost: who is gone, and what then
    bool operator==(const Waits&) const = default;
  };

  /// The view's roster, as far as it matters to people.
  struct OfRoster {
    std::vector<NodeId> drained;  ///< ascending
    std::uint32_t version = 0;    ///< of the protocol; 0: it is in no view yet
    /// In words, each empty where it is not so: by which sizes of rings its own file differs from the roster, and whose
    /// release keeps the group at that version.
    std::string sizes_differ;
    std::string version_held;
    bool operator==(const OfRoster&) const = default;
  };

  std::string group;
  NodeId node;
  std::uint64_t incarnation = 0;
  std::uint64_t process = 0;  ///< its id
  bool partition_safety = true;
  std::string state;                 ///< a MemberState's name
  std::uint64_t state_since_ms = 0;  ///< wall clock: since when it is in that state
  std::optional<ViewId> view;        ///< none before the first
  std::vector<MemberEntry> members;  ///< by rank
  OfRoster roster;
  std::vector<SubgroupEntry> subgroups;
  std::deque<Change> changes;  ///< oldest first, at most changes_max
  std::optional<End> end;
  Beginning beginning;
  Waits waits;

  static constexpr std::size_t changes_max = 32;
};

/// The calendar, for what people read; the protocol never sees it.
[[nodiscard]] std::uint64_t wall_clock_ms();
/// The same in nanoseconds.
[[nodiscard]] std::uint64_t wall_clock_ns();

/// Replaces the file at `path` whole: a reader sees the old or the new one. Errors: resource.
[[nodiscard]] Result<void> write_status(const std::string& path, const MemberStatus& status);
/// As `write_status`, but writes nothing once the last word about this process was said. Any thread.
[[nodiscard]] Result<void> write_status_unless_over(const std::string& path, const MemberStatus& status);
/// The last word about this process, which is about to end: its status at `path`, with that end. No StatusFile of this
/// process writes from then on. A status of another process stays as it is. Any thread. Errors: bad_input, resource.
[[nodiscard]] Result<void> write_last_status(const std::string& path, MemberStatus::End end);
/// Reads and checks every field. In texts, whatever is no printable ASCII is a question mark: a file may be anybody's, and
/// is printed. Errors: bad_input, resource, naming the file.
[[nodiscard]] Result<MemberStatus> read_status(const std::string& path);

/// The predecessor of a process that is about to write its first status at this path; nothing: no status is to be read.
[[nodiscard]] std::optional<MemberStatus::Predecessor> predecessor_at(const std::string& path);

/// Since when the process of that id runs, in the kernel's clock ticks since boot; 0 if none runs, or it is not known.
[[nodiscard]] std::uint64_t process_start_ticks(std::uint64_t process);
/// Whether the process that wrote this still runs and has not ended its membership: one of the same id that started at
/// another time is another.
[[nodiscard]] bool runs(const MemberStatus& status);
/// Whether the process of that id is stopped, by a signal or a debugger, and does nothing until it is told to go on.
[[nodiscard]] bool process_stopped(std::uint64_t process);

}  // namespace spindrift::group
