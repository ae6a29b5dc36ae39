// The log's lines on callers that are turned away: strangers call as often as they like, but a log is read by people.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include <spindrift/core/clock.hpp>
#include <spindrift/fabric/tcp/admission.hpp>

namespace spindrift::fabric::tcp {

/// Why a caller was turned away: told at once, and if the same is to be told of callers from the same address again, every
/// ten seconds, with how often it was so; in all, of twenty in ten seconds.
class RefusedCallers {
 public:
  static constexpr std::size_t lines_max = 20;
  static constexpr auto between_lines = std::chrono::seconds(10);

  /// How many such callers are to be told of now; 0: none, they are told of later.
  [[nodiscard]] std::uint64_t due(const Source& source, const std::string& why, Time now) {
    if (told_.size() >= sources_max) told_.clear();
    Told& told = told_[source];
    ++told.since;
    if (told.why == why && now < told.next) return 0;
    if (now >= lines_until_) {
      lines_until_ = now + between_lines;
      lines_ = 0;
    }
    if (lines_ == lines_max) return 0;
    ++lines_;
    const std::uint64_t count = told.why == why ? told.since : 1;
    told = {why, 0, now + between_lines};
    return count;
  }

 private:
  struct Told {
    std::string why;
    std::uint64_t since = 0;
    Time next{};
  };
  static constexpr std::size_t sources_max = 1024;

  std::map<Source, Told> told_;
  std::size_t lines_ = 0;  ///< since `between_lines` before the time below
  Time lines_until_{};
};

}  // namespace spindrift::fabric::tcp
