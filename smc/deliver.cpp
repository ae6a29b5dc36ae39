// The delivery predicate: everything that may go to the application goes, in order, in batches; then it is acknowledged.
#include <algorithm>
#include <utility>

#include <spindrift/core/check.hpp>
#include <spindrift/smc/frontier.hpp>
#include <spindrift/smc/multicast.hpp>

namespace spindrift::smc {

bool Multicast::deliverable() const noexcept {
  if (fault_ || wedged_) return false;
  if (subgroup_.mode == DeliveryMode::ordered) return delivered_ < stable_;
  return received_of_ != committed_;
}

bool Multicast::deliver(const TurnLimits& turn) {
  if (!deliverable() || !sink_.accepts(id_)) return false;
  const bool delivered = subgroup_.mode == DeliveryMode::ordered ? deliver_ordered(turn) : deliver_unordered(turn);
  if (delivered) table_.bump_activity(id_);
  return delivered;
}

// Field by field: a structure that is copied right after its halves were written waits until they have left the store buffer
// (decision 0022).
[[gnu::always_inline]] inline void Multicast::put(Delivery& delivery, std::size_t sender, MessageIndex index,
                                                  SequenceNumber sequence, std::span<const std::byte> payload,
                                                  ViewId view) const {
  delivery.sender = subgroup_.senders[sender];
  delivery.sender_rank = SenderRank(static_cast<std::uint32_t>(sender));
  delivery.index = index;
  delivery.sequence = sequence;
  delivery.payload = payload;
  delivery.view = view;
}

// Takes the next message of one sender into the batch. False if its bytes are impossible.
[[gnu::always_inline]] inline bool Multicast::take(std::size_t sender, SequenceNumber sequence) {
  RingReader& reader = readers_[sender];
  const MessageIndex index(reader.count());
  RingReader::Message message;
  if (!reader.next(published_[sender], message)) {
    report(sender_ranks_in_view_[sender], reader.fault());
    return false;
  }
  if (message.null) {
    delivered_nulls_.add(1);
    return true;
  }
  put(batch_[batched_++], sender, index, sequence, message.payload, table_.view().id);
  batch_bytes_ += message.payload.size();
  return true;
}

// As many whole rounds as can be taken without a look at senders that are in the middle of a null run, or up to what is no
// plain message; the sequence number behind them. So a null costs nothing, and a message nothing but its own work.
std::uint64_t Multicast::take_rounds(std::uint64_t next, std::uint64_t end) {
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
  if (live > 0) rounds = std::min(rounds, (policy_.delivery_batch_max - batched_) / live);
  if (rounds == 0) return next;

  const ViewId view = table_.view().id;
  Delivery* delivery = batch_.data() + batched_;
  std::uint64_t round = live == 0 ? rounds : 0;
  std::size_t turn = live;
  for (; round < rounds; ++round) {
    for (turn = 0; turn < live; ++turn) {
      const auto [place, sender] = turns_[turn];
      RingReader& reader = readers_[sender];
      std::span<const std::byte> payload;
      if (!reader.next_plain(published_[sender], payload)) break;
      const SequenceNumber sequence(next + round * senders + place);
      put(*delivery++, sender, MessageIndex(reader.count() - 1), sequence, payload, view);
      batch_bytes_ += payload.size();
    }
    if (turn < live) break;
  }
  batched_ = static_cast<std::size_t>(delivery - batch_.data());
  return next + pass_nulls(round, turn < live ? turns_[turn].place : 0);
}

// So many rounds are over, and this many places of the next: what is left of null runs, and whose turn it is. How many
// sequence numbers that were.
std::uint64_t Multicast::pass_nulls(std::uint64_t rounds, std::size_t places) {
  const std::size_t senders = readers_.size();
  std::uint64_t nulls = 0;
  std::size_t sender = next_sender_;
  for (std::size_t place = 0; place < senders; ++place) {
    if (place == places) next_sender_ = sender;
    nulls += readers_[sender].pass_nulls(rounds + (place < places ? 1 : 0));
    if (++sender == senders) sender = 0;
  }
  if (nulls > 0) delivered_nulls_.add(nulls);
  return rounds * senders + places;
}

// Sequence order: one message of each sender in turn. The frontier advances behind the upcall that it vouches for.
bool Multicast::deliver_ordered(TurnLimits left) {
  const std::uint64_t delivered_offset = block(table_.self()).delivered;
  const std::uint64_t end = stable_;
  bool goes_on = true;
  while (goes_on && delivered_ < end && !fault_ && sink_.accepts(id_)) {
    std::uint64_t next = delivered_;
    while (next < end && batched_ < policy_.delivery_batch_max && !fault_) {
      next = take_rounds(next, end);
      for (std::size_t place = 0; place < readers_.size() && next < end && batched_ < policy_.delivery_batch_max; ++place) {
        if (!take(next_sender_, SequenceNumber(next))) break;
        ++next;
        if (++next_sender_ == readers_.size()) next_sender_ = 0;
      }
    }
    goes_on = hand_over_within(left);
    if (next == delivered_) break;
    delivered_ = next;
    table_.store(delivered_offset, delivered_, sst::Table::members_of(id_));
  }
  return true;
}

// First in, first out per sender; a sender may reuse what `received_of` says was consumed. A turn that ends early goes on
// with the next sender, so that none waits for another's backlog.
bool Multicast::deliver_unordered(TurnLimits left) {
  const std::uint64_t received_of = block(table_.self()).received_of;
  const std::size_t first = std::exchange(next_sender_, 0);
  bool goes_on = true;
  for (std::size_t place = 0; place < committed_.size() && goes_on && !fault_; ++place) {
    const std::size_t sender = (first + place) % committed_.size();
    RingReader& reader = readers_[sender];
    while (goes_on && reader.count() < committed_[sender] && !fault_ && sink_.accepts(id_)) {
      while (reader.count() < committed_[sender] && batched_ < policy_.delivery_batch_max) {
        if (!take(sender, SequenceNumber(0))) break;
      }
      goes_on = hand_over_within(left);
      if (!goes_on) next_sender_ = (sender + 1) % committed_.size();
      if (reader.count() == received_of_[sender]) continue;
      received_of_[sender] = reader.count();
      table_.store(received_of + sender * sst::word_bytes, received_of_[sender], sst::Table::members_of(id_));
    }
  }
  return true;
}

bool Multicast::can_finish(std::span<const std::uint64_t> trim) const noexcept {
  if (trim.size() != committed_.size()) return false;
  for (std::size_t sender = 0; sender < trim.size(); ++sender) {
    if (trim[sender] > committed_[sender]) return false;
    if (subgroup_.mode == DeliveryMode::ordered && messages_below(delivered_, sender, trim.size()) > trim[sender])
      return false;
  }
  return true;
}

std::uint64_t Multicast::own_beyond(std::span<const std::uint64_t> trim) const noexcept {
  if (!own_sender_rank_) return 0;
  const std::uint32_t own = own_sender_rank_->value();
  return committed_[own] > trim[own] ? committed_[own] - trim[own] : 0;
}

void Multicast::finish(std::span<const std::uint64_t> trim) {
  CHECK(wedged_ && can_finish(trim));
  if (readers_.empty()) return;  // the view never began here: nothing was received, so nothing is within the trim
  if (subgroup_.mode == DeliveryMode::ordered) finish_ordered(trim);
}

// Unordered mode: whatever is here, the sink takes it now.
void Multicast::hand_over_all() {
  for (std::size_t sender = 0; sender < committed_.size(); ++sender) {
    while (readers_[sender].fault() == nullptr && readers_[sender].count() < committed_[sender]) {
      if (!take(sender, SequenceNumber(0)) || batched_ == policy_.delivery_batch_max) hand_over();
    }
  }
  hand_over();
}

// Behind the last message that everybody held, the order goes on over what the trim still has, and leaves out the rest.
void Multicast::finish_ordered(std::span<const std::uint64_t> trim) {
  const std::uint64_t senders = trim.size();
  std::uint64_t end = 0;
  for (std::uint64_t sender = 0; sender < senders; ++sender) {
    if (trim[sender] > 0) end = std::max(end, (trim[sender] - 1) * senders + sender + 1);
  }
  for (; delivered_ < end; ++delivered_) {
    const std::uint64_t sender = delivered_ % senders;
    if (delivered_ / senders >= trim[sender] || readers_[sender].fault() != nullptr) continue;
    if (!take(sender, SequenceNumber(delivered_)) || batched_ == policy_.delivery_batch_max) hand_over();
  }
  hand_over();
}

std::optional<std::span<const std::byte>> Multicast::next_leftover() {
  CHECK(wedged_);
  if (!ring_ || readers_.empty()) return std::nullopt;
  RingReader& reader = readers_[own_sender_rank_->value()];
  const std::uint64_t end = ring_->reserved_count();
  while (reader.count() < end) {
    const auto message = reader.next(end);
    CHECK(message.has_value());  // own bytes, all of them committed or abandoned
    if (!message->null) return message->payload;
  }
  return std::nullopt;
}

// Counts the batch against what is left of the turn. False: the turn is over.
bool Multicast::hand_over_within(TurnLimits& left) {
  left.messages -= std::min(left.messages, std::uint64_t{batched_});
  left.bytes -= std::min(left.bytes, batch_bytes_);
  hand_over();
  return left.messages > 0 && left.bytes > 0;
}

void Multicast::hand_over() {
  if (batched_ == 0) return;
  // Before the upcall: whoever learns of the delivery from it finds it counted.
  delivered_messages_.add(batched_);
  delivered_bytes_.add(batch_bytes_);
  delivery_batches_.add(1);
  sink_.on_delivery(id_, std::span(batch_).first(batched_));
  batched_ = 0;
  batch_bytes_ = 0;
}

}  // namespace spindrift::smc
