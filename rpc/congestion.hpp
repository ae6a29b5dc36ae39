// Congestion control of a client's session: Timely (SIGCOMM '15), by which round trips say how fast the session may send,
// and the pace that follows from it. Most networks are uncongested most of the time (eRPC, section 5.2.2): a session at the
// link's rate is not paced, and a short round trip of it is not computed with.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include <spindrift/core/clock.hpp>
#include <spindrift/rpc/wire.hpp>

namespace spindrift::rpc {

struct CongestionOptions {
  std::uint64_t link_bytes_per_second = 0;            ///< 0: sessions send as fast as credits let them
  Duration rtt_least = std::chrono::microseconds(5);  ///< of a packet without any queue
  Duration rtt_low = std::chrono::microseconds(50);   ///< below it the network is not congested
  Duration rtt_high = std::chrono::milliseconds(1);   ///< above it, it is, whatever the tendency
  /// Round trips below it are ignored while the session is at the link's rate; 0: each is computed with.
  Duration rtt_ignored_below = std::chrono::microseconds(50);
  bool pace_at_link_rate = false;  ///< sessions at the link's rate are paced, too, so that no burst is faster than the link
};

/// The rate of one session, by its round trips.
class Timely {
 public:
  explicit Timely(const CongestionOptions& options) noexcept
      : options_(options), rate_(static_cast<double>(options.link_bytes_per_second)), rtt_before_(options.rtt_least) {}

  /// The time of a packet that was answered just now. At most one in each round trip counts.
  void on_round_trip(Duration rtt, Time now) noexcept;
  [[nodiscard]] double bytes_per_second() const noexcept { return rate_; }
  [[nodiscard]] bool at_link_rate() const noexcept { return rate_ >= static_cast<double>(options_.link_bytes_per_second); }

 private:
  const CongestionOptions& options_;
  double rate_;
  double gradient_ = 0;      ///< of round trips, smoothed, in parts of the least one
  std::uint32_t falls_ = 0;  ///< round trips in a row that did not grow
  Duration rtt_before_;
  Time next_{};  ///< a round trip counts again
};

/// When packets of one session may go.
class SessionPace {
 public:
  explicit SessionPace(const CongestionOptions& options) noexcept : options_(options), timely_(options) {}

  /// So many packets may be under way in each slot.
  void begin(std::uint32_t credits) {
    credits_ = credits;
    sent_at_.resize(std::size_t{credits} * slots_per_session);
  }
  [[nodiscard]] bool may_send(Time now) const noexcept { return !paced() || next_ <= now; }
  /// When the next packet may go, if it may not now.
  [[nodiscard]] Time next() const noexcept { return next_; }
  void on_sent(std::uint32_t slot, std::uint32_t packet, std::size_t bytes, Time now) noexcept;
  void on_answered(std::uint32_t slot, std::uint32_t packet, Time now) noexcept;
  [[nodiscard]] const Timely& timely() const noexcept { return timely_; }

 private:
  [[nodiscard]] bool controlled() const noexcept { return options_.link_bytes_per_second > 0; }
  [[nodiscard]] bool paced() const noexcept {
    return controlled() && (options_.pace_at_link_rate || !timely_.at_link_rate());
  }
  [[nodiscard]] Time& sent_at(std::uint32_t slot, std::uint32_t packet) noexcept {
    return sent_at_[std::size_t{slot} * credits_ + packet % credits_];
  }

  const CongestionOptions& options_;
  Timely timely_;
  Time next_{};
  std::uint32_t credits_ = 0;
  std::vector<Time> sent_at_;  ///< the packets under way, by slot and number
};

/// Sessions that wait for their pace, by time (Carousel, SIGCOMM '17): a wheel of short spans, into which a session is put
/// and from which it is taken at the same cost however many wait. It holds sessions and no packets: a packet is made when it
/// goes, so none that waits refers to a message, and none has to be found when a call ends.
class PacingWheel {
 public:
  PacingWheel() : spans_(spans) {}

  /// The session is visited once its time has come, and not before; later than the wheel reaches, it is visited at its end.
  /// It must not be in the wheel already.
  void put(std::uint32_t session, Time when);
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  /// When the next session is due, to within a span; `never` if there is none.
  [[nodiscard]] Time next_due() const noexcept;

  /// Takes out each session whose time has come.
  template <class Visit>
  void advance(Time now, Visit&& visit) {
    const std::int64_t until = span_of(now);
    if (count_ == 0) first_ = std::max(first_, until);
    for (; first_ < until && count_ > 0; ++first_) {
      auto& due = spans_[place(first_)];
      count_ -= due.size();
      for (const std::uint32_t session : due) visit(session);
      due.clear();
    }
    first_ = std::max(first_, until);
  }

 private:
  static constexpr std::int64_t span_ns = 1000;
  static constexpr std::int64_t spans = 4096;
  [[nodiscard]] static std::int64_t span_of(Time when) noexcept { return when.time_since_epoch().count() / span_ns; }
  [[nodiscard]] static std::size_t place(std::int64_t span) noexcept { return static_cast<std::size_t>(span % spans); }

  std::vector<std::vector<std::uint32_t>> spans_;
  std::int64_t first_ = 0;  ///< the first span that is not over
  std::size_t count_ = 0;
};

}  // namespace spindrift::rpc
