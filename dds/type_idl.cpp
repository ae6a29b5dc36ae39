// Declarations of IDL, made from the inside of a type to its outside.
#include <spindrift/dds/type_idl.hpp>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <vector>

namespace spindrift::topics {
namespace {

/// Words of IDL 4.2, with small or large characters alike.
constexpr std::string_view idl_words[] = {
    "abstract", "any", "attribute", "bitfield", "bitmask", "bitset", "boolean", "case", "char", "component", "connector",
    "const", "consumes", "context", "custom", "default", "double", "emits", "enum", "eventtype", "exception", "factory",
    "false", "finder", "fixed", "float", "getraises", "home", "import", "in", "inout", "int16", "int32", "int64", "int8",
    "interface", "local", "long", "manages", "map", "mirrorport", "module", "multiple", "native", "object", "octet",
    "oneway", "out", "port", "porttype", "primarykey", "private", "provides", "public", "publishes", "raises", "readonly",
    "sequence", "setraises", "short", "string", "struct", "supports", "switch", "true", "truncatable", "typedef", "typeid",
    "typename", "typeprefix", "uint16", "uint32", "uint64", "uint8", "union", "unsigned", "uses", "valuebase", "valuetype",
    "void", "wchar", "wstring"};

std::string lowered(std::string_view text) {
  std::string low;
  for (const char c : text) low += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return low;
}

/// A name that IDL takes, which is this one if it does.
std::string idl_name(std::string_view name) {
  std::string made;
  for (const char c : name) made += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  if (made.empty() || std::isalpha(static_cast<unsigned char>(made.front())) == 0) made.insert(0, "n");
  const std::string low = lowered(made);
  if (std::find(std::begin(idl_words), std::end(idl_words), low) != std::end(idl_words)) made += '_';
  return made;
}

/// Modules and name of a C++ type, whose template's arguments may have colons of their own.
std::vector<std::string> scopes_of(std::string_view name) {
  std::vector<std::string> scopes(1);
  std::size_t open = 0;
  for (std::size_t at = 0; at < name.size(); ++at) {
    const char c = name[at];
    if (c == '<' || c == '(') ++open;
    if ((c == '>' || c == ')') && open > 0) --open;
    if (open == 0 && name.substr(at).starts_with("::")) {
      scopes.emplace_back();
      ++at;
    } else {
      scopes.back() += c;
    }
  }
  for (std::string& each : scopes) each = idl_name(each);
  return scopes;
}

/// A field's type, and the brackets behind its name.
struct IdlSpec {
  std::string type;
  std::string brackets{};
};

class IdlText {
 public:
  explicit IdlText(const DynamicType& type) : type_(type) {}

  TypeIdl make() {
    std::string name = declared(type_.root());
    return {std::move(name), std::move(text_)};
  }

 private:
  [[nodiscard]] const DynamicKind& element(const DynamicKind& kind) const { return type_.kinds()[kind.element]; }
  /// Whether it is a sequence there.
  [[nodiscard]] static bool is_list(const DynamicKind& kind) {
    return kind.kind == FieldKind::sequence || kind.kind == FieldKind::map || kind.kind == FieldKind::optional;
  }
  [[nodiscard]] static bool holds_nothing(const DynamicKind& kind) { return kind.wire_bytes_min == 0; }

  IdlSpec spec(const DynamicKind& kind) {
    constexpr std::string_view plain[] = {"boolean", "char",   "int8",   "int16",  "int32", "int64",
                                          "uint8",   "uint16", "uint32", "uint64", "float", "double"};
    switch (kind.kind) {
      case FieldKind::string: return {"string"};
      case FieldKind::sequence: return {"sequence<" + of_sequence(element(kind)) + ">"};
      case FieldKind::optional:
        if (holds_nothing(element(kind))) return {"boolean"};
        return {"sequence<" + of_sequence(element(kind)) + ", 1>"};
      case FieldKind::map: return {"sequence<" + entry(kind) + ">"};
      case FieldKind::enumeration: return spec(element(kind));
      case FieldKind::array: return of_array(kind);
      case FieldKind::choice: {
        const bool nothing = std::all_of(kind.fields.begin(), kind.fields.end(),
                                         [&](const DynamicField& each) { return holds_nothing(type_.kinds()[each.kind]); });
        return nothing ? spec(type_.kinds()[kind.key]) : IdlSpec{declared(kind)};
      }
      case FieldKind::aggregate: return {declared(kind)};
      default: return {std::string(plain[static_cast<std::size_t>(kind.kind)])};
    }
  }
  IdlSpec of_array(const DynamicKind& kind) {
    const DynamicKind& of = element(kind);
    const bool list = is_list(of);
    IdlSpec made = list ? IdlSpec{wrapped(of)} : spec(of);
    made.brackets.insert(0, "[" + std::to_string(kind.count) + "]");
    return made;
  }
  /// The name of a type of which there are sequences.
  std::string of_sequence(const DynamicKind& kind) {
    return kind.kind == FieldKind::array || is_list(kind) ? wrapped(kind) : spec(kind).type;
  }
  /// The struct of a key and a value of a map.
  std::string entry(const DynamicKind& kind) {
    const std::string key = "entry " + type_.text_of(kind, true);
    if (const auto known = declared_.find(key); known != declared_.end()) return known->second;
    const IdlSpec of_key = spec(type_.kinds()[kind.key]), of_value = spec(element(kind));
    const std::string value =
        holds_nothing(element(kind)) ? "" : "  " + of_value.type + " value" + of_value.brackets + ";\n";
    const std::string name = unused({"Entry"});
    text_ += "@final struct " + name + " {\n  " + of_key.type + " key;\n" + value + "};\n";
    return declared_.emplace(key, name).first->second;
  }
  std::string wrapped(const DynamicKind& kind) {
    const std::string key = "wrapped " + type_.text_of(kind, true);
    if (const auto known = declared_.find(key); known != declared_.end()) return known->second;
    const IdlSpec within = spec(kind);
    const std::string name = unused({"Wrapped"});
    text_ += "@final struct " + name + " {\n  " + within.type + " value" + within.brackets + ";\n};\n";
    return declared_.emplace(key, name).first->second;
  }

