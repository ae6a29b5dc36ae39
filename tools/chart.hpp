// Points over time as lines of text.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace spindrift::tools {

struct ChartPoint {
  double time_s = 0;
  double value = 0;
};

/// The room for a chart with its labels; at least 20 columns and 4 rows are used.
struct ChartSize {
  std::size_t columns = 80;
  std::size_t rows = 20;
};

/// Columns of points between their least and greatest time and value, which are written beside it; in dots of braille, eight
/// of each character, or in ASCII. As many lines as rows. No points: empty lines, but for words that say so.
[[nodiscard]] std::vector<std::string> chart_of(const std::vector<ChartPoint>& points, const ChartSize& size, bool braille);

}  // namespace spindrift::tools
