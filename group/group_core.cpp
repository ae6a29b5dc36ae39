// The poller, what the protocol tells the application, and the end.
#include <spindrift/group/group_core.hpp>

#include <sched.h>

#include <algorithm>
#include <utility>

#include <spindrift/core/ids_text.hpp>
#include <spindrift/core/limits.hpp>
#include <spindrift/core/log.hpp>
#include <spindrift/group/differing_nodes.hpp>
#include <spindrift/group/loss_report.hpp>
#include <spindrift/group/poll_loop.hpp>
#include <spindrift/group/view_words.hpp>
#include <spindrift/group/steady_layout.hpp>

namespace spindrift {
namespace {

/// Memory that the poller gives back when it gets no more: the words about the end of a member need some. It is of the
/// thread's own heap, so it can be had again there.
thread_local std::unique_ptr<std::byte[]> spare;
constexpr std::size_t spare_bytes = 64 * 1024;

using group::wall_clock_ms;
using views::MemberState;

bool is_over(MemberState state) noexcept { return state == MemberState::left || state == MemberState::failed; }

/// The roster of the view that this member left for; null: it has not left one.
const Roster* roster_left_with(const views::Member& member) {
  if (member.state() != MemberState::left || member.epoch() == nullptr) return nullptr;
  return member.epoch()->rosters().next(member.epoch()->change().decree());
}

/// Wakes who waits to send what this node's disk has no space for.
void tell_of_disk(std::uint64_t full_since_ms, Counter told, const group::Channels& channels) {
  const bool news = full_since_ms != 0 && told.get() == 0;
  told.set(full_since_ms);
  if (!news) return;
  for (const auto& channel : channels) channel->let_all_go();
}

Error stuck_in_upcall(const group::UpcallHeartbeats::Stuck& stuck) {
  const auto ms = std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(stuck.lasted).count());
  if (stuck.whose.held_by == group::UpcallHeartbeats::HeldBy::disk) {
    return Error(ErrorKind::resource,
                 "the disk did not take the record of views for " + ms + " ms, and everybody waited for it")
        .fix("see what holds up the disk of [PERS] file_path, or raise [SPINDRIFT] handler_stuck_after_ms");
  }
  return Error(ErrorKind::handler_failed,
               "a handler was at work for " + ms + " ms on the thread that runs the protocol, and everybody waited for it")
      .fix("let it return, give it HandlerThread::own (listeners of topics: [SPINDRIFT] dds_listeners = thread), or raise "
           "handler_stuck_after_ms");
}

/// Some subgroup's state is on its way here, or the application loads it.
bool loads_state(const views::Member& member, const group::Channels& channels, const group::Environment& environment) {
  return environment.lacks_messages() || std::any_of(channels.begin(), channels.end(), [&](const auto& channel) {
           return member.deliveries().loading(channel->id()) || channel->state_work().loading();
         });
}

void tell_application(const GroupOptions& options, const group::Channels& channels, const std::vector<SubgroupId>& created,
                      const NewView& news) {
  if (options.on_created) {
    for (const SubgroupId id : created) options.on_created(channels[id].handle());
  }
  if (options.on_view) options.on_view(news);
}

}  // namespace

GroupCore::~GroupCore() {
  attached_.clients.reset();  // it uses what ends here
  if (poller_.joinable() && !environment_.handler_threads->is_one()) {
    try {
      leave();
    } catch (const Exception&) {  // the member's own failure: it was logged when it stopped
    }
  }
  end_poller();
  attached_.replicas.end_checkpoints();
  if (environment_.fabric) environment_.fabric->count_in(nullptr);  // the counters go first
}

void GroupCore::end_poller() noexcept {
  if (!poller_.joinable()) return;
  abort_.store(true, std::memory_order_seq_cst);
  environment_.fabric->wake();
  poller_.join();
}

// Runs until the group has ended.
void GroupCore::poll() {
  using Next = group::PollLoop::Next;
  const group::HandlerThreads::Entry entry(*environment_.handler_threads, group::HandlerThreads::Kind::poller);
  fabric::Fabric& fabric = *environment_.fabric;
  const Polling polling = config_->polling();
  group::PollLoop loop(polling.mode == PollMode::block, polling.spin);
  spare = std::make_unique<std::byte[]>(spare_bytes);
  for (bool over = false; !over;) {
    const auto [progress, wake_at] = step();
    try {
      publish_state();
    } catch (const std::bad_alloc&) {
      spare.reset();
      member_->stop(out_of_memory());
      published_ = MemberState::idle;  // not all were told
      publish_state();
    }
    over = abort_.load(std::memory_order_seq_cst) || is_over(published_);
    switch (progress || over ? loop.on_work() : loop.on_nothing(environment_.clock.now())) {
      case Next::nothing: break;
      case Next::yield: sched_yield(); break;
      case Next::prepare: fabric.prepare_sleep(); break;
      case Next::cancel: fabric.cancel_sleep(); break;
      case Next::sleep: {
        counters_->sleeps.add(1);
        const Time deadline = std::min(wake_at, status_->look(environment_.clock.now()));  // the state may be another now
        fabric.sleep(deadline);
        if (environment_.clock.now() >= deadline) loop.on_slept_through();
        break;
      }
    }
  }
}

