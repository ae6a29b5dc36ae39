// The check of one operation, and what a lookup's answer is worth.
#include <spindrift/kernel/memory_leases.hpp>

#include <spindrift/core/check.hpp>

namespace spindrift::kernel {

MemoryLeases::MemoryLeases(std::uint32_t records_max, Duration lease) : table_(records_max), lease_(lease) {
  CHECK(lease > Duration::zero());
}

MemoryLeases::Verdict MemoryLeases::check(const Want& want, Time now) {
  const Name name{want.peer, want.key};
  const Checked* known = table_.find(name);
  if (known != nullptr && !counts(known->began, now)) {
    table_.erase(name);
    known = nullptr;
  }
  ++(known != nullptr ? hits_ : misses_);
  if (known == nullptr) return Verdict::unknown;

  const MemoryRecord& record = known->record;
  if (want.access != record.access) return Verdict::refused;
  // Without a sum: the operation's numbers are an application's, and could wrap.
  if (want.address < record.base || want.bytes > record.bytes) return Verdict::refused;
  if (want.address - record.base > record.bytes - want.bytes) return Verdict::refused;
  return Verdict::allowed;
}

bool MemoryLeases::on_found(NodeId peer, std::uint64_t key, const MemoryRecord& record, Time began, Time now) {
  if (record.node != peer || record.key != key) {
    table_.erase(Name{peer, key});
    return false;
  }
  if (!counts(began, now)) return false;
  // Of two lookups under way at once the later one's answer may come first.
  const Checked* known = table_.find(Name{peer, key});
  if (known == nullptr || known->began <= began) table_.put(Name{peer, key}, Checked{record, began});
  return true;
}

void MemoryLeases::on_absent(NodeId peer, std::uint64_t key) { table_.erase(Name{peer, key}); }

void MemoryLeases::on_lost(NodeId peer) {
  table_.erase_if([&](const Name& name, const Checked&) { return name.peer == peer; });
}

void MemoryLeases::drop_expired(Time now) {
  table_.erase_if([&](const Name&, const Checked& checked) { return !counts(checked.began, now); });
}

bool MemoryLeases::counts(Time began, Time now) const noexcept {
  CHECK(began <= now);
  return now - began < lease_;
}

std::size_t MemoryLeases::Hash::operator()(const Name& name) const noexcept {
  return static_cast<std::size_t>(meta_key_of(name.peer, name.key));
}

}  // namespace spindrift::kernel
