// An observer between two states: it looks for a member, or is fed by one.
#include <spindrift/group/observer.hpp>

#include <poll.h>

#include <algorithm>
#include <utility>

#include <spindrift/core/clock.hpp>
#include <spindrift/group/feed_cursor.hpp>
#include <spindrift/group/feed_search.hpp>

namespace spindrift {

using group::FeedCursor;
using group::FeedSource;

namespace {

timespec time_until(Time end, Time now) {
  const Duration left = std::max(end - now, Duration(0));
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
  return {.tv_sec = seconds.count(), .tv_nsec = static_cast<long>((left - seconds).count())};
}

}  // namespace

class ObserverCore {
 public:
  ObserverCore(const Config& config, std::string_view subgroup, ObserverHandlers handlers, ObserverOptions options)
      : patience_(config.join_timeout()),
        handlers_(checked(std::move(handlers))),
        search_(value_or_throw(group::FeedSearch::make(config, std::string(subgroup), options.source, clock_))) {
    begin_search();
  }

  std::size_t poll(std::size_t most) {
    if (!look()) return 0;
    std::size_t messages = 0;
    // A feed that is rewritten all the time, or lies, gives the caller its thread back all the same.
    for (std::size_t turns = 0; messages < most && turns < 2 * most; ++turns) {
      switch (value_or_throw(feed_->next(message_))) {
        case FeedSource::Found::message: messages += hand_over() ? 1 : 0; break;
        case FeedSource::Found::again: break;
        case FeedSource::Found::nothing: feed_->report(); return messages;
        case FeedSource::Found::end:
          if (cursor_->on_end(feed_->end()) && handlers_.on_gap) handlers_.on_gap(cursor_->gap());
          feed_->report();
          return messages;
        case FeedSource::Found::over: detach(); return messages;
      }
    }
    feed_->report();
    return messages;
  }

  bool wait(int interrupt, std::optional<std::chrono::milliseconds> at_most) {
    const Time now = clock_.now();
    constexpr std::chrono::milliseconds long_time = std::chrono::hours(1);
    const Time until = now + (at_most ? std::clamp(*at_most, std::chrono::milliseconds(0), long_time) : long_time);
    if (feed_) feed_->rest(now, until);
    if (next_ || (feed_ && feed_->pending())) return true;
    std::vector<pollfd> waits{{.fd = interrupt, .events = POLLIN, .revents = 0}};
    if (feed_) waits.push_back({.fd = feed_->descriptor(), .events = POLLIN, .revents = 0});
    search_->add_waits(waits);
    const timespec time = time_until(std::min(until, next_look()), now);
    const int ready = ::ppoll(waits.data(), waits.size(), &time, nullptr);
    if ((waits[0].revents & POLLNVAL) != 0)
      throw Exception(Error(ErrorKind::bad_argument, "the descriptor to interrupt an observer is not open"));
    if (feed_ && waits[1].revents != 0) feed_->on_readable();
    return waits[0].revents == 0 && (ready > 0 || clock_.now() >= next_look());
  }

  [[nodiscard]] std::optional<NodeId> source() const noexcept {
    return feed_ ? std::optional(feed_->origin().node) : std::nullopt;
  }

  [[nodiscard]] std::string waits_for() const { return feed_ ? std::string() : search_->waits_for(); }

 private:
  static ObserverHandlers checked(ObserverHandlers handlers) {
    if (handlers.on_message) return handlers;
    throw Exception(Error(ErrorKind::bad_argument, "an observer has no on_message").fix("set it; on_gap may be null"));
  }

  void begin_search() {
    until_ = clock_.now() + patience_;
    value_or_throw(search_->begin(cursor_ ? cursor_->resumption() : std::nullopt));
  }

  // Nothing more comes from this member; another one may have answered already.
  void detach() {
    feed_.reset();
    if (next_) {
      attach(std::move(next_));
    } else {
      begin_search();
    }
  }

  // Whether there is a feed.
  bool look() {
    auto found = next_ ? nullptr : value_or_throw(search_->look());
    if (feed_) {
      if (!found) return true;
      // Its member was removed, and may be stopped: what it has written is all that comes.
      next_ = std::move(found);
      search_->stop();
      feed_->finish();
      return true;
    }
    if (!found) {
      if (clock_.now() >= until_) give_up();
      return false;
    }
    attach(std::move(found));
    return true;
  }

  void attach(std::unique_ptr<FeedSource> found) {
    feed_ = std::move(found);
    const group::FeedOrigin& origin = feed_->origin();
    if (!cursor_) {
      cursor_.emplace(origin.mode, origin.before);
    } else if (origin.life == 0 || origin.life != life_) {
      cursor_->on_feed();
    }
    life_ = origin.life;
    value_or_throw(search_->begin_beside(origin.node, cursor_->resumption()));
  }

  [[noreturn]] void give_up() const {
    const auto waited = std::chrono::duration_cast<std::chrono::milliseconds>(patience_).count();
    throw Exception(Error(ErrorKind::timed_out, "an observer waited " + std::to_string(waited) + " ms for " + waits_for())
                        .at(search_->directory())
                        .fix(search_->fix()));
  }

  // True: a message, which counts.
  bool hand_over() {
    const group::FeedRecord& record = message_.record;
    const FeedCursor::Verdict verdict = cursor_->judge(record);
    if (verdict == FeedCursor::Verdict::known) return false;
    if (verdict != FeedCursor::Verdict::next && handlers_.on_gap) handlers_.on_gap(cursor_->gap());
    if (verdict == FeedCursor::Verdict::missing) return false;
    handlers_.on_message({NodeId(record.sender), SenderRank(record.sender_rank), MessageIndex(record.index),
                          SequenceNumber(record.sequence), message_.payload, ViewId(record.view)});
    return true;
  }

  [[nodiscard]] Time next_look() const { return std::min(search_->next_look(), feed_ ? feed_->deadline() : until_); }

  const SystemClock clock_;
  const Duration patience_;
  const ObserverHandlers handlers_;
  const std::unique_ptr<group::FeedSearch> search_;  // while fed: for who says that the member was removed
  std::unique_ptr<FeedSource> feed_;
  std::unique_ptr<FeedSource> next_;  // for when that is over
  std::optional<FeedCursor> cursor_;  // from the first feed on
  std::uint64_t life_ = 0;            // of the process that fed it last
  Time until_{};                      // for so long it looks
  group::FeedMessage message_;
};

Observer::Observer(const Config& config, std::string_view subgroup, ObserverHandlers handlers, ObserverOptions options)
    : core_(std::make_unique<ObserverCore>(config, subgroup, std::move(handlers), options)) {}
Observer::~Observer() = default;
std::size_t Observer::poll(std::size_t most) { return core_->poll(most); }
bool Observer::wait(int interrupt, std::optional<std::chrono::milliseconds> at_most) {
  return core_->wait(interrupt, at_most);
}
std::optional<NodeId> Observer::source() const noexcept { return core_->source(); }
std::string Observer::waits_for() const { return core_->waits_for(); }

}  // namespace spindrift
