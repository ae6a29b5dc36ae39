// The journal's parts on a disk, which FORMAT.md shows on one screen: as plain data, how they become bytes, and how bytes
// are found to be none of them. Pure functions over memory.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <spindrift/core/digest.hpp>
#include <spindrift/core/ids.hpp>
#include <spindrift/store/entry.hpp>
#include <spindrift/store/storage.hpp>

namespace spindrift::store {

/// The versions of the format: what a program of the first one takes for damage is in segments of a later one alone.
enum class SegmentFormat : std::uint32_t {
  first = 1,
  with_signatures = 2,  ///< there may be entries of the kind `signature`
  third = 3,            ///< besides, of the kind `checkpoint`
};
inline constexpr std::uint32_t latest_format = 3;
/// The first version in whose segments there may be entries of that kind; in earlier ones nobody has written any.
[[nodiscard]] constexpr SegmentFormat first_format_with(EntryKind kind) noexcept {
  if (kind == EntryKind::checkpoint) return SegmentFormat::third;
  return kind == EntryKind::signature ? SegmentFormat::with_signatures : SegmentFormat::first;
}

/// The version of the heads in a reserve.
inline constexpr std::uint32_t reserve_version = 1;

/// The node that a journal is of; nobody else goes on with it.
struct JournalOwner {
  Digest group;  ///< of the group's name
  NodeId node;
  friend bool operator==(const JournalOwner&, const JournalOwner&) = default;
};

/// Entries are sealed with this, so that one that lies in the wrong segment, or was left by an earlier use of the disk, is
/// none.
struct SegmentSeal {
  Digest journal;                 ///< drawn at random when the journal was made
  std::uint64_t number = 0;       ///< of the segment in its journal, from 0
  std::uint64_t incarnation = 0;  ///< of the node that wrote it; not 0
  friend bool operator==(const SegmentSeal&, const SegmentSeal&) = default;
};

struct SegmentHead {
  SegmentSeal seal;
  JournalOwner owner;
  std::uint64_t bytes = 0;    ///< size of its file
  std::uint64_t oldest = 0;   ///< number of the journal's first segment when this one was made
  JournalPosition first;      ///< of its first entry; everything before it was durable when the head was written
  std::uint64_t logs = 0;     ///< so many logs have an end before it: in two copies behind the second head
  Digest log_ends;            ///< the digest of these
  SegmentFormat format = SegmentFormat::first;
  friend bool operator==(const SegmentHead&, const SegmentHead&) = default;
};

/// A segment's durability beyond its head and its entries: written now and then; in two places, of which the
/// second alone may be written without a sync.
struct SegmentMark {
  std::uint64_t number = 0;  ///< of the mark, from 1: the higher one counts
  JournalPosition durable;   ///< everything before it was durable when the mark was written
  std::uint64_t oldest = 0;  ///< number of the journal's first segment
  friend bool operator==(const SegmentMark&, const SegmentMark&) = default;
};

/// One of the two copies in the reserve: what it has instead of the journal, for which the disk had no space.
struct ReserveHead {
  std::uint64_t number = 0;   ///< of the put, from 1: the higher one counts
  JournalPosition position;   ///< of the entry that the payload was to be; without a payload: of none
  std::uint32_t bytes = 0;    ///< of the payload; 0: the reserve is empty
  Digest payload;
  Digest before;              ///< of the payload that was there before it
  friend bool operator==(const ReserveHead&, const ReserveHead&) = default;
};

/// The places within a segment, in bytes.
inline constexpr std::uint64_t head_at[] = {0, 3 * block_bytes};
inline constexpr std::uint64_t mark_at[] = {1 * block_bytes, 2 * block_bytes};
inline constexpr std::uint64_t log_ends_at = 4 * block_bytes;
/// Size of the end of one log.
inline constexpr std::size_t log_end_bytes = 48;
/// The most ends that a head may say there are.
inline constexpr std::uint64_t logs_max = 1 << 20U;
/// Size of one copy of the ends of so many logs.
[[nodiscard]] constexpr std::uint64_t log_ends_bytes(std::uint64_t logs) noexcept {
  return whole_blocks(logs * log_end_bytes);
}
/// The place of the first entry behind them.
[[nodiscard]] constexpr std::uint64_t entries_at(std::uint64_t logs) noexcept {
  return log_ends_at + 2 * log_ends_bytes(logs);
}
/// Size of an entry's own part, in front of its payload; both together are padded to a multiple of `entry_alignment`.
inline constexpr std::size_t entry_head_bytes = 96;
inline constexpr std::size_t entry_alignment = 8;

[[nodiscard]] constexpr std::uint64_t entry_bytes(std::uint64_t payload_bytes) noexcept {
  return (entry_head_bytes + payload_bytes + entry_alignment - 1) / entry_alignment * entry_alignment;
}

/// Whole blocks; of no ends none.
[[nodiscard]] Blocks log_ends_blocks(const LogEnds& ends);
/// The ends in one copy; nothing: it is not what the head says.
[[nodiscard]] std::optional<LogEnds> read_log_ends(std::span<const std::byte> copy, const SegmentHead& head);
/// For a head.
[[nodiscard]] Digest log_ends_digest(const LogEnds& ends);

/// One block each.
[[nodiscard]] Blocks head_block(const SegmentHead& head);
[[nodiscard]] Blocks mark_block(const SegmentSeal& seal, const SegmentMark& mark);

[[nodiscard]] Blocks reserve_block(const Digest& journal, const ReserveHead& head);

/// A block that should be a head or a mark turned out to be this.
enum class BlockState {
  whole,
  blank,    ///< zeros: it was never written
  unknown,  ///< of a later version of the format
  damaged,
};

struct HeadReading {
  BlockState state = BlockState::damaged;
  SegmentHead head;           ///< if it is whole
  std::uint32_t version = 0;  ///< if it is unknown
};
[[nodiscard]] HeadReading read_head(std::span<const std::byte> block) noexcept;

struct MarkReading {
  BlockState state = BlockState::damaged;
  SegmentMark mark;  ///< if it is whole
};
/// A mark of another segment or incarnation is damaged.
[[nodiscard]] MarkReading read_mark(std::span<const std::byte> block, const SegmentSeal& seal) noexcept;

struct ReserveReading {
  BlockState state = BlockState::damaged;
  ReserveHead head;           ///< if it is whole
  Digest journal;             ///< likewise
  std::uint32_t version = 0;  ///< if it is unknown
};
[[nodiscard]] ReserveReading read_reserve_head(std::span<const std::byte> block) noexcept;

/// An entry's place in what was written at once.
struct EntryPlace {
  JournalPosition batch;  ///< position of the first entry of its batch: everything before it was durable by then
  bool last = false;      ///< of its batch: the next entry begins at the next block
};
/// Writes an entry's own part in front of its payload: `to` is `entry_bytes` long, and has payload and zeros already.
/// Returns the end of its log behind it.
LogEnd seal_entry(std::span<std::byte> to, const Entry& entry, const LogEnd& before, const SegmentSeal& seal,
                  EntryPlace place);

struct FoundEntry {
  Entry entry;  ///< its payload lies in the bytes that were read
  Digest link_before;
  LogEnd end;  ///< of its log, behind it
  EntryPlace place;
  std::uint64_t bytes = 0;  ///< with its padding
};
/// The entry with which these bytes begin; nothing: there is none, or it is not as it was sealed.
[[nodiscard]] std::optional<FoundEntry> read_entry(std::span<const std::byte> bytes, const SegmentSeal& seal) noexcept;

[[nodiscard]] bool all_zero(std::span<const std::byte> bytes) noexcept;

/// The name of a file that is there from the first segment on: without it a directory has no journal yet, and with it and
/// without segments one that is lost.
inline constexpr std::string_view begun_name = "begun";
/// The name of the reserve: see reserve.hpp.
inline constexpr std::string_view reserve_name = "reserve";
/// The names of a segment and of a reserve as long as they are not whole.
inline constexpr std::string_view unfinished_segment_name = "next.segment";
inline constexpr std::string_view unfinished_reserve_name = "next.reserve";
/// Whether a journal makes files of that name; all others in its directory are somebody else's, and are left alone.
[[nodiscard]] bool is_journal_file(std::string_view name) noexcept;
/// The name of a segment's file: 16 hexadecimal digits and ".segment".
[[nodiscard]] std::string segment_name(std::uint64_t number);
/// The number of the segment that has this name; nothing: it is the name of none.
[[nodiscard]] std::optional<std::uint64_t> segment_number(std::string_view name) noexcept;

}  // namespace spindrift::store
