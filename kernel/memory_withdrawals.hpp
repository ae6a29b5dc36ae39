// The owner's side of memory leases: registered memory is given back in steps, so that no peer's operation meets it half
// gone. First the region is erased from every meta table, then it waits until no reader's record of it counts and no
// operation is under way, then it may be deregistered and freed. (KRCore, section 4.2, waits one lease; that is too short by
// the time that an operation takes.)
//
// Remember: the wait begins when the *last* table has erased it, by the owner's own clock; nobody's clock is compared with
// another's. Rates may differ by 0.1 %: two clocks that are each slewed by at most 500 parts in a million.
//
// Threading: one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/ids.hpp>
#include <spindrift/kernel/physical.hpp>

namespace spindrift::kernel {

class MemoryWithdrawals {
 public:
  /// `lease` is that of the readers (MemoryLeases). `flight_max`: from the `now` that a reader gave to its check until the
  /// operation can touch the memory no more; the reader's own stay between check and post is part of it. Neither is
  /// negative.
  MemoryWithdrawals(Duration lease, Duration flight_max);

  /// How long a region stays after the last table erased it.
  [[nodiscard]] static Duration wait_of(Duration lease, Duration flight_max);

  /// Begins to withdraw a region that is in the tables of `tables`, of which each is to be asked now to erase it. With none
  /// (a table that held it may be gone) it waits from `now` on. The number names the withdrawal, and is never used again.
  [[nodiscard]] std::uint64_t begin(const MemoryKeys& keys, std::vector<NodeId> tables, Time now);

  /// A table says that it has erased the region: `now` is at or after that moment. Ignored if it is said again, of an
  /// unknown withdrawal, or by a node that was not asked: it comes from a peer.
  void on_erased(std::uint64_t withdrawal, NodeId table, Time now);
  /// No reader reads that table from `now` on: every one has it out of its view. Until then what it says may be believed.
  void on_table_gone(NodeId table, Time now);

  struct Freed {
    std::uint64_t withdrawal = 0;
    MemoryKeys keys;
  };
  /// A region that may be deregistered and freed now; call again until there is none.
  [[nodiscard]] std::optional<Freed> take_free(Time now);
  /// When `take_free` will have one; `never`: not before an `on_erased` or `on_table_gone`.
  [[nodiscard]] Time deadline() const noexcept;

  /// Regions that wait for a table, or for time to pass.
  [[nodiscard]] std::size_t size() const noexcept { return waiting_.size(); }

 private:
  struct Waiting {
    std::uint64_t withdrawal = 0;
    MemoryKeys keys;
    std::vector<NodeId> tables;  ///< that have not erased it
    Time free_at = never;        ///< never, as long as there are any
  };

  void erased(Waiting& waiting, NodeId table, Time now);

  Duration wait_;
  std::uint64_t begun_ = 0;
  std::vector<Waiting> waiting_;  ///< in the order of their beginning
};

}  // namespace spindrift::kernel
