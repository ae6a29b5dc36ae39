// Keeps what the processes that look for a group have told each other of the views that they remember, on which a founding
// rests. A process tells every other one, and again what has changed.
//
// The invariant to remember: a founding is accepted only as long as its founder knew all that the accepting process
// remembers, its neighbors that do not run included; and it is in the record before the promise is made. So of two foundings
// that have a process in common one was made in knowledge of the other.
//
// Pure; of use until the first view.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <spindrift/views/messages.hpp>
#include <spindrift/views/own_record.hpp>
#include <spindrift/views/recall.hpp>

namespace spindrift::views {

class Memories {
 public:
  /// `record` outlives this object.
  Memories(Join self, OwnRecord& record) : self_(self), record_(record) {}

  void on_remembered(const Join& from, Remembered said);
  /// A connection is over: who comes back has to be told again.
  void on_lost() { told_.clear(); }

  /// Looks at the neighbors, and tells each of these processes, which are all fresh, what it does not know yet.
  void tell(std::span<const Join> fresh, std::vector<Addressed>& messages);
  /// The nodes of this host whose record some other process has than these, or one of these that is in a view by now, as of
  /// the last `tell`. Once a view is remembered, without those that no view can have taken in.
  [[nodiscard]] std::vector<NodeId> living(std::span<const Join> fresh) const;

  /// The conclusion from what this process and these remember, as far as they have said so.
  [[nodiscard]] Recalled recalled(std::span<const Join> fresh) const;
  /// The nodes of this host whose records alone tell of a view for which these wait, as far as those here have said: they do
  /// not run, and may have been in the group for a moment.
  [[nodiscard]] std::vector<NodeId> tellers(const Recalled& recalled, std::span<const Join> fresh) const;
  /// The digest of what that process has said, this one included; nothing: it has said nothing yet.
  [[nodiscard]] std::optional<std::uint64_t> digest_of(const Join& who) const;
  /// Whether the request's founder knew what this process remembers.
  [[nodiscard]] bool is_known_to(const PromiseRequest& request) const;
  /// This process is in that founding, and in none made without knowledge of it. False: it could not be stored.
  [[nodiscard]] bool accept(const PromiseRequest& request);

  [[nodiscard]] const ViewRecord& own() const noexcept { return record_.record(); }

 private:
  struct Told {
    Join whom;
    std::uint64_t digest = 0;
    friend bool operator==(const Told&, const Told&) = default;
  };
  [[nodiscard]] bool may_be_in_a_view(const OwnRecord::Neighbor& neighbor) const;
  [[nodiscard]] Remembered said() const;

  Join self_;
  OwnRecord& record_;
  std::vector<OwnRecord::Neighbor> neighbors_;
  std::vector<Remembering> heard_;  // of each node its latest process
  std::vector<Told> told_;
};

}  // namespace spindrift::views
