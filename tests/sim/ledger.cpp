// Reading senders' rings as an omniscient outsider.
#include "ledger.hpp"

#include <cstring>

#include <spindrift/core/untrusted.hpp>
#include <spindrift/smc/frontier.hpp>

#include "payload.hpp"

namespace spindrift::sim {

Ledger::Ledger(const View& view, Report& report) : view_(view), report_(report), rows_(view.members.size()) {
  for (const NodeId member : view.members) layouts_.emplace_back(view, member);
  for (const SubgroupView& subgroup : view.subgroups) {
    books_.emplace_back(subgroup.senders.size());
    std::vector<Rank>& senders = sender_ranks_.emplace_back();
    for (const NodeId node : subgroup.senders) senders.push_back(*view.rank_of(node));
    std::vector<Rank>& members = member_ranks_.emplace_back();
    for (const NodeId node : subgroup.members) members.push_back(*view.rank_of(node));
  }
}

std::uint64_t Ledger::word(Rank rank, std::uint64_t offset) const { return load_acquire(rows_[rank.value()] + offset); }

const std::byte* Ledger::ring(std::uint32_t id, Rank owner) const {
  const auto split = rings_.find({id, owner.value()});
  return split == rings_.end() ? row(owner) + layout(owner).subgroup(SubgroupId(id))->ring : split->second;
}

const std::byte* Ledger::own(Rank owner, std::uint64_t offset) const {
  if (offset < layout(owner).shared_bytes()) return row(owner) + offset;
  for (std::uint32_t s = 0; s < view_.subgroups.size(); ++s) {
    const auto& block = layout(owner).subgroup(SubgroupId(s));
    if (!block || block->ring > offset || offset - block->ring >= block->ring_bytes) continue;
    return ring(s, owner) + (offset - block->ring);
  }
  return nullptr;
}

bool Ledger::refuse(const char* invariant, std::uint32_t subgroup, std::uint32_t sender, const std::string& what) {
  report_.violate(invariant,
                  "subgroup " + std::to_string(subgroup) + ", sender rank " + std::to_string(sender) + ": " + what);
  return false;
}

// Drops records that every live member has delivered, by what the members' own rows say; the checker holds those to the
// truth.
void Ledger::release(std::uint32_t id, std::uint32_t sender) {
  SenderBook& book = books_[id][sender];
  const bool ordered = view_.subgroups[id].mode == DeliveryMode::ordered;
  const std::uint64_t senders = books_[id].size();
  std::uint64_t delivered = ~std::uint64_t{0};
  for (const Rank member : member_ranks_[id]) {
    if (row(member) == nullptr) continue;
    const sst::SubgroupBlock& block = *layout(member).subgroup(SubgroupId(id));
    delivered = std::min(delivered, ordered ? smc::messages_below(word(member, block.delivered), sender, senders)
                                            : word(member, block.received_of + sender * sst::word_bytes));
  }
  while (book.records_released < book.records.size()) {
    const Record& oldest = book.records[book.records_released];
    if (oldest.first + oldest.count > delivered) break;
    ++book.records_released;
  }
}

std::size_t Ledger::on_reserved(std::uint32_t id, std::uint32_t sender, const smc::Reservation& reservation,
                                std::uint64_t seed) {
  SenderBook& book = books_[id][sender];
  const Profile& profile = view_.subgroups[id].profile;
  const Rank owner = sender_ranks_[id][sender];
  release(id, sender);

  Sent sent;
  sent.seed = seed;
  sent.bytes = reservation.payload.size();
  sent.number = reservation.number;
  sent.offset = static_cast<std::uint64_t>(reservation.header - ring(id, owner));
  sent.large = sent.bytes > profile.ring_payload_max();
  const std::uint64_t bytes = smc::record_bytes(sent.large ? smc::descriptor_bytes : sent.bytes);
  if (sent.large) {
    sent.bulk_offset = static_cast<std::uint64_t>(reservation.payload.data() - bulk(id, owner));
    check_piece(id, sender, sent);
  }
  if (sent.offset % 8 != 0 || sent.offset + bytes > profile.ring_bytes || sent.bytes > profile.message_bytes_max) {
    refuse("R4", id, sender, "a reservation lies outside the ring");
  }

  // R1: no byte of a record that somebody still needs is given to an application.
  if (book.records_released < book.records.size()) {
    const Record& oldest = book.records[book.records_released];
    const std::uint64_t used = book.position - oldest.position;
    const std::uint64_t ahead = (sent.offset - oldest.position) & (profile.ring_bytes - 1);
    if (ahead < used || ahead + bytes > profile.ring_bytes) {
      refuse("R1", id, sender, "a reservation overlaps a message that is not delivered everywhere");
    }
  }
  for (std::size_t i = book.sent_published; i < book.sent.size(); ++i) {
    const Sent& other = book.sent[i];
    if (sent.offset < other.offset + smc::record_bytes(other.large ? smc::descriptor_bytes : other.bytes) &&
        other.offset < sent.offset + bytes) {
      refuse("R1", id, sender, "two reservations overlap");
    }
  }
  // R3: records in flight, this one included, fit the window.
  const std::uint64_t in_flight = ((sent.number - book.records_released) & smc::record_number_mask) + 1;
  if (in_flight > profile.window_messages) refuse("R3", id, sender, "more records in flight than the window allows");
  book.sent.push_back(sent);
  return book.sent.size() - 1;
}

// R1 of a bulk ring: no byte of a message that somebody still needs is given to an application.
void Ledger::check_piece(std::uint32_t id, std::uint32_t sender, const Sent& sent) {
  const SenderBook& book = books_[id][sender];
  if (sent.bulk_offset % smc::bulk_alignment != 0 ||
      sent.bulk_offset + sent.bytes > view_.subgroups[id].profile.bulk_ring_bytes) {
    refuse("R4", id, sender, "a large message lies outside the bulk ring");
  }
  const auto overlaps = [&](const Sent& other) {
    return other.large && sent.bulk_offset < other.bulk_offset + other.bytes &&
           other.bulk_offset < sent.bulk_offset + sent.bytes;
  };
  for (std::size_t i = book.records_released; i < book.records.size(); ++i) {
    if (book.records[i].large && overlaps(book.sent[book.records[i].sent])) {
      refuse("R1", id, sender, "a large message overlaps one that is not delivered everywhere");
    }
  }
  for (std::size_t i = book.sent_published; i < book.sent.size(); ++i) {
    if (overlaps(book.sent[i])) refuse("R1", id, sender, "two large messages overlap");
  }
}

void Ledger::on_committed(std::uint32_t id, std::uint32_t sender, std::size_t sent, std::uint64_t after_sequence) {
  SenderBook& book = books_[id][sender];
  book.sent[sent].state = Sent::State::committed;
  book.sent[sent].after_sequence = after_sequence;
  ++book.committed_messages;
}

void Ledger::on_abandoned(std::uint32_t id, std::uint32_t sender, std::size_t sent) {
  books_[id][sender].sent[sent].state = Sent::State::abandoned;
}

void Ledger::refresh(std::uint32_t id, std::uint32_t sender) {
  const Rank owner = sender_ranks_[id][sender];
  if (row(owner) == nullptr) return;
  const std::uint64_t committed = word(owner, layout(owner).subgroup(SubgroupId(id))->committed);
  while (books_[id][sender].published.size() < committed) {
    if (report_.failed() || !publish_one(id, sender, committed)) return;
  }
}

bool Ledger::publish_one(std::uint32_t id, std::uint32_t sender, std::uint64_t committed) {
  SenderBook& book = books_[id][sender];
  const Rank owner = sender_ranks_[id][sender];
  const std::uint64_t ring_bytes = view_.subgroups[id].profile.ring_bytes;
  const std::byte* const ring = this->ring(id, owner);

  Record record;
  record.position = book.position;
  auto header = smc::RecordHeader::decode(read_word(ring + record.position % ring_bytes), book.records.size());
  if (header && header->kind == smc::RecordKind::padding) {
    record.padding = ring_bytes - record.position % ring_bytes;
    if (header->length != record.padding) return refuse("R4", id, sender, "padding that does not end at the ring's end");
    record.position += record.padding;
    header = smc::RecordHeader::decode(read_word(ring), book.records.size());
    report_.hit(Probe::ring_wrapped_with_padding);
  }
  // R2: records follow one another without gaps, and only finished ones are published.
  if (!header) return refuse("R2", id, sender, "published a record without a header of its number");

  record.first = book.published.size();
  const bool of_application =
      book.sent_published < book.sent.size() && book.sent[book.sent_published].number == header->number;
  const bool fine = of_application ? publish_sent(id, sender, *header, record) : publish_nulls(id, sender, *header, record);
  if (!fine) return false;
  if (record.first + record.count > committed) return refuse("R2", id, sender, "published half of a null run");

  release(id, sender);
  const std::uint64_t end = record.position + record.bytes;
  if (book.records_released < book.records.size() && end - book.records[book.records_released].position > ring_bytes) {
    return refuse("R1", id, sender, "a published record overlaps one that is not delivered everywhere");
  }
  book.position = end;
  book.records.push_back(record);
  // R3: in flight at most the window.
  if (book.records.size() - book.records_released > view_.subgroups[id].profile.window_messages) {
    return refuse("R3", id, sender, "more records in flight than the window allows");
  }
  return true;
}

bool Ledger::publish_sent(std::uint32_t id, std::uint32_t sender, smc::RecordHeader header, Record& record) {
  SenderBook& book = books_[id][sender];
  const SubgroupView& subgroup = view_.subgroups[id];
  const Sent& sent = book.sent[book.sent_published];
  const bool abandoned = header.kind == smc::RecordKind::abandoned || header.kind == smc::RecordKind::large_abandoned;
  if (header.kind == smc::RecordKind::null_run || header.kind == smc::RecordKind::padding) {
    return refuse("R2", id, sender, "a reservation became a null run");
  }
  // R4: the length is that of the reservation.
  const bool large = header.kind == smc::RecordKind::large || header.kind == smc::RecordKind::large_abandoned;
  const std::uint64_t length = sent.large ? smc::descriptor_bytes : sent.bytes;
  if (large != sent.large || header.length != length || record.position % subgroup.profile.ring_bytes != sent.offset) {
    return refuse("R4", id, sender, "a published record is not where or what was reserved");
  }
  const auto expected = abandoned ? Sent::State::abandoned : Sent::State::committed;
  if (sent.state != expected) return refuse("M1", id, sender, "published a reservation in a state that it is not in");

  const Rank owner = sender_ranks_[id][sender];
  const std::byte* const ring = this->ring(id, owner);
  const std::byte* payload = ring + sent.offset + smc::header_bytes;
  if (large) {
    const auto descriptor = smc::LargeDescriptor::read(payload, subgroup.profile.bulk_ring_bytes, sent.bytes);
    if (!descriptor || descriptor->length != sent.bytes ||
        descriptor->offset(subgroup.profile.bulk_ring_bytes) != sent.bulk_offset) {
      return refuse("R4", id, sender, "a descriptor does not say where its message is");
    }
    payload = bulk(id, owner) + sent.bulk_offset;
    report_.hit(Probe::large_message);
  }
  if (!abandoned && !payload_matches({payload, sent.bytes}, sent.seed)) {
    return refuse("M1", id, sender, "the published bytes are not those that were sent");
  }
  // M9: what the sender had delivered before it sent comes before.
  const std::uint64_t sequence = record.first * books_[id].size() + sender;
  if (subgroup.mode == DeliveryMode::ordered && !abandoned && sequence < sent.after_sequence) {
    return refuse("M9", id, sender, "a message precedes one that its sender had delivered before");
  }
  record.payload = length;
  record.bytes = smc::record_bytes(length);
  record.large = large && !abandoned;
  record.sent = book.sent_published;
  record.count = 1;
  book.published.push_back({abandoned, book.sent_published++});
  return true;
}

// M10: nulls are answers. A run reaches at most the count that the other senders' published messages ask for.
bool Ledger::publish_nulls(std::uint32_t id, std::uint32_t sender, smc::RecordHeader header, Record& record) {
  SenderBook& book = books_[id][sender];
  if (header.kind != smc::RecordKind::null_run) return refuse("M1", id, sender, "published a record that nobody reserved");
  if (header.length == 0) return refuse("R4", id, sender, "a null run of no length");
  if (view_.subgroups[id].mode != DeliveryMode::ordered)
    return refuse("M10", id, sender, "a null run in an unordered subgroup");
  if (record.first + header.length > nulls_owed(id, sender)) return refuse("M10", id, sender, "more nulls than are owed");
  record.bytes = smc::header_bytes;
  record.count = header.length;
  book.published.insert(book.published.end(), header.length, Published{true, 0});
  if (header.length > 1) report_.hit(Probe::null_run_of_several);
  return true;
}

std::uint64_t Ledger::nulls_owed(std::uint32_t id, std::uint32_t sender) const {
  std::uint64_t owed = 0;
  for (std::uint32_t other = 0; other < books_[id].size(); ++other) {
    const Rank owner = sender_ranks_[id][other];
    if (other == sender || row(owner) == nullptr) continue;
    const std::uint64_t count = word(owner, layout(owner).subgroup(SubgroupId(id))->committed);
    if (count > 0) owed = std::max(owed, sender < other ? count : count - 1);
  }
  return owed;
}

bool Ledger::holds(std::uint32_t id, std::uint32_t sender, const Record& record, const std::byte* mirror) const {
  const Rank owner = sender_ranks_[id][sender];
  const std::byte* const theirs = mirror + layout(owner).subgroup(SubgroupId(id))->ring;
  const std::uint64_t ring_bytes = view_.subgroups[id].profile.ring_bytes;
  const auto same = [&](std::uint64_t position, std::uint64_t bytes) {
    const std::uint64_t at = position % ring_bytes;
    return std::memcmp(theirs + at, ring(id, owner) + at, bytes) == 0;
  };
  if (!same(record.position, smc::header_bytes + record.payload)) return false;
  return record.padding == 0 || same(record.position - record.padding, smc::header_bytes);
}

}  // namespace spindrift::sim
