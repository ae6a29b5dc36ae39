// Declarations as C++: namespaces, plain aggregates, and behind them their keys and names for dds/.
#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "model_builder.hpp"

namespace spindrift::idl {
namespace {

/// As a member of a struct or an enum: C++'s own words get a line behind them.
std::string member_name(const std::string& name) { return is_cpp_word(name) ? name + "_" : name; }

/// " // at most 10", for bounds that C++ has no place for.
std::string bounds_of(const IdlType& type) {
  std::string text;
  const bool holds = type.form == TypeForm::sequence || type.form == TypeForm::map || type.form == TypeForm::text;
  if (holds && type.count > 0) {
    text = fmt::format("at most {} {}", type.count, type.form == TypeForm::text ? "bytes" : "elements");
  }
  const std::string of_key = type.key == nullptr ? "" : bounds_of(*type.key);
  if (!of_key.empty()) text += (text.empty() ? "keys of " : ", keys of ") + of_key;
  if (type.element == nullptr) return text;
  const std::string within = bounds_of(*type.element);
  return within.empty() ? text : text.empty() ? within : text + ", each of " + within;
}

class HeaderWriter {
 public:
  explicit HeaderWriter(std::string& to) : to_(to) {}

  void declaration(const Declaration& each) {
    enter(each.scope);
    switch (each.kind) {
      case DeclarationKind::structure: return structure(each);
      case DeclarationKind::choice: return choice(each);
      case DeclarationKind::enumeration: return enumeration(each);
      case DeclarationKind::bitmask: return bitmask(each);
      case DeclarationKind::alias: return line(fmt::format("using {} = {};", each.name, cpp_type(*each.type)), *each.type);
      case DeclarationKind::constant: {
        const bool text = each.type->form == TypeForm::text;
        to_ += fmt::format("inline constexpr {} {} = {};\n", text ? "std::string_view" : cpp_type(*each.type), each.name,
                           each.value);
      }
    }
  }
  void enter(const std::string& scope) {
    if (scope == scope_) return;
    if (!scope_.empty()) to_ += "\n}  // namespace " + scope_ + "\n";
    if (!scope.empty()) to_ += "\nnamespace " + scope + " {\n\n";
    scope_ = scope;
  }

  void traits(const Declaration& each) {
    if (each.kind != DeclarationKind::structure && each.kind != DeclarationKind::choice) return;
    std::string names, keys;
    for (const IdlField& field : each.fields) {
      names += (names.empty() ? "\"" : ", \"") + field.name + "\"";
      if (field.key) keys += fmt::format("{}&::{}::{}", keys.empty() ? "" : ", ", each.full_name(), member_name(field.name));
    }
    to_ += fmt::format(
        "template <>\nstruct dds::topic::topic_field_names<::{}> {{\n  static constexpr std::array names{{{}}};\n}};\n",
        each.full_name(), names);
    if (keys.empty()) return;
    to_ += fmt::format("template <>\nstruct dds::topic::topic_key<::{}> {{\n  using type = key_fields<{}>;\n}};\n",
                       each.full_name(), keys);
  }

