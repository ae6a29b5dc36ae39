// The source of an observer's records: a feed in memory of its host, or a connection to a member of another one.
#pragma once

#include <cstdint>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/ids.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/core/view.hpp>
#include <spindrift/group/feed_end.hpp>
#include <spindrift/group/feed_ring.hpp>

namespace spindrift::group {

/// A member's word when it begins to feed an observer.
struct FeedOrigin {
  NodeId node;
  DeliveryMode mode = DeliveryMode::ordered;
  FeedEnd before;          ///< delivered until then
  std::uint64_t life = 0;  ///< of the member's process, which counts messages; 0: not known
};

/// Not thread-safe.
class FeedSource {
 public:
  enum class Found : std::uint8_t {
    message,  ///< the next one
    again,    ///< what would have been next is gone, or just changes
    end,      ///< all up to `end` was read or left out
    nothing,  ///< more is on its way
    over,     ///< nothing will follow
  };

  FeedSource() = default;
  virtual ~FeedSource() = default;
  FeedSource(const FeedSource&) = delete;
  FeedSource& operator=(const FeedSource&) = delete;

  [[nodiscard]] virtual const FeedOrigin& origin() const noexcept = 0;
  /// Does not wait. Errors: bad_input (what no correct member writes).
  [[nodiscard]] virtual Result<Found> next(FeedMessage& to) = 0;
  /// As of the last `end` that was found.
  [[nodiscard]] virtual const FeedEnd& end() const noexcept = 0;
  /// The caller reads no more for the moment.
  virtual void report() = 0;
  /// The member was removed: what is here by now is all that comes.
  virtual void finish() noexcept = 0;

  // To wait for more.
  /// The caller is going to wait until the descriptor is readable, or `deadline`, at most until `at_most`; unless something
  /// is pending then. To be called again once that is over and nothing came.
  virtual void rest(Time now, Time at_most) = 0;
  /// Whether there is no need to.
  [[nodiscard]] virtual bool pending() const noexcept = 0;
  [[nodiscard]] virtual int descriptor() const noexcept = 0;
  virtual void on_readable() = 0;
  [[nodiscard]] virtual Time deadline() const noexcept = 0;
};

}  // namespace spindrift::group
