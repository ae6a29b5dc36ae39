// Descriptions of types, taken apart.
#include <spindrift/dds/assignable.hpp>

#include <algorithm>

#include <spindrift/core/digest.hpp>
#include <spindrift/dds/builtin_topics.hpp>

namespace spindrift::topics {
namespace {

/// "Name", its fields, and what is behind them: the keys, and how it travels.
struct TypeParts {
  std::string name;
  std::vector<std::string> fields;
  std::string behind;

  [[nodiscard]] bool in_place() const { return behind.find(" in place") != std::string::npos; }
};

TypeParts parts_of(const std::string& description) {
  TypeParts parts;
  parts.name = type_name_of(description);
  std::size_t depth = 0, from = parts.name.size() + 1;
  for (std::size_t at = parts.name.size(); at < description.size(); ++at) {
    const char c = description[at];
    if (c == '{' || c == '<' || c == '(') ++depth;
    const bool closes = c == '}' || c == '>' || c == ')';
    if ((c == ',' && depth == 1) || (closes && depth == 1)) {
      if (at > from) parts.fields.push_back(description.substr(from, at - from));
      from = at + 1;
    }
    if (closes && depth > 0 && --depth == 0) {
      parts.behind = description.substr(at + 1);
      break;
    }
  }
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
  const TypeParts left = parts_of(some), right = parts_of(other);
  if (left.name != right.name || left.behind != right.behind || left.in_place() || left.fields.empty() ||
      right.fields.empty())
    return false;
  const std::size_t common = std::min(left.fields.size(), right.fields.size());
  return std::equal(left.fields.begin(), left.fields.begin() + static_cast<std::ptrdiff_t>(common), right.fields.begin());
}

std::vector<std::uint64_t> shorter_identities(const std::string& description) {
  const TypeParts parts = parts_of(description);
  std::vector<std::uint64_t> identities;
  if (parts.in_place()) return identities;
  for (std::size_t count = 0; count < parts.fields.size(); ++count)
    identities.push_back(count == 0 ? 0 : digest_of(description_of(parts, count)).words[0]);
  return identities;
}

}  // namespace spindrift::topics
