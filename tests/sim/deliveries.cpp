// Checkers of the multicast: integrity, no duplicates, no gaps, total order, agreement, nulls, acknowledgements (M1–M11).
#include <algorithm>

#include <spindrift/smc/frontier.hpp>

#include "checker.hpp"
#include "payload.hpp"

namespace spindrift::sim {
namespace {

bool unpublished(const SenderBook& book) {
  return std::any_of(book.sent.begin() + static_cast<std::ptrdiff_t>(book.sent_published), book.sent.end(),
                     [](const Sent& sent) { return sent.state == Sent::State::committed; });
}

}  // namespace

void Checker::on_delivery(Rank rank, std::uint32_t id, std::span<const Delivery> batch) {
  if (batch.empty()) violate("M11", rank, id, "an upcall without messages");
  if (batch.size() > 1) report_.hit(Probe::delivery_batch_above_one);
  const bool ordered = view_.subgroups[id].mode == DeliveryMode::ordered;
  for (const Delivery& delivery : batch) {
    if (report_.failed()) return;
    const std::uint32_t sender = delivery.sender_rank.value();
    if (sender >= ledger_.books(id).size() || view_.subgroups[id].senders[sender] != delivery.sender) {
      return violate("M4", rank, id, "a delivery names a sender and a rank that do not belong together");
    }
    ledger_.refresh(id, sender);
    if (ordered) {
      check_ordered(rank, id, delivery);
    } else {
      check_unordered(rank, id, delivery);
    }
    if (!report_.failed()) check_content(rank, id, delivery);
    ++receiver(rank, id).delivered;
    ++deliveries_;
  }
}

// M2, M3, M4, M10: the next delivery is the next message of the round-robin function that is no null. As this holds at every
// member, their sequences are prefix-comparable.
void Checker::check_ordered(Rank rank, std::uint32_t id, const Delivery& delivery) {
  Receiver& here = receiver(rank, id);
  const std::uint64_t senders = here.next_index.size();
  const std::uint64_t sequence = delivery.sequence.value();
  const std::uint32_t sender = delivery.sender_rank.value();
  if (sequence != delivery.index.value() * senders + sender)
    return violate("M4", rank, id, "a sequence number that the round-robin order does not give");
  if (sequence < here.next_sequence) return violate("M2", rank, id, "a message was delivered twice or too late");
  if (delivery.index.value() >= ledger_.book(id, sender).published.size())
    return violate("M1", rank, id, "a message that nobody published");
  for (std::uint64_t before = here.next_sequence; before < sequence; ++before) {
    const auto& published = ledger_.book(id, static_cast<std::uint32_t>(before % senders)).published;
    if (before / senders >= published.size() || !published[before / senders].null)
      return violate("M3", rank, id, "a message was skipped");
  }
  if (ledger_.book(id, sender).published[delivery.index.value()].null)
    return violate("M10", rank, id, "a null reached the application");
  if (ledger_.word(rank, ledger_.layout(rank).subgroup(SubgroupId(id))->delivered) > sequence) {
    return violate("M5w", rank, id, "acknowledged a delivery before the upcall");
  }
  here.next_sequence = sequence + 1;
  here.next_index[sender] = delivery.index.value() + 1;
  check_held_everywhere(rank, id, sequence);
}

// M11: unordered mode hands over on receipt and gives no place in a total order; first in, first out per sender.
void Checker::check_unordered(Rank rank, std::uint32_t id, const Delivery& delivery) {
  Receiver& here = receiver(rank, id);
  const std::uint32_t sender = delivery.sender_rank.value();
  const auto& published = ledger_.book(id, sender).published;
  const std::uint64_t index = delivery.index.value();
  if (delivery.sequence.value() != 0)
    return violate("M11", rank, id, "an unordered delivery with a place in the total order");
  if (index < here.next_index[sender]) return violate("M2", rank, id, "a message was delivered twice or too late");
  if (index >= published.size()) return violate("M1", rank, id, "a message that nobody published");
  for (std::uint64_t before = here.next_index[sender]; before < index; ++before) {
    if (!published[before].null) return violate("M3", rank, id, "a message was skipped");
  }
  if (published[index].null) return violate("M10", rank, id, "a null reached the application");
  if (ledger_.word(rank, ledger_.layout(rank).subgroup(SubgroupId(id))->received_of + sender * sst::word_bytes) > index) {
    return violate("M5w", rank, id, "acknowledged a delivery before the upcall");
  }
  here.next_index[sender] = index + 1;
}

// M1: the bytes are those that the sender's application wrote.
void Checker::check_content(Rank rank, std::uint32_t id, const Delivery& delivery) {
  const std::uint32_t sender = delivery.sender_rank.value();
  const SenderBook& book = ledger_.book(id, sender);
  const Sent& sent = book.sent[book.published[delivery.index.value()].sent];
  if (delivery.payload.size() != sent.bytes || !payload_matches(delivery.payload, sent.seed)) {
    return violate("M1", rank, id, "the delivered bytes are not those that were sent");
  }
  if (reinterpret_cast<std::uintptr_t>(delivery.payload.data()) % 8 != 0)
    violate("M1", rank, id, "a payload is not aligned");
  std::uint64_t& digest = receiver(rank, id).digest[sender];
  digest = mix(digest ^ sent.seed);
}

// M5w: at delivery every member had acknowledged the message; acknowledgements are checked when they are made.
void Checker::check_held_everywhere(Rank rank, std::uint32_t id, std::uint64_t sequence) {
  for (const Rank member : ledger_.member_ranks(id)) {
    const bool held = ledger_.row(member) != nullptr &&
                      ledger_.word(member, ledger_.layout(member).subgroup(SubgroupId(id))->received) > sequence;
    if (!held)
      violate("M5w", rank, id,
              "delivered what node " + std::to_string(view_.members[member.value()].value()) + " does not hold");
  }
}

void Checker::check_acknowledgements(Rank rank, std::uint32_t id) {
  Receiver& here = receiver(rank, id);
  const sst::SubgroupBlock& block = *ledger_.layout(rank).subgroup(SubgroupId(id));
  const std::uint64_t senders = here.next_index.size();
  if (view_.subgroups[id].mode == DeliveryMode::unordered) {
    for (std::uint32_t sender = 0; sender < senders; ++sender) {
      const std::uint64_t consumed = ledger_.word(rank, block.received_of + sender * sst::word_bytes);
      const auto& published = ledger_.book(id, sender).published;
      std::uint64_t& next = here.next_index[sender];
      while (next < consumed && next < published.size() && published[next].null) ++next;
      if (consumed > next) violate("M5w", rank, id, "acknowledged a message that the application did not receive");
    }
    return;
  }

  // A message that is acknowledged as received is in this member's memory: the guard says so, and S3 says that the guard is
  // true.
  const std::uint64_t received = ledger_.word(rank, block.received);
  for (std::uint32_t sender = 0; sender < senders && received > 0; ++sender) {
    const Rank owner = ledger_.sender_rank_in_view(id, sender);
    const std::byte* copy = owner == rank ? ledger_.row(rank) : network_->row_copy(rank.value(), owner.value());
    const std::uint64_t committed =
        copy == nullptr ? 0 : load_acquire(copy + ledger_.layout(owner).subgroup(SubgroupId(id))->committed);
    if (smc::messages_below(received, sender, senders) > committed) {
      return violate("M5w", rank, id, "acknowledged a message that is not in its memory");
    }
    if (owner != rank) check_large_held(rank, id, sender, smc::messages_below(received, sender, senders));
  }
  // A message that is acknowledged as delivered went to the application: below it only nulls were not.
  const std::uint64_t delivered = ledger_.word(rank, block.delivered);
  for (; here.next_sequence < delivered; ++here.next_sequence) {
    const auto& published = ledger_.book(id, static_cast<std::uint32_t>(here.next_sequence % senders)).published;
    const std::uint64_t index = here.next_sequence / senders;
    if (index >= published.size() || !published[index].null) {
      return violate("M5w", rank, id, "acknowledged the delivery of a message that the application did not receive");
    }
  }
  if (delivered > received) violate("M5w", rank, id, "delivered beyond what it acknowledged");
}

// M8, L2: everything that was sent arrived at every live member, and nobody owes anything.
void Checker::on_quiet() {
  for (std::uint32_t id = 0; id < view_.subgroups.size(); ++id) {
    std::uint64_t sent = 0;
    for (const SenderBook& book : ledger_.books(id)) {
      sent += book.committed_messages;
      if (unpublished(book)) violate("L2", ledger_.member_ranks(id).front(), id, "a committed message was never published");
    }
    for (const Rank member : ledger_.member_ranks(id)) {
      if (receiver(member, id).delivered == sent) continue;
      violate("L2", member, id,
              "quiet, but " + std::to_string(sent - receiver(member, id).delivered) + " of " + std::to_string(sent) +
                  " messages were not delivered");
    }
  }
}

std::uint64_t Checker::delivered_before(Rank rank, std::uint32_t id) const { return receiver(rank, id).next_sequence; }

std::uint64_t Checker::delivered_count(Rank rank, std::uint32_t id) const { return receiver(rank, id).delivered; }

std::uint64_t Checker::outcome(Rank rank, std::uint32_t id) const {
  std::uint64_t all = 0;
  for (const std::uint64_t digest : receiver(rank, id).digest) all = mix(all ^ digest);
  return all;
}

}  // namespace spindrift::sim
