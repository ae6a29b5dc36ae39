// Watches whether this member's own application is behind: whether a message that it could deliver waits for too long.
// A member knows its own lag exactly, and others do not know its cause: so it judges itself, and accuses nobody.
//
// The invariant to remember: what is found lagging is a message that was there to be delivered, and was not, for the whole
// of the patience, in time in which this member was awake.
//
// Pure; one thread. Times are those of the passes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/ids.hpp>

namespace spindrift::views {

class LagWatch {
 public:
  /// `patience`: for how long a message may wait for the application; 0: as long as it takes.
  explicit LagWatch(Duration patience) noexcept : patience_(patience) {}

  /// Nothing of a view before counts any more.
  void begin_view(std::size_t subgroups) { marks_.assign(subgroups, std::nullopt); }
  [[nodiscard]] bool judges() const noexcept { return patience_ != Duration{}; }
  /// A look at all subgroups is due. Looks are an eighth of the patience apart, so that a member which slept between two is
  /// not found lagging for the sleep: it counts as an eighth, however long it was.
  [[nodiscard]] bool due(Time now) const noexcept { return judges() && now >= next_look(); }
  /// Begins a look.
  void begin_look(Time now) noexcept;
  /// One subgroup: messages, nulls included, that were ever there to be delivered, and those that were. Both never fall
  /// within a view. Returns for how long one of them has waited, if that is too long.
  [[nodiscard]] std::optional<Duration> look(SubgroupId id, std::uint64_t deliverable, std::uint64_t delivered);
  /// The subgroup is not judged now.
  void pass_over(SubgroupId id) { marks_[id.value()].reset(); }
  [[nodiscard]] Time next_look() const noexcept { return last_look_ ? *last_look_ + interval() : Time{}; }

 private:
  /// A message that waited when it was marked: the last one that could be delivered then.
  struct Mark {
    std::uint64_t deliverable = 0;
    Duration at{};  ///< of the time awake
  };
  [[nodiscard]] Duration interval() const noexcept { return patience_ / 8; }

  Duration patience_;
  Duration awake_{};  ///< how long this member was, by looks
  std::optional<Time> last_look_;
  std::vector<std::optional<Mark>> marks_;  // by subgroup
};

}  // namespace spindrift::views
