// Paths of fields, checked by the type and followed in a sample.
#include "field_path.hpp"

#include <charconv>
#include <cmath>

namespace spindrift::tools {
namespace {

using topics::DynamicKind;
using topics::FieldKind;

Error no_field(const std::string& text, const std::string& what, const std::string& fix) {
  return Error(ErrorKind::bad_argument, what).at("field " + text).fix(fix);
}

/// The fields that there are, or the places.
std::string choice_of(const topics::DynamicType& type, const DynamicKind& kind) {
  std::string names;
  for (const topics::DynamicField& each : kind.fields) names += (names.empty() ? "" : ", ") + each.name;
  if (!names.empty()) return "name one of " + names;
  if (kind.kind == FieldKind::array) return "name one of its elements, [0] to [" + std::to_string(kind.count - 1) + "]";
  if (kind.kind == FieldKind::sequence) return "name one of its elements: [0]";
  return "name a number, a bool or an enum: it is " + type.text_of(kind, true);
}

/// Optionals are passed through.
const DynamicKind& within(const topics::DynamicType& type, const DynamicKind& kind) {
  return kind.kind == FieldKind::optional ? within(type, type.kinds()[kind.element]) : kind;
}

bool is_number(const topics::DynamicType& type, const DynamicKind& kind) {
  if (kind.kind == FieldKind::enumeration) return is_number(type, type.kinds()[kind.element]);
  return topics::is_plain(kind.kind) && kind.kind != FieldKind::character;
}

}  // namespace

Result<FieldPath> FieldPath::parse(const topics::DynamicType& type, const std::string& text) {
  FieldPath path;
  const DynamicKind* kind = &type.root();
  std::string_view rest = text;
  while (!rest.empty()) {
    if (rest.front() == '[') {
      std::size_t place = 0;
      const std::size_t end = rest.find(']');
      const std::string_view digits = rest.substr(1, end == std::string_view::npos ? end : end - 1);
      const auto [behind, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), place);
      const bool list = kind->kind == FieldKind::sequence || kind->kind == FieldKind::array;
      if (end == std::string_view::npos || fault != std::errc() || behind != digits.data() + digits.size() || !list ||
          (kind->kind == FieldKind::array && place >= kind->count)) {
        return no_field(text, "there is no such element", choice_of(type, *kind));
      }
      path.steps_.emplace_back(place);
      kind = &within(type, type.kinds()[kind->element]);
      rest.remove_prefix(end + 1);
    } else {
      if (rest.front() == '.' && !path.steps_.empty()) rest.remove_prefix(1);
      const std::string name(rest.substr(0, rest.find_first_of(".[")));
      const auto& fields = kind->fields;
      const auto found = std::find_if(fields.begin(), fields.end(), [&](const auto& each) { return each.name == name; });
      if (found == fields.end()) return no_field(text, "there is no field \"" + name + "\"", choice_of(type, *kind));
      path.steps_.emplace_back(name);
      kind = &within(type, type.kinds()[found->kind]);
      rest.remove_prefix(name.size());
    }
  }
  if (!is_number(type, *kind)) return no_field(text, "it is no number", choice_of(type, *kind));
  return path;
}

std::optional<double> FieldPath::value(const topics::DynamicSample& sample) const {
  const topics::SampleJson json = sample.json();
  const topics::SampleJson* at = &json;
  for (const auto& step : steps_) {
    if (const auto* const place = std::get_if<std::size_t>(&step)) {
      if (!at->is_array() || *place >= at->size()) return std::nullopt;
      at = &(*at)[*place];
    } else {
      const auto found = at->find(std::get<std::string>(step));
      if (found == at->end()) return std::nullopt;
      at = &*found;
    }
  }
  if (at->is_boolean()) return at->get<bool>() ? 1 : 0;
  if (!at->is_number()) return std::nullopt;
  return at->get<double>();
}

}  // namespace spindrift::tools
