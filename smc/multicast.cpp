// The predicates of one subgroup: send, receive, null-sends, stability, and what the end of a view makes of them.
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

Multicast::Multicast(SubgroupId id, sst::Table& table, const Policy& policy, DeliverySink& sink, CounterBlock& counters)
    : rows_(id, table),
      sink_(sink),
      sent_messages_(rows_.counter(counters, "sent")),
      sent_bytes_(rows_.counter(counters, "sent_bytes")),
      send_sizes_(rows_.histogram(counters, "send_batch", batch_bounds)),
      sent_null_runs_(rows_.counter(counters, "null_runs")),
      send_batches_(rows_.counter(counters, "send_batches")),
      receive_batches_(rows_.counter(counters, "receive_batches")),
      progress_(rows_),
      delivery_(rows_, progress_, policy.delivery_batch_max, sink, counters) {
  const Profile& profile = rows_.subgroup().profile;
  if (rows_.sends()) {
    ring_.emplace(table.own_ring(id), profile);
    latencies_.emplace(rows_, counters);
  }
  if (profile.bulk_ring_bytes > 0) large_.emplace(rows_, policy.relay, ring(), counters);
}

void Multicast::start() {
  delivery_.start();
  if (large_) large_->start();
}

bool Multicast::has_news_from(Rank rank) const {
  const std::uint32_t position = rows_.role(rank).position;
  if (position == SubgroupRows::nowhere || fault()) return false;
  return (large_ && large_->has_news_from(position)) || progress_.has_news_from(rank);
}

bool Multicast::send_and_receive(std::uint64_t publish_bytes_max) { return step(publish_bytes_max, WholeStep()); }

// Takes what every sender has published. Own messages count when they are published, see send().
bool Multicast::receive(std::uint64_t batch_max) {
  bool changed = false;
  for (std::size_t sender = 0; sender < rows_.senders(); ++sender) {
    if (sender == rows_.own().sender) continue;
    const std::uint64_t delivered = rows_.ordered() ? delivery_.delivered() : delivery_.consumed()[sender];
    const std::uint64_t highest = progress_.published_highest(delivered);
    if (!progress_.read_published(sender, highest)) return false;
    std::uint64_t here = progress_.published()[sender];
    if (large_) here = large_->held(sender, here, highest);
    if (fault()) return false;
    const std::uint64_t before = progress_.taken()[sender];
    changed |= progress_.take(sender, here - before > batch_max ? before + batch_max : here);
  }
  if (changed) receive_batches_.add(1);
  return changed;
}

void Multicast::on_stepped(Time now) {
  if (!latencies_) return;
  const std::size_t own = rows_.own().sender;
  const std::uint64_t here = rows_.ordered() ? messages_below(delivery_.delivered(), own, rows_.senders())
                                             : delivery_.consumed()[own];
  latencies_->on_delivered(here, progress_.own_delivered_everywhere(), now);
}

std::uint64_t Multicast::ring_used_percent() const noexcept {
  const BulkRing* const bulk = large_ ? large_->ring() : nullptr;
  return std::max(ring_ ? ring_->used_percent() : 0, bulk != nullptr ? bulk->used_percent() : 0);
}

std::vector<Lag> Multicast::lags() const {
  std::vector<Lag> lags;
  if (!ring_) return lags;
  for (std::size_t position = 0; position < rows_.members(); ++position) {
    const Rank rank = rows_.member(position);
    if (rank == rows_.table().self()) continue;
    const std::uint64_t delivered = progress_.own_delivered_by(position);
    const std::uint64_t bytes = ring_->bytes_behind(delivered) + (large_ ? large_->bytes_behind(delivered) : 0);
    lags.push_back({rank, ring_->committed_count() - std::min(ring_->committed_count(), delivered), bytes});
  }
  return lags;
}

