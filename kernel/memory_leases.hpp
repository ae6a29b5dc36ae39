// Which remote memory an operation may name, as far as was checked lately: KRCore's MRStore (sections 4.2 and 4.4). What a
// queue pair that many share is asked to do is checked first: a wrong key or range would break it for all of them.
//
// Remember: a record counts for less than `lease` from the *beginning* of the lookup that found it, by this process's own
// clock. A region that is withdrawn, by its owner from every table, was in its table when that lookup read it or was
// withdrawn after the lookup began: so `lease` after its withdrawal nobody's record of it counts, whatever the lookup's way
// took.
//
// The lease keeps queue pairs from breaking; it is not what protects memory. A process that is stopped between its check and
// its post for longer than the owner reckons with posts a dead key, and the provider refuses it.
//
// Threading: one thread. Memory: 80 bytes per record, and 8 to 16 of index; all taken when it is made.
#pragma once

#include <cstdint>

#include <spindrift/core/clock.hpp>
#include <spindrift/fabric/fabric.hpp>
#include <spindrift/core/ids.hpp>
#include <spindrift/kernel/lru_table.hpp>
#include <spindrift/kernel/meta_values.hpp>
#include <spindrift/kernel/virtual_pairs.hpp>

namespace spindrift::kernel {

/// How long the owner of a region keeps it after the *last* table has erased it, by its own clock; then nobody's record of
/// it counts, and no operation on it is under way. `flight_max`: from the `now` that a reader gave to its check until the
/// operation can touch the memory no more; the reader's own stay between check and post is part of it. Neither is negative.
/// (KRCore, section 4.2, waits one lease; that is too short by the time that an operation takes.)
[[nodiscard]] Duration withdrawal_wait(Duration lease, Duration flight_max);

class MemoryLeases {
 public:
  /// allowed: post it now, in the same step; refused: out of the region, or not the kind of access that it is for; unknown:
  /// nothing that counts is known of the region: look it up.
  using Verdict = RemoteMemory::Verdict;

  /// One operation's wish, in the peer's terms.
  struct Want {
    NodeId peer;
    std::uint64_t key = 0;      ///< PhysicalOperation::remote_key
    std::uint64_t address = 0;  ///< PhysicalOperation::remote_address
    std::uint64_t bytes = 0;    ///< 0 is allowed anywhere in the region and at its end
    fabric::Access access = fabric::Access::read;
  };

  /// Room for `records_max` records, 1 … 2^24; `lease` is more than 0, and the same in the whole group.
  MemoryLeases(std::uint32_t records_max, Duration lease);

  /// `now` never goes back from call to call.
  [[nodiscard]] Verdict check(const Want& want, Time now);

  /// A lookup of (peer, key) that began at `began` found `record`. Kept if it is the record of that region and still counts;
  /// else false: refuse if it is another region's, and look up again if the lookup took longer than the lease.
  bool on_found(NodeId peer, std::uint64_t key, const MemoryRecord& record, Time began, Time now);
  /// A lookup found that there is no such region: what was known of it is dropped.
  void on_absent(NodeId peer, std::uint64_t key);
  /// Its next start has other memory.
  void on_lost(NodeId peer);

  [[nodiscard]] std::uint32_t size() const noexcept { return table_.size(); }

 private:
  struct Name {
    NodeId peer;
    std::uint64_t key = 0;
    friend bool operator==(const Name&, const Name&) = default;
  };
  struct Hash {
    [[nodiscard]] std::size_t operator()(const Name& name) const noexcept;
  };
  struct Checked {
    MemoryRecord record;
    Time began;
  };
  using Table = LruTable<Name, Checked, Hash>;
  static_assert(sizeof(Table::Entry) == 80);

  [[nodiscard]] bool counts(Time began, Time now) const noexcept;

  Table table_;
  Duration lease_;
};

}  // namespace spindrift::kernel
