// Keeps a process's record of views as the protocol goes on: each change is stored before anybody can see what follows from
// it. A record that cannot be stored ends the process.
//
// Pure; the poller's. Without a memory nothing is remembered.
#pragma once

#include <optional>
#include <vector>

#include <spindrift/core/result.hpp>
#include <spindrift/views/log_point.hpp>
#include <spindrift/views/view_memory.hpp>

namespace spindrift::views {

class OwnRecord {
 public:
  using Neighbor = ViewMemory::Neighbor;

  /// `memory` outlives this object; null: none. `beside`: neighbors matter, for members of one host can go on by the
  /// testimony of the dead.
  OwnRecord(ViewMemory* memory, bool beside) : memory_(memory), beside_(beside) {}

  /// Takes up what earlier processes of the node have stored, or begins with this one. `incarnation`: not below
  /// `next_incarnation` of what they have. Errors: the memory's.
  /// `logs`: those of the node that are not empty.
  [[nodiscard]] Result<void> begin(std::uint64_t incarnation, std::vector<KnownLog> logs = {});
  /// As its processes before have left them.
  [[nodiscard]] const std::vector<KnownLog>& logs() const noexcept { return logs_; }
  [[nodiscard]] bool is_kept() const noexcept { return memory_ != nullptr; }
  [[nodiscard]] const ViewRecord& record() const noexcept { return record_; }

  /// A decree of the present view is accepted, in place of an earlier one of that view. False: it could not be stored.
  [[nodiscard]] bool accept_decree(RecordedView next);
  /// A founding is accepted, beside all that was accepted before. False: it could not be stored, or is one too many.
  [[nodiscard]] bool accept_founding(RecordedView first);
  /// This process goes into that view. False: it could not be stored.
  [[nodiscard]] bool install(const View& view);
  /// As long as that is being stored: into which one; else null.
  [[nodiscard]] const View* being_entered() const noexcept { return being_entered_; }
  /// In the present view this node, too, has the log of that subgroup from now on. False: it could not be stored.
  [[nodiscard]] bool note_log(SubgroupId subgroup, NodeId self);
  /// The view goes on in that one, without this process.
  void part(RecordedView next, ViewRecord::Standing standing);
  /// The others said that they go on without this process, if not in which view.
  void note_removal();
  /// A member of a later view said that the group goes on there without this process. `incarnation`: this one's, not below
  /// that of `begin`. What the node knew of earlier views counts no more, as if it were lost: nothing may be founded by it.
  /// Its logs are still there.
  void note_overtaken(std::uint64_t incarnation);
  /// Nothing follows any more.
  void close();

  /// The other nodes of this host; none where they do not matter.
  [[nodiscard]] std::vector<Neighbor> neighbors();
  /// The first error of the memory.
  [[nodiscard]] const std::optional<Error>& failure() const noexcept { return failure_; }

 private:
  bool store(ViewRecord record);

  ViewMemory* memory_;
  bool beside_;
  ViewRecord record_;
  const View* being_entered_ = nullptr;
  std::vector<KnownLog> logs_;
  std::optional<Error> failure_;
};

/// The things by which a node remembers what it accepts: its record, and the layout by which the holders of logs in the next
/// view are known. Null: it remembers nothing.
struct Remembrance {
  OwnRecord* record = nullptr;
  const LayoutFunction* layout = nullptr;
};

}  // namespace spindrift::views
