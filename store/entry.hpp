// Entries of a journal, one behind the other, each with a place in the history of a subgroup. Plain data; how an entry looks
// on a disk is format.hpp's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <spindrift/core/digest.hpp>
#include <spindrift/core/ids.hpp>

namespace spindrift::store {

/// The k-th entry of a journal, from 0; as an end: the count of entries before it. Grows over segments and incarnations, and
/// is never given to a second entry.
using JournalPosition = Strong<struct JournalPositionTag, std::uint64_t>;
/// The k-th entry of a subgroup's log, from 0: the same at all members, wherever it lies in their journals.
using LogVersion = Strong<struct LogVersionTag, std::uint64_t>;

enum class EntryKind : std::uint16_t {
  message = 1,     ///< a delivered message: `subgroup`, `sender`, `view` and `sequence` say which
  view = 2,        ///< a view that is known to be decided; of the log of `no_subgroup`
  acceptance = 3,  ///< a view that was accepted, and may be decided; of the log of `no_subgroup`
  base = 4,        ///< the subgroup's log goes on with this version, behind the link that is its payload: what this journal
                   ///< has of the log before is void
  signature = 5,   ///< the node's signature over a log up to some version; of the log of `no_subgroup`. In segments of the
                   ///< second format and later ones alone.
  checkpoint = 6,  ///< a piece of a subgroup's state as of a version of its log; of the log of `no_subgroup`. See
                   ///< checkpoint.hpp. In segments of the third format alone.
};

[[nodiscard]] std::string_view to_string(EntryKind kind) noexcept;

/// The log of what belongs to no subgroup.
inline constexpr SubgroupId no_subgroup{~std::uint32_t{0}};

/// An entry without its payload, as it is appended.
struct EntryHead {
  EntryKind kind = EntryKind::message;
  SubgroupId subgroup;
  NodeId sender;
  ViewId view;
  SequenceNumber sequence;
  std::uint64_t time = 0;  ///< nanoseconds since 1970, never less than that of the entry before in the journal
  friend bool operator==(const EntryHead&, const EntryHead&) = default;
};

/// The end of a log: of the entries of one subgroup, in the order in which all of its members have them.
struct LogEnd {
  SubgroupId subgroup;
  LogVersion version;       ///< of the next entry: the count of those before it since the log began, wherever they are now
  ViewId view;              ///< of the last entry
  SequenceNumber sequence;  ///< of the last entry
  Digest link;              ///< behind it: two logs whose links at one version are equal are the same up to there
  friend bool operator==(const LogEnd&, const LogEnd&) = default;
};

/// By subgroup, in their order; a log without an entry is not among them.
class LogEnds {
 public:
  LogEnds() = default;
  /// In any order, one of each subgroup.
  explicit LogEnds(std::vector<LogEnd> ends);

  [[nodiscard]] std::span<const LogEnd> all() const noexcept { return ends_; }
  /// The end of that log; one without an entry ends at version 0.
  [[nodiscard]] LogEnd of(SubgroupId subgroup) const noexcept;
  void set(const LogEnd& end);
  friend bool operator==(const LogEnds&, const LogEnds&) = default;

 private:
  std::vector<LogEnd> ends_;
};

/// The end behind an entry that follows this one. Of a `base` the payload is one link.
[[nodiscard]] LogEnd end_behind(const LogEnd& before, const EntryHead& head, LogVersion version,
                                std::span<const std::byte> payload) noexcept;

/// An entry as it was read.
struct Entry {
  JournalPosition position;
  LogVersion version;  ///< in its log
  EntryHead head;
  std::span<const std::byte> payload;  ///< valid as long as its reader says
};

/// The largest payload, in bytes.
inline constexpr std::uint64_t payload_bytes_max = std::uint64_t{1} << 31U;

}  // namespace spindrift::store
