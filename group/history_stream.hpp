// A history on its way to a newcomer, as the state of its subgroup: version of the first message, version behind the last,
// the source's time, 8 bytes each, and the messages as they lie in its memory.
//
// The poller's.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/group/message_history.hpp>
#include <spindrift/group/unloadable_state.hpp>
#include <spindrift/views/upcalls.hpp>

namespace spindrift::group {

/// No correct member sends the history that came for a subgroup of that name: the newcomer ends, whoever has it stays.
[[nodiscard]] UnloadableState impossible_history(const std::string& subgroup, const std::string& what);

/// The first bytes of a history that travels.
struct HistoryBegin {
  std::uint64_t first = 0;  ///< version of the first message
  std::uint64_t end = 0;    ///< version behind the last one
  std::int64_t now = 0;     ///< the source's time, by which ages count
};

/// The bytes of a history as it is `now`; ready at once, and never in memory a second time.
[[nodiscard]] std::unique_ptr<views::StateReader> read_history(HistorySnapshot snapshot, Time now);

/// The form of what comes.
struct ExpectedHistory {
  std::string subgroup;  ///< its name, for people
  HistoryBounds bounds;  ///< completed
  std::uint64_t message_bytes_max = 0;
};

/// Takes what `read_history` of another member gives, and gives `done` the history that comes of it, within the same bounds.
/// Ages count from `now` on, and so lack the time on the way. Has one message more in memory than the bounds allow, at most.
/// Throws UnloadableState: the bytes are none, or some are missing at the end.
class HistoryWriter final : public views::StateWriter {
 public:
  using Done = std::function<void(MessageHistory)>;
  HistoryWriter(ExpectedHistory expected, Time now, Done done);

  void write(std::span<const std::byte> piece) override;
  void finish() override;

 private:
  /// So many bytes have to be there before the next ones of it can be understood.
  [[nodiscard]] std::size_t needed() const;
  void take(std::span<const std::byte> bytes);
  [[nodiscard]] HistoryHead head_in(std::span<const std::byte> bytes) const;
  void require(bool right, const char* what) const;

  const ExpectedHistory expected_;
  const Time now_;
  Done done_;
  bool begun_ = false;
  HistoryBegin begin_;
  MessageHistory history_;
  std::vector<std::byte> waiting_;  // less than is needed
};

}  // namespace spindrift::group
