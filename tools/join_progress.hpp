// The lines of a command that waits for the others: whom it lacks, and how long it waits for them. The Group's poller
// learns the first, a thread of the command writes the lines.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/ids.hpp>

namespace spindrift::tools {

class JoinProgress {
 public:
  /// Lines are due at once where somebody looks on, and after a moment where they are kept. Most joins end before that.
  static constexpr Duration first_on_terminal = std::chrono::milliseconds(100);
  static constexpr Duration first_elsewhere = std::chrono::seconds(2);
  static constexpr Duration interval = std::chrono::seconds(3);

  /// `limit`: how long this process waits from `begun` on.
  JoinProgress(Time begun, Duration limit, bool terminal)
      : deadline_(begun + limit), next_(begun + (terminal ? first_on_terminal : first_elsewhere)) {}

  /// The nodes that this one lacks; none: only the view is still to come. Any thread.
  void set(std::vector<NodeId> nodes);
  /// When `line` has something to say, at the earliest.
  [[nodiscard]] Time next() const noexcept { return next_; }
  /// The line that is due, if one is: "waiting for nodes 0, 2: 27 s left".
  [[nodiscard]] std::optional<std::string> line(Time now);

 private:
  const Time deadline_;
  Time next_;
  std::mutex mutex_;
  std::optional<std::vector<NodeId>> nodes_;  // behind the mutex; none: not known yet
};

}  // namespace spindrift::tools
