// Handlers, and waiting for space.
#include <spindrift/group/channel.hpp>

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include <spindrift/core/log.hpp>
#include <spindrift/group/state_file.hpp>
#include <spindrift/group/status.hpp>

namespace spindrift::group {
namespace {

using Outcome = views::SendGate::Outcome;

/// How often a thread that finds its window full offers its CPU before it sleeps. Where threads outnumber CPUs that is often
/// all that the pollers need, and costs less than to sleep and be woken; elsewhere it is some microseconds of spinning.
constexpr unsigned yields_before_sleep = 20;

constexpr Duration slow_upcall = std::chrono::milliseconds(10);
constexpr Duration slow_report_interval = std::chrono::seconds(1);

Exception dropped_error(const std::string& name) {
  return Exception(Error(ErrorKind::refused, "subgroup " + name + " was dropped, and takes nothing any more")
                       .fix("create it again (Group::create_subgroup, or spindrift group create-subgroup), or use another "
                            "one"));
}

// A member that joins would need its state before it can have set its handlers.
void refuse_state(Channel::Origin origin, const std::string& name, const std::string& call) {
  if (origin == Channel::Origin::layout) return;
  throw Exception(Error(ErrorKind::unsupported,
                        "subgroup " + name + " was created while the group runs, and has no state that members could give " +
                            "each other: " + call + " is for subgroups of the layout")
                      .fix("put the subgroup into the configuration's layout"));
}

// A subgroup has one state.
void refuse_beside_history(const SubgroupView& subgroup, const std::string& call) {
  if (!subgroup.history.any()) return;
  if (subgroup.storage == SubgroupStorage::logged) {
    const std::string what = "subgroup " + subgroup.name + " keeps the last messages of its log alone";
    throw Exception(Error(ErrorKind::bad_argument, call + ": " + what + ", and objects are made of all of them")
                        .at("the layout's entry of " + subgroup.name)
                        .fix("remove \"history\" there, at all members"));
  }
  throw Exception(
      Error(ErrorKind::bad_argument,
            call + ": subgroup " + subgroup.name + " keeps a history, and that is the state which its newcomers get")
          .at("the layout's entry of " + subgroup.name)
          .fix("take what newcomers are given by on_delivery, or remove \"history\" there, at all members"));
}

// In memory it could wait without end, and its sender would take it for safe.
void refuse_while_full(const NodeJournal& journal, const std::string& name) {
  if (journal.full_since_ms() == 0) return;
  throw Exception(Error(ErrorKind::disk_full, "subgroup " + name + " is logged, and takes nothing from this node while the "
                                              "disk of its journal is full")
                      .at(journal.place().of(journal.node()))
                      .fix("make space there: it goes on by itself then, and what is sent again is taken"));
}

void discard(Counter& discarded, Channel::Origin origin, const std::string& name, std::size_t messages) {
  if (discarded.get() == 0 && origin == Channel::Origin::layout) {
    log::warn(log::Room::group, "deliveries are discarded: this member leaves before it has set on_delivery",
              {{"subgroup", name}});
  } else if (discarded.get() == 0) {
    log::info(log::Room::group, "deliveries of a created subgroup are discarded: the program has not set on_delivery",
              {{"subgroup", name}});
  }
  discarded.add(messages);
}

}  // namespace

Channel::Channel(Environment& environment, std::shared_ptr<views::SendGate> gate, SubgroupId id, const SubgroupView& shape,
                 Origin origin, Counter discarded)
    : environment_(environment),
      gate_(std::move(gate)),
      id_(id),
      logged_(shape.storage == SubgroupStorage::logged),
      handle_(*this, *gate_, shape, process_generation()),
      state_([this] { wake(); }),
      life_{origin, discarded} {}

SubgroupView Channel::description() const {
  if (!dropped()) return environment_.state.subgroup(id_);
  SubgroupView gone;
  gone.name = name();
  gone.dropped = true;
  gone.inadequate = "was dropped";
  return gone;
}

std::string Channel::blocked() const {
  if (dropped()) return "it was dropped";
  if (gate_->is_open()) return {};
  const std::string why = environment_.state.blocked(id_);
  // The gate closes before others are told that the view changes; but that of a member which does not send is never open.
  return why.empty() && environment_.state.is_sender(id_) ? "the view is changing" : why;
}

// A view that drops it begins when the handler has returned and no thread sends there.
void Channel::drop() {
  {
    const std::lock_guard lock(setting_);
    life_.dropped.store(true, std::memory_order_seq_cst);
    worker_.reset();
  }
  space_.let_all_go();
}

Outcome Channel::reserve_once(std::uint64_t bytes, Claim& claim) {
  environment_.state.check_process();
  if (logged_) refuse_while_full(*environment_.journal, name());
  const bool large = bytes > handle_.ring_payload_max_;
  const Outcome outcome = large ? reserve_large(bytes, claim) : gate_->reserve(bytes, claim);
  if (outcome != Outcome::closed) return outcome;
  if (dropped()) throw dropped_error(name());
  environment_.state.check_may_send(id_);
  return outcome;
}

Outcome Channel::reserve_large(std::uint64_t bytes, Claim& claim) {
  if (const std::uint64_t most = handle_.message_bytes_max(); bytes > most) {
    throw Exception(Error(ErrorKind::bad_argument, "a message of " + std::to_string(bytes) + " bytes is larger than the " +
                                                       std::to_string(most) + " that subgroup " + name() + " takes")
                        .fix("raise max_smc_payload_size in the subgroup's profile, or send it as an object"));
  }
  std::lock_guard lock(large_);
  return gate_->reserve_large(bytes, claim);
}

bool Channel::try_reserve(std::uint64_t bytes, Claim& claim) { return reserve_once(bytes, claim) == Outcome::reserved; }

bool Channel::reserve(std::uint64_t bytes, Claim& claim, Time limit) {
  if (reserve_once(bytes, claim) == Outcome::reserved) return true;
  if (environment_.handler_threads->is_one()) {
    throw Exception(Error(ErrorKind::would_block, "subgroup " + name() +
                                                      " takes nothing now, and a handler cannot wait for "
                                                      "what only its own return brings")
                        .fix("use try_send in handlers, and keep what does not fit for later"));
  }
  for (unsigned yields = 0; yields < yields_before_sleep && space_.may_try_again(environment_.clock.now()); ++yields) {
    sched_yield();
    if (worth_waking() && reserve_once(bytes, claim) == Outcome::reserved) return true;
  }
  return reserve_asleep(bytes, claim, limit);
}

// A thread whose time is over looks once more: what it was offered then is its own.
bool Channel::reserve_asleep(std::uint64_t bytes, Claim& claim, Time limit) {
  for (;;) {
    const SpaceQueue::Ticket ticket = space_.prepare(environment_.clock.now());
    Outcome outcome = Outcome::closed;
    try {
      outcome = reserve_once(bytes, claim);
    } catch (...) {
      space_.cancel(ticket);
      throw;
    }
    if (outcome == Outcome::reserved) {
      space_.cancel(ticket);
      return true;
    }
    if (!space_.wait(ticket, limit)) return try_reserve(bytes, claim);
  }
}

void Channel::set_handler(Subgroup::DeliveryHandler handler, HandlerThread thread) {
  std::lock_guard lock(setting_);
  if (dropped()) throw dropped_error(name());
  if (accepting() && discards_) environment_.state.check_open();
  if (!handler || accepting()) {
    throw Exception(Error(ErrorKind::bad_argument,
                          "on_delivery of subgroup " + name() + (handler ? " is already set" : " needs a handler"))
                        .fix("set it once"));
  }
  handler_ = std::move(handler);
  if (thread == HandlerThread::own) {
    worker_ = std::make_unique<HandlerWorker>(
        [this](std::span<const Delivery> batch) {
          const HandlerThreads::Entry entry(*environment_.handler_threads, HandlerThreads::Kind::own);
          handler_(batch);
        },
        [this] { wake(); });
    environment_.has_workers.store(true, std::memory_order_seq_cst);
  }
  taking_.store(Taking::taking, std::memory_order_seq_cst);
  wake();
}

void Channel::set_taking(Taking to) {
  const std::lock_guard lock(setting_);
  if (!accepting() && to == Taking::taking) return;
  if (!accepting()) {
    throw Exception(Error(ErrorKind::bad_argument, "subgroup " + name() + " has no handler that could pause")
                        .fix("set on_delivery first: until then nothing is delivered here"));
  }
  if (taking_.exchange(to, std::memory_order_seq_cst) == to) return;
  if (to == Taking::paused)
    environment_.paused.add(id_, wall_clock_ms());
  else
    environment_.paused.remove(id_);
  wake();  // a pause is to be seen, too
}

void Channel::set_state(Subgroup::StateSaver save, Subgroup::StateLoader load) {
  std::lock_guard lock(setting_);
  refuse_state(life_.origin, name(), "on_state");
  refuse_beside_history(description(), "on_state");
  if (accepting() && discards_) environment_.state.check_open();
  if (!save || !load || state_.carried() || accepting()) {
    throw Exception(
        Error(ErrorKind::bad_argument, "on_state of subgroup " + name() +
                                           (save && load ? " comes too late, or is already set" : " needs both functions"))
            .fix("set both, once, before on_delivery"));
  }
  set_state_functions(std::move(save), std::move(load));
}

// Behind the mutex. What they call is told from other threads: it must not wait for this group.
void Channel::set_state_functions(Subgroup::StateSaver save, Subgroup::StateLoader load) {
  using Entry = HandlerThreads::Entry;
  const HandlerThreads& threads = *environment_.handler_threads;
  state_.set(
      [&threads, save = std::move(save)](std::ostream& to) {
        const Entry entry(threads, HandlerThreads::Kind::own);
        save(to);
      },
      [&threads, load = std::move(load)](std::istream& from) {
        const Entry entry(threads, HandlerThreads::Kind::own);
        load(from);
      });
}

void Channel::discard_if_unhandled() {
  {
    const std::lock_guard lock(setting_);
    if (accepting() || life_.origin == Origin::added) return;
    discards_ = true;
    handler_ = [this](std::span<const Delivery> batch) { discard(life_.discarded, life_.origin, name(), batch.size()); };
    taking_.store(Taking::taking, std::memory_order_seq_cst);
  }
  wake();
}

// Behind the mutex.
void Channel::refuse_second_handler(std::string_view call) const {
  if (accepting() && discards_) environment_.state.check_open();
  if (!state_.carried() && carries_ == Carries::messages && !accepting()) return;
  throw Exception(Error(ErrorKind::bad_argument, "subgroup " + name() + " has a handler already")
                      .fix("call " + std::string(call) + " once, in place of on_delivery and on_state"));
}

void Channel::set_replica(Subgroup::StateSaver save, Subgroup::StateLoader load) {
  const std::lock_guard lock(setting_);
  refuse_state(life_.origin, name(), "replicated");
  if (!logged_) refuse_beside_history(description(), "replicated");  // the object begins with a checkpoint then
  refuse_second_handler("replicated");
  set_state_functions(std::move(save), std::move(load));
  carries_ = Carries::replica;
}

std::string_view Channel::cure_of_slowness() const noexcept {
  switch (carries_) {
    case Carries::messages: return "HandlerThread::own; for listeners of topics, [SPINDRIFT] dds_listeners = thread";
    case Carries::objects: return "a shorter on_piece, on_end or on_message";
    case Carries::replica: return "shorter methods of the replicated object";
  }
  return "";
}

ObjectChannel& Channel::attach_objects(ObjectHandlers handlers, ObjectChannel::Accuse accuse) {
  auto made = std::make_unique<ObjectChannel>(handle_, std::move(handlers));
  ObjectChannel& objects = *made;
  {
    std::lock_guard lock(setting_);
    refuse_beside_history(description(), "objects");  // it would begin among the pieces of one
    refuse_second_handler("objects");
    objects_ = std::move(made);
    carries_ = Carries::objects;
  }
  const auto deliver = [&objects, accuse = std::move(accuse)](auto batch) { objects.on_delivery(batch, accuse); };
  set_handler(deliver, HandlerThread::shared);
  return objects;
}

Duration Channel::deliver(std::span<const Delivery> batch) {
  if (!accepting()) {
    discard(life_.discarded, life_.origin, name(), batch.size());
    return {};
  }
  if (worker_) {
    worker_->give(batch);
    return {};
  }
  const Time before = environment_.clock.now();
  handler_(batch);
  return environment_.clock.now() - before;
}

bool Channel::accepts() const {
  const Taking taking = taking_.load(std::memory_order_seq_cst);
  if (taking != Taking::taking) return taking == Taking::unset && life_.origin == Origin::added;
  return !state_.busy() && (!worker_ || (!worker_->busy() && !worker_->failure()));
}

bool Channel::busy() const { return accepting() && worker_ && worker_->busy(); }

void Channel::rethrow() const {
  if (!accepting()) return;
  state_.rethrow();
  if (!worker_ || worker_->busy()) return;
  if (const std::exception_ptr failure = worker_->failure()) std::rethrow_exception(failure);
}

std::unique_ptr<views::StateReader> Channel::save_state() {
  if (accepting() && discards_ && life_.discarded.get() > 0) {
    throw Exception(Error(ErrorKind::group_closed, "this member was asked for the state of subgroup " + name() +
                                                       " for a newcomer while it left, and has discarded what makes it"));
  }
  if (!accepting() || !state_.carried()) return nullptr;
  environment_.has_workers.store(true, std::memory_order_seq_cst);
  return state_.save();
}

std::unique_ptr<views::StateWriter> Channel::load_state() {
  if (accepting() && discards_) return collect_state([](std::istream&) {});
  if (!state_.carried()) {
    throw UnloadableState(
        Error(ErrorKind::unsupported, "subgroup " + name() + " has a state with the others, and this process cannot load it")
            .fix("use the subgroup as they do: on_state before on_delivery, or the same replicated object"));
  }
  environment_.has_workers.store(true, std::memory_order_seq_cst);
  return state_.load();
}

// A full ring is worth a wake-up only when a good part of it is free again: a thread that wakes for every message would
// spend its time waking.
bool Channel::on_space() {
  if (!space_.has_waiters() || !worth_waking()) return false;
  if (!gate_->is_open()) {
    space_.let_all_go();
    return false;
  }
  space_.offer(environment_.clock.now());
  return true;
}

Time Channel::offer_space(Time now) {
  if (!worth_waking()) return never;  // on_space follows
  if (space_.next_offer() <= now) space_.offer(now);
  return space_.next_offer();
}

void SlowHandlers::on_delivery(const Channel& channel, Duration took) {
  if (took < slow_upcall) return;
  count_.add(1);
  const Time now = clock_.now();
  if (reported_ && now - *reported_ < slow_report_interval) return;
  reported_ = now;
  log::warn(log::Room::group, "slow delivery handler",
            {{"subgroup", channel.name()},
             {"fix", channel.cure_of_slowness()},
             {"ms", std::chrono::duration_cast<std::chrono::milliseconds>(took).count()},
             {"since_start", count_.get()}});
}

}  // namespace spindrift::group
