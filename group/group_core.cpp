// Joining, the poller's loop, and the end.
#include <spindrift/group/group_core.hpp>

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <random>
#include <utility>

#include <spindrift/core/check.hpp>
#include <spindrift/core/config/addresses.hpp>
#include <spindrift/fabric/mixed/mixed.hpp>
#include <spindrift/core/log.hpp>
#include <spindrift/core/runtime_path.hpp>
#include <spindrift/group/group_fabric.hpp>
#include <spindrift/group/state_file.hpp>

namespace spindrift {
namespace {

using views::MemberState;

constexpr Duration slow_upcall = std::chrono::milliseconds(10);
constexpr Duration slow_report_interval = std::chrono::seconds(1);
constexpr std::size_t counters_per_process = 32;

/// Grows from start to start of a node while its clock does not go back, and differs in any case.
std::uint64_t new_incarnation() {
  constexpr std::uint64_t drawn = 0xffff;  // of nanoseconds: a start takes longer
  const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
  const auto now = std::chrono::duration_cast<std::chrono::nanoseconds>(since_epoch).count();
  return (static_cast<std::uint64_t>(now) & ~drawn) | (std::random_device()() & drawn) | 1;
}

std::uint64_t wall_clock_ms() {
  const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(since_epoch).count());
}

std::string joined(const std::vector<NodeId>& nodes) {
  std::string text;
  for (const NodeId node : nodes) text += (text.empty() ? "" : ", ") + std::to_string(node.value());
  return text;
}

}  // namespace

thread_local const GroupCore* GroupCore::polling_for = nullptr;

GroupCore::GroupCore(Config config, GroupOptions options) : config_(std::move(config)), options_(std::move(options)) {}

GroupCore::~GroupCore() {
  if (poller_.joinable() && !on_poller_thread()) {
    try {
      leave();
    } catch (const Exception& failure) {
      log::warn(log::Room::group, "left a group that had failed", {{"reason", failure.what()}});
    }
  }
  end_poller();
  if (fabric_) fabric_->count_in(nullptr);  // the counters go first
}

void GroupCore::join() {
  fabric_ = value_or_throw(group::open_group_fabric(config_, options_.watch_fabric));
  make_member();
  poller_ = std::thread([this] { poll_loop(); });
  await_view();
}

void GroupCore::make_member() {
  const NodeId self = config_.local_id();
  value_or_throw(config_.local_rank());
  views::MemberOptions options;
  const View everybody = value_or_throw(config_.view());
  for (const NodeId node : everybody.members) options.roster.push_back({node, config_.address_of(node)});
  options.self = self;
  options.founders = config_.founders();
  options.identity = {config_.group_name(), config_.digest().words};
  options.incarnation = new_incarnation();
  options.layout = options_.layout ? options_.layout : value_or_throw(config_.layout_function());
  options.suspect_after = config_.suspect_after();
  options.partition_safety = !config_.partitioning_safety_disabled();
  options.backlog_bytes_max = config_.state_buffer_bytes();
  if (options_.ablation) options.policy = *options_.ablation;
  if (!options.partition_safety) {
    log::warn(log::Room::group, "partition safety is off: parts of a split group will go on and differ",
              {{"because", "[DERECHO] disable_partitioning_safety"}});
  }

  counters_.emplace(value_or_throw(CounterBlock::in_file(
      node_file(group_directory(config_.runtime_directory(), config_.group_name()), self, counters_suffix),
      everybody.subgroups.size() * smc::Multicast::counters_max + counters_per_process)));
  sleeps_ = counters_->counter("poller.sleeps");
  slow_upcalls_ = counters_->counter("poller.slow_upcalls");
  views_ = counters_->counter("views.installed");
  fabric_->count_in(&*counters_);

  group::Status status;
  status.group = config_.group_name();
  status.node = self;
  status.incarnation = options.incarnation;
  status.process = static_cast<std::uint64_t>(::getpid());
  status.process_started = group::process_start_ticks(status.process);
  status.partition_safety = options.partition_safety;
  status.state = to_string(MemberState::looking);
  status_.emplace(node_file(group_directory(config_.runtime_directory(), config_.group_name()), self, status_suffix),
                  std::move(status));

  member_ = std::make_unique<views::Member>(std::move(options), *fabric_, *this, *counters_);
  const std::vector<SubgroupView>& shapes = member_->shapes();
  channels_ = std::make_unique<Channel[]>(shapes.size());
  for (std::uint32_t i = 0; i < shapes.size(); ++i) {
    const SubgroupId id(i);
    channels_[i].handle.reset(new Subgroup(*this, member_->gate(id), id, shapes[i]));
  }
  view_.subgroups = shapes;
  value_or_throw(member_->start());
}

