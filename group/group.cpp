// The public calls, on application threads.
#include <spindrift/group/group.hpp>

#include <cstdlib>
#include <utility>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/config/without_file.hpp>
#include <spindrift/core/log.hpp>
#include <spindrift/group/channel.hpp>
#include <spindrift/group/group_core.hpp>

namespace spindrift {

namespace {

// Joins, and as long as the time to join lasts again, if its first view was lost before it was active: such a process has
// nothing of a group yet, and nobody has anything of it.
std::unique_ptr<GroupCore> joined(const Config& config, const GroupOptions& options, const group::Probe& probe) {
  const SystemClock clock;
  const Time limit = clock.now() + config.join_timeout();
  for (;;) {
    auto core = std::make_unique<GroupCore>(OwnConfig(config), options);
    try {
      core->join(probe);
      return core;
    } catch (const Exception& failure) {
      if (failure.error().kind() != ErrorKind::no_majority || clock.now() >= limit) throw;
      log::warn(log::Room::group, "looks for the group again",
                {{"node", core->self()}, {"reason", failure.error().message()}});
    }
  }
}

}  // namespace

static_assert(Group::private_window_bytes == group::PrivateMessages::window_bytes);

SubgroupView Subgroup::description() const { return channel_.description(); }
bool Subgroup::is_sender() const {
  return !channel_.dropped() && channel_.environment().state.is_sender(channel_.id());
}
std::string Subgroup::blocked() const { return channel_.blocked(); }
void Subgroup::on_delivery(DeliveryHandler handler, HandlerThread thread) {
  channel_.set_handler(std::move(handler), thread);
}
void Subgroup::pause() { channel_.set_taking(group::Channel::Taking::paused); }
void Subgroup::resume() { channel_.set_taking(group::Channel::Taking::taking); }
std::vector<NodeId> Subgroup::awaited() const {
  constexpr auto patience = std::chrono::seconds(1);
  group::Environment& environment = channel_.environment();
  if (environment.handler_threads->is_one()) {
    throw Exception(Error(ErrorKind::bad_argument, "awaited asks the thread that runs this handler")
                        .fix("call it on a thread of the program's own"));
  }
  environment.state.check_open();
  const Error late = Error(ErrorKind::timed_out, "this member is at work, and has not said for whom its sends wait")
                         .fix("see what it does: spindrift group why");
  return value_or_throw(environment.awaited.make({channel_.id()}, patience, [this] { channel_.wake(); }, late));
}
void Subgroup::on_state(StateSaver save, StateLoader load) { channel_.set_state(std::move(save), std::move(load)); }

void Subgroup::require_logged(const char* call) const {
  if (storage_ == SubgroupStorage::logged) return;
  const std::string what = std::string(call) + ": subgroup " + name_ + " is not logged, so nothing of it is durable";
  throw Exception(Error(ErrorKind::bad_argument, what)
                      .fix("give it \"storage\": \"logged\" in the layout of all members"));
}

std::uint64_t Subgroup::durable_version() const { return channel_.environment().durable.version(channel_.id()); }

bool Subgroup::await_durable(std::uint64_t version, std::optional<Duration> limit) const {
  require_logged("await_durable");
  const group::Environment& environment = channel_.environment();
  if (environment.handler_threads->is_one()) {
    throw Exception(Error(ErrorKind::bad_argument, "await_durable waits for what only a handler's return brings")
                        .fix("wait on a thread of the program's own, or set on_durable"));
  }
  if (environment.durable.await(channel_.id(), version, limit)) return true;
  environment.state.check_open();
  return false;
}

void Subgroup::on_durable(std::function<void(std::uint64_t version)> handler) {
  require_logged("on_durable");
  const bool given = static_cast<bool>(handler);
  if (given && channel_.environment().durable.set_handler(channel_.id(), std::move(handler))) return channel_.wake();
  throw Exception(Error(ErrorKind::bad_argument, "on_durable of subgroup " + name_ +
                                                     (given ? " is already set" : " needs a handler"))
                      .fix("set it once"));
}

std::uint64_t Subgroup::trim_log(std::uint64_t below, std::optional<Duration> limit) {
  require_logged("trim_log");
  group::Environment& environment = channel_.environment();
  if (environment.handler_threads->is_one()) {
    throw Exception(Error(ErrorKind::bad_argument, "trim_log waits for what only a handler's return brings")
                        .fix("call it on a thread of the program's own"));
  }
  environment.state.check_open();
  const Error late = Error(ErrorKind::timed_out, "this member is at work, and has not come to trim its log in time")
                         .fix("see what it does: spindrift group why");
  return value_or_throw(environment.trims.make({channel_.id(), below}, limit, [this] { channel_.wake(); }, late));
}

// Most messages ask the gate and nobody else; a sender that has to wait, or is refused, asks again where that is dealt with.
Subgroup::Claim Subgroup::reserve(std::uint64_t bytes) {
  Claim claim;
  const bool may = bytes <= ring_payload_max_ && generation_ == process_generation();
  const bool reserved = may && gate_.reserve(bytes, claim) == views::SendGate::Outcome::reserved;
  if (!reserved) static_cast<void>(channel_.reserve(bytes, claim));  // for as long as it takes
  return claim;
}
bool Subgroup::reserve_within(Duration limit, std::uint64_t bytes, Claim& claim) {
  if (channel_.try_reserve(bytes, claim)) return true;  // and no clock is asked
  const Time now = channel_.environment().clock.now();
  return channel_.reserve(bytes, claim, limit < never - now ? now + limit : never);
}
bool Subgroup::try_reserve(std::uint64_t bytes, Claim& claim) { return channel_.try_reserve(bytes, claim); }
void Subgroup::commit(const Claim& claim) noexcept {
  gate_.commit(claim);
  channel_.wake();
}
void Subgroup::abandon(const Claim& claim) noexcept {
  gate_.abandon(claim);
  channel_.wake();
}

Group::Group(const Config& config, GroupOptions options) : Group(config, std::move(options), group::Probe{}) {}
Group::Group(GroupOptions options) : Group(value_or_throw(config_without_file()), std::move(options)) {}
Group::Group(const Config& config, GroupOptions options, const group::Probe& probe)
    : core_(joined(config, options, probe)) {}

// A child that was forked has none of the threads, and no connection: what there is of the group is memory, and stays.
Group::~Group() {
  if (!core_) return;
  if (!core_->environment().state.is_of_this_process()) {
    static_cast<void>(core_.release());
    return;
  }
  if (!core_->environment().handler_threads->is_one()) return;
  log::error(log::Room::group, "a group is destroyed by one of its own handlers, for whose return it would wait",
             {{"node", core_->self()}, {"fix", "let another thread destroy it"}});
  std::abort();
}

GroupCore& Group::core() const {
  core_->environment().state.check_process();
  return *core_;
}

ReplicaBase& Group::attach_replica(std::string_view subgroup, const ReplicaMaker& make, ReplicaMaker again) {
  return core().attach_replica(subgroup, {make, std::move(again)});
}
group::TableCore& Group::attach_table(std::string_view name, const group::TableForm& form) {
  return core().tables().attach(name, form);
}
ObjectChannel& Group::objects(std::string_view subgroup, ObjectHandlers handlers) {
  return core().attach_objects(subgroup, std::move(handlers));
}
Subgroup& Group::subgroup(std::string_view name) { return core().channels().find(name).handle(); }
Shards Group::shards(std::string_view name) { return Shards(core(), name); }
std::vector<std::string> Group::subgroup_names() const { return core().channels().names(); }
NodeId Group::self() const noexcept { return core_->self(); }
View Group::view() const { return core().environment().state.view(); }
View Group::revive(const std::vector<NodeId>& members, bool force, std::optional<Duration> limit) {
  static_cast<void>(value_or_throw(core().change_roster({{}, {}, group::Revive{members, force}}, limit)));
  return view();
}

Roster Group::change_roster(const std::vector<RosterChange>& changes, std::optional<Duration> limit) {
  core().environment().state.check_open();
  return value_or_throw(core().change_roster({changes}, limit));
}
Subgroup& Group::create_subgroup(const AddedSubgroup& subgroup, std::optional<Duration> limit) {
  static_cast<void>(change_roster({{.kind = RosterChange::Kind::create, .subgroup = subgroup}}, limit));
  return this->subgroup(subgroup.name);
}
Subgroup& Group::change_subgroup(const AddedSubgroup& subgroup, std::optional<Duration> limit) {
  static_cast<void>(change_roster({{.kind = RosterChange::Kind::change, .subgroup = subgroup}}, limit));
  return this->subgroup(subgroup.name);
}
void Group::drop_subgroup(std::string_view name, std::optional<Duration> limit) {
  AddedSubgroup subgroup;
  subgroup.name = name;
  static_cast<void>(change_roster({{.kind = RosterChange::Kind::drop, .subgroup = subgroup}}, limit));
}
std::vector<CounterValue> Group::counters() const { return core().counters(); }
void Group::send_private(NodeId to, std::span<const std::byte> message) {
  core().private_post().send(to, message);
}
bool Group::try_send_private(NodeId to, std::span<const std::byte> message) {
  return core().private_post().try_send(to, message);
}
std::size_t Group::private_bytes_max() const noexcept { return core_->private_post().bytes_max(); }
void Group::loaded(std::optional<Duration> limit) const {
  if (core().environment().state.loading() && core().environment().handler_threads->is_one()) {
    throw Exception(Error(ErrorKind::would_block, "the state of a subgroup is still on its way here, and a handler cannot "
                                                  "wait for it")
                        .fix("call loaded() on a thread of the application first"));
  }
  core().environment().state.await_loaded(limit);
}
bool Group::is_loaded() const noexcept { return !core_->environment().state.loading(); }
void Group::leave() { core().leave(); }
void Group::leave(Duration patience, const std::string& handover) { core().leave(group::Handover{patience, handover}); }
void Group::wait() { core().wait(); }
bool Group::open() const noexcept {
  const group::SharedState& state = core_->environment().state;
  return state.is_of_this_process() && state.open();
}
bool Group::on_poller_thread() const noexcept { return core_->environment().handler_threads->is_one(); }
void Group::on_failure(std::function<void(const Error&)> handler) {
  core().environment().state.set_failure_handler(std::move(handler));
}

}  // namespace spindrift
