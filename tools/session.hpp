// A command's membership in a group: joins, and lets one thread wait for whatever comes first, the end of the membership, a
// signal, a request from a handler, or input. A stop signal makes this member leave gracefully, even while a thread waits in
// a send; a second one ends the process. A service manager that waits for word is told when it is in a view, and when it
// leaves.
#pragma once

#include <poll.h>

#include <optional>
#include <string>
#include <thread>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/file_descriptor.hpp>
#include <spindrift/core/line_writer.hpp>
#include <spindrift/group/group.hpp>
#include <spindrift/group/own_config.hpp>

#include "error_output.hpp"
#include "join_progress.hpp"
#include "service_manager.hpp"

namespace spindrift::tools {

/// For poll: whether the descriptor is readable, or at its end; -1 never is.
[[nodiscard]] constexpr pollfd readable(int descriptor) noexcept {
  return {.fd = descriptor, .events = POLLIN, .revents = 0};
}

/// Turns the first stop signal into a readable descriptor while it lives: SIGINT, SIGTERM, or SIGHUP, unless the process was
/// started to ignore that. Another one half a second later or more ends the process. One at a time in a process.
class StopSignals {
 public:
  /// Throws resource.
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  [[nodiscard]] int descriptor() const noexcept { return event_.get(); }

 private:
  enum class Hangup { taken, ignored };

  FileDescriptor event_;
  Hangup hangup_ = Hangup::taken;
};

/// While it lives, a signal ends the process with the exit code for that: a member that looks for its group has nothing to
/// leave, and its connections end with it; its status says so. A thread, for the one that joins waits. The same thread says
/// for whom, unless `progress` is null. `form` is that of the interrupted command's last word.
class JoinInterrupt {
 public:
  /// `config`: of the node whose status is to say so; nothing: it has none yet. Throws resource.
  JoinInterrupt(const StopSignals& signals, std::optional<Config> config, JoinProgress* progress, ErrorForm form);
  ~JoinInterrupt();
  JoinInterrupt(const JoinInterrupt&) = delete;
  JoinInterrupt& operator=(const JoinInterrupt&) = delete;

 private:
  [[nodiscard]] bool await_signal(const StopSignals& signals, JoinProgress* progress);

  FileDescriptor over_;
  LineWriter waiting_;  ///< says for whom this member waits, to a reader who may have stopped
  std::thread thread_;
};

/// The configuration of a member, with all in it that others have to be asked for. A signal meanwhile ends the process with
/// code 130. Throws what OwnConfig throws.
[[nodiscard]] OwnConfig await_own_config(const Config& config, ErrorForm form);

/// The choices about what a session says on standard error.
struct SessionOutput {
  bool quiet = false;  ///< not for whom it waits
  bool json = false;   ///< that it was interrupted, as JSON
};

class Session {
 public:
  enum class Event {
    input,      ///< the descriptor given to wait_for is readable, or at its end
    requested,  ///< `request_stop` was called since the last time
    signal,     ///< a stop signal: this member is leaving
    ended,      ///< this member is out of the group; `finish` says how
    deadline,   ///< the deadline has passed
  };

  /// Joins. Throws what Group's constructor throws. A signal before the group is in view ends the process with code 130.
  Session(const Config& config, GroupOptions options, const SessionOutput& output);
  /// Leaves if that was not done.
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  [[nodiscard]] Group& group() noexcept { return group_; }

  /// Sets a handler that drops the deliveries of every subgroup but `kept`: a member that takes nothing holds up the others.
  void drop_deliveries(const std::string& kept = {});
  /// Ends wait_for. Any thread, handlers included.
  void request_stop() noexcept;
  /// Returns the event that comes first. `input` is a descriptor, or -1. An event that is there already wins over a deadline
  /// that has passed.
  [[nodiscard]] Event wait_for(int input = -1, Time deadline = never);
  /// Whether a signal has asked this member to leave.
  [[nodiscard]] bool signaled() const noexcept;
  /// Leaves gracefully unless that was done, waits for the end. Throws the member's failure.
  void finish();

 private:
  void leave_on_signal() noexcept;
  void tell_of_long_leave() const;

  StopSignals signals_;
  const ServiceManager manager_;
  JoinProgress progress_;
  std::optional<JoinInterrupt> joining_;
  FileDescriptor requested_;
  FileDescriptor ended_;
  Group group_;
  std::optional<Error> failure_;  // written by the watcher before `ended_` is readable
  std::thread watcher_;
  std::thread leaver_;
};

/// The member left in order, and neither a signal nor this command asked it to: others changed the group's roster.
/// `undone`: "standard input was sent".
[[nodiscard]] Error taken_out(NodeId self, std::string_view undone);

/// "in view: node 1, members 0, 1, 2, subgroups …", as an event line for people, or as JSON.
[[nodiscard]] std::string in_view_line(const Group& group, bool json);

}  // namespace spindrift::tools