void GroupCore::await_view() {
  std::unique_lock lock(mutex_);
  const bool decided = changed_.wait_for(lock, config_.join_timeout(), [&] { return was_active_ || failure_; });
  if (failure_) {
    Error failure = *failure_;
    lock.unlock();
    end_poller();
    throw Exception(std::move(failure));
  }
  if (decided) return;
  lock.unlock();
  end_poller();
  const auto waited = std::chrono::duration_cast<std::chrono::milliseconds>(config_.join_timeout());
  const std::vector<NodeId> missing = member_->missing();
  throw Exception(Error(ErrorKind::timed_out, own_name() + " waited " + std::to_string(waited.count()) + " ms for " +
                                                  (missing.empty() ? "a view" : "node " + joined(missing)))
                      .fix("start the missing nodes with the same configuration and [SPINDRIFT] " + meeting_place(missing) +
                           ", or raise join_timeout_ms"));
}

// What those whom this node has not met must have alike.
std::string GroupCore::meeting_place(const std::vector<NodeId>& missing) const {
  if (config_.fabric() == "shm") return "runtime_directory";
  std::vector<NodeId> neighbours;
  std::copy_if(missing.begin(), missing.end(), std::back_inserter(neighbours), [&](NodeId node) {
    return fabric::mixed_with(config_.fabric()) &&
           config::same_host(config_.address_of(self()), config_.address_of(node)).value_or(false);
  });
  if (neighbours.empty()) return "addresses, which they can reach";
  return "addresses, and node " + joined(neighbours) + ", on this node's host as addresses say, with runtime_directory " +
         config_.runtime_directory();
}

void GroupCore::end_poller() noexcept {
  if (!poller_.joinable()) return;
  abort_.store(true, std::memory_order_seq_cst);
  fabric_->wake();
  poller_.join();
}

// Runs until the group has ended. A pass that finds nothing offers the core to others at once: to look a second time first
// cost more than it found. Sleeps only after a pass that found nothing although peers could see it about to sleep.
void GroupCore::poll_loop() {
  polling_for = this;
  const bool block = config_.poll_mode() == PollMode::block;
  bool quiet = false;
  Time quiet_since{};
  for (;;) {
    const auto [progress, wake_at] = step();
    publish_state();
    if (abort_.load(std::memory_order_relaxed) || ended()) return;
    if (progress) {
      quiet = false;
      continue;
    }
    if (!std::exchange(quiet, true)) quiet_since = clock_.now();
    if (!block || clock_.now() - quiet_since < config_.spin()) {
      sched_yield();
      continue;
    }
    rest();
    quiet = false;
  }
}

void GroupCore::rest() {
  fabric_->prepare_sleep();
  const auto [progress, wake_at] = step();
  if (progress || abort_.load(std::memory_order_seq_cst)) return fabric_->cancel_sleep();
  sleeps_.add(1);
  fabric_->sleep(wake_at);
}

