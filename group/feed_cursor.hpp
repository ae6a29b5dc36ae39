// An observer's place in a subgroup: what feeds say, of one member after the other, put together to each message once, in
// order, with the gaps between.
#pragma once

#include <cstdint>
#include <optional>

#include <spindrift/core/view.hpp>
#include <spindrift/group/feed_ring.hpp>

namespace spindrift::group {

/// An observer goes on with another feed of an ordered subgroup: what came since may be there. In an unordered one nobody
/// could tell that from what it has.
struct Resumption {
  std::optional<MessagePlace> last;  ///< messages up to there need not come again
};

class FeedCursor {
 public:
  enum class Verdict : std::uint8_t {
    next,      ///< follows on the last one
    with_gap,  ///< messages are missing before it, as `gap` says
    missing,   ///< it was omitted: the gap ends with it
    known,     ///< was here already
  };

  /// A member's feed begins; it had delivered that before.
  FeedCursor(DeliveryMode mode, const FeedEnd& before) noexcept : mode_(mode), expected_(before.delivered) {
    if (before.delivered > 0) last_ = before.last;
  }

  /// The feed of another process begins, which counts messages anew. Where the same goes on with another feed, it counts on.
  void on_feed() noexcept { expected_.reset(); }
  /// Nothing more is to be read of the feed, whose end was this before: `gap` says what is missing, if it returns true.
  [[nodiscard]] bool on_end(const FeedEnd& end);
  /// The next record of the feed.
  [[nodiscard]] Verdict judge(const FeedRecord& record);
  [[nodiscard]] const Gap& gap() const noexcept { return gap_; }
  [[nodiscard]] std::optional<Resumption> resumption() const noexcept {
    return mode_ == DeliveryMode::ordered ? std::optional(Resumption{last_}) : std::nullopt;
  }

 private:
  void take(const FeedRecord& record) noexcept;

  const DeliveryMode mode_;
  std::optional<MessagePlace> last_;       // that was handed over, or came before the first
  std::optional<std::uint64_t> expected_;  // number of the next one in this feed
  Gap gap_;
};

}  // namespace spindrift::group
