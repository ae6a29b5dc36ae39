// Stores, staging and the push.
#include <spindrift/sst/table.hpp>

#include <algorithm>
#include <cstring>

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
    const bool bulk = subgroup.profile.bulk_ring_bytes > 0 && inside[self_.value()];
    bulk_.push_back(bulk ? std::make_unique<BulkRings>(subgroup, self) : nullptr);
  }
  CHECK(own_row.size() >= layout(self_).shared_bytes());
  rows_[self_.value()].memory = own_row.data();
  for (std::uint32_t i = 0; i < view.subgroups.size(); ++i) {
    const auto& block = layout(self_).subgroup(SubgroupId(i));
    const bool inside = block && block->ring != 0 && !block->split;
    own_rings_.push_back(inside ? own_row.subspan(block->ring, block->ring_bytes) : std::span<std::byte>());
  }
  // Room for what one pass can stage, so that nothing is allocated after start.
  const std::size_t per_pass = 4 * view.subgroups.size() + 4;
  staged_bytes_.reserve(per_pass);
  staged_lines_.reserve(per_pass);
  staged_activity_.reserve(per_pass);
  operations_.reserve(3 * per_pass * view.members.size());
}

void Table::set_own_ring(SubgroupId id, std::span<std::byte> ring) {
  const auto& block = layout(self_).subgroup(id);
  CHECK(block && block->split && ring.size() >= block->ring_bytes);
  own_rings_[id.value()] = ring.first(block->ring_bytes);
}

void Table::attach_ring(Rank rank, SubgroupId id, std::span<const std::byte> ring) {
  const auto& block = layout(rank).subgroup(id);
  CHECK(rank != self_ && !attached(rank) && block && block->split && ring.size() >= block->ring_bytes);
  Row& row = rows_[rank.value()];
  row.rings.resize(view_.subgroups.size());
  row.rings[id.value()] = ring.data();
}

void Table::attach_mapped(Rank rank, std::span<const std::byte> row) {
  CHECK(rank != self_ && !attached(rank) && row.size() >= layout(rank).shared_bytes());
  rows_[rank.value()].memory = row.data();
}

const std::byte* Table::ring(Rank rank, SubgroupId id) const {
  if (rank == self_) return own_ring(id).data();
  const Row& row = rows_[rank.value()];
  const SubgroupBlock& block = *row.layout.subgroup(id);
  if (row.mirrored || !block.split) return row.memory + block.ring;
  CHECK(id.value() < row.rings.size() && row.rings[id.value()] != nullptr);
  return row.rings[id.value()];
}

void Table::attach_mirrored(Rank rank, std::span<const std::byte> mirror, fabric::PeerId peer, fabric::RegionKey remote) {
  CHECK(rank != self_ && !attached(rank) && mirror.size() >= layout(rank).bytes());
  Row& row = rows_[rank.value()];
  row.memory = mirror.data();
  row.mirrored = true;
  row.peer = peer;
  row.remote = remote;
  row.behind = true;
  any_mirrored_ = true;
  news_ = true;
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

void Table::stage_ring(SubgroupId id, std::uint64_t offset, std::uint64_t bytes) {
  const std::span<std::byte> ring = own_ring(id);
  CHECK(offset + bytes <= ring.size());
  const std::uint64_t place = layout(self_).subgroup(id)->ring;
  if (any_mirrored_ && bytes > 0) staged_bytes_.push_back({ring.data() + offset, place + offset, bytes, members_of(id)});
  news_ = true;
}

void Table::stage_bulk(SubgroupId id, std::size_t sender, std::uint64_t offset, std::uint64_t bytes, Rank to) {
  if (!rows_[to.value()].mirrored) return;
  fabric::Operation write = bulk(id).write_to(view_.members[to.value()], sender, offset, bytes);
  write.peer = rows_[to.value()].peer;
  staged_bulk_.push_back({to, write});
  news_ = true;
}

void Table::stage_line(std::vector<StagedLine>& lines, std::uint64_t offset, Audience audience) {
  const std::uint64_t line = offset / cache_line_bytes * cache_line_bytes;
  if (lines.empty() || lines.back().offset != line || lines.back().audience != audience)
    lines.push_back({line, audience, {}});
  std::memcpy(lines.back().words.data(), own_row_.data() + line, cache_line_bytes);
}

void Table::freeze(Rank rank) {
  CHECK(rank != self_);
  rows_[rank.value()].frozen = true;
}

void Table::beat() {
  const std::uint64_t offset = layout(self_).heartbeat();
  store_release(own_row_.data() + offset, own(offset) + 1);
  if (!any_mirrored_) return;
  stage_line(staged_lines_, offset, everybody);
  beating_ = true;
}

// Lines that were captured before carry the heartbeat along, which must not fall where they land.
Result<void> Table::beat_amid_pass(fabric::Fabric& fabric) {
  const std::uint64_t offset = layout(self_).heartbeat();
  store_release(own_row_.data() + offset, own(offset) + 1);
  for (auto* lines : {&staged_lines_, &staged_activity_}) {
    for (StagedLine& line : *lines) {
      if (line.offset == offset / cache_line_bytes * cache_line_bytes)
        std::memcpy(line.words.data() + offset % cache_line_bytes, own_row_.data() + offset, word_bytes);
    }
  }
  std::vector<fabric::Operation> words;
  for (std::uint32_t rank = 0; any_mirrored_ && rank < rows_.size(); ++rank) {
    // A mirror that is still to be caught up with gets its words in their order.
    if (!hears(rank, everybody) || rows_[rank].behind) continue;
    words.push_back({.kind = fabric::Operation::Kind::write,
                     .copied = true,
                     .peer = rows_[rank].peer,
                     .local = own_row_.data() + offset,
                     .bytes = word_bytes,
                     .region = rows_[rank].remote,
                     .offset = offset});
  }
  return fabric.post(words);
}

bool Table::hears(std::uint32_t rank, Audience audience) const noexcept {
  if (!rows_[rank].mirrored || rows_[rank].frozen) return false;
  return audience == everybody || in_subgroup_[static_cast<std::uint32_t>(audience)][rank];
}

void Table::store_data(std::uint64_t offset, std::span<const std::uint64_t> words, Audience audience) {
  CHECK(offset % cache_line_bytes == 0 && offset >= layout(self_).control_bytes());
  CHECK(offset + words.size_bytes() <= layout(self_).lines_end());
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::uint64_t at = offset + i * word_bytes;
    store_release(own_row_.data() + at, words[i]);
    if (any_mirrored_) stage_line(staged_lines_, at, audience);
  }
  news_ = true;
}

