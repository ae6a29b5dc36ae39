// Row layout: lines for words, pages for rings.
#include <spindrift/sst/row_layout.hpp>

namespace spindrift::sst {
namespace {

constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t to) noexcept { return (value + to - 1) / to * to; }

constexpr std::uint64_t decree_head_words = 6;  // beside two sets of ranks

}  // namespace

std::uint64_t decree_words_of(const View& view) noexcept {
  const std::uint64_t set_words = rank_set_words_of(view.members.size());
  std::uint64_t words = decree_head_words + 2 * set_words + 2 * joins_max;
  for (const SubgroupView& subgroup : view.subgroups) words += set_words + subgroup.senders.size();
  return words;
}

RowLayout::RowLayout(const View& view, NodeId owner)
    : activity_words_(static_cast<std::uint32_t>(round_up(view.subgroups.size(), subgroups_per_activity) /
                                                 subgroups_per_activity)) {
  std::uint64_t next = 2 * cache_line_bytes;
  next += round_up(activity_words_ * word_bytes, cache_line_bytes);

  blocks_.reserve(view.subgroups.size());
  for (const SubgroupView& subgroup : view.subgroups) {
    if (!subgroup.member_position(owner)) {
      blocks_.emplace_back(std::nullopt);
      continue;
    }
    SubgroupBlock block;
    block.committed = next;
    block.received = next + word_bytes;
    block.delivered = next + 2 * word_bytes;
    block.loaded = next + 3 * word_bytes;
    block.persisted = next + 4 * word_bytes;
    block.received_of = next + cache_line_bytes;
    next = block.received_of + round_up(subgroup.senders.size() * word_bytes, cache_line_bytes);
    if (subgroup.profile.bulk_ring_bytes > 0) {
      block.forwarded = next;
      next += round_up(subgroup.senders.size() * word_bytes, cache_line_bytes);
    }
    blocks_.emplace_back(block);
  }
  table_bytes_ = view.table_bytes / cache_line_bytes * cache_line_bytes;
  table_versions_ = next;
  control_bytes_ = next + round_up(table_versions() * word_bytes, cache_line_bytes);
  decree_words_ = decree_words_of(view);
  table_area_ = round_up(control_bytes_ + decree_words_ * word_bytes, cache_line_bytes);

  shared_bytes_ = place_rings(view, owner, false, round_up(lines_end(), page_bytes));
  bytes_ = place_rings(view, owner, true, shared_bytes_);
}

// Those that are split off, or the others. Returns where the last one ends.
std::uint64_t RowLayout::place_rings(const View& view, NodeId owner, bool split, std::uint64_t next) {
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const SubgroupView& subgroup = view.subgroups[i];
    if (!blocks_[i] || !subgroup.sender_rank(owner) || subgroup.profile.split_rows != split) continue;
    blocks_[i]->ring = next;
    blocks_[i]->ring_bytes = subgroup.profile.ring_bytes;
    blocks_[i]->split = split;
    next += round_up(subgroup.profile.ring_bytes, page_bytes);
  }
  return next;
}

}  // namespace spindrift::sst
