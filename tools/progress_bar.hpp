// Progress on standard error: a bar that redraws itself on a terminal, else a line at each quarter.
#pragma once

#include <cstdint>
#include <string>

#include <spindrift/core/clock.hpp>

namespace spindrift::tools {

class ProgressBar {
 public:
  /// `silent`: draws nothing.
  ProgressBar(std::string title, std::uint64_t total, bool silent);
  void show(std::uint64_t done, Time now);
  /// Ends the bar's line.
  void finish();

 private:
  std::string title_;
  std::uint64_t total_;
  bool silent_;
  bool terminal_;
  bool drawn_ = false;
  std::uint64_t shown_ = 0;
  Time next_{};
};

}  // namespace spindrift::tools
