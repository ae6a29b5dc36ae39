// Large messages: their bytes go to those who get them from the sender, and from those on to the others, each time before
// the word that vouches for them.
#include <algorithm>

#include <spindrift/core/check.hpp>
#include <spindrift/smc/multicast.hpp>

namespace spindrift::smc {

void Multicast::start_large() {
  const Profile& profile = subgroup_.profile;
  const sst::BulkRings& bulk = table_.bulk(id_);
  for (std::size_t sender = 0; sender < readers_.size(); ++sender) {
    readers_[sender].set_bulk(bulk.ring(sender), profile.bulk_ring_bytes, profile.message_bytes_max);
    walks_.push_back({.reader = readers_[sender]});
  }
  forwarded_.resize(readers_.size());
  forwarded_by_.assign(members_.size(), std::vector<std::uint64_t>(readers_.size()));
  relayed_ = policy_.relay != Relay::direct && members_.size() > 2;
}

std::uint32_t Multicast::source_of(std::size_t sender, std::uint64_t ordinal, std::uint32_t member) const noexcept {
  return relay_source(policy_.relay, static_cast<std::uint32_t>(members_.size()), position_of(sender), ordinal, member);
}

bool Multicast::gets_from_here(std::size_t sender, std::uint64_t ordinal, std::uint32_t member) const noexcept {
  return member != own_position() && member != position_of(sender) && source_of(sender, ordinal, member) == own_position();
}

// How many of the messages that a sender published are here with all their bytes. What this member hands on waits for no
// other message, so that all relays are at work at once; it goes out in the same pass, before the word that says so.
std::uint64_t Multicast::held(std::size_t sender, std::uint64_t published) {
  if (!read_records(sender)) return committed_[sender];
  Walk& walk = walks_[sender];
  const std::uint64_t forwarded = forwarded_[sender];
  while (!walk.duties.empty() && is_here(sender, walk.duties.front())) {
    hand_on(sender, walk.duties.front());
    walk.duties.pop_front();
  }
  if (forwarded_[sender] != forwarded) {
    table_.store(block(table_.self()).forwarded + sender * sst::word_bytes, forwarded_[sender], sst::Table::members_of(id_));
  }
  while (!walk.waiting.empty() && is_here(sender, walk.waiting.front())) walk.waiting.pop_front();
  return walk.waiting.empty() ? published : std::min(published, walk.waiting.front().index);
}

// Everything that the sender has published, once.
bool Multicast::read_records(std::size_t sender) {
  Walk& walk = walks_[sender];
  while (walk.reader.count() < published_[sender]) {
    const std::uint64_t index = walk.reader.count();
    const auto message = walk.reader.next(published_[sender]);
    if (!message) {
      report(sender_ranks_in_view_[sender], walk.reader.fault());
      return false;
    }
    if (!message->large || message->null) continue;
    const LargeDescriptor& where = walk.reader.large();
    const Large large{index, walk.large++, where.offset(subgroup_.profile.bulk_ring_bytes), where.length};
    walk.waiting.push_back(large);
    for (std::uint32_t member = 0; member < members_.size(); ++member) {
      if (!gets_from_here(sender, large.ordinal, member)) continue;
      walk.duties.push_back(large);
      break;
    }
  }
  return true;
}

// What the sender itself wrote, `committed` vouches for; of what another handed on, that one's `forwarded` says so.
bool Multicast::is_here(std::size_t sender, const Large& large) {
  const std::uint32_t source = source_of(sender, large.ordinal, own_position());
  if (source == position_of(sender)) return true;
  std::uint64_t& known = forwarded_by_[source][sender];
  if (known > large.index) return true;
  const Rank rank = members_[source].rank;
  const std::uint64_t offset = block(rank).forwarded + sender * sst::word_bytes;
  const auto count = read_count(rank, offset, known, committed_bound(sender), "forwarded");
  if (!count) return false;
  known = *count;
  return known > large.index;
}

void Multicast::hand_on(std::size_t sender, const Large& large) {
  for (std::uint32_t member = 0; member < members_.size(); ++member) {
    if (!gets_from_here(sender, large.ordinal, member)) continue;
    table_.stage_bulk(id_, sender, large.offset, large.length, members_[member].rank);
  }
  forwarded_[sender] = large.index + 1;
  large_handed_on_.add(1);
}

// The own records that this pass publishes: where the large ones lie, and to whom this member itself writes them.
void Multicast::send_large(std::uint64_t published) {
  const std::size_t own = own_sender_rank_->value();
  Walk& walk = walks_[own];
  while (walk.reader.count() < published) {
    const std::uint64_t index = walk.reader.count();
    const auto message = walk.reader.next(published);
    CHECK(message.has_value());  // own bytes
    if (!message->large) continue;
    const LargeDescriptor& where = walk.reader.large();
    pieces_.push_back({index, where.end()});
    if (message->null) continue;
    const std::uint64_t ordinal = walk.large++;
    large_sent_.add(1);
    for (std::uint32_t member = 0; member < members_.size(); ++member) {
      if (member == own_position() || source_of(own, ordinal, member) != own_position()) continue;
      table_.stage_bulk(id_, own, where.offset(subgroup_.profile.bulk_ring_bytes), where.length, members_[member].rank);
    }
  }
}

// Everybody has delivered the first `count` own messages, so everybody who handed one on is through with it.
void Multicast::release_pieces(std::uint64_t count) {
  for (; !pieces_.empty() && pieces_.front().index < count; pieces_.pop_front()) bulk_->release(pieces_.front().end);
}

bool Multicast::waits_for_news_of(std::uint32_t position) const {
  for (std::size_t sender = 0; sender < walks_.size(); ++sender) {
    if (position == position_of(sender)) continue;
    const auto from_there = [&](const Large& large) { return source_of(sender, large.ordinal, own_position()) == position; };
    const Walk& walk = walks_[sender];
    if (std::none_of(walk.waiting.begin(), walk.waiting.end(), from_there)) continue;
    const Rank rank = members_[position].rank;
    const std::uint64_t offset = block(rank).forwarded + sender * sst::word_bytes;
    if (!table_.read(rank, offset).equals(forwarded_by_[position][sender])) return true;
  }
  return false;
}

}  // namespace spindrift::smc
