// Keys of maps as the names of an object of JSON: a text is itself, a number has its digits, a bool is "true" or "false".
#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include <spindrift/dds/dynamic_sample.hpp>
#include <spindrift/dds/plain_value.hpp>

namespace spindrift::topics {

/// The name of a key that is this value of JSON.
[[nodiscard]] inline std::string map_key_text(const SampleJson& key) {
  return key.is_string() ? key.get<std::string>() : key.dump();
}

/// The key of that name, where keys are no texts. Nothing: it is none, is out of the range, or has another form than
/// `map_key_text` gives it: so two names are two keys.
template <class T>
[[nodiscard]] std::optional<T> map_key_of(std::string_view text) {
  if constexpr (std::is_same_v<T, bool>) {
    if (text == "true" || text == "false") return text == "true";
  } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, char>) {
    T value{};
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (fault == std::errc() && end == text.data() + text.size() && std::to_string(value) == text) return value;
  }
  return std::nullopt;
}

}  // namespace spindrift::topics
