// Behind Group: the one place of a process where the fabric, the clock, the protocol and the threads meet.
//
// The invariant to remember: the poller thread alone steps the member; application threads touch only the gates, what waits
// for space, and what lies behind a mutex.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <spindrift/core/config/config.hpp>
#include <spindrift/core/counters.hpp>
#include <spindrift/core/guarded_directory.hpp>
#include <spindrift/fabric/tcp/discovery_answer.hpp>
#include <spindrift/group/channels.hpp>
#include <spindrift/group/client_service.hpp>
#include <spindrift/group/conclusion_watch.hpp>
#include <spindrift/group/group.hpp>
#include <spindrift/group/group_audit.hpp>
#include <spindrift/group/join_report.hpp>
#include <spindrift/group/lag_gauges.hpp>
#include <spindrift/group/leave_watch.hpp>
#include <spindrift/group/objects.hpp>
#include <spindrift/group/observer_service.hpp>
#include <spindrift/group/own_config.hpp>
#include <spindrift/group/private_post.hpp>
#include <spindrift/group/probe.hpp>
#include <spindrift/group/replicas.hpp>
#include <spindrift/group/revive_calls.hpp>
#include <spindrift/group/roster_calls.hpp>
#include <spindrift/group/roster_service.hpp>
#include <spindrift/group/pauses.hpp>
#include <spindrift/group/send_waits.hpp>
#include <spindrift/group/sizes_report.hpp>
#include <spindrift/group/status_keeper.hpp>
#include <spindrift/group/tables.hpp>
#include <spindrift/group/upcall_heartbeats.hpp>
#include <spindrift/views/member.hpp>

namespace spindrift::fabric::tls {
class Credentials;
}

namespace spindrift {
namespace group {

/// Says what holds up the protocol, for people. The poller's.
struct Reports {
  SlowHandlers slow_handlers;
  LeaveWatch leave;
  ConclusionWatch conclusion;
  JoinReport joining;
  SendWaits sends;
  LagGauges lags;
  SizesReport sizes;
  Pauses pauses{};
  RefusedNodes refused_nodes{};

  /// Looks at what is told in figures. Returns when to look again.
  [[nodiscard]] Time look(const views::Member& member, const Channels& channels, const PausedSubgroups& paused, Time now) {
    return std::min({sends.look(member, channels, now), lags.look(member, now), pauses.look(member, channels, paused, now)});
  }
  /// A subgroup is new in the present view.
  void add(CounterBlock& counters, SubgroupId id, const std::string& name) {
    sends.add(counters, id, name);
    lags.add(counters, id, name);
  }
};

/// The things that the program makes of the group beside subgroups' handlers.
struct Attachments {
  Replicas replicas;
  Tables tables;
  RosterCalls rosters{};
  ReviveCalls revivals{};
  AdoptCalls adoptions{};
  /// The roster for whoever asks at this node's address, or why there is none.
  std::shared_ptr<fabric::tcp::DiscoveryAnswer> discovery = std::make_shared<fabric::tcp::DiscoveryAnswer>();
  std::optional<RosterService> roster_service{};
  std::optional<ClientService> clients{};

  void tell_askers(const std::string& group, const Result<Roster>& roster) const { discovery->set(encode(group, roster)); }
};

/// How a member leaves that waits for the others no longer than `patience`, as Group::leave has it.
struct Handover {
  Duration patience;
  std::string subgroup;
};

/// The counters of this process, and those that are the poller's own.
struct OwnCounters {
  CounterBlock block;
  Counter sleeps;
  Counter views;
  Counter stranded_since_ms;  ///< by the wall clock; 0: it is not
  Counter disk_full_since_ms;  ///< of the journal, likewise
};

}  // namespace group

class GroupCore final : public views::Upcalls {
 public:
  GroupCore(OwnConfig config, GroupOptions options);
  /// Leaves if the group is open, then ends the poller.
  ~GroupCore() override;

  /// Opens the fabric, starts the poller and waits for the first view; see Group::Group. Once.
  void join(const group::Probe& probe);