views::Member::Step GroupCore::step() {
  try {
    if (letters_waiting_.load(std::memory_order_seq_cst)) post_letters();
    if (has_workers_.load(std::memory_order_relaxed)) rethrow_from_workers();
    const Time now = clock_.now();
    views::Member::Step done = member_->step(now);
    if (has_replicas_.load(std::memory_order_relaxed)) tell_replicas_what_is_stable();
    if (!turns_.empty()) done.wake_at = std::min(done.wake_at, offer_space(now));
    return done;
  } catch (const std::exception& thrown) {
    member_->stop(Error(ErrorKind::group_closed, std::string("a handler threw: ") + thrown.what())
                      .fix("let handlers deal with their own errors: a member that skips a message differs from the rest"));
  } catch (...) {
    member_->stop(Error(ErrorKind::group_closed, "a handler threw"));
  }
  return {.progress = true, .wake_at = never};
}

void GroupCore::post_letters() {
  std::vector<std::pair<NodeId, std::vector<std::byte>>> letters;
  {
    std::lock_guard lock(mutex_);
    letters.swap(letters_);
    letters_waiting_.store(false, std::memory_order_seq_cst);
  }
  for (const auto& [to, bytes] : letters) {
    if (to == self()) {
      on_private(to, bytes);
    } else if (auto sent = member_->send_private(to, bytes); !sent) {
      log::warn(log::Room::group, "private message", {{"reason", sent.error().to_string()}});
    }
  }
}

// Tells waiting application threads what the poller knows.
void GroupCore::publish_state() {
  const MemberState state = member_->state();
  if (state == published_) return;
  published_ = state;
  std::optional<group::Status::End> end;
  if (state == MemberState::left) end = {{"left", {}, wall_clock_ms()}};
  if (const auto& failure = member_->failure()) {
    end = {{std::string(to_string(failure->kind())), failure->to_string(), wall_clock_ms()}};
  }
  status_->on_state(std::string(to_string(state)), std::move(end));

  std::function<void(const Error&)> handler;
  {
    std::lock_guard lock(mutex_);
    state_ = state;
    if (state == MemberState::active && !std::exchange(was_active_, true)) open_.store(true, std::memory_order_seq_cst);
    if (ended()) open_.store(false, std::memory_order_seq_cst);
    failure_ = member_->failure();
    if (failure_) handler = std::move(failure_handler_);
  }
  changed_.notify_all();
  wake_senders();
  if (ended() && has_replicas_.load(std::memory_order_seq_cst)) tell_replicas_of_end();
  if (handler) handler(*member_->failure());
}

void GroupCore::wake_senders() {
  for (std::size_t i = 0; i < member_->subgroup_count(); ++i) channels_[i].space.let_all_go();
}

void GroupCore::on_view(const NewView& news) {
  views_.add(1);
  status_->on_view(news, wall_clock_ms());
  {
    std::lock_guard lock(mutex_);
    view_ = news.view;
  }
  for (const SubgroupId id : news.state_lost) {
    log::warn(log::Room::group, "all members that had the state are gone; it begins anew",
              {{"subgroup", news.view.subgroup(id).name}});
  }
  for (const SubgroupView& subgroup : news.view.subgroups) {
    if (!subgroup.inadequate.empty()) {
      log::warn(log::Room::group, "inadequate", {{"subgroup", subgroup.name}, {"reason", subgroup.inadequate}});
    }
  }
  if (has_replicas_.load(std::memory_order_seq_cst)) tell_replicas_of_view(news.view);
  tell_objects_of_view(news.view);
  if (options_.on_view) options_.on_view(news);
}

void GroupCore::on_dropped(SubgroupId id, std::uint64_t messages) {
  log::warn(log::Room::group, "messages may not have reached everybody",
            {{"subgroup", channels_[id.value()].handle->name()}, {"messages", messages}});
  if (ObjectChannel* const objects = objects_of(id)) objects->on_dropped();
  if (options_.on_dropped) options_.on_dropped(*channels_[id.value()].handle, messages);
}

std::unique_ptr<views::StateReader> GroupCore::save_state(SubgroupId id) {
  const Channel& channel = channels_[id.value()];
  if (!accepts(id) || !channel.save) return nullptr;
  return group::keep_state(channel.save);
}

