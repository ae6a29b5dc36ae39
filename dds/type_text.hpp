// The name of a type, as its compiler says it, without the words around it.
#pragma once

#include <string_view>

namespace spindrift::topics {

/// As the source names it, with its namespaces: "sensors::Attitude". Compilers agree on it for types that are no templates
/// and in no anonymous namespace.
template <class T>
[[nodiscard]] constexpr std::string_view type_text() noexcept {
  // gcc: "… type_text() [with T = NAME; std::string_view = …]"; clang: "… type_text() [T = NAME]".
  constexpr std::string_view text = __PRETTY_FUNCTION__;
  constexpr std::string_view opening = "T = ";
  constexpr std::size_t from = text.find(opening) + opening.size();
  constexpr std::size_t semicolon = text.find(';', from);
  return text.substr(from, (semicolon == std::string_view::npos ? text.rfind(']') : semicolon) - from);
}

}  // namespace spindrift::topics
