// The watcher's news, in order, until the poller takes them. But for `any`, under the watcher's lock.
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <optional>
#include <utility>

#include <spindrift/fabric/fabric.hpp>
#include <spindrift/fabric/shm/bell.hpp>
#include <spindrift/fabric/shm/region.hpp>

namespace spindrift::fabric::shm {

/// An event with the memory that came along: the bell with `connected`, the region with `exposed`. Or a word about
/// doorbells, of which the event has the peer alone.
struct News {
  enum class Kind : std::uint8_t { event, doorbell, doorbell_taken };
  Event event;
  std::optional<PeerSegment> segment{};
  Kind kind = Kind::event;
};

class NewsQueue {
 public:
  explicit NewsQueue(Bell& bell) noexcept : bell_(bell) {}

  /// One load; any thread. True as long as `take` would give something.
  [[nodiscard]] bool any() const noexcept { return any_.load(std::memory_order_seq_cst); }
  /// So many wait that nobody new is to add to them.
  [[nodiscard]] bool full() const noexcept { return news_.size() >= news_max; }
  /// Ends a sleep of the poller.
  void push(News news) {
    news_.push_back(std::move(news));
    any_.store(true, std::memory_order_seq_cst);
    bell_.wake();
  }
  /// This process itself cannot go on. The event is of no peer.
  void push_own_end(Error reason) { push({{.kind = Event::Kind::ended, .reason = std::move(reason)}, std::nullopt}); }
  /// The oldest.
  [[nodiscard]] std::optional<News> take() {
    if (news_.empty()) return std::nullopt;
    News news = std::move(news_.front());
    news_.pop_front();
    any_.store(!news_.empty(), std::memory_order_relaxed);
    return news;
  }
  /// But for its death.
  void forget(PeerId peer) {
    std::erase_if(news_, [peer](const News& news) {
      return news.event.peer == peer && news.event.kind != Event::Kind::died;
    });
    any_.store(!news_.empty(), std::memory_order_relaxed);
  }

 private:
  static constexpr std::size_t news_max = 65536;

  Bell& bell_;
  std::deque<News> news_;
  std::atomic<bool> any_ = false;
};

}  // namespace spindrift::fabric::shm
