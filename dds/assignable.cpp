// Descriptions of types, taken apart.
#include <spindrift/dds/assignable.hpp>

#include <algorithm>
#include <optional>

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

}  // namespace

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
