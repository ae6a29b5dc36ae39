// The checkpoints of one replicated object of a logged subgroup whose log is bounded: the object begins with the last one,
// and from time to time the next one is made, and goes to the journal.
//
// Loading, and making the next one, take as long as they take, on a thread; the poller gives pieces to the journal as that
// has room. The invariant to remember: a checkpoint has the state behind messages that are durable at all members, and of
// no other.
//
// The poller's.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include <spindrift/core/ids.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/group/checkpoint_work.hpp>
#include <spindrift/group/logged_subgroups.hpp>
#include <spindrift/group/object_copy.hpp>
#include <spindrift/group/state_thread.hpp>
#include <spindrift/group/thread_outcome.hpp>

namespace spindrift::group {

class ObjectCheckpoints {
 public:
  /// The object's group, which outlives it.
  struct Surroundings {
    LoggedSubgroups& logged;
    ReplicaBase& object;
    const ReplicaChannel& channel;
    std::function<void()> wake;  ///< of the poller, from any thread; throws nothing
  };
  /// `make`: nothing, if the object's state cannot be saved, or no second one can be made; then none are.
  ObjectCheckpoints(SubgroupId subgroup, Surroundings around, ObjectMaker make);
  /// Waits until the object's function that is at work has returned.
  ~ObjectCheckpoints();
  ObjectCheckpoints(const ObjectCheckpoints&) = delete;
  ObjectCheckpoints& operator=(const ObjectCheckpoints&) = delete;

  /// Before the object gets messages of the log: it has the state that those follow on, or none can be had, and it was given
  /// up. False: it is on its way; `wake` follows.
  [[nodiscard]] bool begins();
  /// All members have what is of a lower version on their disks.
  void on_durable(std::uint64_t version);
  /// Behind a pass.
  void step();

 private:
  enum class Stage : std::uint8_t {
    idle,
    loading,  ///< the object is given a state, on the thread
    making,   ///< a second object is made there, and its state saved
    writing,  ///< which goes to the journal
  };
  using Loading = ThreadOutcome<void>;
  using Making = ThreadOutcome<MadeCheckpoint>;

  /// Has the thread do it; what it needs is in `work`. The poller is woken behind it.
  template <class Outcome, class Work>
  void start(const std::shared_ptr<Outcome>& outcome, Work work);
  void begin_loading(const store::Checkpoint& checkpoint);
  [[nodiscard]] bool end_loading();
  void take_made();
  void write();
  void end_making();
  void give_up_making(const Error& why);
  [[nodiscard]] Error lacks_calls() const;
  [[nodiscard]] Error unloadable(const Error& why) const;

  const SubgroupId subgroup_;
  const Surroundings around_;
  const ObjectMaker make_;
  Stage stage_ = Stage::idle;
  std::shared_ptr<Loading> loading_;
  std::shared_ptr<Making> making_;
  std::uint64_t version_ = 0;           // of what is loaded, or made
  std::uint64_t begun_at_ = 0;          // version with which the making began
  store::JournalPosition base_;         // of the log of which it is made
  std::uint64_t written_ = 0;           // bytes of the state that was made
  store::JournalPosition handed_over_;  // behind the last of these
  std::uint64_t not_before_ = 0;        // version of the next, if the one before could not be made
  StateThread thread_;
};

}  // namespace spindrift::group
