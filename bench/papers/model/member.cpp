// The poller's two ways to work, and the application threads.
#include <spindrift/bench/papers/model/member.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <spindrift/core/check.hpp>

namespace spindrift::bench::model {

namespace {

constexpr std::uint64_t real_payload_bytes = 8;  ///< a record's number of bytes here; the experiment's size is charged
constexpr std::size_t counters_per_subgroup = smc::Multicast::counters_max;

std::unique_ptr<std::byte[], decltype(&std::free)> zeroed(std::uint64_t bytes) {
  const std::uint64_t size = (bytes + sst::page_bytes - 1) / sst::page_bytes * sst::page_bytes;
  auto* memory = static_cast<std::byte*>(std::aligned_alloc(sst::page_bytes, size));  // NOLINT
  CHECK(memory != nullptr);
  std::fill_n(memory, size, std::byte{0});
  return {memory, &std::free};
}

std::uint64_t seed_of(const Experiment& experiment, std::uint32_t rank) { return experiment.seed << 32 | rank; }

}  // namespace

ModeledMember::ModeledMember(const View& view, const Experiment& experiment, Network& network, std::uint32_t rank,
                             std::uint64_t messages)
    : view_(view),
      experiment_(experiment),
      network_(network),
      endpoint_(network.endpoint(rank)),
      counters_(CounterBlock::in_memory(counters_per_subgroup * view.subgroups.size())),
      row_(zeroed(sst::RowLayout(view, view.members[rank]).bytes())),
      ablated_(experiment.system.policy),
      random_(seed_of(experiment, rank)),
      // The phases and the lock have seeds of their own: systems that are compared meet the same phases.
      phases_(software(), Random(~seed_of(experiment, rank) - (std::uint64_t{1} << 16))),
      lock_{Random(~seed_of(experiment, rank))},
      delivered_{.wanted = messages} {
  const NodeId self = view.members[rank];
  const std::uint64_t row_bytes = sst::RowLayout(view, self).bytes();
  table_ = std::make_unique<sst::Table>(view, self, std::span(row_.get(), row_bytes));
  for (std::uint32_t peer = 0; peer < view.members.size(); ++peer) {
    if (peer == rank) continue;
    table_->attach_mirrored(Rank(peer), network.mirror(rank, peer), fabric::PeerId(peer), fabric::RegionKey(rank));
  }
  smc::Policy policy = experiment.system.policy;
  if (experiment.large) {
    policy.relay = *experiment.large;
    attach_bulk(rank);
  }
  scheduler_ = std::make_unique<smc::SubgroupScheduler>(*table_, policy);
  for (std::uint32_t s = 0; s < view.subgroups.size(); ++s) {
    scheduler_->add(SubgroupId(s), *this, counters_);
    scheduler_->multicast(SubgroupId(s))->start();
    if (s >= experiment.active_subgroups || rank >= experiment.senders) continue;
    const bool delayed = rank >= experiment.senders - experiment.delayed;
    if (delayed && experiment.delay_ns == for_ever) continue;
    Producer& producer = producers_.emplace_back();
    producer.subgroup = s;
    producer.delay = delayed ? experiment.delay_ns : 0;
  }
}

void ModeledMember::attach_bulk(std::uint32_t rank) {
  for (std::uint32_t s = 0; s < view_.subgroups.size(); ++s) {
    const SubgroupView& subgroup = view_.subgroups[s];
    sst::BulkRings& bulk = table_->bulk(SubgroupId(s));
    if (subgroup.sender_rank(view_.members[rank])) {
      bulk.set_own(network_.allocate_bulk(subgroup.profile.bulk_ring_bytes).memory);
    }
    const fabric::Region& mirrors = network_.bulk_mirrors(subgroup, s, rank);
    if (!mirrors.memory.empty()) bulk.set_mirrors(mirrors.memory);
    for (std::uint32_t peer = 0; peer < view_.members.size(); ++peer) {
      if (peer != rank) bulk.attach_mirrored(view_.members[peer], network_.bulk_mirrors(subgroup, s, peer).key);
    }
  }
}

double Random::next() noexcept {
  state_ += 0x9e3779b97f4a7c15;
  std::uint64_t value = (state_ ^ (state_ >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return static_cast<double>((value ^ (value >> 31)) >> 11) * 0x1p-53;
}

double Random::waiting() noexcept { return -std::log(1 - next()); }

double SlowPhases::slowness(Ticks when) noexcept {
  if (software_.slow_share <= 0) return 1;
  while (when >= ends_) {
    slow_ = random_.next() < software_.slow_share;
    ends_ += software_.phase_ns * random_.waiting();
  }
  return slow_ ? software_.slow_times : 1;
}

Ticks ModeledMember::step(Ticks now) {
  CHECK(now >= endpoint_.clock);
  endpoint_.clock = now;
  const Ticks next = experiment_.system.in_turn ? evaluate_next(now) : pass(now);
  const Ticks late = jitter * random_.next() * (endpoint_.clock - now);
  endpoint_.clock += late;
  account_.busy += endpoint_.clock - now;
  return std::max(next, endpoint_.clock);
}

Ticks ModeledMember::pass(Ticks now) {
  const std::uint64_t lines = network_.land(table_->self().value(), now);
  endpoint_.clock += software().fresh_line_ns * static_cast<double>(lines);
  produce_until(now);
  const std::uint64_t activity_words = table_->layout(table_->self()).activity_words() * (view_.members.size() - 1);
  endpoint_.clock += software().row_ns * static_cast<double>(activity_words);
  const auto progress = scheduler_->run(endpoint_, *this, Time(Duration(static_cast<Duration::rep>(now))));
  CHECK(progress);
  account_.active += endpoint_.clock - now;
  if (*progress) return endpoint_.clock;
  Ticks next = for_ever;
  if (scheduler_->holds_back())
    next = endpoint_.unsent_below(smc::unsent_most(experiment_.system.policy, view_.members.size() - 1));
  for (const Producer& producer : producers_) {
    if (!producer.full) next = std::min(next, producer.next);
  }
  return std::max(next, endpoint_.clock);
}

// As Derecho: one subgroup after another, its predicates each post what they changed; the thread never sleeps.
Ticks ModeledMember::evaluate_next(Ticks now) {
  const std::uint32_t subgroup = turn_;
  turn_ = (turn_ + 1) % static_cast<std::uint32_t>(view_.subgroups.size());
  smc::Multicast& multicast = *scheduler_->multicast(SubgroupId(subgroup));
  const smc::Policy& policy = experiment_.system.policy;
  network_.land(table_->self().value(), now);
  const Ticks posting_before = endpoint_.posting_ns;
  const bool changed = send_and_receive(multicast, smc::publish_bytes(policy, table_->backlog(endpoint_, multicast.id())));
  push();
  const bool delivered = deliver(multicast, policy.turn);
  push();
  const bool busy = changed || delivered;
  if (busy) endpoint_.clock += software().contention_ns;
  const Ticks took = endpoint_.clock - now;
  if (subgroup < experiment_.active_subgroups) account_.active += took;
  Ticks unlocked = busy ? 0 : took;
  if (experiment_.system.lock == Lock::released_to_post) unlocked += endpoint_.posting_ns - posting_before;
  produce_between_locks(now, unlocked);
  return endpoint_.clock;
}

std::uint64_t ModeledMember::received_messages(const smc::Multicast& multicast) {
  std::uint64_t count = 0;
  for (const std::uint64_t of : multicast.received_of()) count += of;
  return count;
}

// The first half of the protocol's step and what it costs. A record has few bytes here and stands for a message of the
// experiment's size.
bool ModeledMember::send_and_receive(smc::Multicast& multicast, std::uint64_t publish_bytes_max) {
  const std::uint64_t received_before = received_messages(multicast);
  const std::uint64_t sent_before = multicast.ring() ? multicast.ring()->committed_count() : 0;
  const std::uint64_t records = publish_bytes_max / smc::record_bytes(experiment_.message_bytes) + (publish_bytes_max > 0);
  const bool changed = ablated_.send_and_receive(multicast, records * smc::record_bytes(real_payload_bytes));
  CHECK(!multicast.fault());
  const std::uint64_t sent = multicast.ring() ? multicast.ring()->committed_count() - sent_before : 0;
  const bool ordered = experiment_.mode == DeliveryMode::ordered;
  const std::uint64_t received = ordered ? received_messages(multicast) - received_before - sent : 0;
  if (sent > 0) account_.sent.add(sent);
  if (received > 0) account_.received.add(received);
  endpoint_.clock += software().evaluate_ns + software().row_ns * static_cast<double>(view_.members.size()) +
                     software().collect_ns * static_cast<double>(sent) +
                     software().receive_ns * static_cast<double>(received);
  return changed;
}

bool ModeledMember::deliver(smc::Multicast& multicast, const smc::TurnLimits& turn) {
  delivered_.in_step = 0;
  const bool delivered = multicast.deliver(turn);
  CHECK(!multicast.fault());
  if (delivered_.in_step > 0) account_.delivered.add(delivered_.in_step);
  // In unordered mode what is received is delivered at once.
  if (experiment_.mode == DeliveryMode::unordered)
    endpoint_.clock += software().receive_ns * static_cast<double>(delivered_.in_step);
  return delivered;
}

void ModeledMember::push() {
  const bool pushed = static_cast<bool>(table_->push(endpoint_));
  CHECK(pushed);
}

void ModeledMember::on_delivery(SubgroupId subgroup, std::span<const Delivery> batch) {
  const auto bytes = static_cast<double>(experiment_.message_bytes);
  Ticks each = software().deliver_ns + experiment_.message_upcall_ns;
  if (experiment_.copies.out) each += bytes * software().copy_ns_per_byte;
  endpoint_.clock += software().upcall_ns;

  const NodeId self = view_.members[table_->self().value()];
  const auto own = std::find_if(producers_.begin(), producers_.end(),
                                [&](const Producer& producer) { return producer.subgroup == subgroup.value(); });
  for (const Delivery& delivery : batch) {
    endpoint_.clock += each;
    ++delivered_.all;
    if (delivered_.all == delivered_.wanted / 4) account_.quarter_at = endpoint_.clock;
    if (delivered_.all == delivered_.wanted) account_.done_at = endpoint_.clock;
    if (delivery.sender != self) continue;
    CHECK(own != producers_.end() && !own->sent.empty());
    account_.latency += endpoint_.clock - own->sent.front();
    account_.own_messages += 1;
    own->sent.pop_front();
  }
  delivered_.in_step += batch.size();
}

void ModeledMember::on_space(SubgroupId subgroup) {
  for (Producer& producer : producers_) {
    if (producer.subgroup != subgroup.value() || !producer.full) continue;
    producer.full = false;
    producer.waited += endpoint_.clock - producer.waits_since;
    producer.next = std::max(producer.next, endpoint_.clock);
  }
}

bool ModeledMember::produce(Producer& producer, Ticks when) {
  smc::SendRing& ring = *scheduler_->multicast(SubgroupId(producer.subgroup))->ring();
  smc::BulkRing* const bulk = scheduler_->multicast(SubgroupId(producer.subgroup))->bulk_ring();
  const auto reservation = bulk != nullptr ? bulk->reserve(real_large_bytes) : ring.reserve(real_payload_bytes);
  if (!reservation) {
    producer.full = true;
    producer.waits_since = when;
    return false;
  }
  bulk != nullptr ? bulk->commit(*reservation) : ring.commit(*reservation);
  producer.sent.push_back(when);
  // A thread that waits for the lock has its next message ready; what it takes is in the lock's hand-offs.
  const Ticks takes = producer.delay + (experiment_.system.lock == Lock::none ? produce_ns() * phases_.slowness(when) : 0);
  producer.next = when + takes;
  return true;
}

Ticks ModeledMember::produce_ns() const noexcept {
  const double copied = experiment_.copies.in ? static_cast<double>(experiment_.message_bytes) : 0;
  return software().produce_ns + copied * software().copy_ns_per_byte;
}

// Threads that need no lock have sent by now what they had time for.
void ModeledMember::produce_until(Ticks now) {
  for (Producer& producer : producers_) {
    while (!producer.full && producer.next <= now) {
      if (!produce(producer, producer.next)) break;
    }
  }
}

// Threads that need the lock get some messages in while it changes hands, and what they have time for while it is free. The
// moments for that lie all over the look.
void ModeledMember::produce_between_locks(Ticks began, Ticks unlocked) {
  if (producers_.empty()) return;
  const Ticks now = endpoint_.clock;
  const double handed = software().handoffs * lock_.random.waiting();
  lock_.credit += (handed + unlocked / produce_ns()) / phases_.slowness(now);
  const Ticks apart = (now - began) / (lock_.credit + 1);
  Ticks moment = began;
  std::size_t refused = 0;
  while (lock_.credit >= 1 && refused < producers_.size()) {
    moment = std::min(now, moment + apart);
    Producer& producer = producers_[lock_.next_producer++ % producers_.size()];
    if (producer.full || producer.next > now || !produce(producer, std::max(producer.next, moment))) {
      ++refused;
      continue;
    }
    refused = 0;
    lock_.credit -= 1;
  }
  lock_.credit = std::min(lock_.credit, 1.0);
}

ModeledMember::Account ModeledMember::account(Ticks now) const {
  Account account = account_;
  account.measured = delivered_.wanted - delivered_.wanted / 4;
  for (const Producer& producer : producers_) {
    account.waiting += (producer.waited + (producer.full ? std::max(0.0, now - producer.waits_since) : 0)) /
                       static_cast<double>(producers_.size());
  }
  for (const CounterValue& counter : counters_.values()) {
    if (counter.name.ends_with(".null_runs")) account.null_runs += counter.value;
  }
  return account;
}

}  // namespace spindrift::bench::model
