// A numeric field within samples of a type, by its path: `position.x`, `counts[1]`, `track[0].latitude`, `speeds[left]`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <spindrift/dds/dynamic_sample.hpp>

namespace spindrift::tools {

/// The name of a field or a key of a map, or a place in a list.
using FieldStep = std::variant<std::string, std::size_t>;

class FieldPath {
 public:
  /// Errors: bad_argument: there is no such field, and which there are; it is no number, bool or enum.
  [[nodiscard]] static Result<FieldPath> parse(const topics::DynamicType& type, const std::string& text);
  /// Nothing: the sample has none there (a sequence is shorter, a map has no such key, an optional empty), or one without a
  /// place, as NaN.
  [[nodiscard]] std::optional<double> value(const topics::DynamicSample& sample) const;

 private:
  std::vector<FieldStep> steps_;
};

}  // namespace spindrift::tools
