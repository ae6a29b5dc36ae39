// The check of one operation, and what a lookup's answer is worth.
#include <spindrift/kernel/memory_leases.hpp>

#include <spindrift/core/check.hpp>

namespace spindrift::kernel {

// Nobody's clock is compared with another's. Rates may differ by 0.1 %: two clocks that are each slewed by at most 500 parts
// in a million. Twice that, for a slow reader's lease is long by its own error, and the owner's wait short by its own.
Duration withdrawal_wait(Duration lease, Duration flight_max) {
  CHECK(lease >= Duration::zero() && flight_max >= Duration::zero());
  const Duration both = lease + flight_max;
  return both + both / 500 + Duration(1);
}

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
  // If two lookups are under way at once, the later one's answer may come first.
  const Checked* known = table_.find(Name{peer, key});
  if (known == nullptr || known->began <= began) table_.put(Name{peer, key}, Checked{record, began});
  return true;
}

void MemoryLeases::on_absent(NodeId peer, std::uint64_t key) { table_.erase(Name{peer, key}); }

void MemoryLeases::on_lost(NodeId peer) {
  table_.erase_if([&](const Name& name, const Checked&) { return name.peer == peer; });
}

bool MemoryLeases::counts(Time began, Time now) const noexcept {
  CHECK(began <= now);
  return now - began < lease_;
}

std::size_t MemoryLeases::Hash::operator()(const Name& name) const noexcept {
  return static_cast<std::size_t>(meta_key_of(name.peer, name.key));
}

}  // namespace spindrift::kernel