views::Member::Step GroupCore::step() {
  try {
    const bool taken = take_from_application();
    if (environment_.has_workers.load(std::memory_order_relaxed)) {
      for (const auto& channel : channels_) channel->rethrow();
    }
    const Time now = environment_.clock.now();
    views::Member::Step done = member_->step(now);
    done.progress |= follow_states(now);
    done.progress |= taken;
    done.progress |= read_tables();
    // A member that others wait for in vain ends by itself, and says why; nobody has to remove it.
    const group::ConclusionWatch::Finding held_up = reports_->conclusion.look(*member_, channels_, now);
    if (held_up.stuck) member_->stop(*held_up.stuck);
    if (const auto stuck = heartbeats_->take_stuck()) member_->stop(stuck_in_upcall(*stuck));
    done.wake_at = std::min({done.wake_at, channels_.offer_space(now), reports_->leave.look(*member_, now),
                             held_up.look_again, reports_->look(*member_, channels_, environment_.paused, now)});
    reports_->joining.look(*member_, options_.on_waiting, options_.on_last_view_awaited);
    status_->on_waits({reports_->joining.words(), reports_->leave.waits(), reports_->sends.words(), {},
                       group::words_of_loss(*member_)});
    status_->on_pauses(reports_->pauses.told());
    done.wake_at = std::min(done.wake_at, status_->look(now));
    return done;
  } catch (const std::bad_alloc&) {
    spare.reset();
    member_->stop(out_of_memory());
  } catch (const group::UnloadableState& found) {
    member_->stop(found.error());
  } catch (const group::LayoutVaries& found) {
    member_->stop(found.error());
  } catch (const std::exception& thrown) {
    member_->stop(Error(ErrorKind::handler_failed, std::string("a handler threw: ") + thrown.what())
                      .fix("let handlers deal with their own errors: a member that skips a message differs from the rest"));
  } catch (...) {
    member_->stop(Error(ErrorKind::handler_failed, "a handler threw what is no std::exception")
                      .fix("throw a std::exception with words, or nothing, from handlers, from functions that save and load "
                           "states, and from methods of replicated objects"));
  }
  return {.progress = true, .wake_at = never};
}

// Takes what the application's threads have left for the pass, beside messages of subgroups. False: nothing.
bool GroupCore::take_from_application() {
  const bool written =
      attached_.tables.any() && member_->epoch() != nullptr && attached_.tables.write(member_->epoch()->table());
  if (attached_.rosters.any() && member_->epoch() != nullptr) member_->change_roster(attached_.rosters.take());
  if (attached_.revivals.any()) attached_.revivals.take(*member_);
  if (attached_.adoptions.any()) attached_.adoptions.take(*member_);
  if (environment_.awaited.any()) {
    environment_.awaited.take(
        [&](group::AwaitedCall& call) { call.outcome = group::awaited_members(*member_, call.subgroup); });
  }
  if (!private_post_.any()) return written;
  const group::PrivatePost::Posted posted = private_post_.post();
  for (const auto& message : posted.to_self) on_private(self(), message);
  if (attached_.replicas.any()) {
    const group::UpcallHeartbeats::Upcall upcall(*heartbeats_, std::nullopt);
    attached_.replicas.answer_waiting();
  }
  return posted.any || written;
}

// Behind a pass: gives the program what it missed of logs and histories, by the ordinary way, but not to observers, which
// see what is delivered now. Tells objects and whoever waits what has come of states. A state that an object could not take
// is none that is here: that member leaves as by `leave`, which no poller could wait for. True: something was given.
bool GroupCore::follow_states(Time now) {
  if (environment_.histories) environment_.histories->expire(now);
  bool given = false;
  if (environment_.lacks_messages()) {
    const auto takes = [this](SubgroupId id) {
      return channels_[id].accepts() && !private_post_.holds_up(channels_[id]);
    };
    const auto deliver = [this](SubgroupId id, std::span<const Delivery> batch) {
      const group::UpcallHeartbeats::Upcall upcall(*heartbeats_, id);
      if (const auto taken = attached_.replicas.replay(id, batch, environment_.clock)) return *taken;
      channels_[id].deliver(batch);
      return batch.size();
    };
    const auto busy = [this](SubgroupId id) { return channels_[id].busy(); };
    const auto begins = [this](SubgroupId id) { return attached_.replicas.begins(id); };
    auto stepped = environment_.give_lacking(takes, begins, deliver, busy);
    if (!stepped) member_->stop(std::move(stepped).error());
    given = stepped && *stepped;
  }
  for (const auto& news : environment_.durable.take_untold()) news.tell(*heartbeats_);
  environment_.trim_logs([this](SubgroupId id) { return attached_.replicas.use_of(id); });
  const bool loads = environment_.state.loading() && loads_state(*member_, channels_, environment_);
  if (attached_.replicas.any() && member_->epoch() != nullptr) attached_.replicas.on_pass(*member_);
  const bool refused = attached_.replicas.refusal().has_value();
  if (environment_.state.loading() && !loads && !refused) environment_.state.on_loading(false);
  const bool struck = member_->leave_requested() && environment_.state.open();  // by the group's roster
  if (struck || (refused && !member_->leave_requested())) begin_to_leave();
  return given;
}