// Everything stored before this mirror was there: data, then the activity that tells of it, then the line of its guards,
// then the line that guards those. A reader that found the activity before the words would not look for them again. Copied
// line by line, for the words go on changing; of a mirror that begins as zeros only what differs.
bool Table::catch_up(std::uint32_t rank) {
  if (!std::exchange(rows_[rank].behind, false) || rows_[rank].frozen) return false;
  const RowLayout& own_layout = layout(self_);
  const std::uint64_t activity_lines = (own_layout.activity_words() * word_bytes + cache_line_bytes - 1) / cache_line_bytes;
  const std::uint64_t activity_end = own_layout.activity_word(0) + activity_lines * cache_line_bytes;
  const std::uint64_t end = own_layout.lines_end();
  const auto post_line = [&](std::uint64_t offset) {
    const auto line = own_row_.subspan(offset, cache_line_bytes);
    if (std::all_of(line.begin(), line.end(), [](std::byte byte) { return byte == std::byte{0}; })) return;
    operations_.push_back({.kind = fabric::Operation::Kind::write,
                           .copied = true,
                           .peer = rows_[rank].peer,
                           .local = own_row_.data() + offset,
                           .bytes = cache_line_bytes,
                           .region = rows_[rank].remote,
                           .offset = offset});
  };
  for (std::uint64_t offset = activity_end; offset < end; offset += cache_line_bytes) post_line(offset);
  for (std::uint64_t offset = own_layout.activity_word(0); offset < activity_end; offset += cache_line_bytes) {
    post_line(offset);
  }
  post_line(0);
  post_line(cache_line_bytes);
  return true;
}

void Table::post_bulk_to(std::uint32_t rank) {
  if (rows_[rank].frozen) return;
  for (const StagedBulk& staged : staged_bulk_) {
    if (staged.to == Rank(rank)) operations_.push_back(staged.write);
  }
}

void Table::post_bytes_to(std::uint32_t rank) {
  for (const Staged& range : staged_bytes_) {
    if (!hears(rank, range.audience)) continue;
    operations_.push_back({.kind = fabric::Operation::Kind::write,
                           .peer = rows_[rank].peer,
                           .local = range.local,
                           .bytes = range.bytes,
                           .region = rows_[rank].remote,
                           .offset = range.offset});
  }
}

void Table::post_lines_to(std::uint32_t rank, std::vector<StagedLine>& lines) {
  for (StagedLine& line : lines) {
    if (!hears(rank, line.audience)) continue;
    operations_.push_back({.kind = fabric::Operation::Kind::write,
                           .copied = true,
                           .peer = rows_[rank].peer,
                           .local = line.words.data(),
                           .bytes = cache_line_bytes,
                           .region = rows_[rank].remote,
                           .offset = line.offset});
  }
}

Table::Backlog Table::backlog(const fabric::Fabric& fabric, SubgroupId subgroup) const {
  Backlog backlog;
  if (!any_mirrored_) return backlog;
  for (std::uint32_t rank = 0; rank < rows_.size(); ++rank) {
    if (!hears(rank, members_of(subgroup))) continue;
    ++backlog.mirrors;
    backlog.unsent_bytes += fabric.unsent_bytes(rows_[rank].peer);
  }
  backlog.buffered_bytes = backlog.mirrors * fabric.traits().buffered_bytes;
  return backlog;
}

Result<void> Table::push(fabric::Fabric& fabric) {
  if (!news_ && !beating_) return {};
  const bool wake_peers = std::exchange(news_, false);
  beating_ = false;
  if (any_mirrored_) {
    operations_.clear();
    for (std::uint32_t rank = 0; rank < rows_.size(); ++rank) {
      post_bulk_to(rank);
      post_bytes_to(rank);
      if (catch_up(rank)) continue;
      post_lines_to(rank, staged_lines_);
      post_lines_to(rank, staged_activity_);
    }
    staged_bulk_.clear();
    staged_bytes_.clear();
    staged_lines_.clear();
    staged_activity_.clear();
    SPINDRIFT_TRY(fabric.post(operations_));
  }
  if (wake_peers) fabric.notify();
  return {};
}

}  // namespace spindrift::sst
