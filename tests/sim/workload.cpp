// Virtual application threads.
#include "workload.hpp"

#include <algorithm>

#include "large.hpp"
#include "payload.hpp"
#include "readers.hpp"

namespace spindrift::sim {

Workload::Workload(Scheduler& scheduler, const Options& options, Ledger& ledger, Checker& checker, Network& network,
                   Report& report)
    : scheduler_(scheduler),
      random_(options.seed, Purpose::workload),
      options_(options),
      ledger_(ledger),
      checker_(checker),
      network_(network),
      report_(report),
      members_(options.nodes.size()),
      paused_until_(options.nodes.size()),
      wake_at_half_(random_.chance(1, 2)) {
  for (const NodeOptions& node : options.nodes) echoes_left_.push_back(node.echoes);
  for (const ThreadOptions& chosen : options.threads) {
    Thread thread;
    thread.options = chosen;
    thread.sender = options.view.subgroups[chosen.subgroup].sender_rank(options.view.members[chosen.node])->value();
    threads_.push_back(thread);
  }
}

views::SendGate& Workload::gate(const Thread& thread) {
  return *members_[thread.options.node]->gate(SubgroupId(thread.options.subgroup));
}

void Workload::sleep(std::uint32_t which, Ticks at_most) {
  const Ticks until = scheduler_.now() + static_cast<Ticks>(random_.below(static_cast<std::uint64_t>(at_most)));
  scheduler_.at(until, *this, EventKind::thread, which);
}

void Workload::begin(std::uint32_t node) {
  for (std::uint32_t i = 0; i < threads_.size(); ++i) {
    if (threads_[i].options.node != node || threads_[i].state != State::before_view) continue;
    threads_[i].state = State::thinking;
    sleep(i, threads_[i].options.think_ns_max);
  }
}

void Workload::on_event(EventKind, std::uint32_t which) {
  Thread& thread = threads_[which];
  const std::uint32_t node = thread.options.node;
  if (paused_until_[node] > scheduler_.now()) return scheduler_.at(paused_until_[node], *this, EventKind::thread, which);
  switch (thread.state) {
    case State::thinking: think(which); break;
    case State::reserving: reserve(which); break;
    case State::holding: finish_message(which); break;
    case State::before_view:
    case State::waiting_for_space:
    case State::finished: break;
  }
}

void Workload::think(std::uint32_t which) {
  Thread& thread = threads_[which];
  if (thread.made == thread.options.messages) {
    thread.state = State::finished;
    return;
  }
  thread.state = State::reserving;
  if (random_.chance(1, 8)) return sleep(which, thread.options.think_ns_max);
  reserve(which);
}

void Workload::choose_message(Thread& thread, std::uint32_t which, std::uint64_t& bytes) {
  thread.seed = mix(mix(options_.seed ^ std::uint64_t{which} << 40) ^ thread.made);
  const std::uint64_t largest = options_.view.subgroups[thread.options.subgroup].profile.message_bytes_max;
  std::uint64_t choice = mix(thread.seed ^ 1);
  thread.abandons = (choice & 63) < thread.options.abandons_in_64;
  choice >>= 6;
  bytes = (choice >> 12) % (largest + 1);
  if ((choice & 7) < thread.options.largest_in_8) bytes = largest;
  if ((choice >> 3 & 7) < thread.options.empty_in_8) bytes = 0;
}

void Workload::reserve(std::uint32_t which) {
  Thread& thread = threads_[which];
  std::uint64_t bytes = 0;
  choose_message(thread, which, bytes);
  const Profile& profile = options_.view.subgroups[thread.options.subgroup].profile;
  const auto outcome = reserve_at(gate(thread), profile, bytes, thread.claim);
  if (outcome == views::SendGate::Outcome::closed) {
    thread.state = State::waiting_for_space;
    return;
  }
  if (outcome == views::SendGate::Outcome::full) {
    const SenderBook& book = ledger_.book(thread.options.subgroup, thread.sender);
    const std::uint64_t reserved = book.published.size() + book.sent.size() - book.sent_published;
    if (options_.view.subgroups[thread.options.subgroup].mode == DeliveryMode::ordered &&
        ledger_.nulls_owed(thread.options.subgroup, thread.sender) > reserved) {
      report_.hit(Probe::nulls_waited_for_space);
    }
    report_.hit(Probe::ring_full);
    thread.state = State::waiting_for_space;
    return;
  }
  if (bytes == 0) report_.hit(Probe::empty_message);
  if (bytes == profile.message_bytes_max) report_.hit(Probe::largest_message);
  if (profile.window_messages == 1) report_.hit(Probe::window_of_one);

  const smc::Reservation& reservation = thread.claim.reservation;
  check_readers(network_, report_, thread.options.node, options_.view.subgroups[thread.options.subgroup], reservation);
  thread.sent = ledger_.on_reserved(thread.options.subgroup, thread.sender, reservation, thread.seed);
  thread.state = State::holding;
  thread.acted_before = network_.endpoint(thread.options.node).actions();
  fill_payload(reservation.payload, thread.seed, 0, bytes / 16 * 8);
  sleep(which, thread.options.hold_ns_max);
}

void Workload::finish_message(std::uint32_t which) {
  Thread& thread = threads_[which];
  const std::uint32_t subgroup = thread.options.subgroup;
  const auto payload = thread.claim.reservation.payload;
  const SenderBook& book = ledger_.book(subgroup, thread.sender);
  if (thread.sent > book.sent_published && book.sent[thread.sent - 1].state == Sent::State::held)
    report_.hit(Probe::out_of_order_commit);
  if (network_.endpoint(thread.options.node).actions() > thread.acted_before + 1)
    report_.hit(Probe::reservation_held_over_steps);
  if (thread.abandons) {
    ledger_.on_abandoned(subgroup, thread.sender, thread.sent);
    gate(thread).abandon(thread.claim);
    report_.hit(Probe::abandoned);
  } else {
    fill_payload(payload, thread.seed, payload.size() / 16 * 8, payload.size());
    ledger_.on_committed(subgroup, thread.sender, thread.sent,
                         checker_.delivered_before(Rank(thread.options.node), subgroup));
    gate(thread).commit(thread.claim);
  }
  network_.endpoint(thread.options.node).wake();
  after_message(which);
}

void Workload::after_message(std::uint32_t which) {
  Thread& thread = threads_[which];
  ++thread.made;
  thread.state = State::thinking;
  sleep(which, thread.made % thread.options.burst == 0 ? thread.options.think_ns_max : 1);
}

// A thread that waits for space hears of it here or never: a forgotten call is a hang.
void Workload::on_space(std::uint32_t node, std::uint32_t subgroup) {
  for (std::uint32_t i = 0; i < threads_.size(); ++i) {
    Thread& thread = threads_[i];
    if (thread.options.node != node || thread.options.subgroup != subgroup || thread.state != State::waiting_for_space)
      continue;
    if (wake_at_half_ && gate(thread).is_open() && !gate(thread).half_free()) continue;
    thread.state = State::thinking;
    sleep(i, 100);
  }
}

void Workload::on_upcall(std::uint32_t node, std::uint32_t subgroup) {
  if (echoes_left_[node] == 0 || !random_.chance(1, 4)) return;
  const auto rank = options_.view.subgroups[subgroup].sender_rank(options_.view.members[node]);
  if (!rank) return;
  views::SendGate& gate = *members_[node]->gate(SubgroupId(subgroup));
  const std::uint64_t seed = random_.next();
  views::SendGate::Claim claim;
  const Profile& profile = options_.view.subgroups[subgroup].profile;
  const std::uint64_t bytes = random_.below(profile.message_bytes_max + 1);
  if (reserve_at(gate, profile, bytes, claim) != views::SendGate::Outcome::reserved) return;
  const std::size_t sent = ledger_.on_reserved(subgroup, rank->value(), claim.reservation, seed);
  fill_payload(claim.reservation.payload, seed, 0, claim.reservation.payload.size());
  ledger_.on_committed(subgroup, rank->value(), sent, checker_.delivered_before(Rank(node), subgroup));
  gate.commit(claim);
  --echoes_left_[node];
  report_.hit(Probe::sent_from_upcall);
}

bool Workload::anybody_waits() const {
  return std::any_of(threads_.begin(), threads_.end(), [&](const Thread& thread) {
    return thread.state == State::waiting_for_space || thread.state == State::holding;
  });
}

}  // namespace spindrift::sim
