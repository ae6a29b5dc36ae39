// The log's lines on callers that are turned away: strangers call as often as they like, but a log is read by people.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include <spindrift/core/clock.hpp>

namespace spindrift::fabric {

/// Why a caller was turned away: told at once, and if the same is to be told of the same caller again, not before
/// `until_repeated` has passed, with how often it was so; in all, twenty lines in ten seconds. `Caller` tells callers apart,
/// as far as it is known who calls. Pure.
template <class Caller>
class RefusedCallers {
 public:
  static constexpr std::size_t lines_max = 20;
  static constexpr Duration between_lines = std::chrono::seconds(10);

  explicit RefusedCallers(Duration until_repeated = between_lines) : until_repeated_(until_repeated) {}

  /// How many such refusals are to be told of now; 0: none, they are told of later.
  [[nodiscard]] std::uint64_t due(const Caller& caller, std::string_view why, Time now) {
    if (told_.size() >= told_max) told_.clear();
    Told& told = told_[{caller, std::string(why)}];
    ++told.since;
    if (now < told.next) return 0;
    if (now >= lines_until_) {
      lines_until_ = now + between_lines;
      lines_ = 0;
    }
    if (lines_ == lines_max) return 0;
    ++lines_;
    told.next = now + until_repeated_;
    return std::exchange(told.since, 0);
  }

 private:
  struct Told {
    std::uint64_t since = 0;  ///< refusals that the log was not told of
    Time next{};
  };
  static constexpr std::size_t told_max = 1024;

  const Duration until_repeated_;
  std::map<std::pair<Caller, std::string>, Told> told_;
  std::size_t lines_ = 0;  ///< since `between_lines` before the time below
  Time lines_until_{};
};

}  // namespace spindrift::fabric
