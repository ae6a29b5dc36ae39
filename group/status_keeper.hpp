// The status that a member keeps of itself for people, and when a change of it is worth a file.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/group/status.hpp>
#include <spindrift/group/status_file.hpp>
#include <spindrift/views/upcalls.hpp>

namespace spindrift::group {

/// A member's own status. It is shown once it has been changing for `settles_within`: a change of the view is three changes
/// of the status within a millisecond, which is too short to write a file in. Not thread-safe: the poller's.
class StatusKeeper {
 public:
  static constexpr Duration settles_within = std::chrono::milliseconds(5);

  /// `first` names the process and its group; state and what follows is filled in here. `unwritten_since_ms`: as StatusFile
  /// has it. Throws resource.
  StatusKeeper(std::string path, MemberStatus first, Counter unwritten_since_ms = {});

  /// Call before the application hears of the view.
  void on_view(const views::NewView& news, std::uint64_t now_ms);
  /// `state` is a MemberState's name, which several states may have; `end` is set once it is the last, and is in the file
  /// on return.
  void on_state(std::string state, std::optional<MemberStatus::End> end);
  /// While a view is changing: the applications that it waits for. Empty: it waits for none.
  void on_waiting(std::string applications);
  /// Everything that it waits for at present, outside of handlers.
  void on_waits(const MemberStatus::Waits& waits);
  /// The subgroups whose handlers the application has paused, by name.
  void on_pauses(const std::map<std::string, MemberStatus::Pause>& pauses);
  /// The words of MemberStatus::OfRoster about the present view.
  void on_roster(const std::string& sizes_differ, const std::string& version_held);
  /// The handler that holds up this member, with how long it has; empty: none. Another thread's while the poller is in it.
  void on_handler_at_work(const std::string& what);
  /// Shows what has settled. Returns when to call it next; never: there is nothing to show.
  [[nodiscard]] Time look(Time now);
  /// That it gave up before it was in a view; in the file on return.
  void on_failure(const Error& why);
  /// Shows it on return.
  void flush();
  /// Returns once the file is as it was last shown, if it can be written. Any thread.
  void await_file();

  [[nodiscard]] const MemberStatus& status() const noexcept { return status_; }

 private:
  enum class Shown : std::uint8_t { as_it_is, changed, settling };

  void block_subgroups();
  void note_change() noexcept;
  void give();

  StatusFile file_;
  MemberStatus status_;
  std::string waits_for_;  // while the view is changing
  Shown shown_ = Shown::as_it_is;
  Time show_at_{};  // while it settles
};

}  // namespace spindrift::group
