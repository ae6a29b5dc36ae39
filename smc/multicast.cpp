// The predicates of one subgroup: send, receive, null-sends, stability.
#include <spindrift/smc/multicast.hpp>

#include <algorithm>

#include <spindrift/core/check.hpp>
#include <spindrift/smc/frontier.hpp>
#include <spindrift/smc/multicast_step.hpp>

namespace spindrift::smc {

namespace {

/// Everything that is there, by every predicate.
struct WholeStep {
  [[nodiscard]] static constexpr std::uint64_t send_batch_max() noexcept { return ~std::uint64_t{0}; }
  [[nodiscard]] static constexpr std::uint64_t receive_batch_max() noexcept { return ~std::uint64_t{0}; }
  [[nodiscard]] static constexpr bool null_sends() noexcept { return true; }
  static constexpr void end_of_receive() noexcept {}
  static constexpr void end_of_null_sends() noexcept {}
  static constexpr void end_of_send() noexcept {}
  static constexpr void end_of_stability() noexcept {}
};

}  // namespace

Multicast::Multicast(SubgroupId id, sst::Table& table, Policy policy, DeliverySink& sink, CounterBlock& counters)
    : id_(id), table_(table), subgroup_(table.view().subgroup(id)), policy_(policy), sink_(sink) {
  const View& view = table.view();
  const NodeId self = view.members[table.self().value()];
  CHECK(subgroup_.member_position(self).has_value());

  for (const NodeId node : subgroup_.members) members_.push_back({.rank = *view.rank_of(node)});
  for (const NodeId node : subgroup_.senders) sender_ranks_in_view_.push_back(*view.rank_of(node));
  roles_.assign(view.members.size(), {nowhere, nowhere});
  for (std::uint32_t i = 0; i < members_.size(); ++i) roles_[members_[i].rank.value()].position = i;
  for (std::uint32_t i = 0; i < sender_ranks_in_view_.size(); ++i) roles_[sender_ranks_in_view_[i].value()].sender = i;
  published_.resize(subgroup_.senders.size());
  committed_.resize(subgroup_.senders.size());
  received_of_.resize(subgroup_.senders.size());
  consumed_by_.resize(subgroup_.members.size());
  turns_.resize(subgroup_.senders.size());
  batch_.resize(policy_.delivery_batch_max);
  window_of_all_ = subgroup_.profile.window_messages * subgroup_.senders.size();

  own_sender_rank_ = subgroup_.sender_rank(self);
  if (own_sender_rank_) {
    const sst::SubgroupBlock& own = block(table.self());
    ring_.emplace(std::span(table.own_bytes(own.ring), own.ring_bytes), subgroup_.profile);
    if (subgroup_.profile.bulk_ring_bytes > 0)
      bulk_.emplace(table.bulk(id).own(), *ring_, subgroup_.profile.message_bytes_max);
  }

  const auto counter = [&](const char* name) { return counters.counter("subgroup." + subgroup_.name + "." + name); };
  sent_messages_ = counter("sent");
  sent_null_runs_ = counter("null_runs");
  send_batches_ = counter("send_batches");
  receive_batches_ = counter("receive_batches");
  delivered_messages_ = counter("delivered");
  delivered_bytes_ = counter("delivered_bytes");
  delivered_nulls_ = counter("delivered_nulls");
  delivery_batches_ = counter("delivery_batches");
  if (subgroup_.profile.bulk_ring_bytes > 0) {
    large_sent_ = counter("large_sent");
    large_handed_on_ = counter("large_handed_on");
  }
}

void Multicast::start() {
  for (const Rank rank : sender_ranks_in_view_) {
    const sst::SubgroupBlock& row = block(rank);
    readers_.emplace_back(table_.bytes(rank, row.ring), row.ring_bytes, subgroup_.profile.ring_payload_max());
  }
  if (subgroup_.profile.bulk_ring_bytes > 0) start_large();
}

bool Multicast::has_news_from(Rank rank) const {
  const Role role = roles_[rank.value()];
  if (role.position == nowhere || fault_) return false;
  if (relayed_ && waits_for_news_of(role.position)) return true;
  const sst::SubgroupBlock& row = block(rank);
  if (role.sender != nowhere && !table_.read(rank, row.committed).equals(published_[role.sender])) return true;
  if (subgroup_.mode == DeliveryMode::unordered) {
    if (!ring_) return false;
    const std::uint64_t consumed = row.received_of + own_sender_rank_->value() * sst::word_bytes;
    return !table_.read(rank, consumed).equals(consumed_by_[role.position]);
  }
  const Member& member = members_[role.position];
  if (!table_.read(rank, row.received).equals(member.received)) return true;
  return !table_.read(rank, row.delivered).equals(member.delivered);
}

bool Multicast::send_and_receive(std::uint64_t publish_bytes_max) { return step(publish_bytes_max, WholeStep()); }

// Takes what every sender has published. Own messages count when they are published, see send().
bool Multicast::receive(std::uint64_t batch_max) {
  bool changed = false;
  for (std::size_t sender = 0; sender < committed_.size(); ++sender) {
    const Rank rank = sender_ranks_in_view_[sender];
    if (rank == table_.self()) continue;
    const auto count = read_count(rank, block(rank).committed, committed_[sender], committed_bound(sender), "committed");
    if (!count) return false;
    published_[sender] = *count;
    std::uint64_t taken = *count - committed_[sender] > batch_max ? committed_[sender] + batch_max : *count;
    if (relayed_) taken = held(sender, taken);
    if (fault_) return false;
    if (taken == committed_[sender]) continue;
    committed_[sender] = taken;
    changed = true;
  }
  if (changed) receive_batches_.add(1);
  return changed;
}

// A sender's undelivered messages are bounded by the windows: in ordered mode by those of all senders together, because a
// null run follows the longest of them (docs/protocol.md, "bounds").
std::uint64_t Multicast::committed_bound(std::size_t sender) const noexcept {
  if (subgroup_.mode == DeliveryMode::unordered) return received_of_[sender] + subgroup_.profile.window_messages;
  return delivered_ / committed_.size() + 1 + window_of_all_;
}

void Multicast::queue_owed_nulls() {
  const std::uint64_t owed = count_owed(committed_, own_sender_rank_->value());
  const std::uint64_t runs_before = ring_->null_runs();
  if (!ring_->queue_nulls(owed)) trace("null run waits for space", id_.value(), owed);
  sent_null_runs_.add(ring_->null_runs() - runs_before);
}

// Publishes the committed prefix of the own ring: bytes first, then their guard.
bool Multicast::send(std::uint64_t records_max, std::uint64_t bytes_max) {
  if (!ring_) return false;
  const std::uint64_t before = ring_->committed_count();
  const bool paced = bytes_max != ~std::uint64_t{0};
  const CommittedRanges ranges = ring_->collect(records_max, bytes_max, bulk_.has_value() && paced);
  const std::uint64_t count = ring_->committed_count();
  if (count == before) return false;

  const sst::SubgroupBlock& own = block(table_.self());
  const auto audience = sst::Table::members_of(id_);
  if (bulk_) send_large(count);
  for (const auto& range : ranges.range) table_.stage(own.ring + range.offset, range.bytes, audience);
  table_.store(own.committed, count, audience);
  published_[own_sender_rank_->value()] = count;
  committed_[own_sender_rank_->value()] = count;
  sent_messages_.add(count - before);
  send_batches_.add(1);
  return true;
}

bool Multicast::acknowledge() {
  std::copy(committed_.begin(), committed_.end(), received_of_.begin());
  const std::uint64_t frontier = smc::received_frontier(received_of_);
  if (frontier == received_) return false;
  received_ = frontier;
  table_.store(block(table_.self()).received, received_, sst::Table::members_of(id_));
  return true;
}

// What the other members say about their progress. A member cannot have received more than the windows allow, nor delivered
// what this member has not acknowledged.
bool Multicast::read_frontiers() {
  const std::uint64_t stable_before = stable_;
  const std::uint64_t senders = committed_.size();
  stable_ = received_;
  delivered_everywhere_ = delivered_;
  for (std::size_t position = 0; position < members_.size(); ++position) {
    Member& member = members_[position];
    if (member.rank == table_.self()) continue;
    const sst::SubgroupBlock& row = block(member.rank);
    if (subgroup_.mode == DeliveryMode::unordered) {
      if (!ring_) continue;
      const std::uint64_t offset = row.received_of + own_sender_rank_->value() * sst::word_bytes;
      const auto consumed = read_count(member.rank, offset, consumed_by_[position], ring_->committed_count(), "received_of");
      if (!consumed) return false;
      consumed_by_[position] = *consumed;
      continue;
    }
    const std::uint64_t received_bound = (delivered_ / senders + 2 + window_of_all_) * senders;
    const auto received = read_count(member.rank, row.received, member.received, received_bound, "received");
    if (!received) return false;
    const auto delivered = read_count(member.rank, row.delivered, member.delivered, received_, "delivered");
    if (!delivered) return false;
    member = {member.rank, *received, *delivered};
    stable_ = std::min(stable_, *received);
    delivered_everywhere_ = std::min(delivered_everywhere_, *delivered);
  }
  return stable_ != stable_before;
}

// A record is reused when every member is done with it.
bool Multicast::release_space() {
  if (!ring_) return false;
  std::uint64_t count = 0;
  if (subgroup_.mode == DeliveryMode::ordered) {
    count = messages_below(delivered_everywhere_, own_sender_rank_->value(), committed_.size());
  } else {
    count = received_of_[own_sender_rank_->value()];
    for (std::size_t position = 0; position < members_.size(); ++position) {
      if (members_[position].rank != table_.self()) count = std::min(count, consumed_by_[position]);
    }
  }
  own_released_ = count;
  if (bulk_) release_pieces(count);
  if (!ring_->release(count)) return false;
  sink_.on_space(id_);
  return true;
}

// Of a faulty sender's messages no more count than were taken; what the others committed stays counted. In unordered mode
// `received_of` says what its sender may overwrite, so everything is handed over before it is said to be here.
void Multicast::wedge() {
  CHECK(!wedged_);
  wedged_ = true;
  const bool ordered = subgroup_.mode == DeliveryMode::ordered;
  if (!ordered && !readers_.empty()) hand_over_all();
  const std::uint64_t received_of = block(table_.self()).received_of;
  for (std::size_t sender = 0; sender < committed_.size(); ++sender) {
    received_of_[sender] = ordered || readers_.empty() ? committed_[sender] : readers_[sender].count();
    table_.store(received_of + sender * sst::word_bytes, received_of_[sender], sst::Table::everybody);
  }
}

std::optional<std::uint64_t> Multicast::read_count(Rank rank, std::uint64_t offset, std::uint64_t known,
                                                   std::uint64_t highest, const char* field) {
  auto count = table_.read(rank, offset).within(known, std::max(known, highest));
  if (!count) report(rank, std::string(field) + " fell, or rose beyond what the windows allow");
  return count;
}

void Multicast::report(Rank rank, std::string what) {
  trace("peer fault", id_.value(), rank.value());
  fault_ = PeerFault{table_.view().members[rank.value()], "subgroup " + subgroup_.name + ": " + std::move(what)};
}

}  // namespace spindrift::smc
