// A feed: the copy of a subgroup's deliveries that a member keeps in shared memory for its observers. One ring of records,
// written by the poller, and read by any number of processes that cannot write it. It is written at most one lap further
// than its quickest reader says that it is; the messages behind are left out. A reader that is slower is overtaken. Each
// notices, and nobody waits for it.
//
// The invariant to remember: the writer says how far it is going to write before it writes, and how far it has written
// behind that. A reader that has copied bytes out and then sees that the writer was not yet going to overwrite them has what
// was written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <spindrift/core/result.hpp>
#include <spindrift/group/feed_end.hpp>
#include <spindrift/group/observation.hpp>

namespace spindrift::group {

/// Stands before each payload. All fields but the last are as the member delivered the message.
struct FeedRecord {
  std::uint64_t view = 0;
  std::uint64_t sequence = 0;
  std::uint64_t index = 0;
  std::uint64_t payload_bytes = 0;
  std::uint64_t number = 0;         ///< of messages that this member had delivered in the subgroup before
  std::uint64_t previous_view = 0;  ///< the place of the one before; if `number` is not 0
  std::uint64_t previous_sequence = 0;
  std::uint32_t sender = 0;
  std::uint32_t sender_rank = 0;
  std::uint64_t omitted = 0;  ///< 1: the payload is too large for the feed, and not here

  [[nodiscard]] MessagePlace place() const noexcept { return {ViewId(view), SequenceNumber(sequence)}; }
  [[nodiscard]] std::optional<MessagePlace> previous() const noexcept {
    if (number == 0) return std::nullopt;
    return MessagePlace{ViewId(previous_view), SequenceNumber(previous_sequence)};
  }
};

/// No feed has a larger record, its payload with it.
inline constexpr std::size_t feed_record_bytes_max = std::size_t{64} << 20U;

/// The memory that a feed of messages of up to so many bytes takes, in bytes: 8 MiB, or room for four of them, at most
/// 256 MiB. Messages of more than a quarter of that are omitted.
[[nodiscard]] std::size_t feed_bytes(std::uint64_t message_bytes_max) noexcept;

/// The poller's; `written` for any thread.
class FeedWriter {
 public:
  /// Zeroed memory of `feed_bytes`, which outlives this object.
  explicit FeedWriter(std::span<std::byte> memory) noexcept;

  /// Writes a record, unless it would end behind `limit`: then it is left out. Readers see it from `publish` on, at the
  /// latest.
  void append(const FeedRecord& record, std::span<const std::byte> payload, std::uint64_t limit) noexcept;
  void publish(const FeedEnd& end) noexcept;
  /// Readers are shown how far they let it be written; what is left out for other reasons is not theirs to change.
  void show_limit(std::uint64_t limit) noexcept;
  /// How far records are complete.
  [[nodiscard]] std::uint64_t written() const noexcept;
  [[nodiscard]] std::uint64_t lap() const noexcept { return data_.size(); }

 private:
  void put(std::uint64_t position, std::span<const std::byte> bytes) noexcept;
  /// Readers look at this for each record, so it is written once for many.
  void announce(std::uint64_t end, std::uint64_t limit) noexcept;

  std::span<std::byte> header_;
  std::span<std::byte> data_;
  SharedEnd end_;
  std::uint64_t position_ = 0;
  std::uint64_t announced_ = 0;  // how far it is going to write, as readers know
  std::uint64_t limit_ = 0;      // as readers know
};

/// One message out of a feed, copied.
struct FeedMessage {
  FeedRecord record;
  std::vector<std::byte> payload;
};

/// Reads memory that another process writes at the same time. Not thread-safe.
class FeedReader {
 public:
  enum class Found : std::uint8_t {
    nothing,    ///< all that is complete was read
    message,    ///< the next one
    overtaken,  ///< what would have been next is gone; the next call goes on with what is still there
  };

  /// At a position that the writer's `written` has been. `memory` is mapped for as long as this object lives. Errors:
  /// bad_input (no feed, or no such position).
  [[nodiscard]] static Result<FeedReader> open(std::span<const std::byte> memory, std::uint64_t position);

  /// To the oldest record that is likely to stay there for a while.
  void rewind() noexcept;
  /// Errors: bad_input (what no correct member writes).
  [[nodiscard]] Result<Found> next(FeedMessage& to);
  [[nodiscard]] std::uint64_t position() const noexcept { return position_; }
  /// Laps that it is further than that position.
  [[nodiscard]] double laps_from(std::uint64_t position) const noexcept {
    return static_cast<double>(position_ - position) / static_cast<double>(data_.size());
  }
  /// Whether `next` would find anything but nothing.
  [[nodiscard]] bool behind() const noexcept;
  /// The end as of the last `publish`; nothing while it changes. A caller that finds nothing more to read after that knows
  /// what was left out.
  [[nodiscard]] std::optional<FeedEnd> end() const noexcept { return end_.read(); }
  /// Whether a reader that has last said that it was at `reported` is to say where it is: it is a quarter of a lap further,
  /// and nobody else has let the writer go as far as that. So one word of a quick reader is enough for all slower ones.
  [[nodiscard]] bool report_due(std::uint64_t reported) const noexcept;

 private:
  explicit FeedReader(std::span<const std::byte> memory) noexcept;

  [[nodiscard]] std::uint64_t word(std::size_t offset) const noexcept;
  void get(std::uint64_t position, std::span<std::byte> to) const noexcept;
  /// Whether what lies from `position_` on was still there when it was copied.
  [[nodiscard]] bool intact() const noexcept;

  std::span<const std::byte> header_;
  std::span<const std::byte> data_;
  SharedEnd end_;
  std::uint64_t position_ = 0;
  std::uint64_t written_ = 0;  // when it looked last
};

}  // namespace spindrift::group
