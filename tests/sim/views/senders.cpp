// Virtual application threads that send through gates.
#include "senders.hpp"

#include <algorithm>

#include "../large.hpp"
#include "../readers.hpp"

namespace spindrift::sim {

using views::SendGate;

Senders::Senders(Scheduler& scheduler, const Plan& plan, History& history, const Network& network, Report& report, Wake wake)
    : scheduler_(scheduler),
      random_(plan.seed, Purpose::workload),
      plan_(plan),
      history_(history),
      network_(network),
      report_(report),
      wake_(std::move(wake)) {}

void Senders::sleep(std::uint32_t which, Ticks at_most) {
  if (hurry_) at_most = std::min<Ticks>(at_most, 1000);
  scheduler_.at(scheduler_.now() + static_cast<Ticks>(random_.below(static_cast<std::uint64_t>(at_most))), *this,
                EventKind::thread, which);
}

void Senders::begin(std::uint32_t index, std::uint32_t node, views::Member& member) {
  processes_.resize(index + 1);
  Process& process = processes_[index];
  process.member = &member;
  process.node = node;
  process.echoes_left = plan_.nodes[node].echoes;
  for (std::uint32_t s = 0; s < plan_.subgroups.size(); ++s) process.echo_streams.push_back(history_.add_stream(index, s));
  for (const SenderPlan& plan : plan_.senders) {
    if (plan.node == node) add(index, plan);
  }
}

void Senders::add(std::uint32_t index, const SenderPlan& plan) {
  const auto which = static_cast<std::uint32_t>(threads_.size());
  Thread& thread = threads_.emplace_back();
  thread.plan = plan;
  thread.process = index;
  thread.stream = history_.add_stream(index, plan.subgroup);
  processes_[index].threads.push_back(which);
  sleep(which, plan.think_ns_max);
}

void Senders::on_event(EventKind, std::uint32_t which) {
  const Thread& thread = threads_[which];
  const Process& process = processes_[thread.process];
  if (process.gone) return;
  if (process.paused_until > scheduler_.now()) return scheduler_.at(process.paused_until, *this, EventKind::thread, which);
  if (thread.state == State::thinking)
    reserve(which);
  else if (thread.state == State::holding)
    finish_message(which);
}

std::uint64_t Senders::draw_bytes(std::uint32_t subgroup, std::uint32_t largest_in_8, bool large) {
  const Profile& profile = plan_.subgroups[subgroup].profile;
  const std::uint64_t largest = profile.message_bytes_max;
  const std::uint64_t smallest = large ? profile.ring_payload_max() + 1 : smallest_message;
  if (random_.chance(largest_in_8, 8)) return largest;
  return random_.spread(smallest, std::max(smallest, largest));
}

void Senders::reserve(std::uint32_t which) {
  Thread& thread = threads_[which];
  Process& process = processes_[thread.process];
  if (finished_ || thread.made == thread.plan.messages) {
    thread.state = State::finished;
    return;
  }
  const auto gate = process.member->gate(SubgroupId(thread.plan.subgroup));
  const Profile& profile = plan_.subgroups[thread.plan.subgroup].profile;
  const std::uint64_t bytes = draw_bytes(thread.plan.subgroup, thread.plan.largest_in_8, thread.plan.large);
  const SendGate::Outcome outcome =
      !gate ? SendGate::Outcome::closed : reserve_at(*gate, profile, bytes, thread.claim);
  if (outcome != SendGate::Outcome::reserved) {
    const auto state = process.member->state();
    const bool over = state == views::MemberState::left || state == views::MemberState::failed ||
                      (outcome == SendGate::Outcome::closed && process.member->leave_requested());
    thread.state = over ? State::finished : State::waiting;
    return;
  }
  thread.abandons = random_.chance(thread.plan.abandons_in_64, 64);
  const View& view = *history_.view(*history_.view_of(thread.process));
  check_readers(network_, report_, thread.process, view.subgroups[thread.plan.subgroup], thread.claim.reservation);
  if (!thread.abandons) history_.write_message(thread.stream, thread.claim.reservation.payload);
  thread.state = State::holding;
  thread.reserved_in = *history_.view_of(thread.process);
  sleep(which, thread.plan.hold_ns_max);
}

void Senders::finish_message(std::uint32_t which) {
  Thread& thread = threads_[which];
  Process& process = processes_[thread.process];
  if (thread.reserved_in != history_.view_of(thread.process)) report_.hit(Probe::claim_held_over_views);
  SendGate& gate = *process.member->gate(SubgroupId(thread.plan.subgroup));  // no view that drops it begins before this
  if (thread.abandons) {
    gate.abandon(thread.claim);
  } else {
    history_.on_committed(thread.stream);
    gate.commit(thread.claim);
  }
  wake_(thread.process);
  ++thread.made;
  thread.state = State::thinking;
  sleep(which, thread.made % thread.plan.burst == 0 ? thread.plan.think_ns_max : 1);
}

// Their events of before still come, and do no harm.
void Senders::resume(std::uint32_t index) {
  for (const std::uint32_t which : processes_[index].threads) {
    if (threads_[which].state == State::thinking || threads_[which].state == State::holding) sleep(which, 100);
  }
}

// A waiting thread hears of space, of an open gate, and of the end here or never: a forgotten call is a hang.
void Senders::on_space(std::uint32_t index, std::uint32_t subgroup) {
  if (index >= processes_.size()) return;
  for (const std::uint32_t which : processes_[index].threads) {
    Thread& thread = threads_[which];
    if (thread.plan.subgroup != subgroup || thread.state != State::waiting) continue;
    thread.state = State::thinking;
    sleep(which, 100);
  }
}

void Senders::on_upcall(std::uint32_t index, std::uint32_t subgroup) {
  Process& process = processes_[index];
  if (finished_ || process.echoes_left == 0 || !random_.chance(1, 4)) return;
  const auto gate = process.member->gate(SubgroupId(subgroup));
  if (!gate) return;
  SendGate::Claim claim;
  const std::uint64_t bytes = draw_bytes(subgroup, 0, false);
  if (reserve_at(*gate, plan_.subgroups[subgroup].profile, bytes, claim) != SendGate::Outcome::reserved) return;
  const std::uint32_t stream = process.echo_streams[subgroup];
  history_.write_message(stream, claim.reservation.payload);
  history_.on_committed(stream);
  gate->commit(claim);
  --process.echoes_left;
  report_.hit(Probe::sent_from_upcall);
}

bool Senders::holds_claim(std::uint32_t index) const {
  const auto& threads = processes_[index].threads;
  return std::any_of(threads.begin(), threads.end(),
                     [&](std::uint32_t which) { return threads_[which].state == State::holding; });
}

bool Senders::busy(std::uint32_t index) const {
  const Process& process = processes_[index];
  return std::any_of(process.threads.begin(), process.threads.end(), [&](std::uint32_t which) {
    const Thread& thread = threads_[which];
    const auto gate = process.member->gate(SubgroupId(thread.plan.subgroup));
    if (thread.state == State::waiting) return gate && gate->is_open();
    return thread.state != State::finished;
  });
}

}  // namespace spindrift::sim
