// The public calls, on application threads.
#include <spindrift/group/group.hpp>

#include <spindrift/group/group_core.hpp>

#include <sched.h>

namespace spindrift {

using views::MemberState;
using Outcome = views::SendGate::Outcome;

namespace {

/// How often a thread that finds its window full offers its CPU before it sleeps. Where threads outnumber CPUs that is often
/// all that the pollers need, and costs less than to sleep and be woken; elsewhere it is some microseconds of spinning.
constexpr unsigned yields_before_sleep = 20;

}  // namespace

std::string GroupCore::own_name() const { return "node " + std::to_string(self().value()); }

// Nobody who only has to wait gets an error; who waits for what never comes does.
void GroupCore::check_may_send(SubgroupId id) const {
  std::lock_guard lock(mutex_);
  if (failure_) throw Exception(*failure_);
  if (!open_.load(std::memory_order_seq_cst)) {
    throw Exception(Error(ErrorKind::group_closed, own_name() + (state_ == MemberState::left ? " has left the group"
                                                                                             : " is leaving the group")));
  }
  const SubgroupView& subgroup = view_.subgroup(id);
  if (state_ == MemberState::active && subgroup.inadequate.empty() && !subgroup.sender_rank(self())) {
    throw Exception(Error(ErrorKind::bad_argument, own_name() + " is no sender of subgroup " + subgroup.name)
                        .fix("add it to the subgroup's senders in the layout"));
  }
}

Outcome GroupCore::reserve_once(SubgroupId id, std::uint64_t bytes, Claim& claim) {
  const bool large = bytes > channels_[id.value()].handle->ring_payload_max_;
  const Outcome outcome = large ? reserve_large(id, bytes, claim) : member_->gate(id).reserve(bytes, claim);
  if (outcome == Outcome::closed) check_may_send(id);
  return outcome;
}

Outcome GroupCore::reserve_large(SubgroupId id, std::uint64_t bytes, Claim& claim) {
  Channel& channel = channels_[id.value()];
  if (const std::uint64_t most = channel.handle->message_bytes_max(); bytes > most) {
    throw Exception(Error(ErrorKind::bad_argument, "a message of " + std::to_string(bytes) + " bytes is larger than the " +
                                                       std::to_string(most) + " that subgroup " + channel.handle->name() +
                                                       " takes")
                        .fix("raise max_smc_payload_size in the subgroup's profile, or send it as an object"));
  }
  std::lock_guard lock(channel.large);
  return member_->gate(id).reserve_large(bytes, claim);
}

bool GroupCore::try_reserve(SubgroupId id, std::uint64_t bytes, Claim& claim) {
  return reserve_once(id, bytes, claim) == Outcome::reserved;
}

void GroupCore::reserve(SubgroupId id, std::uint64_t bytes, Claim& claim) {
  if (reserve_once(id, bytes, claim) == Outcome::reserved) return;
  if (on_poller_thread()) {
    throw Exception(Error(ErrorKind::would_block, "subgroup " + channels_[id.value()].handle->name() +
                          " takes nothing now, and a handler cannot wait for what only its own return brings")
                        .fix("use try_send in handlers, and keep what does not fit for later"));
  }
  group::SpaceQueue& space = channels_[id.value()].space;
  for (unsigned yields = 0; yields < yields_before_sleep && space.may_try_again(clock_.now()); ++yields) {
    sched_yield();
    if (worth_waking(id) && reserve_once(id, bytes, claim) == Outcome::reserved) return;
  }
  for (;;) {
    const group::SpaceQueue::Ticket ticket = space.prepare(clock_.now());
    Outcome outcome = Outcome::closed;
    try {
      outcome = reserve_once(id, bytes, claim);
    } catch (...) {
      space.cancel(ticket);
      throw;
    }
    if (outcome == Outcome::reserved) {
      space.cancel(ticket);
      return;
    }
    space.wait(ticket);
  }
}

void GroupCore::set_handler(SubgroupId id, Subgroup::DeliveryHandler handler, HandlerThread thread) {
  Channel& channel = channels_[id.value()];
  std::lock_guard lock(mutex_);
  if (!handler || channel.accepting.load(std::memory_order_relaxed)) {
    throw Exception(Error(ErrorKind::bad_argument, "on_delivery of subgroup " + channel.handle->name() +
                          (handler ? " is already set" : " needs a handler")).fix("set it once"));
  }
  channel.handler = std::move(handler);
  if (thread == HandlerThread::own) {
    channel.worker = std::make_unique<HandlerWorker>(
        [this, &channel](std::span<const Delivery> batch) {
          polling_for = this;
          channel.handler(batch);
        },
        [this] { fabric_->wake(); });
    has_workers_.store(true, std::memory_order_seq_cst);
  }
  channel.accepting.store(true, std::memory_order_seq_cst);
  fabric_->wake();
}

void GroupCore::set_state(SubgroupId id, Subgroup::StateSaver save, Subgroup::StateLoader load) {
  Channel& channel = channels_[id.value()];
  std::lock_guard lock(mutex_);
  if (!save || !load || channel.save || channel.accepting.load(std::memory_order_relaxed)) {
    throw Exception(Error(ErrorKind::bad_argument, "on_state of subgroup " + channel.handle->name() +
                          (save && load ? " comes too late, or is already set" : " needs both functions"))
                        .fix("set both, once, before on_delivery"));
  }
  channel.save = std::move(save);
  channel.load = std::move(load);
}

SubgroupView GroupCore::description(SubgroupId id) const {
  std::lock_guard lock(mutex_);
  return view_.subgroup(id);
}

std::string GroupCore::blocked(SubgroupId id) const {
  std::lock_guard lock(mutex_);
  if (const std::string& reason = view_.subgroup(id).inadequate; !reason.empty()) return reason;
  if (state_ == MemberState::installing || state_ == MemberState::changing) return "the view is changing";
  return {};
}

void GroupCore::send_letter(NodeId to, std::uint64_t tag, std::span<const std::byte> message) {
  if (message.size() > private_bytes_max()) {
    throw Exception(Error(ErrorKind::bad_argument, "a private message of " + std::to_string(message.size()) +
                          " bytes is larger than " + std::to_string(private_bytes_max())).fix("send it in parts"));
  }
  {
    std::lock_guard lock(mutex_);
    std::vector<std::byte>& letter = letters_.emplace_back(to, std::vector<std::byte>(letter_head_bytes)).second;
    std::memcpy(letter.data(), &tag, letter_head_bytes);
    letter.insert(letter.end(), message.begin(), message.end());
  }
  letters_waiting_.store(true, std::memory_order_seq_cst);
  fabric_->wake();
}

void GroupCore::leave() {
  if (on_poller_thread()) {
    throw Exception(Error(ErrorKind::bad_argument, "leave was called from a handler, whose return it would wait for")
                        .fix("tell another thread to leave"));
  }
  open_.store(false, std::memory_order_seq_cst);
  member_->request_leave();
  wake_senders();
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
  for (std::size_t i = 0; i < member_->subgroup_count(); ++i) {
    Subgroup& subgroup = *channels_[i].handle;
    if (subgroup.name() == name) return subgroup;
    known += (known.empty() ? "" : ", ") + subgroup.name();
  }
  throw Exception(Error(ErrorKind::bad_argument, "no subgroup is named \"" + std::string(name) + "\"")
                      .fix("use one of: " + known));
}

std::vector<std::string> GroupCore::subgroup_names() const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < member_->subgroup_count(); ++i) names.push_back(channels_[i].handle->name());
  return names;
}

