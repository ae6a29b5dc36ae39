// Counts of messages and frontiers, and the bounds of those that others write.
#include <spindrift/smc/subgroup_progress.hpp>

#include <algorithm>
#include <utility>

#include <spindrift/smc/frontier.hpp>

namespace spindrift::smc {

SubgroupProgress::SubgroupProgress(SubgroupRows& rows)
    : rows_(rows),
      window_of_all_(rows.subgroup().profile.window_messages * rows.senders()),
      published_(rows.senders()),
      taken_(rows.senders()),
      members_(rows.members()) {}

std::uint64_t SubgroupProgress::delivered_word(Rank rank) const {
  const sst::SubgroupBlock& block = rows_.block(rank);
  return rows_.ordered() ? block.delivered : block.received_of + rows_.own().sender * sst::word_bytes;
}

bool SubgroupProgress::has_news_from(Rank rank) const {
  const auto [position, sender] = rows_.role(rank);
  const sst::SubgroupBlock& block = rows_.block(rank);
  if (sender != SubgroupRows::nowhere && rows_.differs(rank, block.committed, published_[sender])) return true;
  if (rows_.ordered() && rows_.differs(rank, block.received, members_[position].received)) return true;
  if (rows_.logged() && rows_.differs(rank, block.persisted, members_[position].persisted)) return true;
  return (rows_.ordered() || rows_.sends()) && rows_.differs(rank, delivered_word(rank), members_[position].delivered);
}

// A sender's undelivered messages are bounded by the windows: in ordered mode by those of all senders together, because a
// null run follows the longest of them (docs/protocol.md, "bounds").
std::uint64_t SubgroupProgress::published_highest(std::uint64_t delivered) const noexcept {
  return rows_.ordered() ? delivered / taken_.size() + 1 + window_of_all_
                         : delivered + rows_.subgroup().profile.window_messages;
}

bool SubgroupProgress::read_published(std::size_t sender, std::uint64_t highest) {
  const Rank rank = rows_.sender(sender);
  return rows_.read(rank, rows_.block(rank).committed, published_[sender], highest, "committed");
}

bool SubgroupProgress::take(std::size_t sender, std::uint64_t count) {
  return std::exchange(taken_[sender], count) != count;
}

void SubgroupProgress::publish(std::uint64_t count) {
  rows_.store(rows_.own_block().committed, count);
  published_[rows_.own().sender] = count;
  taken_[rows_.own().sender] = count;
}

bool SubgroupProgress::acknowledge() {
  const std::uint64_t frontier = received_frontier(taken_);
  if (frontier == received_) return false;
  received_ = frontier;
  rows_.store(rows_.own_block().received, received_);
  return true;
}

bool SubgroupProgress::persist(std::uint64_t word) {
  if (word <= persisted_) return false;
  persisted_ = word;
  rows_.store(rows_.own_block().persisted, persisted_);
  return true;
}

std::uint64_t SubgroupProgress::durable_everywhere() const noexcept {
  std::uint64_t durable = persisted_;
  for (std::size_t position = 0; position < members_.size(); ++position) {
    if (rows_.member(position) != rows_.table().self()) durable = std::min(durable, members_[position].persisted);
  }
  return durable;
}

// A member cannot have received more than the windows allow, nor delivered what this member has not acknowledged, nor
// consumed own messages that are not published.
bool SubgroupProgress::read_acknowledgements(std::uint64_t delivered) {
  if (!rows_.ordered() && !rows_.sends()) return false;
  const std::uint64_t senders = taken_.size();
  const std::uint64_t received_highest = (delivered / senders + 2 + window_of_all_) * senders;
  const std::uint64_t delivered_highest = rows_.ordered() ? received_ : published_[rows_.own().sender];
  std::uint64_t stable = received_;
  for (std::size_t position = 0; position < members_.size(); ++position) {
    const Rank rank = rows_.member(position);
    if (rank == rows_.table().self()) continue;
    Member& member = members_[position];
    if (rows_.ordered()) {
      if (!rows_.read(rank, rows_.block(rank).received, member.received, received_highest, "received")) return false;
      stable = std::min(stable, member.received);
    }
    if (!rows_.read(rank, delivered_word(rank), member.delivered, delivered_highest, "what it delivered")) return false;
    delivered = std::min(delivered, member.delivered);
    if (!rows_.logged()) continue;
    if (!rows_.read(rank, rows_.block(rank).persisted, member.persisted, received_ + 1, "what its log has")) return false;
  }
  delivered_everywhere_ = delivered;
  return std::exchange(stable_, stable) != stable;
}

std::vector<Rank> SubgroupProgress::furthest_behind() const {
  const std::uint64_t all = rows_.ordered() ? received_ : rows_.sends() ? published_[rows_.own().sender] : 0;
  std::vector<Rank> behind;
  for (std::size_t position = 0; position < members_.size(); ++position) {
    const Rank rank = rows_.member(position);
    const std::uint64_t delivered = members_[position].delivered;
    if (rank != rows_.table().self() && delivered < all && delivered == delivered_everywhere_) behind.push_back(rank);
  }
  return behind;
}

std::uint64_t SubgroupProgress::own_delivered_by(std::size_t position) const noexcept {
  const std::uint64_t delivered = members_[position].delivered;
  return rows_.ordered() ? messages_below(delivered, rows_.own().sender, taken_.size()) : delivered;
}

std::uint64_t SubgroupProgress::own_delivered_everywhere() const noexcept {
  return rows_.ordered() ? messages_below(delivered_everywhere_, rows_.own().sender, taken_.size()) : delivered_everywhere_;
}

}  // namespace spindrift::smc
