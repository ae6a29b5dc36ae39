// What the watcher does for a fabric of which shm is one part: it waits for the other part's descriptors, and turns away
// whom that one is to reach.
#include <spindrift/fabric/shm/watcher.hpp>

#include <sys/epoll.h>

#include <cstddef>
#include <string>
#include <utility>

#include <spindrift/core/check.hpp>

namespace spindrift::fabric::shm {

// Each is reported once until it is asked for again: the poller, not this thread, takes what comes.
Result<void> Watcher::watch_beside(const Beside& descriptors) {
  CHECK(started());
  beside_ = descriptors;
  for (std::size_t i = 0; i < beside_.size(); ++i) {
    if (beside_[i] < 0) continue;
    if (auto watched = watch(beside_[i], tag_beside + i, EPOLLIN | EPOLLONESHOT); !watched) return watched;
  }
  return {};
}

// Noted before the sleep is ended: a poller that says that it sleeps looks at the note once more.
void Watcher::on_beside(std::uint64_t tag) noexcept {
  beside_ready_.fetch_or(1U << (tag - tag_beside), std::memory_order_seq_cst);
  bell_.wake();
}

void Watcher::watch_again(std::uint32_t which) noexcept {
  beside_ready_.fetch_and(~which, std::memory_order_seq_cst);
  for (std::size_t i = 0; i < beside_.size(); ++i) {
    if ((which >> i & 1U) == 0) continue;
    epoll_event event{};
    event.events = EPOLLIN | EPOLLONESHOT;
    event.data.u64 = tag_beside + i;
    CHECK(::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, beside_[i], &event) == 0);
  }
}

void Watcher::turn_away(NodeId node, std::optional<Error> why) {
  const std::lock_guard lock(mutex_);
  turned_away_.erase(node);
  if (!why) return;
  wanted_.erase(node);
  const std::string reason = why->message();
  turned_away_.emplace(node, std::move(*why));
  const auto link = find(Link::State::linked, node);
  if (link != links_.end() && elsewhere(node)) lose(link->first, Error(ErrorKind::member_lost, reason), Goodbye::closed);
}

}  // namespace spindrift::fabric::shm
