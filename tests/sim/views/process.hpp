// One process of a run with views: one start of one node, with its endpoint, its member, and an application that keeps what
// it is given in the History.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <spindrift/core/counters.hpp>
#include <spindrift/views/member.hpp>

#include "../scheduler.hpp"
#include "rows.hpp"

namespace spindrift::sim {

class Fleet;

/// Thrown out of an effect: the process got no further.
struct ProcessDied {};
/// Thrown by the application out of an upcall.
struct ApplicationFailed {};

class Process final : public views::Upcalls {
 public:
  Process(Fleet& fleet, std::uint32_t index, std::uint32_t node, std::uint64_t incarnation);

  void on_delivery(SubgroupId subgroup, std::span<const Delivery> batch) override;
  void on_space(SubgroupId subgroup) override;
  [[nodiscard]] bool accepts(SubgroupId subgroup) const override;
  [[nodiscard]] bool busy(SubgroupId subgroup) const override { return !at_work_[subgroup.value()].empty(); }
  [[nodiscard]] bool state_at_work(SubgroupId subgroup) const override;
  void on_view(const views::NewView& news) override;
  void on_boundary(SubgroupId subgroup, const ObjectBoundary& boundary) override;
  void on_dropped(SubgroupId subgroup, std::uint64_t messages) override;
  [[nodiscard]] std::unique_ptr<views::StateReader> save_state(SubgroupId subgroup) override;
  [[nodiscard]] std::unique_ptr<views::StateWriter> load_state(SubgroupId subgroup) override;
  void replay(SubgroupId subgroup, std::uint64_t to) override;
  void on_durable(SubgroupId subgroup, std::uint64_t version) override;
  void on_private(NodeId, std::span<const std::byte>) override {}

 private:
  /// A delivery that a handler's own thread was given, with bytes of its own.
  struct Work {
    Delivery delivery;
    std::vector<std::byte> bytes;
  };
  void take(std::uint32_t subgroup, std::span<const Delivery> batch);
  /// The fate that it meets so many effects after it began to post a large message.
  struct LargeFuse {
    Rows::LargePost at = Rows::LargePost::own;
    std::uint64_t effects = 0;
    Ticks pause = 0;  ///< 0: it dies
  };
  /// In the middle of a step it stands still.
  struct Pause {
    std::uint64_t at = 0;  ///< before this effect
    Ticks ticks = 0;
  };
  /// The work of the thread that saves and loads one subgroup's states.
  struct StateWorks {
    std::uint32_t left = 0;
    Ticks until = 0;  ///< the last of it is over
  };
  /// Begins to save or load; `done` becomes true when that is over.
  void work_on_state(std::uint32_t subgroup, std::shared_ptr<bool> done);
  void end_state_work(std::uint32_t subgroup);
  /// A handler's thread is done, or the application is ready again.
  void resume(std::uint32_t subgroup);
  /// Gives a part of what is to be replayed, or all of it.
  void go_on_replaying(std::uint32_t subgroup);
  void load_checkpoint(std::uint32_t subgroup);
  void await_replay(std::uint32_t subgroup, Ticks most);
  [[nodiscard]] std::vector<bool> loading() const;
  void comes_late();
  /// The application takes no messages for so long.
  void refuse(Ticks ticks);
  void stay_away(std::uint32_t subgroup, Ticks most);

  friend class Fleet;
  friend class StateSink;

  Fleet& fleet_;
  std::uint32_t index_;
  std::uint32_t node_;
  std::uint64_t incarnation_;
  CounterBlock counters_;
  std::unique_ptr<views::Member> member_;
  std::vector<bool> accepting_;             // by subgroup
  std::vector<std::vector<Work>> at_work_;  // by subgroup
  std::vector<StateWorks> state_works_;     // by subgroup
  std::vector<std::uint64_t> replays_to_;   // by subgroup: the version up to which its application is to have the log
  std::vector<bool> replay_waits_;          // by subgroup: until its application has heard of the view
  std::vector<std::vector<std::shared_ptr<bool>>> saves_;  // by subgroup, those that are not over
  views::MemberState state_ = views::MemberState::idle;
  bool was_active_ = false;
  bool founds_ = false;   ///< knows the founders
  bool running_ = false;  ///< started, and neither crashed nor exited
  bool crashed_ = false;
  bool frozen_ = false;  ///< paused for ever
  bool dirty_ = false;   ///< something could have changed since the last step
  bool step_scheduled_ = false;
  bool in_step_ = false;
  Ticks paused_until_ = 0;
  mutable bool kept_waiting_ = false;  ///< its application has not taken messages when it was asked
  bool works_ = false;  ///< shows that it lives although it is paused
  Time wake_at_ = never;
  std::uint64_t steps_ = 0;
  std::uint64_t effects_ = 0;
  std::uint64_t upcalls_ = 0;
  std::uint64_t told_ = 0;  ///< of messages and of space, so often
  std::optional<std::uint64_t> dies_at_;      ///< before this effect
  std::optional<std::uint64_t> change_fuse_;  ///< this many effects after its next change of view begins
  std::optional<LargeFuse> large_fuse_;
  std::optional<std::pair<std::uint32_t, std::optional<Ticks>>> loses_;  ///< the link with that node, in its first view
  std::optional<Pause> pauses_;
  std::vector<ViewId> watched_;               ///< views of which its row is known to the checkers
  std::optional<ViewId> complete_;            ///< likewise all mirrors
  std::optional<ViewId> newest_epoch_;
};

}  // namespace spindrift::sim
