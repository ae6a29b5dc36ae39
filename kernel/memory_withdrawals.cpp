// Deadlines of regions on their way out.
#include <spindrift/kernel/memory_withdrawals.hpp>

#include <algorithm>
#include <utility>

#include <spindrift/core/check.hpp>

namespace spindrift::kernel {

MemoryWithdrawals::MemoryWithdrawals(Duration lease, Duration flight_max) : wait_(wait_of(lease, flight_max)) {}

Duration MemoryWithdrawals::wait_of(Duration lease, Duration flight_max) {
  CHECK(lease >= Duration::zero() && flight_max >= Duration::zero());
  const Duration both = lease + flight_max;
  // Twice the difference in rates, for a slow reader's lease is long by its own error, and the owner's wait short by its
  // own.
  return both + both / 500 + Duration(1);
}

std::uint64_t MemoryWithdrawals::begin(const MemoryKeys& keys, std::vector<NodeId> tables, Time now) {
  const Time free_at = tables.empty() ? now + wait_ : never;
  waiting_.push_back({++begun_, keys, std::move(tables), free_at});
  return begun_;
}

void MemoryWithdrawals::on_erased(std::uint64_t withdrawal, NodeId table, Time now) {
  for (Waiting& waiting : waiting_)
    if (waiting.withdrawal == withdrawal) erased(waiting, table, now);
}

void MemoryWithdrawals::on_table_gone(NodeId table, Time now) {
  for (Waiting& waiting : waiting_) erased(waiting, table, now);
}

void MemoryWithdrawals::erased(Waiting& waiting, NodeId table, Time now) {
  const auto tables_before = waiting.tables.size();
  std::erase(waiting.tables, table);
  if (waiting.tables.empty() && tables_before > 0) waiting.free_at = now + wait_;
}

std::optional<MemoryWithdrawals::Freed> MemoryWithdrawals::take_free(Time now) {
  const auto due = std::find_if(waiting_.begin(), waiting_.end(), [&](const Waiting& w) { return w.free_at <= now; });
  if (due == waiting_.end()) return std::nullopt;
  const Freed freed{due->withdrawal, due->keys};
  waiting_.erase(due);
  return freed;
}

Time MemoryWithdrawals::deadline() const noexcept {
  Time earliest = never;
  for (const Waiting& waiting : waiting_) earliest = std::min(earliest, waiting.free_at);
  return earliest;
}

}  // namespace spindrift::kernel