  std::string declared(const DynamicKind& kind) {
    const std::string key = type_.text_of(kind, true);
    if (const auto known = declared_.find(key); known != declared_.end()) return known->second;
    const bool choice = kind.kind == FieldKind::choice;
    const std::string fields = choice ? members_of(kind) : fields_of(kind);  // declares what it is made of
    const std::vector<std::string> scopes = scopes_of(kind.name);
    const std::string name = unused(scopes);
    const bool scoped = name.find("::") != std::string::npos;
    const std::size_t modules = scoped ? scopes.size() - 1 : 0;
    for (std::size_t each = 0; each < modules; ++each) text_ += "module " + scopes[each] + " {\n";
    text_ += (choice ? "@final union " : "@final struct ") + (scoped ? name.substr(name.rfind(':') + 1) : name);
    if (choice) text_ += " switch (" + discriminator_name_of(type_.kinds()[kind.key]) + ")";
    text_ += " {\n" + fields + "};\n";
    for (std::size_t each = 0; each < modules; ++each) text_ += "};\n";
    return declared_.emplace(key, name).first->second;
  }
  std::string fields_of(const DynamicKind& kind) {
    const bool root = &kind == &type_.root();
    std::string fields;
    std::set<std::string> names;
    for (std::size_t at = 0; at < kind.fields.size(); ++at) {
      const DynamicField& field = kind.fields[at];
      const DynamicKind& of = type_.kinds()[field.kind];
      if (holds_nothing(of)) continue;
      std::string name = idl_name(field.name);
      while (!names.insert(lowered(name)).second) name += '_';
      const auto& keys = type_.keys();
      const bool key = root && std::find(keys.begin(), keys.end(), at) != keys.end();
      const IdlSpec made = spec(of);
      fields += "  " + std::string(key ? "@key " : "") + made.type + " " + name + made.brackets + ";";
      if (of.kind == FieldKind::map) fields += "  // no key twice";
      if (of.kind == FieldKind::optional) fields += "  // there or not";
      if (of.kind == FieldKind::enumeration) fields += "  // enum " + scopes_of(of.name).back();
      fields += "\n";
    }
    return fields;
  }

  /// With a member for each discriminator: programs that read recordings take none without. One that holds nothing has no
  /// bytes.
  std::string members_of(const DynamicKind& kind) {
    const bool of_bool = written_kind(type_, type_.kinds()[kind.key]).kind == FieldKind::boolean;
    std::string members;
    std::set<std::string> names;
    std::size_t labels = 0;
    bool all = kind.is_variant;
    const auto add = [&](const std::string& label, std::string name, const IdlSpec& made) {
      while (!names.insert(lowered(name)).second) name += '_';
      members += " " + label + " " + made.type + " " + name + made.brackets + ";\n";
    };
    for (const DynamicField& member : kind.fields) {
      const DynamicKind& of = type_.kinds()[member.kind];
      std::string label;
      for (const std::int64_t each : member.labels)
        label += member.is_default ? " default:" : " case " + label_text(of_bool, each) + ":";
      labels += member.labels.size();
      all = all || member.is_default;
      add(label, idl_name(member.name), holds_nothing(of) ? nothing() : spec(of));
    }
    if (!all && !(of_bool && labels == 2)) add(" default:", "nothing", nothing());
    return members;
  }
  /// A char is a number there: not all that read recordings take one behind `switch`.
  std::string discriminator_name_of(const DynamicKind& key) {
    return written_kind(type_, key).kind == FieldKind::character ? "uint8" : spec(key).type;
  }
  static std::string label_text(bool of_bool, std::int64_t value) {
    if (!of_bool) return std::to_string(value);
    return value == 0 ? "FALSE" : "TRUE";
  }
  IdlSpec nothing() {
    if (const auto known = declared_.find("nothing"); known != declared_.end()) return {known->second};
    const std::string name = unused({"Nothing"});
    text_ += "@final struct " + name + " {\n};\n";
    return {declared_.emplace("nothing", name).first->second};
  }

  /// The name with its modules, or another one if something is called so.
  std::string unused(const std::vector<std::string>& scopes) {
    std::string name, flat;
    std::vector<std::string> modules;
    for (const std::string& each : scopes) {
      if (!name.empty()) modules.push_back(lowered(name));
      name += (name.empty() ? "" : "::") + each;
      flat += (flat.empty() ? "" : "_") + each;
    }
    const auto is_struct = [&](const std::string& module) { return structs_.contains(module); };
    const bool fits = std::none_of(modules.begin(), modules.end(), is_struct);
    for (std::size_t more = 1; !fits || structs_.contains(lowered(name)) || modules_.contains(lowered(name)); ++more) {
      name = flat + "_" + std::to_string(more);
      if (!structs_.contains(lowered(name)) && !modules_.contains(lowered(name))) break;
    }
    if (fits) modules_.insert(modules.begin(), modules.end());
    structs_.insert(lowered(name));
    return name;
  }

  const DynamicType& type_;
  std::string text_;
  std::map<std::string, std::string> declared_;  // names of IDL, by the text of the kind
  std::set<std::string> structs_;                // their names, in small characters
  std::set<std::string> modules_;
};

}  // namespace

TypeIdl idl_of(const DynamicType& type) { return IdlText(type).make(); }

}  // namespace spindrift::topics
