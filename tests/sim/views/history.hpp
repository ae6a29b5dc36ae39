// The history of all that a run's applications sent, received and were told, and whether the group promises that. Knows the
// public contract alone: messages, upcalls, views; no protocol object.
//
// The invariant to remember: of every ordered subgroup there is one log, and what any process ever delivered is a piece of
// it that begins where the process's state begins. Two processes that differ, a survivor that misses what a dead one had, a
// newcomer with a wrong state: each is a delivery that does not fit the log.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include <spindrift/smc/delivery.hpp>
#include <spindrift/views/rank_set.hpp>
#include <spindrift/views/upcalls.hpp>

#include "../report.hpp"
#include "plan.hpp"

namespace spindrift::sim {

/// The head of every message; the rest is filled from `check`.
struct MessageHead {
  std::uint64_t incarnation = 0;
  std::uint64_t name = 0;  ///< stream, and the message's number in it
  std::uint64_t check = 0;

  [[nodiscard]] std::uint32_t stream() const noexcept { return static_cast<std::uint32_t>(name >> 32); }
  [[nodiscard]] std::uint64_t counter() const noexcept { return name & 0xffffffff; }
};
inline constexpr std::size_t smallest_message = sizeof(MessageHead);

/// The messages that one thread of one process sends to one subgroup.
struct Stream {
  std::uint32_t process = 0;
  std::uint32_t subgroup = 0;
  std::uint64_t issued = 0;  ///< messages that will be committed or were
  std::uint64_t committed = 0;
  std::vector<ViewId> committed_in;                 ///< by message: the sender's view then
  std::vector<std::optional<ViewId>> delivered_in;  ///< likewise: the view of the first who got it, and was not late
  std::uint64_t delivered = 0;                      ///< ordered: of them, in the log or given up before one that is
  std::uint64_t skipped = 0;                        ///< of those, given up
  std::uint64_t forgiven = 0;                       ///< these may have gone with the last who had the subgroup's state
};

/// The order of one subgroup, from one beginning of its state.
struct Log {
  std::uint32_t subgroup = 0;
  ViewId begun;
  bool whole = false;  ///< begun with the subgroup: no message was delivered to anybody before
  std::vector<std::uint64_t> keys;
  std::vector<std::uint64_t> digests;  ///< of the state before the message; one more than keys
  std::unordered_map<std::uint64_t, std::uint64_t> place;
  std::unordered_map<std::uint32_t, std::uint64_t> next;  ///< by stream: its next message, unless some are given up
  std::map<ViewId, std::uint64_t> boundaries;             ///< where a view begins
  /// By the view that they are no more in: processes that left, and how far they came.
  std::map<ViewId, std::vector<std::pair<std::uint32_t, std::uint64_t>>> left;
  std::map<ViewId, std::uint64_t> reached;  ///< how far anybody came who was in that view
};

class History {
 public:
  History(const Plan& plan, Report& report) : plan_(plan), report_(report), logs_of_(plan.subgroups.size()) {}

  /// The members that a process suspects in a view; nobody is asked if this is not set.
  using Suspects = std::function<views::RankSet(ViewId, std::uint32_t process)>;
  void set_suspects(Suspects suspects) { suspects_ = std::move(suspects); }
  /// Whether the first process has ever taken a message of the second; likewise.
  using Heard = std::function<bool(std::uint32_t, std::uint32_t)>;
  void set_heard(Heard heard) { heard_ = std::move(heard); }

  /// Whether some process knows that the view follows from the one before; likewise.
  using Decided = std::function<bool(const View&)>;
  void set_decided(Decided decided) { decided_ = std::move(decided); }

  /// The incarnations of the view that follows from this one, if some process knows it, be it in that view or not; likewise.
  using Next = std::function<std::optional<std::vector<std::uint64_t>>(const View&)>;
  void set_next(Next next) { next_ = std::move(next); }

  /// How many of the view's nodes have kept a record of it; all have if this is not set.
  using Remembering = std::function<std::size_t(const View&)>;
  void set_remembering(Remembering remembering) { remembering_ = std::move(remembering); }

  // Processes and what they send.
  void on_start(std::uint32_t process, std::uint32_t node, std::uint64_t incarnation);
  [[nodiscard]] std::uint32_t add_stream(std::uint32_t process, std::uint32_t subgroup);
  [[nodiscard]] Stream& stream(std::uint32_t id) { return streams_[id]; }
  [[nodiscard]] const std::vector<Stream>& streams() const noexcept { return streams_; }
  /// Writes the stream's next message into `payload`, at least `smallest_message` bytes.
  void write_message(std::uint32_t stream, std::span<std::byte> payload);
  void on_committed(std::uint32_t stream);

