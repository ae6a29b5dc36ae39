// Repairing a journal of which durable entries cannot be read: the messages that are lost are taken from journals of other
// nodes, where these prove that they have the same log, and everything is written into a new journal.
//
// The invariant to remember: nothing is taken that an entry of this journal behind the hole does not imply by its link, and
// nothing that this node alone has said (its records of views) is made up: it has to be superseded by what is left.
//
// Not thread-safe. The journal is nobody's meanwhile; those that are read may be written beside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <spindrift/core/digest.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/store/entry.hpp>
#include <spindrift/store/examine.hpp>
#include <spindrift/store/storage.hpp>

namespace spindrift::store {

/// The place of a message in one of the journals that are read.
struct StoredMessage {
  std::size_t source = 0;     ///< index of the journal
  std::uint64_t segment = 0;  ///< its number
  std::uint64_t at = 0;       ///< in it, in bytes
};

/// Messages of one log that are lost, between two points of it that this journal knows.
struct LackingMessages {
  SubgroupId subgroup;
  LogVersion first;
  LogVersion end;
  Digest before;                     ///< the link at `first`
  Digest behind;                     ///< and at `end`: it implies all of them
  std::vector<StoredMessage> from{};  ///< as many, in order; empty: nobody has them all
};

/// A place at which entries that were durable cannot be read.
struct DamagedPlace {
  std::string place;      ///< file and offset, for people
  JournalPosition first;
  JournalPosition end;    ///< behind the last of them
  /// A log that goes on behind several places alone has what it lacks at the first of them.
  std::vector<LackingMessages> messages{};
  /// So many entries are lost that this node alone had: records of views, signatures, pieces of checkpoints. Nobody knows
  /// which.
  std::uint64_t own = 0;
  JournalPosition own_end{};                       ///< all of them were before it
  std::optional<JournalPosition> superseded_by{};  ///< the record of views behind them, which says all that they said
};

struct RepairPlan {
  JournalOwner owner;
  JournalFindings findings;          ///< of the journal as it is
  std::vector<DamagedPlace> places;  ///< in order
  std::vector<Error> refusals;       ///< why it cannot be repaired so, each with its place
  std::vector<std::byte> reserved;   ///< the record of views that counts and is in the reserve alone; empty: none is

  /// Whether there is anything to be repaired.
  [[nodiscard]] bool needed() const noexcept { return findings.loss() != nullptr; }
  [[nodiscard]] bool possible() const noexcept { return needed() && refusals.empty(); }
};

/// Finds out what is lost, and who has it. Changes nothing. Storages outlive the plan's use. Errors: refused (a journal of
/// another group), bad_argument (there is none in a source), and as of `examine`.
[[nodiscard]] Result<RepairPlan> plan_repair(Storage& own, const JournalOwner& owner, std::span<Storage* const> sources);

/// Writes the journal anew, into a storage that has nothing but what an earlier attempt left, which is removed. It is whole
/// and durable when this returns, and its logs end where those of the plan do, by the same links. `name`: its name among
/// all journals, drawn at random. Errors: bad_input (a source is another than when the plan was made), disk_full, resource.
[[nodiscard]] Result<void> write_repaired(Storage& own, const RepairPlan& plan, std::span<Storage* const> sources,
                                          Storage& fresh, const Digest& name);

}  // namespace spindrift::store
