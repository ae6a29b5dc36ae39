// The words of one subgroup in the rows of its members: where they lie and whose they are, how the own ones are stored, and
// how the others' are read.
//
// The invariant to remember: a peer's word is read once and believed only if it did not fall and a correct member can have
// written it. The first that is not believed is the fault, and no step reads anything behind it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <spindrift/core/counters.hpp>
#include <spindrift/core/histogram.hpp>
#include <spindrift/core/view.hpp>
#include <spindrift/sst/table.hpp>

namespace spindrift::smc {

/// A peer wrote what no correct member writes.
struct PeerFault {
  NodeId node;
  std::string what;
};

class SubgroupRows {
 public:
  static constexpr std::uint32_t nowhere = ~std::uint32_t{0};
  /// The role of a rank of the view here: its position among members and senders, `nowhere` where it is none.
  struct Role {
    std::uint32_t position = nowhere;
    std::uint32_t sender = nowhere;
  };

  /// The member must be in the subgroup. `table` outlives this object.
  SubgroupRows(SubgroupId id, sst::Table& table);

  [[nodiscard]] SubgroupId id() const noexcept { return id_; }
  [[nodiscard]] const SubgroupView& subgroup() const noexcept { return subgroup_; }
  [[nodiscard]] bool ordered() const noexcept { return subgroup_.mode == DeliveryMode::ordered; }
  [[nodiscard]] bool logged() const noexcept { return subgroup_.storage == SubgroupStorage::logged; }
  [[nodiscard]] sst::Table& table() const noexcept { return table_; }
  [[nodiscard]] std::size_t members() const noexcept { return members_.size(); }
  [[nodiscard]] std::size_t senders() const noexcept { return senders_.size(); }
  [[nodiscard]] Rank member(std::size_t position) const noexcept { return members_[position]; }
  [[nodiscard]] Rank sender(std::size_t sender) const noexcept { return senders_[sender]; }
  [[nodiscard]] Role role(Rank rank) const noexcept { return roles_[rank.value()]; }
  [[nodiscard]] Role own() const noexcept { return own_; }
  [[nodiscard]] bool sends() const noexcept { return own_.sender != nowhere; }

  /// The places of the words of that member, which is in the subgroup, in its row.
  [[nodiscard]] const sst::SubgroupBlock& block(Rank rank) const noexcept { return *blocks_[rank.value()]; }
  [[nodiscard]] const sst::SubgroupBlock& own_block() const noexcept { return block(table_.self()); }
  /// Stores an own word for the members of the subgroup.
  void store(std::uint64_t offset, std::uint64_t value) { table_.store(offset, value, sst::Table::members_of(id_)); }

  /// Whether that word says another thing than `known`.
  [[nodiscard]] bool differs(Rank rank, std::uint64_t offset, std::uint64_t known) const {
    return !table_.read(rank, offset).equals(known);
  }
  /// Reads that word into `known`, what it said before; `highest` is the most that a correct member can have written. False:
  /// it is impossible, `fault` says why.
  [[nodiscard]] bool read(Rank rank, std::uint64_t offset, std::uint64_t& known, std::uint64_t highest, const char* field);
  /// That member wrote what it cannot have written.
  void report(Rank rank, std::string what);
  [[nodiscard]] const std::optional<PeerFault>& fault() const noexcept { return fault_; }

  /// A counter of this subgroup.
  [[nodiscard]] Counter counter(CounterBlock& counters, const char* name) const;
  /// A histogram of this subgroup.
  [[nodiscard]] Histogram histogram(CounterBlock& counters, const char* name, std::size_t bounds) const;

 private:
  SubgroupId id_;
  sst::Table& table_;
  const SubgroupView& subgroup_;
  std::vector<Rank> members_;                      // by position
  std::vector<Rank> senders_;                      // by sender rank
  std::vector<Role> roles_;                        // by rank
  std::vector<const sst::SubgroupBlock*> blocks_;  // by rank; null where not a member
  Role own_;
  std::optional<PeerFault> fault_;
};

}  // namespace spindrift::smc