  // Upcalls.
  /// `loading`: by subgroup, whether its state is still to come.
  void on_view(std::uint32_t process, const views::NewView& news, const std::vector<bool>& loading);
  /// Whether the delivery's place in the order is the one that the specification gives it, whatever others say.
  void check_place(std::uint32_t process, std::uint32_t subgroup, const Delivery& delivery);
  void on_delivery(std::uint32_t process, std::uint32_t subgroup, const Delivery& delivery);
  void on_dropped(std::uint32_t process, std::uint32_t subgroup, std::uint64_t messages);
  /// The application said no when asked; what it is given from now on may be older than its view.
  void on_refused(std::uint32_t process, std::uint32_t subgroup) { participant(process, subgroup).lags = 2; }
  [[nodiscard]] bool lags(std::uint32_t process, std::uint32_t subgroup) { return participant(process, subgroup).lags > 0; }
  [[nodiscard]] std::vector<std::byte> save_state(std::uint32_t process, std::uint32_t subgroup);
  void load_state(std::uint32_t process, std::uint32_t subgroup, std::span<const std::byte> state);
  /// A piece of a state goes out, whether or not all of that is saved.
  void check_sent(bool saved) {
    if (!saved) report_.violate("J1", "a state is sent that is not saved yet");
  }
  /// Pieces of a state that began to come in view `began` still come.
  void check_transfer(std::uint32_t process, ViewId began);

  /// The process was made to fail, or not to be heard: a member that removes it is right.
  void blame(std::uint32_t process) { processes_[process].blamed = true; }
  [[nodiscard]] bool blamed(std::uint32_t process) const { return processes_[process].blamed; }
  void on_end(std::uint32_t process) { processes_[process].ended = true; }
  [[nodiscard]] bool has_ended(std::uint32_t process) const { return processes_[process].ended; }
  /// The process has left in order: what it sent in ordered subgroups is delivered, or it was told that it is not.
  void check_left(std::uint32_t process);

  /// At the end: these processes are in the same view for good, and owe each other nothing.
  void check_complete(const std::vector<std::uint32_t>& core);
  /// Nothing is on its way between these processes any more.
  [[nodiscard]] bool complete(const std::vector<std::uint32_t>& core) { return !incomplete(core); }

  /// A group was founded after all processes of the one before had ended; rows of before mean nothing any more.
  [[nodiscard]] std::uint32_t generation() const noexcept { return generation_; }
  /// A view that was founded, not decided by members of another.
  [[nodiscard]] bool is_first(ViewId id) const { return id == ViewId(0) || founded_.contains(id); }
  [[nodiscard]] std::optional<ViewId> view_of(std::uint32_t process) const { return processes_[process].view; }
  [[nodiscard]] const View* view(ViewId id) const;
  /// The one that it follows from, or would: ids have gaps where a view was revived. Null: there is none.
  [[nodiscard]] const View* right_before(ViewId id) const;
  /// The one of the highest id below that; null: there is none.
  [[nodiscard]] const View* earlier_than(ViewId id) const;
  /// The first that follows from that one. Null: there is none.
  [[nodiscard]] const View* behind(ViewId id) const;
  [[nodiscard]] const View* newest_view() const { return views_.empty() ? nullptr : &views_.rbegin()->second; }
  /// It was in the view before that one.
  [[nodiscard]] bool was_there_before(std::uint32_t process, const View& view) const;
  [[nodiscard]] std::optional<ViewId> first_view_of(std::uint32_t process) const { return processes_[process].first_view; }
  [[nodiscard]] std::uint32_t node_of(std::uint32_t process) const { return processes_[process].node; }
  /// Messages that the process was told it had dropped.
  [[nodiscard]] std::uint64_t dropped(std::uint32_t process, std::uint32_t subgroup) const {
    return processes_[process].participants[subgroup].dropped;
  }
  [[nodiscard]] bool was_in_a_view(std::uint32_t process) const { return processes_[process].listed; }
  [[nodiscard]] std::optional<std::uint32_t> process_of(std::uint64_t incarnation) const;
  [[nodiscard]] std::uint64_t deliveries() const noexcept { return deliveries_; }
  [[nodiscard]] std::uint64_t delivered(std::uint32_t process, std::uint32_t subgroup) {
    return participant(process, subgroup).delivered;
  }
  [[nodiscard]] std::uint64_t position(std::uint32_t process, std::uint32_t subgroup) {
    return participant(process, subgroup).position;
  }
  [[nodiscard]] std::uint64_t hash() const noexcept { return hash_; }

 private:
  static constexpr std::uint32_t idle_changes_max = 4;  // one behind another