 private:
  void line(const std::string& text, const IdlType& type) {
    const std::string bounds = bounds_of(type);
    to_ += text + (bounds.empty() ? "\n" : "  // " + bounds + "\n");
  }
  void structure(const Declaration& each) {
    to_ += fmt::format("struct {} {{\n", each.name);
    for (const IdlField& field : each.fields) {
      const std::string initial = field.initial.empty() ? "{}" : " = " + field.initial;
      line(fmt::format("  {} {}{};", cpp_type(*field.type), member_name(field.name), initial), *field.type);
    }
    to_ += "};\n";
  }
  /// A class, whose functions have the names of its members.
  void choice(const Declaration& each) {
    const std::string tells = cpp_type(*each.type);
    to_ += fmt::format("class {} : public ::dds::topic::union_value<{}", each.name, tells);
    for (const IdlField& member : each.fields) {
      to_ += fmt::format(",\n    ::dds::topic::{}<{}", member.is_default ? "union_default" : "union_case",
                         cpp_type(*member.type));
      for (const std::string& label : member.labels) to_ += ", " + label;
      to_ += ">";
    }
    to_ += fmt::format("> {{\n public:\n  {}() = default;\n", each.name);
    for (std::size_t at = 0; at < each.fields.size(); ++at) {
      const IdlField& member = each.fields[at];
      const std::string name = member.name == each.name ? member.name + "_" : member_name(member.name);
      const std::string type = cpp_type(*member.type);
      if (const std::string bounds = bounds_of(*member.type); !bounds.empty()) to_ += "  // " + bounds + "\n";
      to_ += fmt::format("  [[nodiscard]] const {}& {}() const {{ return _of<{}>(); }}\n", type, name, at);
      to_ += fmt::format("  [[nodiscard]] {}& {}() {{ return _of<{}>(); }}\n", type, name, at);
      to_ += fmt::format("  void {}({} value, {} d = {}) {{ _set<{}>(std::move(value), d); }}\n", name, type, tells,
                         member.labels.front(), at);
    }
    if (!each.value.empty()) to_ += fmt::format("  void _default() {{ _none({}); }}\n", each.value);
    to_ += "};\n";
  }
  void enumeration(const Declaration& each) {
    to_ += fmt::format("enum class {} : {} {{\n", each.name, cpp_type(*each.type));
    for (const IdlEnumerator& one : each.enumerators) {
      const bool least = one.value == INT64_MIN;
      to_ +=
          fmt::format("  {} = {},\n", member_name(one.name), least ? "-9223372036854775807 - 1" : std::to_string(one.value));
    }
    to_ += "};\n";
  }
  void bitmask(const Declaration& each) {
    to_ += fmt::format("using {} = {};\n", each.name, cpp_type(*each.type));
    for (const IdlEnumerator& one : each.enumerators) {
      to_ += fmt::format("inline constexpr {0} {0}_{1} = static_cast<{0}>(std::uint64_t{{1}} << {2});\n", each.name,
                         one.name, one.value);
    }
  }

  std::string& to_;
  std::string scope_;
};

}  // namespace

std::string cpp_type(const IdlType& type) {
  switch (type.form) {
    case TypeForm::plain: return type.name;
    case TypeForm::text: return "std::string";
    case TypeForm::sequence: return "std::vector<" + cpp_type(*type.element) + ">";
    case TypeForm::map: return fmt::format("std::map<{}, {}>", cpp_type(*type.key), cpp_type(*type.element));
    case TypeForm::array: return fmt::format("std::array<{}, {}>", cpp_type(*type.element), type.count);
    case TypeForm::optional: return "std::optional<" + cpp_type(*type.element) + ">";
    case TypeForm::named: return "::" + type.name;
  }
  return {};
}

std::string header_name(const std::string& path) {
  const std::filesystem::path file(path);
  const std::string name = file.stem().string() + ".hpp";
  return file.extension() == ".msg" ? package_of(path) + "/msg/" + name : name;
}

std::string header_of(const Model& model, const IdlUnit& unit) {
  std::string header = "// Made of " + std::filesystem::path(unit.path).filename().string() +
                       " by `spindrift idl`: whoever changes it changes that file.\n#pragma once\n\n";
  for (const char* each : {"array", "cstdint", "map", "optional", "string", "string_view", "utility", "vector"})
    header += fmt::format("#include <{}>\n", each);
  header += "\n#include <dds/dds.hpp>\n";
  const std::set<std::string> includes(unit.includes.begin(), unit.includes.end());
  for (const std::string& each : includes) header += "#include \"" + header_name(each) + "\"\n";
  header += "\n";
  HeaderWriter writer(header);
  for (const Declaration& each : model.declarations) {
    if (each.place.file == unit.path) writer.declaration(each);
  }
  writer.enter("");
  header += "\n";
  for (const Declaration& each : model.declarations) {
    if (each.place.file == unit.path) writer.traits(each);
  }
  return header;
}

}  // namespace spindrift::idl