void Multicast::queue_owed_nulls() {
  const std::uint64_t owed = count_owed(progress_.taken(), rows_.own().sender);
  const std::uint64_t runs_before = ring_->null_runs();
  if (!ring_->queue_nulls(owed)) trace("null run waits for space", rows_.id().value(), owed);
  sent_null_runs_.add(ring_->null_runs() - runs_before);
}

// Publishes the committed prefix of the own ring: bytes first, then their guard.
bool Multicast::send(std::uint64_t records_max, std::uint64_t bytes_max) {
  if (!ring_) return false;
  const std::uint64_t before = ring_->committed_count();
  const std::uint64_t messages_before = ring_->messages_collected();
  const bool paced = bytes_max != ~std::uint64_t{0};
  const CommittedRanges ranges = ring_->collect(records_max, bytes_max, large_.has_value() && paced);
  const std::uint64_t count = ring_->committed_count();
  if (count == before) return false;

  std::uint64_t bytes = ranges.range[0].bytes + ranges.range[1].bytes;
  if (large_) bytes += large_->send(count);
  for (const auto& range : ranges.range) rows_.table().stage_ring(rows_.id(), range.offset, range.bytes);
  progress_.publish(count);
  if (const std::uint64_t messages = ring_->messages_collected() - messages_before; messages > 0) {
    sent_messages_.add(messages);
    send_sizes_.add(messages);
  }
  sent_bytes_.add(bytes);
  send_batches_.add(1);
  return true;
}

bool Multicast::read_acknowledgements() {
  const bool own = !rows_.ordered() && rows_.sends();
  return progress_.read_acknowledgements(own ? delivery_.consumed()[rows_.own().sender] : delivery_.delivered());
}

// A record is reused when every member is done with it.
bool Multicast::release_space() {
  if (!ring_) return false;
  const std::uint64_t count = progress_.own_delivered_everywhere();
  if (large_) large_->release(count);
  if (!ring_->release(count)) return false;
  sink_.on_space(rows_.id());
  return true;
}

bool Multicast::deliver(const TurnLimits& turn) {
  if (!deliverable() || !delivery_.deliver(turn)) return false;
  rows_.table().bump_activity(rows_.id());
  return true;
}

bool Multicast::persist(std::uint64_t word) {
  if (wedged_ || fault() || !progress_.persist(word)) return false;
  rows_.table().bump_activity(rows_.id());
  return true;
}

// A faulty sender's messages count as far as they were taken; what the others committed stays counted. In unordered mode
// `received_of` says what its sender may overwrite, so everything is handed over before it is said to be here.
void Multicast::wedge() {
  CHECK(!wedged_);
  wedged_ = true;
  if (!rows_.ordered()) delivery_.hand_over_all();
  const std::uint64_t words = rows_.own_block().received_of;
  for (std::size_t sender = 0; sender < rows_.senders(); ++sender) {
    rows_.table().store(words + sender * sst::word_bytes, received_of()[sender], sst::Table::everybody);
  }
}

bool Multicast::can_finish(std::span<const std::uint64_t> trim) const noexcept {
  if (trim.size() != rows_.senders()) return false;
  for (std::size_t sender = 0; sender < trim.size(); ++sender) {
    if (trim[sender] > progress_.taken()[sender]) return false;
    if (messages_below(delivery_.delivered(), sender, trim.size()) > trim[sender]) return false;
  }
  return true;
}

std::uint64_t Multicast::own_beyond(std::span<const std::uint64_t> trim) const noexcept {
  if (!rows_.sends()) return 0;
  const std::uint64_t published = progress_.published()[rows_.own().sender];
  const std::uint64_t kept = trim[rows_.own().sender];
  return published > kept ? published - kept : 0;
}

void Multicast::finish(std::span<const std::uint64_t> trim) {
  CHECK(wedged_ && can_finish(trim));
  if (rows_.ordered()) delivery_.finish(trim);
}

std::optional<std::span<const std::byte>> Multicast::next_leftover() {
  CHECK(wedged_);
  return ring_ ? delivery_.next_own(ring_->reserved_count()) : std::nullopt;
}

}  // namespace spindrift::smc
