// Drawing progress.
#include "progress_bar.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>

namespace spindrift::tools {
namespace {

constexpr std::uint64_t width = 40;
constexpr Duration redraw_interval = std::chrono::milliseconds(50);

std::string repeated(std::string_view text, std::uint64_t times) {
  std::string result;
  for (std::uint64_t i = 0; i < times; ++i) result += text;
  return result;
}

}  // namespace

ProgressBar::ProgressBar(std::string title, std::uint64_t total, bool silent)
    : title_(std::move(title)),
      total_(std::max<std::uint64_t>(total, 1)),
      silent_(silent),
      terminal_(::isatty(STDERR_FILENO) == 1) {}

void ProgressBar::show(std::uint64_t done, Time now) {
  if (silent_) return;
  done = std::min(done, total_);
  if (terminal_) {
    if (now < next_ && done < total_) return;
    next_ = now + redraw_interval;
    const std::uint64_t filled = width * done / total_;
    fmt::print(stderr, "\r{} [{}{}] {:3} %", title_, repeated("█", filled), repeated("·", width - filled),
               100 * done / total_);
    std::fflush(stderr);
    drawn_ = true;
    return;
  }
  const std::uint64_t quarter = 4 * done / total_;
  if (quarter <= shown_) return;
  shown_ = quarter;
  fmt::print(stderr, "{}: {} %\n", title_, 25 * quarter);
}

void ProgressBar::finish() {
  if (drawn_) fmt::print(stderr, "\n");
  drawn_ = false;
}

}  // namespace spindrift::tools
