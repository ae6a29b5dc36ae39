// Frames that browsers show, from one that makes them to any number that read them. A reader that is slow misses some, which
// are counted; it holds up nobody, and takes no memory.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace spindrift::tools {

class FrameHub {
 public:
  static constexpr std::size_t kept_max = 16;  ///< frames that a reader may be behind

  /// The place of one reader: behind all that was published before.
  struct Place {
    std::uint64_t next = 0;
    std::uint64_t dropped = 0;  ///< so many frames it has missed
  };

  void publish(std::string frame) {
    {
      const std::lock_guard lock(mutex_);
      frames_.push_back(std::make_shared<const std::string>(std::move(frame)));
      if (frames_.size() > kept_max) frames_.pop_front();
      ++published_;
    }
    changed_.notify_all();
  }
  [[nodiscard]] Place begin() const {
    const std::lock_guard lock(mutex_);
    return {.next = published_};
  }
  /// Waits for the reader's next frame. Null: there will be none.
  [[nodiscard]] std::shared_ptr<const std::string> next(Place& place) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return closed_ || published_ > place.next; });
    if (closed_) return nullptr;
    const std::uint64_t first = published_ - frames_.size();
    if (place.next < first) {
      place.dropped += first - place.next;
      dropped_ += first - place.next;
      place.next = first;
    }
    return frames_[place.next++ - first];
  }
  /// Ends all waits.
  void close() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    changed_.notify_all();
  }
  /// Frames that readers have missed, all together.
  [[nodiscard]] std::uint64_t dropped() const {
    const std::lock_guard lock(mutex_);
    return dropped_;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<const std::string>> frames_;
  std::uint64_t published_ = 0;
  std::uint64_t dropped_ = 0;
  bool closed_ = false;
};

}  // namespace spindrift::tools
