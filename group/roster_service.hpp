// Lets processes of this host, of this user or root, change the group's roster through this member: `spindrift group add`;
// revive its view, and trim or adopt logs. A thread answers one call after the other; the poller knows nothing of it.
#pragma once

#include <functional>
#include <list>
#include <optional>
#include <span>
#include <string>
#include <thread>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/file_descriptor.hpp>
#include <spindrift/core/guarded_directory.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/core/roster.hpp>
#include <spindrift/group/roster_messages.hpp>

namespace spindrift::group {

class RosterService {
 public:
  static constexpr std::size_t callers_max = 16;

  /// `change` does it, on the service's thread, and waits as long as the call says. The directory outlives this object.
  RosterService(NodeId self, const GuardedDirectory& directory, std::function<Result<Roster>(const RosterCall&)> change)
      : name_(socket_name(self)), directory_(directory), change_(std::move(change)) {}
  /// Ends; what `change` waits for has to be over soon.
  ~RosterService();
  RosterService(const RosterService&) = delete;
  RosterService& operator=(const RosterService&) = delete;

  /// Listens, and starts the thread. Errors: resource.
  [[nodiscard]] Result<void> start();

 private:
  void run();
  void accept_callers();
  /// False: it has said what it wanted, or is gone.
  [[nodiscard]] bool serve(const FileDescriptor& caller) const;
  [[nodiscard]] static std::string socket_name(NodeId self);

  const std::string name_;
  const GuardedDirectory& directory_;
  const std::function<Result<Roster>(const RosterCall&)> change_;
  FileDescriptor listening_;
  FileDescriptor end_;
  std::list<FileDescriptor> callers_;
  std::thread thread_;
};

/// Has that node's member, whose files are in this directory, change the roster. The call's patience is that of the caller:
/// the member is left somewhat less, so that its answer comes within. Errors: as Group::change_roster; member_lost (it does
/// not run, or ended before it answered), timed_out (it does not answer).
[[nodiscard]] Result<Roster> change_roster_through(const GuardedDirectory& directory, NodeId node, const RosterCall& call);

/// The newest of the rosters that those of these nodes tell that are members and answer within this time: it waits for all
/// of them, as one may not have heard yet of the last change. Nothing: none answers.
[[nodiscard]] std::optional<Roster> newest_roster(const GuardedDirectory& directory, std::span<const NodeId> nodes,
                                                  Duration patience);

}  // namespace spindrift::group