std::unique_ptr<views::StateWriter> GroupCore::load_state(SubgroupId id) {
  const Channel& channel = channels_[id.value()];
  if (!channel.load) {
    throw Exception(Error(ErrorKind::bad_argument,
                          "subgroup " + channel.handle->name() + " has a state, and this process has no function to load it")
                        .fix("set on_state before on_delivery"));
  }
  return group::collect_state(channel.load);
}

void GroupCore::on_private(NodeId from, std::span<const std::byte> letter) {
  std::uint64_t tag = 0;
  if (letter.size() < letter_head_bytes) return member_->accuse(from, "it sent a private message without a head");
  std::memcpy(&tag, letter.data(), letter_head_bytes);
  const auto message = letter.subspan(letter_head_bytes);
  if (tag != 0) {
    take_replica_letter(from, tag, message);
  } else if (options_.on_private) {
    options_.on_private(from, message);
  }
}

void GroupCore::on_delivery(SubgroupId id, std::span<const Delivery> batch) {
  Channel& channel = channels_[id.value()];
  if (channel.worker) return channel.worker->give(batch);
  const Time before = clock_.now();
  channel.handler(batch);
  const Time after = clock_.now();
  if (after - before >= slow_upcall) report_slow(id, after - before, after);
}

void GroupCore::report_slow(SubgroupId id, Duration took, Time now) {
  slow_upcalls_.add(1);
  if (last_slow_report_ && now - *last_slow_report_ < slow_report_interval) return;
  last_slow_report_ = now;
  log::warn(log::Room::group, "slow delivery handler",
            {{"subgroup", channels_[id.value()].handle->name()},
             {"fix", "HandlerThread::own"},
             {"ms", std::chrono::duration_cast<std::chrono::milliseconds>(took).count()},
             {"since_start", slow_upcalls_.get()}});
}

// A full ring is worth a wake-up only when a good part of it is free again: a thread that wakes for every message would
// spend its time waking.
bool GroupCore::worth_waking(SubgroupId id) const noexcept {
  const views::SendGate& gate = member_->gate(id);
  return gate.half_free() || !gate.is_open();
}

void GroupCore::on_space(SubgroupId id) {
  group::SpaceQueue& space = channels_[id.value()].space;
  if (!space.has_waiters() || !worth_waking(id)) return;
  if (!member_->gate(id).is_open()) return space.let_all_go();
  space.offer(clock_.now());
  if (std::find(turns_.begin(), turns_.end(), id) == turns_.end()) turns_.push_back(id);
}

// Ends turns that are over although no space became free since; returns when to look again.
Time GroupCore::offer_space(Time now) {
  Time next = never;
  std::erase_if(turns_, [&](SubgroupId id) {
    group::SpaceQueue& space = channels_[id.value()].space;
    if (!worth_waking(id)) return true;  // on_space follows
    if (space.next_offer() <= now) space.offer(now);
    next = std::min(next, space.next_offer());
    return space.next_offer() == never;
  });
  return next;
}

bool GroupCore::accepts(SubgroupId id) const {
  const Channel& channel = channels_[id.value()];
  if (!channel.accepting.load(std::memory_order_seq_cst)) return false;
  return !channel.worker || (!channel.worker->busy() && !channel.worker->failure());
}

bool GroupCore::busy(SubgroupId id) const {
  const Channel& channel = channels_[id.value()];
  return channel.accepting.load(std::memory_order_seq_cst) && channel.worker && channel.worker->busy();
}

// What a handler threw on a thread of its own ends the member as if it had been thrown here.
void GroupCore::rethrow_from_workers() {
  for (std::size_t i = 0; i < member_->subgroup_count(); ++i) {
    const Channel& channel = channels_[i];
    if (!channel.accepting.load(std::memory_order_seq_cst) || !channel.worker || channel.worker->busy()) continue;
    if (const std::exception_ptr failure = channel.worker->failure()) std::rethrow_exception(failure);
  }
}

bool GroupCore::on_poller_thread() const noexcept { return polling_for == this; }

bool GroupCore::ended() const noexcept { return published_ == MemberState::left || published_ == MemberState::failed; }

}  // namespace spindrift
