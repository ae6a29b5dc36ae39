// The lines of a command that waits for the others: whom it lacks, whose names have no address, and how long it waits for
// them. The Group's poller learns the first, a thread of the command writes the lines.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/ids.hpp>
#include <spindrift/fabric/connected/resolver.hpp>

namespace spindrift::tools {

class JoinProgress {
 public:
  /// Lines are due at once where somebody looks on, and after a moment where they are kept. Most joins end before that.
  static constexpr Duration first_on_terminal = std::chrono::milliseconds(100);
  static constexpr Duration first_elsewhere = std::chrono::seconds(2);
  static constexpr Duration interval = std::chrono::seconds(3);

  /// "host:port" of a node whose host is called by a name; nothing: there is no name to look up.
  using NameOf = std::function<std::optional<std::string>(NodeId)>;

  /// `limit`: how long this process waits from `begun` on.
  JoinProgress(Time begun, Duration limit, bool terminal, NameOf name_of)
      : deadline_(begun + limit),
        next_(begun + (terminal ? first_on_terminal : first_elsewhere)),
        name_of_(std::move(name_of)) {}

  /// The nodes that this one lacks; none: only the view is still to come. Any thread.
  void set(std::vector<NodeId> nodes);
  /// The nodes for which those that remember the last view wait, in words; empty: none. Any thread.
  void set_last_view(std::string words);
  /// When `line` has something to say, at the earliest.
  [[nodiscard]] Time next() const noexcept { return next_; }
  /// The line that is due, if one is: "waiting for nodes 0, 2: 27 s left", or "waiting for a view
  /// (the last view of the group had …): 27 s left", and behind that "; node 2 (orders-2.orders): its
  /// name does not resolve yet".
  [[nodiscard]] std::optional<std::string> line(Time now);

 private:
  void look_up();
  [[nodiscard]] std::string without_address();

  const Time deadline_;
  Time next_;
  std::mutex mutex_;
  std::optional<std::vector<NodeId>> nodes_;  // behind the mutex, as all that follows; none: not known yet
  std::string last_view_;
  const NameOf name_of_;
  std::map<NodeId, std::string> unresolved_;  // those that had no address when they were looked up last
  std::size_t asked_ = 0;                     // names whose answer is still to come
  fabric::connected::Resolver resolver_{[] {}};
};

}  // namespace spindrift::tools
