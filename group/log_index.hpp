// The places in a journal at which the messages of one log lie, far enough apart that a log of any length has few of them;
// and from which of them on the bounds of a subgroup's history keep everything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <spindrift/core/history_bounds.hpp>
#include <spindrift/store/entry.hpp>

namespace spindrift::group {

struct IndexedPlace {
  std::uint64_t version = 0;
  store::JournalPosition position;  ///< of the message of that version, or of the next entry, if there is none yet
  std::uint64_t bytes = 0;          ///< of all messages before that the index had, as HistoryBounds::bytes_of counts them
  std::uint64_t time = 0;           ///< of the message, in nanoseconds since 1970; of the first place it may be 0
};

class LogIndex {
 public:
  static constexpr std::uint64_t spacing_least = std::uint64_t{64} << 10U;  ///< bytes between two places

  /// The log begins with that version, which is, or is going to be, at that position.
  LogIndex(std::uint64_t version, store::JournalPosition position) : places_{{version, position}}, end_(version) {}

  /// The next message of the log.
  void note(store::JournalPosition position, std::uint64_t payload_bytes, std::uint64_t time);
  /// Leaves out what lies before the last place that is not behind `limit` and before which the bounds keep nothing. `now`:
  /// nanoseconds since 1970. True: something was left out.
  bool trim(const HistoryBounds& bounds, std::uint64_t limit, std::uint64_t now);
  /// Leaves out what lies before the last place that is not behind `limit`. True: as above.
  bool trim_below(std::uint64_t limit);
  /// The place from which on the bounds keep everything, as far as it is not behind `limit`. `now`: nanoseconds since 1970.
  [[nodiscard]] const IndexedPlace& kept_from(const HistoryBounds& bounds, std::uint64_t limit, std::uint64_t now) const;
  /// The log begins there.
  [[nodiscard]] const IndexedPlace& first() const noexcept { return places_.front(); }

 private:
  [[nodiscard]] bool may_begin_at(const IndexedPlace& place, const HistoryBounds& bounds, std::uint64_t now) const noexcept;
  void thin_out();
  bool begin_at(const IndexedPlace& place);

  std::vector<IndexedPlace> places_;  // ascending; never empty
  std::uint64_t spacing_ = spacing_least;
  std::uint64_t end_;        // version of the next message
  std::uint64_t bytes_ = 0;  // before it
};

}  // namespace spindrift::group
