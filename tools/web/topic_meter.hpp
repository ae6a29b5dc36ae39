// How many samples of each topic came, and how many a second of late. Pure.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>

namespace spindrift::tools {

class TopicMeter {
 public:
  using Instant = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::milliseconds window{2000};

  struct Row {
    std::uint64_t samples = 0;
    std::uint64_t bytes = 0;
    std::deque<std::pair<Instant, std::uint64_t>> of_late{};  ///< so many came then

    [[nodiscard]] double rate(Instant now, Instant begin) const {
      std::uint64_t count = 0;
      for (const auto& [at, of_one] : of_late) count += of_one;
      const std::chrono::duration<double> over = std::min<Instant::duration>(window, now - begin);
      return over.count() > 0 ? static_cast<double>(count) / over.count() : 0;
    }
  };

  explicit TopicMeter(Instant begin) : begin_(begin) {}

  void add(const std::string& topic, std::uint64_t samples, std::uint64_t bytes, Instant now) {
    Row& row = rows_[topic];
    row.samples += samples;
    row.bytes += bytes;
    if (samples > 0) row.of_late.emplace_back(now, samples);
    while (!row.of_late.empty() && row.of_late.front().first + window < now) row.of_late.pop_front();
  }
  [[nodiscard]] const std::map<std::string, Row>& rows() const noexcept { return rows_; }
  [[nodiscard]] double rate(const Row& row, Instant now) const { return row.rate(now, begin_); }

 private:
  Instant begin_;
  std::map<std::string, Row> rows_;
};

}  // namespace spindrift::tools
