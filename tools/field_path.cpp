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
  if (kind.kind == FieldKind::map) return "name one of its keys, as [7] or [left]: it is " + type.text_of(kind, true);
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

/// Into an element. Nothing: there is none.
std::optional<FieldStep> step_of(const topics::DynamicType& type, const DynamicKind& kind,
                                 const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  if (kind.kind == FieldKind::map) {
    if (!topics::is_map_key(type, type.kinds()[kind.key], *text)) return std::nullopt;
    return *text;
  }
  std::size_t place = 0;
  const auto [behind, fault] = std::from_chars(text->data(), text->data() + text->size(), place);
  const bool list = kind.kind == FieldKind::sequence || (kind.kind == FieldKind::array && place < kind.count);
  if (fault != std::errc() || behind != text->data() + text->size() || !list) return std::nullopt;
  return place;
}

/// Takes the brackets at the front of the rest, with what is in them; a key of a map may have quotes around it.
/// Nothing: there is no end.
std::optional<std::string> in_brackets(std::string_view& rest, const DynamicKind& of) {
  const bool quoted = of.kind == FieldKind::map && rest.starts_with("[\"");
  const std::size_t begin = quoted ? 2 : 1;
  const std::size_t end = rest.find(quoted ? "\"]" : "]", begin);
  if (end == std::string_view::npos) return std::nullopt;
  std::string text(rest.substr(begin, end - begin));
  rest.remove_prefix(end + begin);
  return text;
}

}  // namespace

Result<FieldPath> FieldPath::parse(const topics::DynamicType& type, const std::string& text) {
  FieldPath path;
  const DynamicKind* kind = &type.root();
  std::string_view rest = text;
  while (!rest.empty()) {
    if (rest.front() == '[') {
      const auto step = step_of(type, *kind, in_brackets(rest, *kind));
      if (!step) return no_field(text, "there is no such element", choice_of(type, *kind));
      path.steps_.push_back(*step);
      kind = &within(type, type.kinds()[kind->element]);
    } else {
      if (rest.front() == '.' && !path.steps_.empty()) rest.remove_prefix(1);
      const std::string name(rest.substr(0, rest.find_first_of(".[")));
      if (kind->kind == FieldKind::choice && name == topics::discriminator_name) {
        path.steps_.emplace_back(name);
        kind = &type.kinds()[kind->key];
        rest.remove_prefix(name.size());
        continue;
      }
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
