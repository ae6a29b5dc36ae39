// Checkers of bulk rings: who writes what into which mirror (S1), and that what is acknowledged is there (M5w).
#include <cstring>

#include "checker.hpp"

namespace spindrift::sim {

void Checker::on_bulk(Rank rank, std::uint32_t subgroup, bool own, std::span<const std::byte> memory) {
  bulk_.add(memory.data(), {0, rank.value(), subgroup, own, memory.size()});
  if (own) {
    ledger_.set_bulk(subgroup, rank, memory.data());
  } else {
    mirrors_[{rank.value(), subgroup}] = memory.data();
  }
}

// S1: a mirror gets bytes of the same ring's same place, from the sender or from a mirror of it.
void Checker::check_bulk_write(const NetworkListener::Write& write, const BulkMemory::Place& target) {
  const Rank from(write.from);
  const SubgroupView& subgroup = view_.subgroups[target.region->subgroup];
  const std::uint64_t ring = subgroup.profile.bulk_ring_bytes;
  const auto source = bulk_.find(write.local);
  const bool fine = source && !target.region->own && source->region->process == write.from &&
                    source->region->subgroup == target.region->subgroup && source->offset % ring == write.offset % ring &&
                    write.offset % ring + write.bytes <= ring &&
                    BulkMemory::sender_at(*source, subgroup, view_.members[write.from]) ==
                        BulkMemory::sender_at(target, subgroup, view_.members[write.to]);
  if (!fine) return violate("S1", from, target.region->subgroup, "a large message goes where it does not belong");
  if (!source->region->own) report_.hit(Probe::large_message_handed_on);
}

void Checker::check_large_held(Rank rank, std::uint32_t id, std::uint32_t sender, std::uint64_t messages) {
  const SubgroupView& subgroup = view_.subgroups[id];
  const Rank owner = ledger_.sender_rank_in_view(id, sender);
  const SenderBook& book = ledger_.book(id, sender);
  std::size_t& held = receiver(rank, id).large_held[sender];
  for (; held < book.records.size() && book.records[held].first < messages; ++held) {
    if (!book.records[held].large || network_->mappable(rank.value(), owner.value())) continue;
    const Sent& sent = book.sent[book.records[held].sent];
    const auto own = subgroup.sender_rank(view_.members[rank.value()]);
    const std::uint32_t slot = own && own->value() < sender ? sender - 1 : sender;
    const std::byte* mirror = mirrors_.at({rank.value(), id}) + slot * subgroup.profile.bulk_ring_bytes;
    if (std::memcmp(mirror + sent.bulk_offset, ledger_.bulk(id, owner) + sent.bulk_offset, sent.bytes) != 0) {
      return violate("M5w", rank, id, "acknowledged a large message that is not in its memory");
    }
  }
}

}  // namespace spindrift::sim
