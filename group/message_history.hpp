// The last messages of one subgroup, in the memory of one member, within the bounds that its layout gives.
//
// The invariant to remember: what was appended stays where it is as long as anybody holds a piece of it; so what is being
// sent or handed over costs no copy, and a message that is dropped here meanwhile is still there for those.
//
// The poller's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/history_bounds.hpp>
#include <spindrift/smc/delivery.hpp>

namespace spindrift::group {

/// Stands before each message, in memory and where a history travels; the payload follows, in whole words of 8 bytes.
struct HistoryHead {
  std::uint64_t bytes;  ///< of the payload
  std::uint32_t sender;
  std::uint32_t sender_rank;
  std::uint64_t index;
  std::uint64_t sequence;
  std::uint64_t view;
  std::int64_t delivered;  ///< by the clock of whoever has it, in nanoseconds
};
static_assert(sizeof(HistoryHead) == history_head_bytes);

/// history_piece_bytes, in words. Messages lie one behind the other, also across the ends of pieces.
using HistoryPiece = std::shared_ptr<std::uint64_t[]>;

/// The messages that a history had at one moment.
struct HistorySnapshot {
  std::vector<HistoryPiece> pieces{};  ///< what lies between `begin` and `begin + words` is not changed any more
  std::size_t begin = 0;               ///< word of the first piece in which the first message begins
  std::size_t words = 0;               ///< of all messages
  std::uint64_t first = 0;  ///< version of the first one; if there is none, of the next that is delivered
  std::uint64_t end = 0;    ///< version behind the last one

  /// Fills `to` with what lies behind so many bytes of the messages; in range.
  void read(std::size_t offset, std::span<std::byte> to) const;
};

class MessageHistory {
 public:
  /// `bounds`: completed. `first`: version of the first message that is appended.
  explicit MessageHistory(const HistoryBounds& bounds, std::uint64_t first = 0)
      : bounds_(bounds), first_(first), end_(first) {}

  /// The message of version `end()`, delivered at that time. Those that the bounds have no room for go.
  void append(const Delivery& delivery, Time delivered);
  /// Drops those that are too old by now.
  void expire(Time now);
  /// Drops all; the next one's version is what it was.
  void drop() noexcept;

  [[nodiscard]] HistorySnapshot snapshot() const;
  /// Version of the first message that is there.
  [[nodiscard]] std::uint64_t first() const noexcept { return first_; }
  /// Version of the message that is appended next.
  [[nodiscard]] std::uint64_t end() const noexcept { return end_; }
  /// The bytes of all messages that are there, as HistoryBounds::bytes_of counts them.
  [[nodiscard]] std::uint64_t bytes() const noexcept { return words_ * sizeof(std::uint64_t); }
  [[nodiscard]] const HistoryBounds& bounds() const noexcept { return bounds_; }

 private:
  [[nodiscard]] bool exceeds() const noexcept;
  [[nodiscard]] HistoryHead front() const noexcept;
  void put(std::span<const std::byte> bytes);
  void pop() noexcept;

  HistoryBounds bounds_;
  std::deque<HistoryPiece> pieces_;
  std::size_t begin_ = 0;  // as a snapshot has them
  std::size_t words_ = 0;
  std::uint64_t first_;
  std::uint64_t end_;
};

/// The messages of a snapshot as they were delivered, batch by batch.
class HistoryWalk {
 public:
  /// The messages of versions from `from` on.
  HistoryWalk(HistorySnapshot snapshot, std::uint64_t from);

  /// The next ones, up to 512 or 1 MiB, a larger one alone; none: there are no more. Valid until the next call.
  [[nodiscard]] std::span<const Delivery> next();
  [[nodiscard]] bool done() const noexcept { return next_ == snapshot_.end; }

 private:
  [[nodiscard]] HistoryHead head() const;
  [[nodiscard]] Delivery take(const HistoryHead& head);

  HistorySnapshot snapshot_;
  std::size_t at_ = 0;  // words before the next message
  std::uint64_t next_;
  std::vector<Delivery> batch_;
  std::vector<std::vector<std::uint64_t>> joined_;  // payloads of the batch that lie across the ends of pieces
};

}  // namespace spindrift::group
