// The times of what a node appends to its logs while it is delivered, until the application has got it; and up to which time
// nothing more comes, for those that read by time.
//
// The invariant to remember: a time that was called settled is before that of all that is stamped afterwards, also if the
// machine's clock is set back meanwhile.
//
// Times are nanoseconds since 1970. From any thread.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>

#include <spindrift/core/ids.hpp>

namespace spindrift::group {

class LogStamps {
 public:
  /// The messages below version `end` that have no time yet follow in that log now, by the clock at `now`. Returns the time
  /// of all of them: not before `now`, `least`, or what was settled in any log.
  [[nodiscard]] std::uint64_t stamp(SubgroupId log, std::uint64_t end, std::uint64_t now, std::uint64_t least);
  /// Those below version `end` come from another node. Returns the time of the last of them, whose source says `time`: not
  /// before what was settled in any log.
  [[nodiscard]] std::uint64_t stamp_as(SubgroupId log, std::uint64_t end, std::uint64_t time);
  /// That log begins anew, at that version.
  void begin_anew(SubgroupId log, std::uint64_t version);
  /// The time of a message that was stamped by `stamp` and not forgotten; nothing: it was not.
  [[nodiscard]] std::optional<std::uint64_t> of(SubgroupId log, std::uint64_t version) const;
  /// Nobody asks for the times of earlier versions any more.
  void forget(SubgroupId log, std::uint64_t below);
  /// No message of version `applied` or a later one has a time before this, or will get one. `now`: the clock.
  [[nodiscard]] std::uint64_t settled(SubgroupId log, std::uint64_t applied, std::uint64_t now);

 private:
  /// Messages of one time, behind those of the run before.
  struct Run {
    std::uint64_t end = 0;
    std::uint64_t time = 0;
  };
  struct Log {
    std::uint64_t end = 0;  ///< version behind all that are in it
    std::deque<Run> runs{};
  };
  [[nodiscard]] std::optional<std::uint64_t> find(SubgroupId log, std::uint64_t version) const;

  mutable std::mutex mutex_;
  std::map<SubgroupId, Log> logs_;
  std::uint64_t settled_ = 0;  // the latest answer
};

}  // namespace spindrift::group
