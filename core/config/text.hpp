// Small cuts of text that the config's parsers share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace spindrift::config {

[[nodiscard]] inline std::string_view trimmed(std::string_view text) noexcept {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

/// The trimmed parts between separators; of an empty text one empty part.
[[nodiscard]] inline std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const auto at = text.find(separator);
    parts.push_back(trimmed(text.substr(0, at)));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

/// "text" for a message: cut when long, other than printable ASCII replaced.
[[nodiscard]] inline std::string in_quotes(std::string_view text) {
  constexpr std::size_t length_max = 60;
  std::string result = "\"";
  for (const char c : text.substr(0, length_max)) result += c >= ' ' && c <= '~' ? c : '?';
  if (text.size() > length_max) result += "...";
  return result + "\"";
}

}  // namespace spindrift::config