  [[nodiscard]] NodeId self() const noexcept { return member_->self(); }
  [[nodiscard]] group::Environment& environment() noexcept { return environment_; }
  [[nodiscard]] const group::Channels& channels() const noexcept { return channels_; }
  [[nodiscard]] std::vector<CounterValue> counters() const { return counters_->block.values(); }
  [[nodiscard]] group::PrivatePost& private_post() noexcept { return private_post_; }

  [[nodiscard]] group::Tables& tables() noexcept { return attached_.tables; }
  [[nodiscard]] ReplicaBase& attach_replica(std::string_view subgroup, const group::Replicas::Maker& make);
  [[nodiscard]] ObjectChannel& attach_objects(std::string_view subgroup, ObjectHandlers handlers);
  /// Any thread that runs no handlers; without changes, the present roster. What a subgroup that is to be created leaves
  /// open is filled in.
  /// A call that trims a log returns the present one, and one that revives a view or adopts a log that of the view that came
  /// of it. The call's own patience does not matter.
  [[nodiscard]] Result<Roster> change_roster(group::RosterCall call, std::optional<Duration> limit);
  /// The poller, also in a handler: it sent bytes that no correct member sends.
  void accuse(NodeId node, const std::string& what);
  void leave(const std::optional<group::Handover>& handover = {});
  void wait() const;

 private:
  // Upcalls, on the poller thread.
  void on_delivery(SubgroupId id, std::span<const Delivery> batch) override;
  void on_space(SubgroupId id) override { channels_.on_space(id); }
  [[nodiscard]] bool accepts(SubgroupId id) const override {
    return !environment_.lacks_messages(id) && channels_[id].accepts() && !private_post_.holds_up(channels_[id]);
  }
  [[nodiscard]] bool busy(SubgroupId id) const override {
    return channels_[id].busy() || private_post_.holds_up(channels_[id]);
  }
  [[nodiscard]] bool state_at_work(SubgroupId id) const override {
    return channels_[id].state_work().busy() || environment_.lacks_messages(id);
  }
  void replay(SubgroupId id, std::uint64_t to) override { environment_.logged->replay(id, to); }
  void on_durable(SubgroupId id, std::uint64_t version) override;
  void on_view(const NewView& news) override;
  void on_boundary(SubgroupId id, const ObjectBoundary& boundary) override;
  void on_dropped(SubgroupId id, std::uint64_t messages) override;
  [[nodiscard]] std::unique_ptr<views::StateReader> save_state(SubgroupId id) override {
    return environment_.keeps_history(id) ? environment_.histories->save(id) : channels_[id].save_state();
  }
  [[nodiscard]] std::unique_ptr<views::StateWriter> load_state(SubgroupId id) override {
    return environment_.keeps_history(id) ? environment_.histories->load(id) : channels_[id].load_state();
  }
  void on_private(NodeId from, std::span<const std::byte> message) override;
  void on_turned_away(NodeId node, const std::string& reason) override;

  [[nodiscard]] views::MemberOptions member_options(const View& everybody, const group::Probe& probe) const;
  void open_counters(const std::vector<NodeId>& nodes, const std::vector<SubgroupView>& subgroups);
  void make_member(const group::Probe& probe);
  /// `credentials` null: nobody proves anything.
  void await_view(const fabric::tls::Credentials* credentials, Time limit);
  void end_poller() noexcept;

  void poll();
  views::Member::Step step();
  bool take_from_application();
  bool follow_states(Time now);
  void begin_to_leave();
  bool read_tables();
  void publish_state();

  OwnConfig config_;  // keeps the id as long as the fabric's endpoint lives
  GroupOptions options_;
  group::Environment environment_;
  std::optional<GuardedDirectory> directory_;  ///< of what is kept for others on this host
  std::optional<group::OwnCounters> counters_;
  std::unique_ptr<views::Member> member_;
  group::PrivatePost private_post_{environment_};
  group::Attachments attached_{group::Replicas(private_post_), group::Tables(environment_)};
  group::Channels channels_;
  std::optional<group::Reports> reports_;
  std::optional<group::StatusKeeper> status_;
  std::optional<group::UpcallHeartbeats> heartbeats_;  // with the member
  std::optional<group::ObserverService> observers_;
  views::MemberState published_ = views::MemberState::looking;  // the poller's
  std::atomic<bool> abort_{false};  // the poller ends without a word; only before the view
  std::thread poller_;
};

}  // namespace spindrift
