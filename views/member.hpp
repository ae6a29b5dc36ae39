// One member of a group, as a pure protocol object: it finds the others, agrees with them on the configuration, runs the
// multicast of every subgroup, and takes the group down in order. Stepped by a poller thread in production and by the
// simulator in tests; reads no clock, takes no lock, starts no thread.
//
// Membership is fixed: the view is the configured one, it starts when all members are there, and it ends as a whole: by a
// graceful leave of any member, after everything sent before was delivered everywhere, or by a failure, at once.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/counters.hpp>
#include <spindrift/core/fabric/fabric.hpp>
#include <spindrift/core/view.hpp>
#include <spindrift/smc/multicast.hpp>
#include <spindrift/sst/table.hpp>
#include <spindrift/views/hello.hpp>

namespace spindrift::views {

struct MemberOptions {
  View view;
  NodeId self;
  std::vector<fabric::Address> addresses;  ///< of all members, by rank
  GroupIdentity identity;                  ///< what all members must agree on
  std::uint64_t incarnation = 0;           ///< differs from start to start of the same node
  smc::Policy policy;
};

enum class MemberState : std::uint8_t {
  idle,        ///< not started
  connecting,  ///< looking for the others, checking their hellos, exchanging rows
  ready,       ///< all rows are attached here; waiting until that is so everywhere
  in_view,     ///< sending and delivering
  closing,     ///< somebody leaves: no new sends, everything sent is being delivered everywhere
  left,        ///< done, in order
  failed,      ///< a member was lost, refused us, or wrote impossible bytes; `failure()` says which
};

[[nodiscard]] std::string_view to_string(MemberState state) noexcept;

/// What a member's row says about its phase. Never decreases.
enum class Phase : std::uint64_t {
  absent = 0,
  ready = 1,    ///< I can read every row
  closing = 2,  ///< I send nothing more; my counts are final but for nulls
  flushed = 3,  ///< everything that anybody sent was delivered everywhere
};

class Member {
 public:
  struct Step {
    bool progress = false;  ///< step again at once; otherwise sleep until woken or `wake_at`
    Time wake_at = never;
  };

  /// `fabric`, which listens already, `sink` and `counters` outlive the member. `options.view` has `options.self` and valid
  /// profiles.
  Member(MemberOptions options, fabric::Fabric& fabric, smc::DeliverySink& sink, CounterBlock& counters);

  /// Registers memory and starts to connect. Errors: unsupported (a trait is missing), resource.
  [[nodiscard]] Result<void> start();

  /// One pass: events, predicates of the subgroups with news, one push. What the sink throws goes through; then call `stop`.
  Step step(Time now);

  /// Stops the group here and tells the others why. For failures outside the protocol; the poller's thread.
  void stop(Error reason);

  /// Asks for a graceful leave; any thread. The next step does it.
  void request_leave() noexcept { leave_requested_.store(true, std::memory_order_seq_cst); }
  /// Whether new sends are taken; any thread. After reserving, ask again: if no, abandon the reservation.
  [[nodiscard]] bool accepts_sends() const noexcept { return accepts_sends_.load(std::memory_order_seq_cst); }

  [[nodiscard]] MemberState state() const noexcept { return state_; }
  /// Set in state `failed`.
  [[nodiscard]] const std::optional<Error>& failure() const noexcept { return failure_; }
  /// Whose leave ended the group, as far as is known here.
  [[nodiscard]] std::optional<NodeId> leaver() const noexcept { return leaver_; }
  /// Members whose rows are not here yet.
  [[nodiscard]] std::vector<NodeId> missing() const;

  [[nodiscard]] const View& view() const noexcept { return options_.view; }
  [[nodiscard]] NodeId self() const noexcept { return options_.self; }
  [[nodiscard]] const sst::Table& table() const { return *table_; }
  /// Null if this member is not in that subgroup.
  [[nodiscard]] smc::Multicast* multicast(SubgroupId id) { return multicasts_.at(id.value()).get(); }

 private:
  /// What this member has with one other.
  struct Link {
    enum class State : std::uint8_t {
      none,     ///< not connected
      greeted,  ///< my hello is on its way
      agreed,   ///< its hello agrees with me; my row, or a mirror for its row, is exposed to it
      exposed,  ///< so did it to me
    };
    State state = State::none;
    bool mappable = false;
    bool lost = false;  ///< after the group had flushed: no failure
    fabric::PeerId peer;
    fabric::Region mirror;     ///< of its row, unless mappable
    fabric::RegionKey remote;  ///< its row (mappable), or its mirror of mine
    Phase phase = Phase::absent;
  };

  // handshake.cpp
  bool take_events();
  void on_event(fabric::Event& event);
  void on_connected(const fabric::Event& event);
  void on_message(Rank rank, std::span<const std::byte> bytes);
  void on_hello(Rank rank, const Hello& hello);
  void on_exposed(Rank rank, const fabric::Event& event);
  void on_lost(Rank rank, const fabric::Event& event);
  void refuse(fabric::PeerId peer, std::string_view reason);
  void send_to(fabric::PeerId peer, std::vector<std::byte> message);
  [[nodiscard]] std::optional<Rank> rank_of(fabric::PeerId peer) const;
  bool attach_when_complete();

  // member.cpp
  bool read_phases();
  [[nodiscard]] bool everybody_at_least(Phase phase) const;
  void enter(MemberState state);
  void set_phase(Phase phase);
  bool run_predicates();
  void mark_active();
  bool advance_closing();
  Time report_unclaimed(Time now);
  void push();
  void fail(Error error, bool tell_others);
  [[nodiscard]] std::string name_of(Rank rank) const;

  MemberOptions options_;
  fabric::Fabric& fabric_;
  smc::DeliverySink& sink_;
  CounterBlock& counters_;

  MemberState state_ = MemberState::idle;
  Phase phase_ = Phase::absent;
  std::optional<Error> failure_;
  std::optional<NodeId> leaver_;
  std::atomic<bool> leave_requested_{false};
  std::atomic<bool> accepts_sends_{false};

  Rank rank_;
  fabric::Region own_row_;
  std::unique_ptr<sst::Table> table_;
  std::vector<std::unique_ptr<smc::Multicast>> multicasts_;    // by subgroup; null where not a member
  std::vector<Link> links_;                                     // by rank
  std::vector<bool> active_;                                    // by subgroup: to be run in this pass
  std::vector<std::vector<std::uint64_t>> activity_seen_;       // by rank, by activity word
  Time unclaimed_since_ = never;  ///< since when messages wait for a handler
  bool unclaimed_reported_ = false;
  std::array<fabric::Event, 16> events_;
};

}  // namespace spindrift::views
