// The clock of a recording.
#include "flight/schedule.hpp"

#include <algorithm>
#include <cstdint>

namespace spindrift::tools {
namespace {

constexpr std::size_t neighbors = 15;  // before a sample and after it
constexpr std::uint64_t stray_us = 1'000'000;
// Longer than any flight; keeps every sum of times in range, whatever the file says.
constexpr std::uint64_t flight_us_max = std::uint64_t{365} * 24 * 3600 * 1'000'000;

constexpr Duration between_rounds = std::chrono::milliseconds(10);

std::uint64_t median_around(const std::vector<ulog::Sample>& samples, std::size_t at) {
  const std::size_t first = at > neighbors ? at - neighbors : 0;
  const std::size_t last = std::min(samples.size(), at + neighbors + 1);
  std::uint64_t window[2 * neighbors + 1]{};
  std::size_t count = 0;
  for (std::size_t i = first; i < last; ++i) window[count++] = samples[i].timestamp_us;
  std::uint64_t* const middle = window + count / 2;
  std::nth_element(window, middle, window + count);
  return *middle;
}

}  // namespace

void repeat(ulog::Recording& recording, std::uint32_t rounds) {
  if (rounds <= 1 || recording.samples().empty()) return;
  const std::vector<Duration> due = due_times(recording);
  const Duration length = *std::max_element(due.begin(), due.end()) + between_rounds;
  const auto period = std::chrono::duration_cast<std::chrono::microseconds>(length).count();
  recording.repeat(rounds, static_cast<std::uint64_t>(period));
}

std::vector<Duration> due_times(const ulog::Recording& recording, double speed) {
  const auto& samples = recording.samples();
  std::vector<std::uint64_t> flight_us;
  flight_us.reserve(samples.size());
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const std::uint64_t median = median_around(samples, i);
    const std::uint64_t own = samples[i].timestamp_us;
    const std::uint64_t distance = own > median ? own - median : median - own;
    flight_us.push_back(distance > stray_us ? median : own);
  }
  std::vector<Duration> due;
  if (flight_us.empty()) return due;
  due.reserve(flight_us.size());
  const std::uint64_t start = *std::min_element(flight_us.begin(), flight_us.end());
  for (const std::uint64_t time : flight_us) {
    const Duration flown = std::chrono::microseconds(std::min(time - start, flight_us_max));
    due.push_back(std::chrono::duration_cast<Duration>(flown / speed));
  }
  return due;
}

}  // namespace spindrift::tools
