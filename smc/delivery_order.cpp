// The delivery predicate: everything that may go to the application goes, in order, in batches; then it is acknowledged.
#include <spindrift/smc/delivery_order.hpp>

#include <algorithm>
#include <numeric>
#include <utility>

#include <spindrift/core/check.hpp>

namespace spindrift::smc {

RingReader reader_of(const SubgroupRows& rows, std::size_t sender) {
  const Profile& profile = rows.subgroup().profile;
  const sst::SubgroupBlock& block = rows.block(rows.sender(sender));
  RingReader reader(rows.table().ring(rows.sender(sender), rows.id()), block.ring_bytes, profile.ring_payload_max());
  if (profile.bulk_ring_bytes > 0) {
    reader.set_bulk(rows.table().bulk(rows.id()).ring(sender), profile.bulk_ring_bytes, profile.message_bytes_max);
  }
  return reader;
}

DeliveryOrder::DeliveryOrder(SubgroupRows& rows, const SubgroupProgress& progress, std::uint64_t batch_max,
                             DeliverySink& sink, CounterBlock& counters)
    : rows_(rows),
      progress_(progress),
      batch_(rows, batch_max, sink, counters),
      turns_(rows.senders()),
      consumed_(rows.senders()),
      nulls_(rows.counter(counters, "delivered_nulls")) {}

void DeliveryOrder::start() {
  for (std::size_t sender = 0; sender < rows_.senders(); ++sender) readers_.push_back(reader_of(rows_, sender));
}

bool DeliveryOrder::waiting() const noexcept {
  if (rows_.ordered()) return delivered_ < progress_.stable();
  return !std::equal(consumed_.begin(), consumed_.end(), progress_.taken().begin());
}

std::uint64_t DeliveryOrder::deliverable_count() const noexcept {
  if (rows_.ordered()) return progress_.stable();
  return std::accumulate(progress_.taken().begin(), progress_.taken().end(), std::uint64_t{0});
}

std::uint64_t DeliveryOrder::delivered_count() const noexcept {
  return rows_.ordered() ? delivered_ : std::accumulate(consumed_.begin(), consumed_.end(), std::uint64_t{0});
}

bool DeliveryOrder::deliver(const TurnLimits& turn) {
  if (!batch_.accepted()) return false;
  batch_.limit(turn.batch);
  rows_.ordered() ? deliver_ordered(turn) : deliver_unordered(turn);
  return true;
}

// Takes the next message of one sender into the batch. False if its bytes are impossible.
[[gnu::always_inline]] inline bool DeliveryOrder::take(std::size_t sender, SequenceNumber sequence) {
  RingReader& reader = readers_[sender];
  const MessageIndex index(reader.count());
  RingReader::Message message;
  if (!reader.next(progress_.published()[sender], message)) {
    rows_.report(rows_.sender(sender), reader.fault());
    return false;
  }
  if (message.null) {
    nulls_.add(1);
    return true;
  }
  Delivery* const delivery = batch_.next();
  batch_.put(*delivery, sender, index, sequence, message.payload);
  batch_.extend(delivery + 1, message.payload.size());
  return true;
}

// As many whole rounds as can be taken without a look at senders that are in the middle of a null run, or up to what is no
// plain message; the sequence number behind them. So a null costs nothing, and a message nothing but its own work.
std::uint64_t DeliveryOrder::take_rounds(std::uint64_t next, std::uint64_t end) {
  const std::size_t senders = readers_.size();
  std::uint64_t rounds = (end - next) / senders;
  std::size_t live = 0;
  for (std::size_t place = 0, sender = next_sender_; place < senders; ++place) {
    const std::uint64_t nulls = readers_[sender].nulls_left();
    if (nulls > 0) {
      rounds = std::min(rounds, nulls);
    } else {
      turns_[live++] = {place, sender};
    }
    if (++sender == senders) sender = 0;
  }
  if (live > 0) rounds = std::min(rounds, batch_.room() / live);
  if (rounds == 0) return next;

  const std::span<const std::uint64_t> published = progress_.published();
  Delivery* delivery = batch_.next();
  std::uint64_t bytes = 0;
  std::uint64_t round = live == 0 ? rounds : 0;
  std::size_t turn = live;
  for (; round < rounds; ++round) {
    for (turn = 0; turn < live; ++turn) {
      const auto [place, sender] = turns_[turn];
      RingReader& reader = readers_[sender];
      std::span<const std::byte> payload;
      if (!reader.next_plain(published[sender], payload)) break;
      const SequenceNumber sequence(next + round * senders + place);
      batch_.put(*delivery++, sender, MessageIndex(reader.count() - 1), sequence, payload);
      bytes += payload.size();
    }
    if (turn < live) break;
  }
  batch_.extend(delivery, bytes);
  return next + pass_nulls(round, turn < live ? turns_[turn].place : 0);
}

// So many rounds are over, and this many places of the next: what is left of null runs, and whose turn it is. How many
// sequence numbers that were.
std::uint64_t DeliveryOrder::pass_nulls(std::uint64_t rounds, std::size_t places) {
  const std::size_t senders = readers_.size();
  std::uint64_t nulls = 0;
  std::size_t sender = next_sender_;
  for (std::size_t place = 0; place < senders; ++place) {
    if (place == places) next_sender_ = sender;
    nulls += readers_[sender].pass_nulls(rounds + (place < places ? 1 : 0));
    if (++sender == senders) sender = 0;
  }
  if (nulls > 0) nulls_.add(nulls);
  return rounds * senders + places;
}

// Sequence order: one message of each sender in turn. The frontier advances behind the upcall that it vouches for.
void DeliveryOrder::deliver_ordered(TurnLimits left) {
  const std::uint64_t end = progress_.stable();
  bool goes_on = true;
  while (goes_on && delivered_ < end && !rows_.fault() && batch_.accepted()) {
    std::uint64_t next = delivered_;
    while (next < end && batch_.room() > 0 && !rows_.fault()) {
      next = take_rounds(next, end);
      for (std::size_t place = 0; place < readers_.size() && next < end && batch_.room() > 0; ++place) {
        if (!take(next_sender_, SequenceNumber(next))) break;
        ++next;
        if (++next_sender_ == readers_.size()) next_sender_ = 0;
      }
    }
    goes_on = batch_.hand_over(left);
    if (next == delivered_) break;
    delivered_ = next;
    rows_.store(rows_.own_block().delivered, delivered_);
  }
}

// First in, first out per sender; a sender may reuse what `received_of` says was consumed. A turn that ends early goes on
// with the next sender, so that none waits for another's backlog.
void DeliveryOrder::deliver_unordered(TurnLimits left) {
  const std::span<const std::uint64_t> taken = progress_.taken();
  const std::size_t first = std::exchange(next_sender_, 0);
  bool goes_on = true;
  for (std::size_t place = 0; place < taken.size() && goes_on && !rows_.fault(); ++place) {
    const std::size_t sender = (first + place) % taken.size();
    RingReader& reader = readers_[sender];
    while (goes_on && reader.count() < taken[sender] && !rows_.fault() && batch_.accepted()) {
      while (reader.count() < taken[sender] && batch_.room() > 0) {
        if (!take(sender, SequenceNumber(0))) break;
      }
      goes_on = batch_.hand_over(left);
      if (!goes_on) next_sender_ = (sender + 1) % taken.size();
      if (reader.count() == consumed_[sender]) continue;
      consumed_[sender] = reader.count();
      rows_.store(rows_.own_block().received_of + sender * sst::word_bytes, consumed_[sender]);
    }
  }
}

void DeliveryOrder::hand_over_all() {
  for (std::size_t sender = 0; sender < readers_.size(); ++sender) {
    RingReader& reader = readers_[sender];
    while (reader.fault() == nullptr && reader.count() < progress_.taken()[sender]) {
      if (!take(sender, SequenceNumber(0)) || batch_.room() == 0) batch_.hand_over();
    }
    consumed_[sender] = reader.count();
  }
  batch_.hand_over();
}

// Behind the last message that everybody held.
void DeliveryOrder::finish(std::span<const std::uint64_t> trim) {
  const std::uint64_t senders = trim.size();
  std::uint64_t end = 0;
  for (std::uint64_t sender = 0; sender < senders; ++sender) {
    if (trim[sender] > 0) end = std::max(end, (trim[sender] - 1) * senders + sender + 1);
  }
  for (; delivered_ < end; ++delivered_) {
    const std::uint64_t sender = delivered_ % senders;
    if (delivered_ / senders >= trim[sender] || readers_[sender].fault() != nullptr) continue;
    if (!take(sender, SequenceNumber(delivered_)) || batch_.room() == 0) batch_.hand_over();
  }
  batch_.hand_over();
}

std::optional<std::span<const std::byte>> DeliveryOrder::next_own(std::uint64_t end) {
  if (readers_.empty()) return std::nullopt;
  RingReader& reader = readers_[rows_.own().sender];
  while (reader.count() < end) {
    const auto message = reader.next(end);
    CHECK(message.has_value());  // own bytes, all of them committed or abandoned
    if (!message->null) return message->payload;
  }
  return std::nullopt;
}

}  // namespace spindrift::smc
