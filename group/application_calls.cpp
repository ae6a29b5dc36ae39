// The calls of the application's threads: what the program makes of the group, changes of the roster, and leaving.
#include <algorithm>
#include <string>
#include <utility>

#include <spindrift/core/log.hpp>
#include <spindrift/group/created_subgroups.hpp>
#include <spindrift/group/group_core.hpp>
#include <spindrift/group/roster_checks.hpp>

namespace spindrift {
namespace {

void refuse_handlers(const group::HandlerThreads& threads, const std::string& call) {
  if (!threads.is_one()) return;
  throw Exception(Error(ErrorKind::bad_argument, call + " was called from a handler, whose return it would wait for")
                      .fix("tell another thread to " + call));
}

/// A replicated object's channel into its group.
class ReplicaChannelOf final : public ReplicaChannel {
 public:
  ReplicaChannelOf(GroupCore& core, group::Channel& channel)
      : core_(core), channel_(channel), logged_(channel.description().storage == SubgroupStorage::logged) {}
  void send_ordered(std::span<const std::byte> message) override { channel_.handle().send(message); }
  [[nodiscard]] bool try_send_ordered(std::span<const std::byte> message) override {
    const auto copy = [&](std::span<std::byte> to) { std::ranges::copy(message, to.begin()); };
    return channel_.handle().try_send(message.size(), copy);
  }
  [[nodiscard]] std::size_t ordered_bytes_max() const noexcept override { return channel_.handle().message_bytes_max(); }
  void send_private(NodeId to, std::span<const std::byte> message) override {
    core_.private_post().send_answer(to, group::PrivateMessages::of_replica(channel_.id()), message);
  }
  void send_query(NodeId to, std::span<const std::byte> message) override {
    core_.private_post().send(to, message, group::PrivateMessages::of_query(channel_.id()));
  }
  [[nodiscard]] bool crowded() const noexcept override { return core_.private_post().crowded(); }
  [[nodiscard]] std::size_t private_bytes_max() const noexcept override { return core_.private_post().bytes_max(); }
  [[nodiscard]] NodeId self() const noexcept override { return core_.self(); }
  [[nodiscard]] const std::string& subgroup() const noexcept override { return channel_.name(); }
  [[nodiscard]] std::uint32_t spoken_version() const override { return core_.environment().state.view().roster.version; }
  [[nodiscard]] bool logged() const noexcept override { return logged_; }
  [[nodiscard]] std::uint64_t time_ns(std::uint64_t version) const override {
    return core_.environment().logged->time(channel_.id(), version);
  }
  [[nodiscard]] std::uint64_t settled_ns(std::uint64_t version) const override {
    return core_.environment().logged->settled(channel_.id(), version);
  }
  [[nodiscard]] const std::shared_ptr<const group::HandlerThreads>& handler_threads() const noexcept override {
    return core_.environment().handler_threads;
  }
  void accuse(NodeId node, const std::string& what) override { core_.accuse(node, what); }

 private:
  GroupCore& core_;
  group::Channel& channel_;
  const bool logged_;
};

Result<void> trim_log(const group::Channels& channels, const group::LogTrim& trim, std::optional<Duration> limit) {
  try {
    static_cast<void>(channels.find(trim.subgroup).handle().trim_log(trim.below, limit));
    return {};
  } catch (const Exception& refused) {
    return refused.error();
  }
}

/// A process that looks for its group has nothing to change.
Result<void> check_in_view(const group::SharedState& state) {
  if (!state.view().members.empty()) return {};
  return Error(ErrorKind::member_lost, state.own_name() + " looks for its group, and is in no view of it")
      .fix("ask one that is in the group: spindrift group status says which are");
}

/// A change of the roster that the present view is without. A view that ends hands over what is on its way to those that do
/// not take it now: in the next one a member that leaves waits for nobody.
Result<RosterChange> change_of(const group::Handover& handover, const View& view, const Config& config) {
  RosterChange change;
  change.kind = view.roster.find_added(handover.subgroup) ? RosterChange::Kind::drop : RosterChange::Kind::create;
  change.subgroup.name = handover.subgroup;
  if (change.kind == RosterChange::Kind::drop) return change;
  Profile& profile = change.subgroup.profile;
  profile.message_bytes_max = 64;
  profile.ring_bytes = derived_ring_bytes(profile.message_bytes_max);
  SPINDRIFT_TRY(group::complete(change.subgroup, config));
  return change;
}

}  // namespace

ReplicaBase& GroupCore::attach_replica(std::string_view name, const group::Replicas::Maker& make) {
  group::Channel& channel = channels_.find(name);
  return attached_.replicas.attach(channel, std::make_unique<ReplicaChannelOf>(*this, channel), make);
}

ObjectChannel& GroupCore::attach_objects(std::string_view name, ObjectHandlers handlers) {
  return channels_.find(name).attach_objects(std::move(handlers),
                                             [this](NodeId node, const std::string& what) { accuse(node, what); });
}

Result<Roster> GroupCore::change_roster(group::RosterCall call, std::optional<Duration> limit) {
  refuse_handlers(*environment_.handler_threads, group::public_name_of(call));
  const auto wake = [this] { environment_.fabric->wake(); };
  if (call.revive) {
    SPINDRIFT_TRY_ASSIGN(const View revived, attached_.revivals.revive(*std::move(call.revive), limit, wake));
    return revived.roster;
  }
  SPINDRIFT_TRY(check_in_view(environment_.state));
  if (call.trim) {
    SPINDRIFT_TRY(trim_log(channels_, *call.trim, limit));
    return environment_.state.view().roster;
  }
  if (call.adopt) {
    SPINDRIFT_TRY_ASSIGN(const View behind, attached_.adoptions.adopt(*std::move(call.adopt), limit, wake));
    return behind.roster;
  }
  if (!call.changes.empty() && environment_.state.stranded()) {
    const std::string who = environment_.state.own_name();
    return Error(ErrorKind::refused, who + " has lost the majority of its view, and changes nothing")
        .fix("see who is gone, and how the rest goes on: spindrift group why");
  }
  for (RosterChange& change : call.changes) {
    SPINDRIFT_TRY(group::check_address(change, config_->fabric()));
    if (change.kind == RosterChange::Kind::create) SPINDRIFT_TRY(group::complete(change.subgroup, *config_));
    if (change.kind == RosterChange::Kind::change)
      SPINDRIFT_TRY(group::complete_change(change, environment_.state.view()));
  }
  SPINDRIFT_TRY(group::check_drops(call.changes, environment_.state.view()));
  return attached_.rosters.change(call.changes, limit, wake);
}

void GroupCore::leave(const std::optional<group::Handover>& handover) {
  refuse_handlers(*environment_.handler_threads, "leave");
  environment_.state.close();
  for (group::Channel* const channel : channels_.all()) channel->discard_if_unhandled();
  private_post_.wind_up();
  member_->request_leave();
  for (group::Channel* const channel : channels_.all()) channel->let_all_go();
  const auto wake = [this] { environment_.fabric->wake(); };
  wake();
  if (!handover) return wait();
  while (!environment_.state.await_end(handover->patience)) {
    const auto change = change_of(*handover, environment_.state.view(), *config_);
    const auto changed = change ? attached_.rosters.change({*change}, handover->patience, wake) : change.error();
    if (changed) continue;
    log::info(log::Room::group, "leaving waits, and the view has not changed for it",
              {{"subgroup", handover->subgroup}, {"reason", changed.error().to_string()}});
  }
}

void GroupCore::wait() const {
  refuse_handlers(*environment_.handler_threads, "wait");
  environment_.state.await_end();
}

}  // namespace spindrift
