// Frames of a member as an observer's records.
#include <spindrift/group/network_feed.hpp>

#include <spindrift/core/log.hpp>

namespace spindrift::group {

Result<FeedSource::Found> NetworkFeed::next(FeedMessage& to) {
  while (true) {
    SPINDRIFT_TRY_ASSIGN(const auto frame, frames_.next());
    if (frame) return on_frame(*frame, to);
    if (over_) return Found::over;
    const auto came = frames_.read(*stream_);
    if (came && *came > 0) {
      heard_ = clock_.now();
      continue;
    }
    if (came && clock_.now() < deadline()) return Found::nothing;
    log::info(log::Room::group, "an observer lost the member that fed it",
              {{"node", origin_.node.value()}, {"reason", came ? "it is silent" : came.error().to_string()}});
    over_ = true;
  }
}

Result<FeedSource::Found> NetworkFeed::on_frame(const ObserverFrame& frame, FeedMessage& to) {
  const auto impossible = [this] {
    return Error(ErrorKind::bad_input, "node " + std::to_string(origin_.node.value()) + " sent what no member sends")
        .fix("use the same version of spindrift for members and observers");
  };
  switch (frame.kind) {
    case ObserverFrame::Kind::alive: return Found::again;
    case ObserverFrame::Kind::record: return decode_record(frame.body, to) ? Result<Found>(Found::message) : impossible();
    case ObserverFrame::Kind::end: {
      const auto end = decode_end(frame.body);
      if (!end) return impossible();
      end_ = *end;
      return Found::end;
    }
    case ObserverFrame::Kind::packet: {
      const auto said = decode_observer_packet(frame.body);
      if (!said || said->call != ObserverCall::ended) return impossible();
      over_ = true;
      return Found::again;
    }
  }
  return impossible();
}

bool NetworkFeed::pending() const noexcept { return over_ || frames_.complete() || stream_->holds_bytes(); }

}  // namespace spindrift::group