void GroupCore::begin_to_leave() {
  environment_.state.close();
  for (const auto& channel : channels_) channel->discard_if_unhandled();
  private_post_.close();
  member_->request_leave();
  for (const auto& channel : channels_) channel->let_all_go();
}

// Behind a pass. True: something of the program's tables was new.
bool GroupCore::read_tables() {
  if (!attached_.tables.any() || member_->epoch() == nullptr || is_over(member_->state())) return false;
  const views::Epoch& epoch = *member_->epoch();
  const group::Tables::Look look = attached_.tables.read(epoch.table(), epoch.change().everybody_ready());
  for (const group::Tables::Fault& fault : look.faults) accuse(fault.node, fault.what);
  for (const auto* const handler : look.handlers) {
    const group::UpcallHeartbeats::Upcall upcall(*heartbeats_, std::nullopt);
    (*handler)();
  }
  return look.any || !look.faults.empty();
}

// Tells waiting application threads what the poller knows.
void GroupCore::publish_state() {
  const MemberState state = member_->state();
  if (environment_.logged)
    tell_of_disk(environment_.logged->disk_full_since_ms(), counters_->disk_full_since_ms, channels_);
  if (views::is_between_views(state)) status_->on_waiting(group::awaited_applications(*member_, channels_));
  if (state == published_) return;
  published_ = state;
  counters_->stranded_since_ms.set(state == MemberState::stranded ? wall_clock_ms() : 0);
  // All members have the view: what was wanted of the roster is told now.
  if (state == MemberState::active) {
    attached_.rosters.on_active();
    attached_.revivals.on_active(member_->epoch()->view());
    attached_.adoptions.on_active(*member_);
  }
  const std::optional<Error>& failure = state == MemberState::left ? attached_.replicas.refusal() : member_->failure();
  std::optional<group::MemberStatus::End> end;
  if (state == MemberState::left) end = {{"left", {}, wall_clock_ms()}};
  if (failure) end = {{std::string(to_string(failure->kind())), failure->to_string(), wall_clock_ms()}};
  status_->on_state(std::string(to_string(state)), std::move(end));

  const auto handler = environment_.state.on_state(state, failure);
  for (const auto& channel : channels_) channel->let_all_go();
  if (is_over(state)) {
    private_post_.end();
    environment_.durable.end();
    group::tell_end(*environment_.audit, self(), failure);
    observers_->end(failure ? failure->to_string() : environment_.state.own_name() + " has left the group");
    const Error why =
        failure ? *failure : Error(ErrorKind::group_closed, environment_.state.own_name() + " has left the group");
    attached_.replicas.on_end(why);
    attached_.tables.on_end(why);
    attached_.tell_askers(config_->group_name(), why);
    attached_.rosters.on_end(why, roster_left_with(*member_));
    attached_.revivals.on_end(why);
    attached_.adoptions.on_end(why);
    environment_.trims.on_end(why);
    environment_.awaited.on_end(why);
  }
  if (handler) environment_.state.call(handler, *failure);
}

void GroupCore::on_durable(SubgroupId id, std::uint64_t version) {
  const auto handler = environment_.durable.advance(id, version);
  if (environment_.logged) environment_.logged->on_durable(id, version, attached_.replicas.use_of(id));
  if (attached_.replicas.any()) attached_.replicas.on_durable(id, version);
  group::DurableFrontiers::News{id, version, handler}.tell(*heartbeats_);
}

void GroupCore::on_delivery(SubgroupId id, std::span<const Delivery> batch) {
  if (environment_.histories) batch = environment_.histories->take(id, batch);
  observers_->on_delivery(id, batch);
  if (environment_.logged) environment_.logged->note(id, batch);
  group::Channel& channel = channels_[id];
  Duration took{};
  {
    const group::UpcallHeartbeats::Upcall upcall(*heartbeats_, id);
    took = channel.deliver(batch);
  }
  reports_->slow_handlers.on_delivery(channel, took);
}

