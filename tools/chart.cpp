// Dots of a chart, and its labels.
#include "chart.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace spindrift::tools {
namespace {

/// A range of values that has a length.
struct Span {
  double least, most;
  /// Its place among so many, from 0 on.
  [[nodiscard]] std::size_t place(double value, std::size_t count) const {
    const double part = (value - least) / (most - least) * static_cast<double>(count - 1);
    return std::min(static_cast<std::size_t>(part + 0.5), count - 1);
  }
};

Span span_of(const std::vector<ChartPoint>& points, double ChartPoint::*of) {
  Span span{points.front().*of, points.front().*of};
  for (const ChartPoint& each : points) {
    span.least = std::min(span.least, each.*of);
    span.most = std::max(span.most, each.*of);
  }
  return span;
}
Span with_length(Span span) { return span.most > span.least ? span : Span{span.least - 0.5, span.most + 0.5}; }

/// Bits of a braille character, which is 2 dots wide and 4 high, by row and column. (Unicode, chapter 21.1)
constexpr unsigned braille_bits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};

std::string cell_text(unsigned dots, bool braille) {
  if (!braille) return dots == 0 ? " " : "*";
  const unsigned code = 0x2800 + dots;
  return {static_cast<char>(0xe0 | code >> 12), static_cast<char>(0x80 | (code >> 6 & 0x3f)),
          static_cast<char>(0x80 | (code & 0x3f))};
}

}  // namespace

std::vector<std::string> chart_of(const std::vector<ChartPoint>& points, const ChartSize& size, bool braille) {
  constexpr std::size_t label = 12;
  const std::size_t rows = std::max<std::size_t>(size.rows, 4) - 1;
  const std::size_t columns = std::max<std::size_t>(size.columns, 20) - label;
  std::vector<std::string> lines(rows + 1);
  if (points.empty()) {
    lines.front() = "no points";
    return lines;
  }
  const Span times = span_of(points, &ChartPoint::time_s), values = span_of(points, &ChartPoint::value);
  const std::size_t wide = braille ? 2 : 1, high = braille ? 4 : 1;
  std::vector<unsigned> cells(rows * columns, 0);
  for (const ChartPoint& each : points) {
    const std::size_t x = with_length(times).place(each.time_s, columns * wide);
    const std::size_t y = rows * high - 1 - with_length(values).place(each.value, rows * high);
    cells[y / high * columns + x / wide] |= braille_bits[y % high][x % wide];
  }
  for (std::size_t row = 0; row < rows; ++row) {
    const std::string beside = row == 0          ? fmt::format("{:.5g}", values.most)
                               : row + 1 == rows ? fmt::format("{:.5g}", values.least)
                                                 : "";
    lines[row] = fmt::format("{:>{}} ", beside, label - 1);
    for (std::size_t column = 0; column < columns; ++column) lines[row] += cell_text(cells[row * columns + column], braille);
  }
  lines[rows] = fmt::format("{:>{}} {} points in {:.3f} s", "", label - 1, points.size(), times.most - times.least);
  return lines;
}

}  // namespace spindrift::tools
