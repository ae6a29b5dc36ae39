// How fast a session may send, and when.
#include <spindrift/rpc/congestion.hpp>

namespace spindrift::rpc {
namespace {

// As Timely's authors have them, but that rates are parts of the link's, and the decrease is less (theirs is 0.8), for a
// least round trip that is short makes gradients steep: with theirs sixteen clients leave half of a link unused.
constexpr double gradient_weight = 0.125;  ///< of a new difference of round trips
constexpr double decrease = 0.3;
constexpr double increase_part = 0.005;  ///< of the link's rate
constexpr double least_part = 0.001;
constexpr std::uint32_t falls_for_more = 5;

double seconds(Duration duration) { return static_cast<double>(duration.count()) * 1e-9; }

/// A session that was not stepped in time may make up for so much.
constexpr Duration slack = std::chrono::microseconds(10);

}  // namespace

void Timely::on_round_trip(Duration rtt, Time now) noexcept {
  if (now < next_) return;
  if (at_link_rate() && rtt < options_.rtt_ignored_below) return;
  next_ = now + rtt;
  const auto link = static_cast<double>(options_.link_bytes_per_second);
  const double difference = seconds(rtt - rtt_before_) / seconds(options_.rtt_least);
  rtt_before_ = rtt;
  gradient_ = (1 - gradient_weight) * gradient_ + gradient_weight * difference;
  falls_ = gradient_ <= 0 ? falls_ + 1 : 0;
  if (rtt < options_.rtt_low) {
    rate_ += increase_part * link;
  } else if (rtt > options_.rtt_high) {
    rate_ *= 1 - decrease * (1 - seconds(options_.rtt_high) / seconds(rtt));
  } else if (gradient_ <= 0) {
    rate_ += increase_part * link * (falls_ >= falls_for_more ? falls_for_more : 1);
  } else {
    rate_ *= 1 - decrease * std::min(gradient_, 1.0);
  }
  rate_ = std::clamp(rate_, least_part * link, link);
}

void SessionPace::on_sent(std::uint32_t slot, std::uint32_t packet, std::size_t bytes, Time now) noexcept {
  if (!controlled()) return;
  sent_at(slot, packet) = now;
  if (!paced()) return;
  const double takes = static_cast<double>(bytes) * 1e9 / timely_.bytes_per_second();
  next_ = std::max(next_, now - slack) + Duration(static_cast<Duration::rep>(takes));
}

void SessionPace::on_answered(std::uint32_t slot, std::uint32_t packet, Time now) noexcept {
  if (controlled()) timely_.on_round_trip(now - sent_at(slot, packet), now);
}

void PacingWheel::put(std::uint32_t session, Time when) {
  const std::int64_t span = std::clamp(span_of(when), first_, first_ + spans - 1);
  spans_[place(span)].push_back(session);
  ++count_;
}

Time PacingWheel::next_due() const noexcept {
  if (count_ == 0) return never;
  std::int64_t span = first_;
  while (spans_[place(span)].empty()) ++span;
  return Time(Duration((span + 1) * span_ns));
}

}  // namespace spindrift::rpc
