// The numbers that options take, as their help says them: the parser alone also takes negative ones for positive, octal and
// hexadecimal ones.
#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace spindrift::tools {

/// Refuses an option's value that is no such number, written in decimal digits.
template <class Number>
CLI::Validator number_from(Number least, Number most) {
  const bool any = most == std::numeric_limits<Number>::max();
  const std::string range = any ? fmt::format("from {}", least) : fmt::format("from {} to {}", least, most);
  const char* const kind = std::is_integral_v<Number> ? "whole number" : "number";
  const auto wrong = [=](const std::string& text) {
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    bool good = error == std::errc() && end == text.data() + text.size() && value >= least && value <= most;
    if constexpr (std::is_integral_v<Number>) good = good && (text.size() == 1 || text.front() != '0');
    return good ? std::string() : fmt::format("{} is no {} {}", text, kind, range);
  };
  return {wrong, range, ""};
}

}  // namespace spindrift::tools
