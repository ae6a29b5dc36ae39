// Descriptions of types, taken apart.
#include <spindrift/dds/assignable.hpp>

#include <algorithm>
#include <optional>
#include <utility>

#include <spindrift/core/digest.hpp>
#include <spindrift/dds/dynamic_type.hpp>

namespace spindrift::topics {
namespace {

/// "Name", its fields, and what is behind them: the keys, and how it travels.
struct TypeParts {
  std::string name;
  std::vector<std::string> fields;
  std::string behind;
  bool in_place;
};

/// Nothing: it is no description, or one beyond the bounds of what is taken apart.
std::optional<TypeParts> parts_of(const std::string& description) {
  const auto type = DynamicType::parse(description);
  if (!type) return std::nullopt;
  TypeParts parts{type->name(), {}, description.substr(type->text_of(type->root(), false).size()), type->in_place()};
  for (const DynamicField& each : type->root().fields)
    parts.fields.push_back(type->text_of(type->kinds()[each.kind], false));
  return parts;
}

std::string description_of(const TypeParts& parts, std::size_t field_count) {
  std::string fields;
  for (std::size_t at = 0; at < field_count; ++at) fields += (at == 0 ? "" : ",") + parts.fields[at];
  return parts.name + "{" + fields + "}" + parts.behind;
}

/// The aggregate that a value of that kind is, or has somewhere, if the other one has it in the same way; else null.
using Pair = std::pair<const DynamicKind*, const DynamicKind*>;
Pair aggregates_within(const DynamicType& here, const DynamicType& there, Pair kinds) {
  for (;;) {
    const auto& [left, right] = kinds;
    if (left->kind != right->kind || left->name != right->name || left->count != right->count) return {};
    if (left->kind == FieldKind::aggregate) return kinds;
    const FieldKind kind = left->kind;
    if (kind != FieldKind::sequence && kind != FieldKind::optional && kind != FieldKind::array) return {};
    kinds = {&here.kinds()[left->element], &there.kinds()[right->element]};
  }
}

/// "field 2 is f64 here, and i64 there", of the first one that differs; empty: none of those that both have does.
std::string differing_field(const DynamicType& here, const DynamicType& there, Pair in) {
  const auto& [left, right] = in;
  for (std::size_t at = 0; at < std::min(left->fields.size(), right->fields.size()); ++at) {
    const Pair kinds{&here.kinds()[left->fields[at].kind], &there.kinds()[right->fields[at].kind]};
    const std::string one = here.text_of(*kinds.first, false), other = there.text_of(*kinds.second, false);
    if (one == other) continue;
    const std::string field = "field " + std::to_string(at + 1);
    const Pair within = aggregates_within(here, there, kinds);
    const std::string deeper = within.first == nullptr ? "" : differing_field(here, there, within);
    return deeper.empty() ? field + " is " + one + " here, and " + other + " there" : "of " + field + " " + deeper;
  }
  return "";
}

}  // namespace

std::string first_difference(const std::string& here, const std::string& there) {
  const auto left = DynamicType::parse(here), right = DynamicType::parse(there);
  if (!left || !right) return "";
  if (left->name() != right->name()) return "its name is " + left->name() + " here, and " + right->name() + " there";
  const std::string field = differing_field(*left, *right, {&left->root(), &right->root()});
  if (!field.empty()) return field;
  const std::size_t one = left->root().fields.size(), other = right->root().fields.size();
  if (one != other) return "its fields are " + std::to_string(one) + " here, and " + std::to_string(other) + " there";
  return left->keys() == right->keys() ? "" : "its keys are others";
}

bool assignable(const std::string& some, const std::string& other) {
  if (some == other) return true;
  const auto left = parts_of(some), right = parts_of(other);
  if (!left || !right || left->name != right->name || left->behind != right->behind || left->in_place) return false;
  const std::size_t common = std::min(left->fields.size(), right->fields.size());
  return common > 0 &&
         std::equal(left->fields.begin(), left->fields.begin() + static_cast<std::ptrdiff_t>(common), right->fields.begin());
}

std::vector<std::uint64_t> shorter_identities(const std::string& description) {
  const auto parts = parts_of(description);
  std::vector<std::uint64_t> identities;
  if (!parts || parts->in_place) return identities;
  for (std::size_t count = 0; count < parts->fields.size(); ++count)
    identities.push_back(count == 0 ? 0 : digest_of(description_of(*parts, count)).words[0]);
  return identities;
}

}  // namespace spindrift::topics
