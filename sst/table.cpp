// Stores, staging and the push.
#include <spindrift/sst/table.hpp>

namespace spindrift::sst {

Table::Table(const View& view, NodeId self, std::span<std::byte> own_row) : view_(view), own_row_(own_row) {
  const auto rank = view.rank_of(self);
  CHECK(rank.has_value());
  self_ = *rank;

  rows_.reserve(view.members.size());
  for (const NodeId member : view.members) rows_.emplace_back(RowLayout(view, member));
  for (const SubgroupView& subgroup : view.subgroups) {
    std::vector<bool>& inside = in_subgroup_.emplace_back();
    for (const NodeId member : view.members) inside.push_back(subgroup.member_position(member).has_value());
  }
  CHECK(own_row.size() >= layout(self_).bytes());
  rows_[self_.value()].memory = own_row.data();
  // Room for what one pass can stage, so that nothing is allocated after start.
  const std::size_t per_pass = 4 * view.subgroups.size() + 4;
  staged_bytes_.reserve(per_pass);
  staged_lines_.reserve(per_pass);
  staged_activity_.reserve(per_pass);
  operations_.reserve(3 * per_pass * view.members.size());
}

void Table::attach_mapped(Rank rank, std::span<const std::byte> row) {
  CHECK(rank != self_ && !attached(rank) && row.size() >= layout(rank).bytes());
  rows_[rank.value()].memory = row.data();
}

void Table::attach_mirrored(Rank rank, std::span<const std::byte> mirror, fabric::PeerId peer, fabric::RegionKey remote) {
  CHECK(rank != self_ && !attached(rank) && mirror.size() >= layout(rank).bytes());
  Row& row = rows_[rank.value()];
  row.memory = mirror.data();
  row.mirrored = true;
  row.peer = peer;
  row.remote = remote;
  any_mirrored_ = true;
}

void Table::set_word(std::uint64_t offset, std::uint64_t value) {
  CHECK(offset % word_bytes == 0 && offset + word_bytes <= layout(self_).control_bytes());
  CHECK(own(offset) <= value);
  store_release(own_row_.data() + offset, value);
  news_ = true;
}

void Table::store(std::uint64_t offset, std::uint64_t value, Audience audience) {
  set_word(offset, value);
  if (any_mirrored_) stage_line(staged_lines_, offset, audience);
}

void Table::bump_activity(SubgroupId subgroup) {
  const std::uint64_t offset = layout(self_).activity(subgroup);
  set_word(offset, own(offset) + 1);
  if (any_mirrored_) stage_line(staged_activity_, offset, everybody);
}

void Table::stage(std::uint64_t offset, std::uint64_t bytes, Audience audience) {
  CHECK(offset >= layout(self_).control_bytes() && offset + bytes <= layout(self_).bytes());
  if (any_mirrored_ && bytes > 0) staged_bytes_.push_back({offset, bytes, audience});
}

void Table::stage_line(std::vector<Staged>& lines, std::uint64_t offset, Audience audience) {
  const std::uint64_t line = offset / cache_line_bytes * cache_line_bytes;
  if (!lines.empty() && lines.back().offset == line && lines.back().audience == audience) return;
  lines.push_back({line, cache_line_bytes, audience});
}

bool Table::hears(std::uint32_t rank, Audience audience) const noexcept {
  if (!rows_[rank].mirrored) return false;
  return audience == everybody || in_subgroup_[static_cast<std::uint32_t>(audience)][rank];
}

void Table::post_to(std::uint32_t rank, const std::vector<Staged>& ranges, bool copied) {
  for (const Staged& range : ranges) {
    if (!hears(rank, range.audience)) continue;
    operations_.push_back({.kind = fabric::Operation::Kind::write,
                           .copied = copied,
                           .peer = rows_[rank].peer,
                           .local = own_row_.data() + range.offset,
                           .bytes = range.bytes,
                           .region = rows_[rank].remote,
                           .offset = range.offset});
  }
}

Result<void> Table::push(fabric::Fabric& fabric) {
  if (!news_) return {};
  news_ = false;
  if (any_mirrored_) {
    operations_.clear();
    for (std::uint32_t rank = 0; rank < rows_.size(); ++rank) {
      post_to(rank, staged_bytes_, false);
      post_to(rank, staged_lines_, true);
      post_to(rank, staged_activity_, true);
    }
    staged_bytes_.clear();
    staged_lines_.clear();
    staged_activity_.clear();
    if (auto posted = fabric.post(operations_); !posted) return posted;
  }
  fabric.notify();
  return {};
}

}  // namespace spindrift::sst
