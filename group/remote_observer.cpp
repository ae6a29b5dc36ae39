// Relaying a feed of this host.
#include <spindrift/group/remote_observer.hpp>

#include <algorithm>
#include <utility>

#include <spindrift/core/log.hpp>
#include <spindrift/core/runtime_path.hpp>
#include <spindrift/group/network_feed.hpp>

namespace spindrift::group {
namespace {

/// Others have their turn then.
constexpr int records_per_step = 256;

}  // namespace

void RemoteObserver::step(FeedMessage& scratch, Time now) {
  if (state_ == State::over) return;
  const auto done = advance(scratch, now);
  if (done) return;
  log::info(log::Room::group, "an observer of another host is gone",
            {{"from", from_}, {"reason", done.error().to_string()}});
  state_ = State::over;
}

Result<void> RemoteObserver::advance(FeedMessage& scratch, Time now) {
  SPINDRIFT_TRY(hear(now));
  if (state_ == State::asking) SPINDRIFT_TRY(ask(now));
  SPINDRIFT_TRY(flush(now));
  if (state_ == State::feeding && !blocked_ && !naps(now)) SPINDRIFT_TRY(feed(scratch, now));
  const bool due = now >= deadline_;
  if (state_ == State::closing && (!blocked_ || due)) state_ = State::over;
  if (state_ == State::greeting && due) return Error(ErrorKind::timed_out, "it did not say what it wants in 3 s");
  if ((state_ == State::asking || state_ == State::feeding) && due && !blocked_) {
    outgoing_.put_alive();
    SPINDRIFT_TRY(flush(now));
  }
  if (blocked_ && due) deadline_ = now + NetworkFeed::between_signs;
  return {};
}

// An observer says hello, and nothing more.
Result<void> RemoteObserver::hear(Time now) {
  while (true) {
    SPINDRIFT_TRY_ASSIGN(const auto frame, incoming_.next());
    if (frame) {
      if (state_ == State::closing) continue;
      const bool packet = frame->kind == ObserverFrame::Kind::packet && state_ == State::greeting;
      const auto hello = packet ? decode_observer_packet(frame->body) : std::nullopt;
      if (packet && !hello && is_other_version(frame->body)) {
        refuse(ObserverRefusal::version, "it runs another version", now);
        continue;
      }
      if (!hello || hello->call != ObserverCall::hello) return Error(ErrorKind::bad_input, "it said what no observer says");
      SPINDRIFT_TRY(on_hello(*hello, now));
      continue;
    }
    SPINDRIFT_TRY_ASSIGN(const std::size_t came, incoming_.read(*stream_));
    if (came == 0) return {};
  }
}

Result<void> RemoteObserver::on_hello(const ObserverPacket& hello, Time now) {
  AuditEvent told{.kind = AuditKind::proved, .from = from_, .certificate = stream_->certificate()};
  if (const auto admitted = stream_->may_observe(); !admitted) {
    told.kind = AuditKind::refused;
    told.reason = admitted.error().to_string();
    refuse(ObserverRefusal::not_admitted, told.reason, now);
    member_.audit->write(std::move(told));
    return {};
  }
  hello_ = hello;
  told.more = {{"observes", hello.text}};
  if (told.certificate) member_.audit->write(std::move(told));
  SPINDRIFT_TRY_ASSIGN(auto socket, call_member(member_.directory, node_file_name(member_.self, observers_suffix),
                                                {ObserverCall::hello, 0, {}, hello.text}));
  if (!socket) {
    end("it is no member any more", now);
    return {};
  }
  socket_ = std::move(*socket);
  state_ = State::asking;
  deadline_ = now + NetworkFeed::between_signs;
  return {};
}

Result<void> RemoteObserver::ask(Time now) {
  SPINDRIFT_TRY_ASSIGN(LocalAnswer said, take_answer(member_.self, socket_));
  switch (said.kind) {
    case LocalAnswer::Kind::nothing: break;
    case LocalAnswer::Kind::standing_by: outgoing_.put(ObserverPacket{ObserverCall::standing_by, 0, {}, said.text}); break;
    case LocalAnswer::Kind::refused: refuse(static_cast<ObserverRefusal>(said.refusal), said.text, now); break;
    case LocalAnswer::Kind::ended: end(said.text, now); break;
    case LocalAnswer::Kind::fed: {
      feed_ = std::move(said.feed);
      const FeedOrigin& origin = feed_->origin();
      if (hello_.position != 0 && origin.mode == DeliveryMode::ordered) feed_->rewind();
      ObserverPacket welcome{ObserverCall::welcome, member_.life, origin.mode, {}, 0, origin.before.delivered};
      welcome.last = origin.before.last;
      outgoing_.put(welcome);
      state_ = State::feeding;
      break;
    }
  }
  return {};
}

bool RemoteObserver::wanted(const FeedRecord& record) const noexcept {
  return feed_->origin().mode == DeliveryMode::unordered || hello_.delivered == 0 || record.place() > hello_.last;
}

Result<void> RemoteObserver::feed(FeedMessage& scratch, Time now) {
  for (int records = 0; records < records_per_step && !blocked_; ++records) {
    SPINDRIFT_TRY_ASSIGN(const FeedSource::Found found, feed_->next(scratch));
    if (found == FeedSource::Found::over) {
      end(feed_->why().empty() ? "its process has ended" : feed_->why(), now);
      break;
    }
    if (found == FeedSource::Found::message && wanted(scratch.record)) outgoing_.put(scratch);
    if (found == FeedSource::Found::nothing) break;
    if (found == FeedSource::Found::end) {
      if (feed_->end().delivered != told_) outgoing_.put(feed_->end());
      told_ = feed_->end().delivered;
      if (!feed_->pending()) break;
    }
    if (outgoing_.bytes() >= batch_bytes) SPINDRIFT_TRY(flush(now));
  }
  feed_->report();
  if (state_ == State::feeding && !blocked_) feed_->rest(now, never);
  return flush(now);
}

Result<void> RemoteObserver::flush(Time now) {
  if (outgoing_.bytes() > 0 && state_ != State::closing) deadline_ = now + NetworkFeed::between_signs;
  SPINDRIFT_TRY_ASSIGN(const bool gone, outgoing_.flush(*stream_));
  blocked_ = !gone;
  return {};
}

void RemoteObserver::refuse(ObserverRefusal why, const std::string& text, Time now) {
  outgoing_.put(ObserverPacket{ObserverCall::refused, static_cast<std::uint64_t>(why), {}, text});
  state_ = State::closing;
  deadline_ = now + greeting_max;
}

void RemoteObserver::end(const std::string& why, Time now) {
  if (state_ == State::closing || state_ == State::over) return;
  outgoing_.put(ObserverPacket{ObserverCall::ended, 0, {}, why});
  state_ = State::closing;
  deadline_ = now + greeting_max;
}

std::string RemoteObserver::identity() const {
  const auto certificate = stream_->certificate();
  return certificate ? certificate->identity : std::string();
}

void RemoteObserver::recheck() {
  const auto good = stream_->recheck();
  if (good) return;
  member_.audit->write({.kind = AuditKind::cut_off,
                        .from = from_,
                        .certificate = stream_->certificate(),
                        .reason = good.error().to_string()});
  state_ = State::over;
}

bool RemoteObserver::naps(Time now) const noexcept { return feed_->deadline() != never && now < feed_->deadline(); }

Time RemoteObserver::deadline() const noexcept {
  return state_ == State::feeding && !blocked_ ? std::min(deadline_, feed_->deadline()) : deadline_;
}

bool RemoteObserver::busy() const noexcept {
  return (state_ == State::feeding && !blocked_ && feed_->pending()) || stream_->holds_bytes();
}

void RemoteObserver::add_waits(std::vector<pollfd>& to) const {
  const short events = static_cast<short>(blocked_ ? POLLIN | POLLOUT : POLLIN);
  to.push_back({.fd = stream_->descriptor(), .events = events, .revents = 0});
  if (state_ == State::asking) to.push_back({.fd = socket_.get(), .events = POLLIN, .revents = 0});
  if (state_ == State::feeding && !blocked_) to.push_back({.fd = feed_->descriptor(), .events = POLLIN, .revents = 0});
}

}  // namespace spindrift::group
