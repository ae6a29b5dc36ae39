// The words that a process tells at its address of the group that it is in, to whoever asks.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace spindrift::fabric::tcp {

/// Longer ones are not told, and not taken.
inline constexpr std::size_t discovery_answer_bytes_max = std::size_t{64} << 10U;

/// Any thread.
class DiscoveryAnswer {
 public:
  /// `text`: at most `discovery_answer_bytes_max`.
  void set(std::string text) {
    auto now = std::make_shared<const std::string>(std::move(text));
    const std::lock_guard lock(mutex_);
    text_ = std::move(now);
  }
  /// Null: nothing was set yet.
  [[nodiscard]] std::shared_ptr<const std::string> get() const {
    const std::lock_guard lock(mutex_);
    return text_;
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const std::string> text_;
};

}  // namespace spindrift::fabric::tcp