  /// One process in one subgroup.
  struct Participant {
    bool member = false;
    std::optional<std::uint32_t> log;  ///< ordered: it has a state, as of `position`
    std::uint64_t position = 0;
    std::uint64_t digest = 0;
    std::uint64_t delivered = 0;
    bool settled = false;    ///< had the state when its view began
    bool reloaded = false;   ///< its state came later than its first view
    std::uint32_t lags = 0;  ///< views for which kept deliveries excuse it
    std::optional<std::uint64_t> sequence;
    std::uint32_t resets = 0;                     ///< views that began since the sequence last fell
    std::map<std::uint32_t, std::uint64_t> next;  ///< unordered, by stream
    std::map<std::uint32_t, std::uint64_t> got;   ///< unordered, by sending process
    std::uint64_t dropped = 0;
    bool there = false;  ///< the subgroup is in its view

    /// It is to load a state: whatever it was given before is void, and may come again.
    void forget() {
      log.reset();
      resets += 64;
    }
  };
  struct Process {
    std::uint32_t node = 0;
    std::uint64_t incarnation = 0;
    std::optional<ViewId> view;
    std::optional<ViewId> first_view;
    bool blamed = false;
    bool ended = false;
    bool listed = false;  ///< in some view
    std::vector<Participant> participants;
  };

  [[nodiscard]] Participant& participant(std::uint32_t process, std::uint32_t subgroup) {
    return processes_[process].participants[subgroup];
  }
  [[nodiscard]] Log* log_of(const Participant& participant) { return participant.log ? &logs_[*participant.log] : nullptr; }
  void violate(const char* invariant, std::uint32_t process, const std::string& what);
  bool founded_again(std::uint32_t process, const View& view);
  [[nodiscard]] bool is_forgotten(const View& last, ViewId founded) const;
  [[nodiscard]] bool founded_by_memory(std::uint32_t process, const View& view) const;
  void check_founding(std::uint32_t process, const View& view);
  void check_view(std::uint32_t process, const View& view);
  void check_changes(std::uint32_t process, const views::NewView& news);
  std::uint32_t log_begun(std::uint32_t subgroup, ViewId id);
  void check_silent(std::uint32_t process, std::uint32_t subgroup);
  void check_no_leftovers(std::uint32_t index, std::uint32_t subgroup);
  void check_senders(std::uint32_t index, std::uint32_t subgroup, const View& view);
  [[nodiscard]] bool is_new(std::uint32_t subgroup, const View& view) const;
  void begin_log(std::uint32_t process, std::uint32_t subgroup, ViewId id);
  void begin_without_state(std::uint32_t process, std::uint32_t subgroup, const View& view);
  void note_last_view(std::uint32_t process);
  void check_loss(std::uint32_t process, std::uint32_t subgroup, const views::NewView& news);
  void check_leavers(Log& log, ViewId next);
  [[nodiscard]] bool is_overtaken(ViewId id) const;
  [[nodiscard]] std::size_t starts_of(NodeId node) const;
  void check_linked(std::uint32_t newcomer, const View& before, const View& after);
  void check_founders_linked(const View& first);
  [[nodiscard]] const View* before_of(const View& view) const;
  [[nodiscard]] bool accuses_one_that_stays(std::uint32_t process, const View& before, const View& after) const;
  void note_boundary(std::uint32_t process, std::uint32_t subgroup, ViewId id);
  void note_reach(std::uint32_t process, Participant& participant);
  void check_sending_view(std::uint32_t process, const Participant& participant, Stream& stream, std::uint64_t counter);
  void check_untouched(std::uint32_t process, std::uint32_t subgroup, const View& view, bool loading);
  void deliver_ordered(std::uint32_t process, Participant& participant, std::uint32_t stream, std::uint64_t counter);
  void deliver_unordered(std::uint32_t process, Participant& participant, std::uint32_t stream, std::uint64_t counter);
  bool locate(std::uint32_t process, std::uint32_t subgroup, Participant& participant, std::uint64_t key);
  [[nodiscard]] std::optional<std::string> incomplete_unordered(const std::vector<std::uint32_t>& core);
  [[nodiscard]] std::optional<std::string> incomplete(const std::vector<std::uint32_t>& core);

  const Plan& plan_;
  Report& report_;
  Suspects suspects_;
  Heard heard_;
  Decided decided_;
  Next next_;
  Remembering remembering_;
  std::uint32_t idle_changes_ = 0;  // views that are as the one before, the newest in a row
  std::vector<Process> processes_;
  std::map<std::uint64_t, std::uint32_t> by_incarnation_;
  std::vector<Stream> streams_;
  std::uint32_t generation_ = 0;
  std::map<ViewId, View> views_;
  std::set<ViewId> founded_;  // of them, those that were founded by nodes that remember another
  std::vector<Log> logs_;
  std::vector<std::vector<std::uint32_t>> logs_of_;  // by subgroup, oldest first
  std::vector<std::map<ViewId, View>> past_;         // of earlier groups; rows refer to them
  std::uint64_t deliveries_ = 0;
  std::uint64_t hash_ = 0;
};

}  // namespace spindrift::sim
