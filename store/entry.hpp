// Entries of a journal, one behind the other, each with a place in the history of a subgroup. Plain data; how an entry looks
// on a disk is format.hpp's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <spindrift/core/digest.hpp>
#include <spindrift/core/ids.hpp>

namespace spindrift::store {

/// The k-th entry of a journal, from 0; as an end: the count of entries before it. Grows over segments and incarnations, and
/// is never given to a second entry.
using JournalPosition = Strong<struct JournalPositionTag, std::uint64_t>;

enum class EntryKind : std::uint16_t {
  message = 1,     ///< a delivered message: `subgroup`, `sender`, `view` and `sequence` say which
  view = 2,        ///< a view that is known to be decided
  acceptance = 3,  ///< a view that was accepted, and may be decided
};

[[nodiscard]] std::string_view to_string(EntryKind kind) noexcept;

/// An entry without its payload.
struct EntryHead {
  EntryKind kind = EntryKind::message;
  SubgroupId subgroup;
  NodeId sender;
  ViewId view;
  SequenceNumber sequence;
  std::uint64_t time = 0;  ///< nanoseconds since 1970, never less than that of the entry before
  friend bool operator==(const EntryHead&, const EntryHead&) = default;
};

/// An entry as it was read.
struct Entry {
  JournalPosition position;
  EntryHead head;
  std::span<const std::byte> payload;  ///< valid as long as its reader says
  Digest chain;                        ///< of this entry and, through the one before, of all before it
};

/// The chain's link behind an entry: the digest of the entry and of the link before it. Two journals whose links at one
/// position are equal hold the same entries up to there.
[[nodiscard]] Digest link_of(const Digest& before, JournalPosition position, const EntryHead& head,
                             std::span<const std::byte> payload) noexcept;

/// The largest payload, in bytes.
inline constexpr std::uint64_t payload_bytes_max = std::uint64_t{1} << 31U;

}  // namespace spindrift::store
