// Mirrors, line by line as they land: copies of a row's past (S1, S2), behind no guard without its data (S3), and nothing of
// a suspect that still counts (V8).
#include <algorithm>
#include <cstring>

#include <spindrift/core/untrusted.hpp>
#include <spindrift/smc/record.hpp>

#include "rows.hpp"
#include "suspects_of_row.hpp"

namespace spindrift::sim {
namespace {

/// In place of what a suspect writes: no count, no header and no decree that anybody could believe.
constexpr int spoiled = 0xff;

}  // namespace

Rows::Region* Rows::mirror_of(const NetworkListener::Write& write) {
  const auto found = regions_.find(write.region);
  if (found == regions_.end()) return nullptr;
  Region& mirror = found->second;
  if (mirror.owner == nullptr) {
    auto& books = books_[ViewId(mirror.view)];
    const auto owner = books.find(write.from);
    if (owner == books.end()) return nullptr;
    mirror.owner = &owner->second;
    mirror.rings.resize(owner->second.view->subgroups.size());
  }
  return &mirror;
}

bool Rows::suspects_owner(const Region& mirror) {
  return mirror.reader != nullptr && mirror.reader->suspects_now().contains(mirror.owner->rank);
}

// S1, S2: no word of a mirror falls, or is ahead of its row.
void Rows::on_landing(const NetworkListener::Write& write, std::uint64_t offset, const std::byte* bytes, std::size_t size) {
  const Region* const mirror = mirror_of(write);
  if (mirror == nullptr || suspects_owner(*mirror)) return;
  const RowBook& book = *mirror->owner;
  for (std::size_t at = 0; at + sst::word_bytes <= size && offset + at < book.layout.control_bytes();
       at += sst::word_bytes) {
    const std::uint64_t word = load_acquire(bytes + at);
    if (!book.released && word > book.now(offset + at)) {
      return report_.violate(
          "S1", "process " + std::to_string(write.to) + ": a mirror gets words that its row of this view never had");
    }
    if (load_acquire(write.region + offset + at) > word) {
      return report_.violate("S2", "process " + std::to_string(write.to) + ": a word of a mirror fell");
    }
  }
}

void Rows::on_landed(const NetworkListener::Write& write, std::uint64_t offset, std::size_t size) {
  if (const auto place = bulk_.find(write.region)) return on_bulk_landed(write, *place, offset, size);
  Region* const mirror = mirror_of(write);
  if (mirror == nullptr) return;
  check_readers(*mirror, offset, size);
  if (suspects_owner(*mirror)) {
    if (!write.late && mirror->reader->suspected_earlier().contains(mirror->owner->rank)) {
      return report_.violate("V8", "process " + std::to_string(write.to) + " lets a member write that it suspects");
    }
    std::memset(write.region + offset, spoiled, size);
    return report_.hit(Probe::suspect_wrote);
  }
  const RowBook& owner = *mirror->owner;
  if (owner.released || offset >= owner.layout.control_bytes()) return;
  const auto brings = [&](std::uint64_t word) { return word >= offset && word < offset + size; };
  if (brings(owner.layout.accepted())) {
    check_counts(*mirror, write.region);
    check_decree(*mirror, write.region);
  }
  bool promises = false;
  for_each_suspicion(owner.layout, owner.view->members.size(), [&](std::uint64_t word) { promises |= brings(word); });
  if (promises) check_promises(*mirror, write.region);
  for (std::uint32_t s = 0; s < mirror->rings.size(); ++s) {
    const auto& block = owner.layout.subgroup(SubgroupId(s));
    if (block && block->ring != 0 && brings(block->committed)) check_ring(*mirror, write.region, s);
  }
}

void Rows::unguarded(const Region& mirror, const char* what) {
  report_.violate("S3", "view " + std::to_string(mirror.view) + ", a mirror of process " +
                            std::to_string(mirror.owner->process) + "'s row: " + what);
}

// P1: of a subgroup's messages, members of others get no byte; its counts come to everybody.
void Rows::check_readers(const Region& mirror, std::uint64_t offset, std::size_t size) {
  if (mirror.reader == nullptr) return;
  const RowBook& owner = *mirror.owner;
  const NodeId reader = owner.view->members[mirror.reader->rank.value()];
  for (std::uint32_t s = 0; s < owner.view->subgroups.size(); ++s) {
    const auto& block = owner.layout.subgroup(SubgroupId(s));
    if (!block || block->ring == 0 || offset + size <= block->ring || offset >= block->ring + block->ring_bytes) continue;
    if (owner.view->subgroups[s].member_position(reader)) continue;
    report_.violate("P1", "process " + std::to_string(mirror.reader->process) + " gets messages of subgroup " +
                              std::to_string(s) + ", of which it is no member");
  }
}

// `committed` guards the records: all of them are in the mirror as they are in the sender's ring, which it may not reuse
// yet.
void Rows::check_ring(Region& mirror, const std::byte* memory, std::uint32_t subgroup) {
  const RowBook& owner = *mirror.owner;
  const sst::SubgroupBlock& block = *owner.layout.subgroup(SubgroupId(subgroup));
  const std::uint64_t committed = load_acquire(memory + block.committed);
  const std::byte* const ring = owner.ring(subgroup);
  const auto same = [&](std::uint64_t position, std::uint64_t bytes) {
    const std::uint64_t at = position % block.ring_bytes;
    return std::memcmp(memory + block.ring + at, ring + at, bytes) == 0;
  };
  RingSeen& seen = mirror.rings[subgroup];
  // Nobody sees a message of a subgroup that it is not in; its counts come to everybody.
  if (!owner.view->subgroups[subgroup].member_position(owner.view->members[mirror.reader->rank.value()])) return;
  while (seen.count < committed) {
    const auto header =
        smc::RecordHeader::decode(read_word(ring + seen.position % block.ring_bytes), seen.records);
    if (!header || !same(seen.position, smc::header_bytes))
      return unguarded(mirror, "messages are counted before they came");
    if (header->kind == smc::RecordKind::padding) {
      seen.position += block.ring_bytes - seen.position % block.ring_bytes;
      continue;
    }
    const bool nulls = header->kind == smc::RecordKind::null_run;
    const std::uint64_t bytes = nulls ? smc::header_bytes : smc::record_bytes(header->length);
    if (!same(seen.position, nulls ? bytes : smc::header_bytes + header->length)) {
      return unguarded(mirror, "messages are counted before all their bytes came");
    }
    seen.position += bytes;
    seen.count += nulls ? header->length : 1;
    ++seen.records;
  }
}

// `accepted` guards the decree.
void Rows::check_decree(Region& mirror, const std::byte* memory) {
  const RowBook& owner = *mirror.owner;
  const std::uint64_t accepted = load_acquire(memory + owner.layout.accepted());
  if (accepted == mirror.accepted) return;
  mirror.accepted = accepted;
  const auto decree = endings_.decree(owner.view->id, accepted);
  if (std::memcmp(memory + owner.layout.decree(), decree.data(), decree.size_bytes()) == 0 && !decree.empty()) return;
  unguarded(mirror, "a decree is accepted before it came");
}

// `wedged` guards the counts, which are final then, and `phase` the view's id.
void Rows::check_counts(Region& mirror, const std::byte* memory) {
  const RowBook& owner = *mirror.owner;
  if (load_acquire(memory + owner.layout.phase()) != 0 && load_acquire(memory + owner.layout.epoch()) != mirror.view) {
    return unguarded(mirror, "it is attached without a view");
  }
  if (mirror.wedged || load_acquire(memory + owner.layout.wedged()) == 0) return;
  mirror.wedged = true;
  for (std::uint32_t s = 0; s < mirror.rings.size(); ++s) {
    const auto& block = owner.layout.subgroup(SubgroupId(s));
    const std::size_t bytes = owner.view->subgroups[s].senders.size() * sst::word_bytes;
    if (!block || std::memcmp(memory + block->received_of, owner.memory + block->received_of, bytes) == 0) continue;
    return unguarded(mirror, "it is wedged before its counts came");
  }
}

// A member that sees a promise sees every acceptance made before it.
void Rows::check_promises(Region& mirror, const std::byte* memory) {
  const RowBook& owner = *mirror.owner;
  const views::RankSet suspected = suspects_of_row(owner.layout, owner.view->members.size(),
                                                   [&](std::uint64_t offset) { return load_acquire(memory + offset); });
  for (; mirror.promises < owner.promises.size(); ++mirror.promises) {
    const RowBook::Promise& promise = owner.promises[mirror.promises];
    if (!suspected.includes(promise.suspected)) return;
    if (load_acquire(memory + owner.layout.accepted()) >= promise.accepted) continue;
    return unguarded(mirror, "a promise came before what had been accepted");
  }
}

}  // namespace spindrift::sim
