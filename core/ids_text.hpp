// Ids as numbers in fmt's formats and in JSON, and lists as people read them. Internal: it includes fmt.
#pragma once

#include <string>

#include <fmt/format.h>

#include <spindrift/core/ids.hpp>

template <class Tag, class Representation>
struct fmt::formatter<spindrift::Strong<Tag, Representation>> : fmt::formatter<Representation> {
  template <class Context>
  auto format(spindrift::Strong<Tag, Representation> id, Context& context) const {
    return fmt::formatter<Representation>::format(id.value(), context);
  }
};

namespace spindrift {

template <class Json, class Tag, class Representation>
void to_json(Json& json, const Strong<Tag, Representation>& id) {
  json = id.value();
}
template <class Json, class Tag, class Representation>
void from_json(const Json& json, Strong<Tag, Representation>& id) {
  id = Strong<Tag, Representation>(json.template get<Representation>());
}

/// "0, 1, 2"
template <class List>
[[nodiscard]] std::string listed(const List& list) {
  return fmt::format("{}", fmt::join(list, ", "));
}
/// "0,1,2", as a command takes them.
template <class List>
[[nodiscard]] std::string as_argument(const List& list) {
  return fmt::format("{}", fmt::join(list, ","));
}

}  // namespace spindrift
