// Which member gets a large message from which, which messages are here, and which are handed on.
#include <spindrift/smc/large_messages.hpp>

#include <algorithm>

#include <spindrift/core/check.hpp>
#include <spindrift/smc/delivery_order.hpp>

namespace spindrift::smc {

LargeMessages::LargeMessages(SubgroupRows& rows, Relay relay, SendRing* ring, CounterBlock& counters)
    : rows_(rows),
      relay_(relay),
      forwarded_by_(rows.members(), std::vector<std::uint64_t>(rows.senders())),
      sent_(rows.counter(counters, "large_sent")),
      handed_on_(rows.counter(counters, "large_handed_on")) {
  if (ring != nullptr) ring_.emplace(rows.table().bulk(rows.id()).own(), *ring, rows.subgroup().profile.message_bytes_max);
}

void LargeMessages::start() {
  for (std::size_t sender = 0; sender < rows_.senders(); ++sender) walks_.push_back({.reader = reader_of(rows_, sender)});
}

std::uint32_t LargeMessages::source_of(std::size_t sender, const Large& large, std::uint32_t member) const {
  return relay_(static_cast<std::uint32_t>(rows_.members()), position_of(sender), large.ordinal, member);
}

bool LargeMessages::gets_from_here(std::size_t sender, const Large& large, std::uint32_t member) const {
  const std::uint32_t own = rows_.own().position;
  return member != own && member != position_of(sender) && source_of(sender, large, member) == own;
}

std::uint64_t LargeMessages::forwarded_word(std::uint32_t position, std::size_t sender) const {
  return rows_.block(rows_.member(position)).forwarded + sender * sst::word_bytes;
}

// A message that this member hands on waits for no other, so that all relays are at work at once; it goes out in the same
// pass, before the word that says so.
std::uint64_t LargeMessages::held(std::size_t sender, std::uint64_t published, std::uint64_t highest) {
  if (!relayed()) return published;
  if (!read_records(sender, published)) return 0;
  Walk& walk = walks_[sender];
  const std::uint64_t forwarded = walk.forwarded;
  for (; !walk.duties.empty() && is_here(sender, walk.duties.front(), highest); walk.duties.pop_front()) {
    write(sender, walk.duties.front());
    walk.forwarded = walk.duties.front().index + 1;
    handed_on_.add(1);
  }
  if (walk.forwarded != forwarded) rows_.store(forwarded_word(rows_.own().position, sender), walk.forwarded);
  while (!walk.waiting.empty() && is_here(sender, walk.waiting.front(), highest)) walk.waiting.pop_front();
  return walk.waiting.empty() ? published : walk.waiting.front().index;
}

// Everything that the sender has published, once.
bool LargeMessages::read_records(std::size_t sender, std::uint64_t published) {
  Walk& walk = walks_[sender];
  while (walk.reader.count() < published) {
    const std::uint64_t index = walk.reader.count();
    const auto message = walk.reader.next(published);
    if (!message) {
      rows_.report(rows_.sender(sender), walk.reader.fault());
      return false;
    }
    if (!message->large || message->null) continue;
    const LargeDescriptor& where = walk.reader.large();
    const Large large{index, walk.large++, where.offset(rows_.subgroup().profile.bulk_ring_bytes), where.length};
    walk.waiting.push_back(large);
    for (std::uint32_t member = 0; member < rows_.members(); ++member) {
      if (!gets_from_here(sender, large, member)) continue;
      walk.duties.push_back(large);
      break;
    }
  }
  return true;
}

// The sender's `committed` vouches for bytes that it wrote itself, a relay's `forwarded` for those that it handed on.
bool LargeMessages::is_here(std::size_t sender, const Large& large, std::uint64_t highest) {
  const std::uint32_t source = source_of(sender, large, rows_.own().position);
  if (source == position_of(sender)) return true;
  std::uint64_t& known = forwarded_by_[source][sender];
  if (known > large.index) return true;
  if (!rows_.read(rows_.member(source), forwarded_word(source, sender), known, highest, "forwarded")) return false;
  return known > large.index;
}

void LargeMessages::write(std::size_t sender, const Large& large) {
  for (std::uint32_t member = 0; member < rows_.members(); ++member) {
    if (!gets_from_here(sender, large, member)) continue;
    rows_.table().stage_bulk(rows_.id(), sender, large.offset, large.length, rows_.member(member));
  }
}

// The own records that this step publishes: where the large ones lie, and to whom this member itself writes them.
std::uint64_t LargeMessages::send(std::uint64_t published) {
  std::uint64_t bytes = 0;
  const std::size_t own = rows_.own().sender;
  Walk& walk = walks_[own];
  while (walk.reader.count() < published) {
    const std::uint64_t index = walk.reader.count();
    const auto message = walk.reader.next(published);
    CHECK(message.has_value());  // own bytes
    if (!message->large) continue;
    const LargeDescriptor& where = walk.reader.large();
    pieces_.push_back({index, where.end()});
    if (message->null) continue;
    write(own, {index, walk.large++, where.offset(rows_.subgroup().profile.bulk_ring_bytes), where.length});
    sent_.add(1);
    bytes += where.length;
  }
  return bytes;
}

std::uint64_t LargeMessages::bytes_behind(std::uint64_t count) const {
  const auto first = std::find_if(pieces_.begin(), pieces_.end(), [&](const Piece& piece) { return piece.index >= count; });
  if (first == pieces_.end()) return 0;
  return pieces_.back().end - (first == pieces_.begin() ? ring_->released() : std::prev(first)->end);
}

void LargeMessages::release(std::uint64_t count) {
  for (; !pieces_.empty() && pieces_.front().index < count; pieces_.pop_front()) ring_->release(pieces_.front().end);
}

bool LargeMessages::has_news_from(std::uint32_t position) const {
  if (!relayed()) return false;
  for (std::size_t sender = 0; sender < walks_.size(); ++sender) {
    if (position == position_of(sender)) continue;
    const auto from_there = [&](const Large& large) { return source_of(sender, large, rows_.own().position) == position; };
    const Walk& walk = walks_[sender];
    if (std::none_of(walk.waiting.begin(), walk.waiting.end(), from_there)) continue;
    const std::uint64_t known = forwarded_by_[position][sender];
    if (rows_.differs(rows_.member(position), forwarded_word(position, sender), known)) return true;
  }
  return false;
}

}  // namespace spindrift::smc
