// Names of rooms and levels, and the specification that sets them.
#include <spindrift/core/log_levels.hpp>

#include <algorithm>
#include <optional>
#include <string>

#include <fmt/format.h>

namespace spindrift::log {
namespace {

constexpr std::array<std::string_view, room_count> room_names = {"core",  "fabric", "kernel", "sst",   "smc",
                                                                 "views", "group",  "dds",    "tools", "audit"};
constexpr std::array<std::string_view, 6> level_names = {"trace", "debug", "info", "warn", "error", "off"};

template <class Names>
std::optional<std::size_t> position(const Names& names, std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<std::size_t>(found - names.begin());
}

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

Error unknown(std::string_view what, std::string_view word, std::string known) {
  return Error(ErrorKind::bad_config, fmt::format("\"{}\" is not a {}", word, what))
      .fix(fmt::format("use one of {}; example: info,smc=trace", known));
}

/// One word of the specification: "info" or "smc=trace".
Result<void> apply_word(std::string_view word, LevelTable& table) {
  const auto equals = word.find('=');
  const std::string_view level_word = equals == std::string_view::npos ? word : trim(word.substr(equals + 1));
  const auto level = position(level_names, level_word);
  if (!level) return unknown("log level", level_word, fmt::format("{}", fmt::join(level_names, ", ")));
  if (equals == std::string_view::npos) {
    table.fill(static_cast<Level>(*level));
    return {};
  }
  const std::string_view room_word = trim(word.substr(0, equals));
  const auto room = position(room_names, room_word);
  if (!room) return unknown("room", room_word, fmt::format("{}", fmt::join(room_names, ", ")));
  table[*room] = static_cast<Level>(*level);
  return {};
}

}  // namespace

std::string_view to_string(Room room) noexcept {
  const auto index = static_cast<std::size_t>(room);
  return index < room_names.size() ? room_names[index] : "unknown";
}

std::string_view to_string(Level level) noexcept {
  const auto index = static_cast<std::size_t>(level);
  return index < level_names.size() ? level_names[index] : "unknown";
}

Result<LevelTable> parse_levels(std::string_view specification, LevelTable base) {
  while (true) {
    const auto comma = specification.find(',');
    SPINDRIFT_TRY(apply_word(trim(specification.substr(0, comma)), base));
    if (comma == std::string_view::npos) return base;
    specification.remove_prefix(comma + 1);
  }
}

}  // namespace spindrift::log
