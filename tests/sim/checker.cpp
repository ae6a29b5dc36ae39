// Checkers of the shared state table: single writer, monotone words, guard order, whole words (S1–S4).
#include "checker.hpp"

#include <algorithm>
#include <cstring>

#include <spindrift/core/untrusted.hpp>

namespace spindrift::sim {
namespace {

std::uint64_t word_at(const std::byte* at) noexcept {
  std::uint64_t word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

}  // namespace

Checker::Checker(const View& view, Ledger& ledger, Report& report)
    : view_(view),
      ledger_(ledger),
      report_(report),
      rows_(view.members.size()),
      copies_(view.members.size() * view.members.size()),
      receivers_(view.members.size()) {
  for (std::uint32_t i = 0; i < rows_.size(); ++i) {
    const std::uint64_t control = ledger.layout(Rank(i)).control_bytes();
    rows_[i].resize(control);
    for (std::uint32_t reader = 0; reader < rows_.size(); ++reader) {
      copy(reader, i).landed.resize(control);
      copy(reader, i).posted.resize(control);
    }
    for (const SubgroupView& subgroup : view.subgroups) {
      const std::size_t senders = subgroup.senders.size();
      receivers_[i].push_back({0, std::vector<std::uint64_t>(senders), std::vector<std::uint64_t>(senders),
                               std::vector<std::size_t>(senders), std::vector<std::size_t>(senders), 0});
    }
  }
}

void Checker::on_row(Rank rank, const std::byte* row) { ledger_.set_row(rank, row); }

void Checker::violate(const char* invariant, Rank rank, const std::string& what) {
  report_.violate(invariant, "node " + std::to_string(view_.members[rank.value()].value()) + ": " + what);
}

void Checker::violate(const char* invariant, Rank rank, std::uint32_t subgroup, const std::string& what) {
  violate(invariant, rank, "subgroup " + std::to_string(subgroup) + ": " + what);
}

void Checker::after_step(Rank rank) {
  if (ledger_.row(rank) == nullptr) return;
  check_own_words(rank);
  check_foreign_rows(rank);
  for (std::uint32_t s = 0; s < view_.subgroups.size(); ++s) {
    if (!ledger_.layout(rank).subgroup(SubgroupId(s))) continue;
    if (const auto sender = view_.subgroups[s].sender_rank(view_.members[rank.value()])) ledger_.refresh(s, sender->value());
    check_acknowledgements(rank, s);
  }
}

// S2: words never decrease in the owner's own memory.
void Checker::check_own_words(Rank rank) {
  std::vector<std::byte>& before = rows_[rank.value()];
  const std::byte* now = ledger_.row(rank);
  if (std::memcmp(before.data(), now, before.size()) == 0) return;
  for (std::size_t at = 0; at < before.size(); at += sst::word_bytes) {
    if (word_at(now + at) < word_at(before.data() + at)) violate("S2", rank, "a word of the own row fell");
  }
  std::memcpy(before.data(), now, before.size());
}

// S1: a step writes no row but its own: neither a mapped one nor a mirror.
void Checker::check_foreign_rows(Rank rank) {
  for (std::uint32_t i = 0; i < rows_.size(); ++i) {
    if (Rank(i) == rank) continue;
    if (const std::byte* row = ledger_.row(Rank(i));
        row != nullptr && std::memcmp(row, rows_[i].data(), rows_[i].size()) != 0) {
      violate("S1", rank, "a step changed another member's row");
    }
    const std::byte* held = network_->row_copy(rank.value(), i);
    if (held == nullptr || held == ledger_.row(Rank(i))) continue;
    if (std::memcmp(held, copy(rank.value(), i).landed.data(), rows_[i].size()) != 0) {
      violate("S1", rank, "a step changed its mirror of another member's row");
    }
  }
}

void Checker::on_posted(const NetworkListener::Write& write) {
  const Rank from(write.from);
  if (const auto target = bulk_.find(write.region)) return check_bulk_write(write, {target->region, write.offset});
  // S1: what goes into a mirror is the same place of the owner's row, now or a little earlier.
  const std::byte* row = ledger_.row(from);
  const bool own = write.copied || write.local == ledger_.own(from, write.offset);
  if (write.region != network_->row_copy(write.to, write.from) || !own) {
    return violate("S1", from, "a write that is not a copy of the own row in its mirror");
  }
  // S4: words travel whole.
  if (write.offset % sst::word_bytes != 0 || write.bytes % sst::word_bytes != 0) {
    return violate("S4", from, "a write that cuts a word");
  }
  if (write.offset >= rows_[write.from].size()) {
    std::uint64_t& before = copy(write.to, write.from).ring_posted;
    for (std::uint32_t s = 0; s < view_.subgroups.size(); ++s) {
      const auto& block = ledger_.layout(from).subgroup(SubgroupId(s));
      if (block && block->ring == write.offset && before > block->ring && before < block->ring + block->ring_bytes) {
        report_.hit(Probe::range_wrapped_in_mirror);
      }
    }
    before = write.offset;
    return;
  }
  const std::uint64_t end = std::min<std::uint64_t>(write.offset + write.bytes, rows_[write.from].size());
  for (std::uint64_t at = write.offset; at < end; at += sst::word_bytes) {
    if (word_at(write.local + (at - write.offset)) > word_at(row + at)) {
      return violate("S1", from, "a write of words that the own row never had");
    }
  }
  check_activity(write);
  std::memcpy(copy(write.to, write.from).posted.data() + write.offset, write.local, end - write.offset);
}

// S3: the activity counter is the guard of the subgroups' words: they are posted before it.
void Checker::check_activity(const NetworkListener::Write& write) {
  const sst::RowLayout& layout = ledger_.layout(Rank(write.from));
  const std::vector<std::byte>& posted = copy(write.to, write.from).posted;
  const std::byte* row = ledger_.row(Rank(write.from));
  for (std::uint32_t w = 0; w < layout.activity_words(); ++w) {
    const std::uint64_t at = layout.activity_word(w);
    if (at < write.offset || at >= write.offset + write.bytes) continue;
    if (word_at(write.local + (at - write.offset)) == word_at(posted.data() + at)) continue;
    const std::size_t first = std::size_t{w} * sst::subgroups_per_activity;
    for (std::size_t s = first; s < first + sst::subgroups_per_activity && s < view_.subgroups.size(); ++s) {
      const auto& block = layout.subgroup(SubgroupId(static_cast<std::uint32_t>(s)));
      if (!block || !view_.subgroups[s].member_position(view_.members[write.to])) continue;
      const std::uint64_t bytes = std::max(block->received_of, block->forwarded) +
                                  view_.subgroups[s].senders.size() * sst::word_bytes - block->committed;
      if (std::memcmp(row + block->committed, posted.data() + block->committed, bytes) != 0) {
        violate("S3", Rank(write.from), static_cast<std::uint32_t>(s),
                "activity was posted before the words that it announces");
      }
    }
  }
}

// S2: words never decrease in any copy.
void Checker::on_landing(const NetworkListener::Write& write, std::uint64_t offset, const std::byte* bytes,
                         std::size_t size) {
  if (bulk_.find(write.region)) return;
  const std::size_t control = rows_[write.from].size();
  for (std::size_t at = 0; at + sst::word_bytes <= size && offset + at < control; at += sst::word_bytes) {
    if (word_at(bytes + at) < word_at(write.region + offset + at)) violate("S2", Rank(write.to), "a word of a mirror fell");
  }
}

void Checker::on_landed(const NetworkListener::Write& write, std::uint64_t offset, std::size_t size) {
  if (bulk_.find(write.region)) return;
  const std::size_t control = rows_[write.from].size();
  if (offset >= control) return;
  std::memcpy(copy(write.to, write.from).landed.data() + offset, write.region + offset, std::min(size, control - offset));
  for (std::uint32_t s = 0; s < view_.subgroups.size(); ++s) {
    const auto& block = ledger_.layout(Rank(write.from)).subgroup(SubgroupId(s));
    if (block && block->ring != 0 && block->committed >= offset && block->committed < offset + size) check_guard(write, s);
  }
}

// S3: once `committed` is visible in a mirror, so are all ring bytes that it covers.
void Checker::check_guard(const NetworkListener::Write& write, std::uint32_t id) {
  const NodeId owner = view_.members[write.from];
  const auto sender = view_.subgroups[id].sender_rank(owner);
  if (!sender || !view_.subgroups[id].member_position(view_.members[write.to])) return;
  const SenderBook& book = ledger_.book(id, sender->value());
  const std::uint64_t committed =
      word_at(write.region + ledger_.layout(Rank(write.from)).subgroup(SubgroupId(id))->committed);
  if (committed > book.published.size())
    return violate("S1", Rank(write.to), id, "a mirror knows more than its owner wrote");
  std::size_t& held = receiver(Rank(write.to), id).records_held[sender->value()];
  for (; held < book.records.size() && book.records[held].first < committed; ++held) {
    if (!ledger_.holds(id, sender->value(), book.records[held], write.region)) {
      return violate("S3", Rank(write.to), id, "committed is visible before the bytes that it guards");
    }
  }
}

}  // namespace spindrift::sim
