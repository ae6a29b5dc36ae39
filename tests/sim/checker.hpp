// The checkers: every step, delivery and landed line of a run is held against the public contract and the ledger.
//
// The invariant to remember: a checker knows rows, rings and upcalls, never a protocol object's inside; so it cannot share
// the protocol's mistakes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <spindrift/smc/delivery.hpp>

#include "ledger.hpp"
#include "bulk_memory.hpp"
#include "sim_fabric.hpp"

namespace spindrift::sim {

class Checker {
 public:
  Checker(const View& view, Ledger& ledger, Report& report);
  void set_network(const Network& network) { network_ = &network; }
  /// The member's own row is allocated.
  void on_row(Rank rank, const std::byte* row);

  /// The member's ring of that subgroup is split off its row, and there.
  void on_ring(Rank rank, std::uint32_t subgroup, const std::byte* ring) { ledger_.set_ring(subgroup, rank, ring); }
  /// The member has memory for large messages there.
  void on_bulk(Rank rank, std::uint32_t subgroup, bool own, std::span<const std::byte> memory);

  /// An upcall of ordered or unordered delivery.
  void on_delivery(Rank rank, std::uint32_t subgroup, std::span<const Delivery> batch);
  /// After every step of a member.
  void after_step(Rank rank);

  // From the fabric.
  void on_posted(const NetworkListener::Write& write);
  void on_landing(const NetworkListener::Write& write, std::uint64_t offset, const std::byte* bytes, std::size_t size);
  void on_landed(const NetworkListener::Write& write, std::uint64_t offset, std::size_t size);

  /// When nothing more can happen, everything sent must have been delivered at every live member.
  void on_quiet();

  /// Sequence numbers below it were delivered at this member (ordered subgroups).
  [[nodiscard]] std::uint64_t delivered_before(Rank rank, std::uint32_t subgroup) const;
  /// Messages (without nulls) delivered at this member.
  [[nodiscard]] std::uint64_t delivered_count(Rank rank, std::uint32_t subgroup) const;
  /// A digest of what the application at this member received of each sender, independent of batches and interleaving.
  [[nodiscard]] std::uint64_t outcome(Rank rank, std::uint32_t subgroup) const;
  [[nodiscard]] std::uint64_t deliveries() const noexcept { return deliveries_; }

 private:
  /// The receipts of one member's application in one subgroup.
  struct Receiver {
    std::uint64_t next_sequence = 0;        ///< ordered: everything below was delivered or is null
    std::vector<std::uint64_t> next_index;  ///< by sender: likewise
    std::vector<std::uint64_t> digest;      ///< by sender
    std::vector<std::size_t> large_held;    ///< by sender: records acknowledged, whose large messages were seen here
    std::vector<std::size_t> records_held;  ///< by sender: records whose bytes were seen in this member's memory
    std::uint64_t delivered = 0;
  };
  /// One member's copy of another member's row: what it holds, and what it has been sent.
  struct Copy {
    std::vector<std::byte> landed;  ///< control words as the fabric left them
    std::vector<std::byte> posted;  ///< control words as posted so far
    std::uint64_t ring_posted = 0;  ///< offset of the newest ring bytes posted
  };

  [[nodiscard]] Receiver& receiver(Rank rank, std::uint32_t subgroup) { return receivers_[rank.value()][subgroup]; }
  [[nodiscard]] const Receiver& receiver(Rank rank, std::uint32_t subgroup) const {
    return receivers_[rank.value()][subgroup];
  }
  [[nodiscard]] Copy& copy(std::uint32_t reader, std::uint32_t owner) { return copies_[reader * rows_.size() + owner]; }
  void violate(const char* invariant, Rank rank, std::uint32_t subgroup, const std::string& what);
  void violate(const char* invariant, Rank rank, const std::string& what);

  // deliveries.cpp
  void check_ordered(Rank rank, std::uint32_t subgroup, const Delivery& delivery);
  void check_unordered(Rank rank, std::uint32_t subgroup, const Delivery& delivery);
  void check_content(Rank rank, std::uint32_t subgroup, const Delivery& delivery);
  void check_held_everywhere(Rank rank, std::uint32_t subgroup, std::uint64_t sequence);
  void check_acknowledgements(Rank rank, std::uint32_t subgroup);

  // bulk_checks.cpp
  void check_bulk_write(const NetworkListener::Write& write, const BulkMemory::Place& target);
  void check_large_held(Rank rank, std::uint32_t subgroup, std::uint32_t sender, std::uint64_t messages);

  // checker.cpp
  void check_own_words(Rank rank);
  void check_foreign_rows(Rank rank);
  void check_activity(const NetworkListener::Write& write);
  void check_guard(const NetworkListener::Write& write, std::uint32_t subgroup);

  const View& view_;
  Ledger& ledger_;
  Report& report_;
  const Network* network_ = nullptr;
  std::vector<std::vector<std::byte>> rows_;  // by rank: control words after the owner's last step
  std::vector<Copy> copies_;                  // by reader, by owner
  std::vector<std::vector<Receiver>> receivers_;
  BulkMemory bulk_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, const std::byte*> mirrors_;  // by rank, by subgroup
  std::uint64_t deliveries_ = 0;
};

}  // namespace spindrift::sim