View GroupCore::view() const {
  std::lock_guard lock(mutex_);
  return view_;
}

bool GroupCore::open() const { return open_.load(std::memory_order_seq_cst); }

SubgroupView Subgroup::description() const { return core_.description(id_); }
bool Subgroup::is_sender() const { return description().sender_rank(core_.self()).has_value(); }
std::string Subgroup::blocked() const { return core_.blocked(id_); }
void Subgroup::on_delivery(DeliveryHandler handler, HandlerThread thread) {
  core_.set_handler(id_, std::move(handler), thread);
}
void Subgroup::on_state(StateSaver save, StateLoader load) { core_.set_state(id_, std::move(save), std::move(load)); }

// Most messages ask the gate and nobody else; who has to wait, or is refused, asks again where that is dealt with.
Subgroup::Claim Subgroup::reserve(std::uint64_t bytes) {
  Claim claim;
  if (bytes > ring_payload_max_ || gate_.reserve(bytes, claim) != Outcome::reserved) core_.reserve(id_, bytes, claim);
  return claim;
}
bool Subgroup::try_reserve(std::uint64_t bytes, Claim& claim) { return core_.try_reserve(id_, bytes, claim); }
void Subgroup::commit(const Claim& claim) noexcept {
  gate_.commit(claim);
  core_.wake();
}
void Subgroup::abandon(const Claim& claim) noexcept {
  gate_.abandon(claim);
  core_.wake();
}

Group::Group(const Config& config, GroupOptions options) : core_(std::make_unique<GroupCore>(config, std::move(options))) {
  core_->join();
}
Group::~Group() = default;
ReplicaBase& Group::attach_replica(std::string_view subgroup, const ReplicaMaker& make) {
  return core_->attach_replica(subgroup, make);
}
ObjectChannel& Group::objects(std::string_view subgroup, ObjectHandlers handlers) {
  return core_->attach_objects(subgroup, std::move(handlers));
}
Subgroup& Group::subgroup(std::string_view name) { return core_->subgroup(name); }
std::vector<std::string> Group::subgroup_names() const { return core_->subgroup_names(); }
NodeId Group::self() const noexcept { return core_->self(); }
View Group::view() const { return core_->view(); }
std::vector<CounterValue> Group::counters() const { return core_->counters(); }
void Group::send_private(NodeId to, std::span<const std::byte> message) { core_->send_private(to, message); }
std::size_t Group::private_bytes_max() const noexcept { return core_->private_bytes_max(); }
void Group::leave() { core_->leave(); }
void Group::wait() { core_->wait(); }
bool Group::open() const noexcept { return core_->open(); }
bool Group::on_poller_thread() const noexcept { return core_->on_poller_thread(); }
void Group::on_failure(std::function<void(const Error&)> handler) { core_->on_failure(std::move(handler)); }

}  // namespace spindrift