void GroupCore::on_view(const NewView& news) {
  counters_->views.add(1);
  status_->on_view(news, wall_clock_ms());
  const View before = environment_.state.view();
  // A member that is removed may be in the new roster no more.
  group::tell_view(*environment_.audit, news, before.members.empty() ? news.view.members : news.joined, [&](NodeId node) {
    return (news.view.roster.contains(node) ? news.view.roster : before.roster).endpoint_of(node);
  });
  for (const NodeId node : news.left) private_post_.on_gone(node);
  for (const Removal& removal : news.failed) private_post_.on_gone(removal.node);
  attached_.tell_askers(config_->group_name(), news.view.roster);  // before whoever wanted a change starts a node that asks
  attached_.rosters.on_view(news.view);  // before anybody sees that there is a view, and asks for its roster
  environment_.on_view(news, self(), member_->epoch()->loaded());
  const std::vector<SubgroupId> created = channels_.on_view(environment_, *member_, news.view, counters_->block);
  for (const SubgroupId id : created) {
    reports_->add(counters_->block, id, news.view.subgroup(id).name);
    observers_->add(id, news.view.subgroup(id));
  }
  environment_.state.on_loading(loads_state(*member_, channels_, environment_));
  observers_->on_view();
  for (const SubgroupId id : news.state_lost) {
    log::warn(log::Room::group, "all members that had the state are gone; it begins anew",
              {{"subgroup", news.view.subgroup(id).name}});
  }
  group::warn_of_inadequate(news.view);
  group::warn_of_version(before, news.view);
  status_->on_roster(reports_->sizes.on_view(before, news.view), group::words_of_version(news.view.roster, news.behind));
  attached_.replicas.on_view(news, *member_, environment_.logged.get());
  attached_.tables.on_view(news.view, member_->epoch()->table());
  // Senders hear at once that the others end their objects, and so do not go on with them when they are senders again.
  for (const auto& channel : channels_) {
    ObjectChannel* const objects = channel->objects();
    if (objects != nullptr && !ObjectBoundary::of(news.view, channel->id(), self(), {}).lets_go_on(self())) {
      const group::UpcallHeartbeats::Upcall upcall(*heartbeats_, channel->id());
      objects->on_dropped();
    }
  }
  const group::UpcallHeartbeats::Upcall upcall(*heartbeats_, std::nullopt);
  tell_application(options_, channels_, created, news);
}

// Without a handler there is nothing under way.
void GroupCore::on_boundary(SubgroupId id, const ObjectBoundary& boundary) {
  ObjectChannel* const objects = channels_[id].objects();
  if (objects == nullptr) return;
  const group::UpcallHeartbeats::Upcall upcall(*heartbeats_, id);
  objects->on_boundary(boundary);
}

void GroupCore::on_dropped(SubgroupId id, std::uint64_t messages) {
  group::Channel& channel = channels_[id];
  log::warn(log::Room::group, "messages may not have reached everybody",
            {{"subgroup", channel.name()}, {"messages", messages}});
  const group::UpcallHeartbeats::Upcall upcall(*heartbeats_, id);
  if (ObjectChannel* const objects = channel.objects()) objects->on_dropped();
  if (options_.on_dropped) options_.on_dropped(channel.handle(), messages);
}

void GroupCore::on_turned_away(NodeId node, const std::string& reason) {
  // While it looks for its group nobody waits for this thread.
  const bool looks = member_->state() == views::MemberState::looking;
  const std::string differing = looks ? group::differing_nodes(*directory_, agreed_values(*config_), {node}) : std::string();
  const std::string why = differing.empty() ? reason : reason + ": " + differing;
  const Roster roster = environment_.state.view().roster;
  const bool listed = roster.contains(node);
  reports_->refused_nodes.tell(*environment_.audit, node, why,
                               listed ? roster.endpoint_of(node) : config_->address_of(node), environment_.clock.now());
}

void GroupCore::on_private(NodeId from, std::span<const std::byte> message) {
  const auto opened = private_post_.open(from, message);
  if (!opened) return;
  {
    const group::UpcallHeartbeats::Upcall upcall(*heartbeats_, std::nullopt);
    if (opened->tag != group::PrivateMessages::of_application) {
      attached_.replicas.on_private(opened->tag, from, opened->bytes);
    } else if (options_.on_private) {
      options_.on_private(from, opened->bytes);
    }
  }
  private_post_.on_taken(from, message);
}

void GroupCore::accuse(NodeId node, const std::string& what) {
  const group::UpcallHeartbeats::Interlude protocol(*heartbeats_);
  member_->accuse(node, what);
}

}  // namespace spindrift
