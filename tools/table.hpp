// The one printer of tables for people. On a terminal, the texts of the last column are wrapped at its width; anywhere else
// a row is one line, for programs that read lines.
#pragma once

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <spindrift/core/check.hpp>

namespace spindrift::tools {

/// Nothing: the descriptor is no terminal, or one of unknown width.
[[nodiscard]] inline std::optional<std::size_t> terminal_width(int descriptor) noexcept {
  winsize size{};
  if (::ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return std::nullopt;
  return size.ws_col;
}

class TextTable {
 public:
  enum class Align : std::uint8_t { left, right };

  /// At least one column. They are as wide as their widest cell.
  explicit TextTable(std::vector<Align> columns) : columns_(std::move(columns)), widths_(columns_.size()) {}

  /// One cell for each column; texts in UTF-8, one line each.
  void add(std::vector<std::string> cells) {
    SPINDRIFT_CHECK(cells.size() == columns_.size());
    for (std::size_t i = 0; i < cells.size(); ++i) widths_[i] = std::max(widths_[i], width_of(cells[i]));
    rows_.push_back(std::move(cells));
  }

  /// Wrapped at `width`, unless that leaves the last column less than a sentence needs.
  [[nodiscard]] std::string text(std::optional<std::size_t> width) const {
    std::string text;
    for (const auto& cells : rows_) append_row(text, cells, width);
    return text;
  }

  void print(std::FILE* to = stdout) const {
    const std::string all = text(terminal_width(::fileno(to)));
    std::fwrite(all.data(), 1, all.size(), to);
  }

 private:
  static constexpr std::size_t gap = 2;       ///< between columns
  static constexpr std::size_t hanging = 2;   ///< of the lines that continue a text
  static constexpr std::size_t room_min = 24;

  [[nodiscard]] static std::size_t width_of(std::string_view text) noexcept {
    return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
  }

  void append_row(std::string& text, const std::vector<std::string>& cells, std::optional<std::size_t> width) const {
    const std::size_t last = cells.size() - 1;
    std::size_t begin = 0;  // of the last column
    for (std::size_t i = 0; i < last; ++i) {
      const std::string blanks(widths_[i] - width_of(cells[i]), ' ');
      text += columns_[i] == Align::right ? blanks + cells[i] : cells[i] + blanks;
      text.append(gap, ' ');
      begin += widths_[i] + gap;
    }
    if (columns_[last] == Align::right) text.append(widths_[last] - width_of(cells[last]), ' ');
    const bool wraps = width && *width >= begin + hanging + room_min;
    append_wrapped(text, cells[last], begin, wraps ? *width : SIZE_MAX);
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  }

  // A word that is wider than its line has one for itself.
  static void append_wrapped(std::string& text, std::string_view cell, std::size_t begin, std::size_t width) {
    std::size_t column = begin;
    for (bool first = true; !cell.empty(); first = false) {
      const std::size_t word_begin = cell.find_first_not_of(' ');
      const std::size_t word_end = std::min(cell.find(' ', std::min(word_begin, cell.size())), cell.size());
      const std::string_view word = cell.substr(0, word_end);  // with the blanks before it
      cell.remove_prefix(word_end);
      if (!first && column + width_of(word) > width) {
        text += '\n' + std::string(begin + hanging, ' ');
        text += word.substr(word.find_first_not_of(' '));
        column = begin + hanging + width_of(word) - word.find_first_not_of(' ');
      } else {
        text += word;
        column += width_of(word);
      }
    }
  }

  std::vector<Align> columns_;
  std::vector<std::size_t> widths_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace spindrift::tools
