// The public calls, on application threads.
#include <spindrift/views/group.hpp>

#include <spindrift/views/group_core.hpp>

namespace spindrift {

using views::MemberState;


std::string GroupCore::own_name() const { return "node " + std::to_string(self().value()); }

void GroupCore::check_sendable(SubgroupId id, std::uint64_t bytes) const {
  const SubgroupView& subgroup = view().subgroup(id);
  if (channels_[id.value()].ring == nullptr) {
    throw Exception(Error(ErrorKind::bad_argument, own_name() + " is no sender of subgroup " + subgroup.name)
                        .fix("add it to the subgroup's senders in the layout"));
  }
  if (bytes > subgroup.profile.message_bytes_max) {
    throw Exception(Error(ErrorKind::bad_argument, "a message of " + std::to_string(bytes) + " bytes is larger than the " +
                          std::to_string(subgroup.profile.message_bytes_max) + " that subgroup " + subgroup.name + " takes")
                        .fix("raise max_smc_payload_size in the subgroup's profile"));
  }
}

void GroupCore::throw_closed() const {
  std::lock_guard lock(mutex_);
  if (failure_) throw Exception(*failure_);
  const bool elsewhere = leaver_ && *leaver_ != self();
  if (!elsewhere) throw Exception(Error(ErrorKind::group_closed, "this node is leaving the group"));
  const std::string who = "node " + std::to_string(leaver_->value());
  throw Exception(Error(ErrorKind::group_closed, who + " left, which ends the group"));
}

// Asks again after reserving: whoever closes the group either sees the reservation or is seen here.
std::optional<smc::Reservation> GroupCore::reserve_if_open(SubgroupId id, std::uint64_t bytes) {
  if (!member_->accepts_sends()) throw_closed();
  auto reservation = channels_[id.value()].ring->reserve(bytes);
  if (reservation && !member_->accepts_sends()) {
    abandon(id, *reservation);
    throw_closed();
  }
  return reservation;
}

std::optional<smc::Reservation> GroupCore::try_reserve(SubgroupId id, std::uint64_t bytes) {
  check_sendable(id, bytes);
  return reserve_if_open(id, bytes);
}

smc::Reservation GroupCore::reserve(SubgroupId id, std::uint64_t bytes) {
  check_sendable(id, bytes);
  if (auto reservation = reserve_if_open(id, bytes)) return *reservation;
  if (on_poller_thread()) {
    throw Exception(Error(ErrorKind::would_block, "subgroup " + view().subgroup(id).name +
                          " has no space, and a handler cannot wait for what only its own return brings")
                        .fix("use try_send in handlers, and keep what does not fit for later"));
  }
  EventCount& space = channels_[id.value()].space;
  for (;;) {
    const EventCount::Ticket ticket = space.prepare();
    std::optional<smc::Reservation> reservation;
    try {
      reservation = reserve_if_open(id, bytes);
    } catch (...) {
      space.cancel();
      throw;
    }
    if (reservation) {
      space.cancel();
      return *reservation;
    }
    space.wait(ticket);
  }
}

void GroupCore::commit(SubgroupId id, const smc::Reservation& reservation) noexcept {
  channels_[id.value()].ring->commit(reservation);
  fabric_->wake();
}

void GroupCore::abandon(SubgroupId id, const smc::Reservation& reservation) noexcept {
  channels_[id.value()].ring->abandon(reservation);
  fabric_->wake();
}


void GroupCore::set_handler(SubgroupId id, Subgroup::DeliveryHandler handler) {
  Channel& channel = channels_[id.value()];
  std::lock_guard lock(mutex_);
  if (!handler || channel.accepting.load(std::memory_order_relaxed)) {
    throw Exception(Error(ErrorKind::bad_argument, "on_delivery of subgroup " + view().subgroup(id).name +
                          (handler ? " is already set" : " needs a handler")).fix("set it once"));
  }
  channel.handler = std::move(handler);
  channel.accepting.store(true, std::memory_order_seq_cst);
  fabric_->wake();
}

void GroupCore::leave() {
  if (on_poller_thread()) {
    throw Exception(Error(ErrorKind::bad_argument, "leave was called from a handler, whose return it would wait for")
                        .fix("tell another thread to leave"));
  }
  member_->request_leave();
  fabric_->wake();
  wait();
}

void GroupCore::wait() {
  if (on_poller_thread()) {
    throw Exception(Error(ErrorKind::bad_argument, "wait was called from a handler, whose return it would wait for")
                        .fix("tell another thread to wait"));
  }
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return state_ == MemberState::left || state_ == MemberState::failed; });
  if (failure_) throw Exception(*failure_);
}

void GroupCore::on_failure(std::function<void(const Error&)> handler) {
  std::unique_lock lock(mutex_);
  if (!failure_) {
    failure_handler_ = std::move(handler);
    return;
  }
  const Error failure = *failure_;
  lock.unlock();
  handler(failure);
}

Subgroup& GroupCore::subgroup(std::string_view name) {
  std::string known;
  for (std::size_t i = 0; i < view().subgroups.size(); ++i) {
    const SubgroupView& subgroup = view().subgroups[i];
    if (subgroup.name == name && channels_[i].handle) return *channels_[i].handle;
    if (subgroup.name == name) {
      throw Exception(Error(ErrorKind::bad_argument, own_name() + " is no member of subgroup " + subgroup.name)
                          .fix("add it to the subgroup in the layout"));
    }
    known += (known.empty() ? "" : ", ") + subgroup.name;
  }
  throw Exception(Error(ErrorKind::bad_argument, "no subgroup is named \"" + std::string(name) + "\"")
                      .fix("use one of: " + known));
}

std::vector<std::string> GroupCore::subgroup_names() const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < view().subgroups.size(); ++i) {
    if (channels_[i].handle) names.push_back(view().subgroups[i].name);
  }
  return names;
}


const std::string& Subgroup::name() const noexcept { return description().name; }
const SubgroupView& Subgroup::description() const noexcept { return core_.view().subgroup(id_); }
bool Subgroup::is_sender() const noexcept { return core_.is_sender(id_); }
std::uint64_t Subgroup::message_bytes_max() const noexcept { return description().profile.message_bytes_max; }
void Subgroup::on_delivery(DeliveryHandler handler) { core_.set_handler(id_, std::move(handler)); }
smc::Reservation Subgroup::reserve(std::uint64_t bytes) { return core_.reserve(id_, bytes); }
std::optional<smc::Reservation> Subgroup::try_reserve(std::uint64_t bytes) { return core_.try_reserve(id_, bytes); }
void Subgroup::commit(const smc::Reservation& reservation) noexcept { core_.commit(id_, reservation); }
void Subgroup::abandon(const smc::Reservation& reservation) noexcept { core_.abandon(id_, reservation); }

Group::Group(const Config& config) : core_(std::make_unique<GroupCore>(config)) { core_->join(); }
Group::~Group() = default;
Subgroup& Group::subgroup(std::string_view name) { return core_->subgroup(name); }
std::vector<std::string> Group::subgroup_names() const { return core_->subgroup_names(); }
NodeId Group::self() const noexcept { return core_->self(); }
const View& Group::view() const noexcept { return core_->view(); }
std::vector<CounterValue> Group::counters() const { return core_->counters(); }
void Group::leave() { core_->leave(); }
void Group::wait() { core_->wait(); }
bool Group::open() const noexcept { return core_->open(); }
void Group::on_failure(std::function<void(const Error&)> handler) { core_->on_failure(std::move(handler)); }

}  // namespace spindrift
