// IDL, one function per rule of its grammar.
#include <filesystem>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "model_builder.hpp"

namespace spindrift::idl {
namespace {

struct Annotation {
  std::string name;
  SourcePlace place;
  std::optional<ConstantValue> value;
};

/// Kinds of declarations and types that a sample cannot hold, and what to do about each.
const std::map<std::string, std::string> refused_words = {
    {"bitset", "make it a struct, or a bitmask"},
    {"any", "name a type"},
    {"fixed", "use a double, or a number with a fixed unit"},
    {"wchar", "use a string in UTF-8"},
    {"wstring", "use a string in UTF-8"},
    {"interface", "take it out: only types are read"},
    {"valuetype", "make it a struct"},
    {"exception", "make it a struct"},
    {"native", "take it out"},
    {"component", "take it out"},
};
const std::map<std::string, std::string> plain_words = {
    {"short", "std::int16_t"},   {"int16", "std::int16_t"}, {"uint16", "std::uint16_t"}, {"int32", "std::int32_t"},
    {"uint32", "std::uint32_t"}, {"int64", "std::int64_t"}, {"uint64", "std::uint64_t"}, {"int8", "std::int8_t"},
    {"uint8", "std::uint8_t"},   {"octet", "std::uint8_t"}, {"boolean", "bool"},         {"char", "char"},
    {"float", "float"},          {"double", "double"}};

class IdlParser {
 public:
  IdlParser(ModelBuilder& to, const std::string& text, IdlUnit& unit)
      : to_(to), unit_(unit), tokens_(tokens_of(text, unit.path)) {}

  void definitions(const std::string& scope, std::size_t depth) {
    while (tokens_.peek().kind != TokenKind::end && tokens_.peek().text != "}") definition(scope, depth);
    if (depth == 0 && tokens_.peek().kind != TokenKind::end) tokens_.expect("a definition");
  }

 private:
  void definition(const std::string& scope, std::size_t depth) {
    if (tokens_.peek().kind == TokenKind::directive) return directive(tokens_.take());
    const std::vector<Annotation> annotations = this->annotations(scope);
    const IdlToken word = tokens_.peek();
    refuse_word(word);
    if (tokens_.take_if("module")) {
      module(scope, depth);
    } else if (tokens_.take_if("struct")) {
      structure(scope, annotations);
    } else if (tokens_.take_if("union")) {
      choice(scope);
    } else if (tokens_.take_if("enum")) {
      enumeration(scope, annotations);
    } else if (tokens_.take_if("bitmask")) {
      bitmask(scope, annotations);
    } else if (tokens_.take_if("typedef")) {
      alias(scope);
    } else if (tokens_.take_if("const")) {
      constant(scope);
    } else {
      refuse(word.place, "\"" + word.text.substr(0, 60) + "\" begins no definition",
             "write module, struct, union, enum, bitmask, typedef or const");
    }
    tokens_.expect(";");
  }
  static void refuse_word(const IdlToken& word) {
    const auto found = refused_words.find(word.text);
    if (word.kind != TokenKind::word || found == refused_words.end()) return;
    refuse(word.place, "samples hold no " + word.text, found->second);
  }

  void directive(const IdlToken& line) {
    if (line.text.find("keylist") != std::string::npos && line.text.find("pragma") != std::string::npos)
      refuse(line.place, "keys are said beside their fields, and not by #pragma keylist",
             "write @key before each of these fields, and delete the line");
    const std::size_t begin = line.text.find_first_of("\"<");
    if (line.text.find("include") == std::string::npos || begin == std::string::npos)
      return to_.note(line.place, "\"" + line.text + "\" is left out");
    const std::size_t end = line.text.find_first_of("\">", begin + 1);
    if (end == std::string::npos) refuse(line.place, "the name of the file has no end", "write it in quotes");
    const std::string name = line.text.substr(begin + 1, end - begin - 1);
    const std::string beside = (std::filesystem::path(unit_.path).parent_path() / name).string();
    unit_.includes.push_back(to_.add_one_of({beside, name}, "file " + name, line.place));
  }

  [[nodiscard]] ConstantValue value(const std::string& scope, ExpressionPlace where = ExpressionPlace::anywhere) {
    const NamedValue named = [&](const std::string& name, const SourcePlace& place) {
      return to_.value_named(scope, name, place);
    };
    return expression(tokens_, named, where);
  }
  /// A count of elements, or the bound of a text or sequence.
  std::uint64_t count(const std::string& scope, ExpressionPlace where = ExpressionPlace::anywhere) {
    const SourcePlace place = tokens_.peek().place;
    const ConstantValue value = this->value(scope, where);
    if (value.form != ValueForm::integer || value.integer < 1 || value.integer > WideInteger{elements_max})
      refuse(place, fmt::format("a whole number from 1 to {} is expected", elements_max), "write one");
    return static_cast<std::uint64_t>(value.integer);
  }

  std::vector<Annotation> annotations(const std::string& scope) {
    std::vector<Annotation> all;
    while (tokens_.peek().text == "@" && tokens_.peek().kind == TokenKind::sign) {
      const SourcePlace place = tokens_.take().place;
      Annotation made{tokens_.word("the name of an annotation"), place, std::nullopt};
      const bool known = is_known(made.name);
      if (!known) to_.note(place, "@" + made.name + " is left out");
      if (tokens_.take_if("(")) known ? argument(made, scope) : skip_arguments(place);
      all.push_back(std::move(made));
    }
    return all;
  }
  static bool is_known(const std::string& name) {
    static const std::set<std::string> known = {"key", "optional", "default", "bit_bound", "position", "value"};
    return known.contains(name);
  }
  void argument(Annotation& to, const std::string& scope) {
    if (tokens_.peek().text == "value" && tokens_.peek(1).text == "=") {
      tokens_.take();
      tokens_.take();
    }
    to.value = value(scope);
    tokens_.expect(")");
  }
  void skip_arguments(const SourcePlace& place) {
    for (std::size_t open = 1; open > 0;) {
      const IdlToken token = tokens_.take();
      if (token.kind == TokenKind::end) refuse(place, "an annotation has no end", "write ) behind it");
      if (token.kind == TokenKind::sign && token.text == "(") ++open;
      if (token.kind == TokenKind::sign && token.text == ")") --open;
    }
  }
  static const Annotation* find(const std::vector<Annotation>& in, std::string_view name) {
    for (const Annotation& each : in) {
      const bool off = each.value && each.value->form == ValueForm::boolean && each.value->integer == 0;
      if (each.name == name && (!off || name == "default")) return &each;
    }
    return nullptr;
  }

  void module(const std::string& scope, std::size_t depth) {
    const SourcePlace place = tokens_.peek().place;
    const std::string name = tokens_.word("the name of a module");
    if (depth >= depth_max) refuse(place, "modules are too deep within each other", "use fewer");
    const std::string inner = scope.empty() ? name : scope + "::" + name;
    to_.enter_module(inner, place);
    tokens_.expect("{");
    definitions(inner, depth + 1);
    tokens_.expect("}");
  }

  Declaration begun(DeclarationKind kind, const std::string& scope, const std::string& what) {
    Declaration made{.kind = kind, .scope = scope, .place = tokens_.peek().place};
    made.name = tokens_.word("the name of " + what);
    return made;
  }

  void structure(const std::string& scope, const std::vector<Annotation>&) {
    Declaration made = begun(DeclarationKind::structure, scope, "a struct");
    if (tokens_.peek().text == ";") return;  // its definition follows
    if (tokens_.take_if(":")) {
      const IdlToken base = tokens_.peek();
      const TypePointer given = type_by_name(scope);
      const IdlType& type = to_.resolved(*given);
      const Declaration* const named = type.form == TypeForm::named ? &to_.type_named("", type.name, base.place) : nullptr;
      if (named == nullptr || named->kind != DeclarationKind::structure)
        refuse(base.place, base.text + " is no struct", "name a struct");
      made.fields = named->fields;
    }
    tokens_.expect("{");
    while (!tokens_.take_if("}")) fields(made, scope);
    if (made.fields.empty()) refuse(made.place, "a struct without fields holds nothing", "give it a field");
    to_.declare(std::move(made));
  }
  void fields(Declaration& to, const std::string& scope) {
    const std::vector<Annotation> annotations = this->annotations(scope);
    const TypePointer type = this->type(scope, 0);
    do {
      IdlField field{.name = "", .type = nullptr, .place = tokens_.peek().place};
      field.name = tokens_.word("the name of a field");
      field.type = dimensions(type, scope);
      finish(field, annotations);
      ModelBuilder::add_field(to, std::move(field));
    } while (tokens_.take_if(","));
    tokens_.expect(";");
  }
  /// A union. Of its default the label is one of its own, or one that no member has.
  void choice(const std::string& scope) {
    Declaration made = begun(DeclarationKind::choice, scope, "a union");
    if (tokens_.peek().text == ";") return;  // its definition follows
    tokens_.expect("switch");
    tokens_.expect("(");
    const SourcePlace place = tokens_.peek().place;
    if (find(annotations(scope), "key") != nullptr) refuse(place, "a union is no key", "take @key out");
    made.type = type(scope, 0);
    to_.require_discriminator(*made.type, place);
    tokens_.expect(")");
    tokens_.expect("{");
    std::set<WideInteger> used;
    while (!tokens_.take_if("}")) member(made, scope, used);
    if (made.fields.empty()) refuse(made.place, "a union without members holds nothing", "give it one");
    made.value = to_.free_label(*made.type, used);
    for (IdlField& each : made.fields) {
      if (!each.is_default) continue;
      if (each.labels.empty() && made.value.empty())
        refuse(each.place, "every discriminator has a member, so that none is left for the default", "take the default out");
      each.labels = {each.labels.empty() ? made.value : each.labels.front()};
      made.value.clear();
    }
    to_.declare(std::move(made));
  }
  void member(Declaration& to, const std::string& scope, std::set<WideInteger>& used) {
    IdlField made{.name = "", .type = nullptr};
    do {
      made.is_default = made.is_default || tokens_.peek().text == "default";
      if (!tokens_.take_if("default")) made.labels.push_back(label(to, scope, used));
      tokens_.expect(":");
    } while (tokens_.peek().text == "case" || tokens_.peek().text == "default");
    for (const Annotation& each : annotations(scope)) {
      if (is_known(each.name)) refuse(each.place, "a member of a union has no @" + each.name, "take it out");
    }
    const TypePointer type = this->type(scope, 0);
    made.place = tokens_.peek().place;
    made.name = tokens_.word("the name of a member");
    if (made.name.starts_with("_")) refuse(made.place, "no member of a union begins with _", "call it otherwise");
    made.type = dimensions(type, scope);
    for (const IdlField& each : to.fields) {
      if (each.is_default && made.is_default) refuse(made.place, "a union has two defaults", "take one of them out");
    }
    ModelBuilder::add_field(to, std::move(made));
    tokens_.expect(";");
  }
  std::string label(const Declaration& of, const std::string& scope, std::set<WideInteger>& used) {
    tokens_.expect("case");
    const SourcePlace place = tokens_.peek().place;
    const ConstantValue value = this->value(scope);
    const IdlType& type = to_.resolved(*of.type);
    const std::string text = cpp_literal(value, type, place);
    if (value.integer > INT64_MAX) refuse(place, "the value is none of " + cpp_type(type), "write one of that type");
    if (!used.insert(value.integer).second) refuse(place, "this case is there already", "take one of them out");
    return text;
  }
  void finish(IdlField& field, const std::vector<Annotation>& annotations) {
    if (const Annotation* const given = find(annotations, "default")) {
      if (!given->value) refuse(given->place, "@default says no value", "write @default(…)");
      field.initial = cpp_literal(*given->value, to_.resolved(*field.type), given->place);
    }
    field.key = find(annotations, "key") != nullptr;
    if (const Annotation* const optional = find(annotations, "optional")) {
      if (field.key) refuse(optional->place, "a key is not optional", "take one of the two out");
      field.type = std::make_shared<IdlType>(IdlType{.form = TypeForm::optional, .element = field.type});
    }
    if (field.key) to_.require_key(*field.type, field.place);
  }

  /// The integer of an enum or a bitmask of so many bits.
  TypePointer integer(const std::vector<Annotation>& annotations, const char* sign, std::int64_t& bits) {
    bits = 32;
    if (const Annotation* const bound = find(annotations, "bit_bound")) {
      if (!bound->value || bound->value->form != ValueForm::integer || bound->value->integer < 1 ||
          bound->value->integer > 64)
        refuse(bound->place, "@bit_bound is 1 to 64", "write @bit_bound(8), or 16, 32, 64");
      bits = static_cast<std::int64_t>(bound->value->integer);
    }
    const int size = bits <= 8 ? 8 : bits <= 16 ? 16 : bits <= 32 ? 32 : 64;
    return std::make_shared<IdlType>(IdlType{.name = fmt::format("std::{}int{}_t", sign, size)});
  }
  /// Names in braces, with a number each.
  void enumerators(Declaration& to, const std::string& scope, const char* annotation, std::int64_t most) {
    tokens_.expect("{");
    std::int64_t next = 0;
    do {
      const std::vector<Annotation> annotations = this->annotations(scope);
      const SourcePlace place = tokens_.peek().place;
      IdlEnumerator made{tokens_.word("a name"), next};
      if (const Annotation* const given = find(annotations, annotation)) {
        if (!given->value || given->value->form != ValueForm::integer || given->value->integer > INT64_MAX)
          refuse(given->place, fmt::format("@{} says no whole number", annotation), "write one");
        made.value = static_cast<std::int64_t>(given->value->integer);
      }
      const std::int64_t least = to.kind == DeclarationKind::bitmask ? 0 : -most - 1;
      if (made.value > most || made.value < least) refuse(place, "the number does not fit its bits", "raise @bit_bound");
      for (const IdlEnumerator& each : to.enumerators) {
        if (each.name == made.name) refuse(place, made.name + " is there already", "call it otherwise");
        if (each.value == made.value) {
          refuse(place, fmt::format("{} has the number of {}, {}", made.name, each.name, made.value),
                 fmt::format("give it another one, by @{}", annotation));
        }
      }
      next = made.value == INT64_MAX ? made.value : made.value + 1;
      to.enumerators.push_back(std::move(made));
    } while (tokens_.take_if(",") && tokens_.peek().text != "}");
    tokens_.expect("}");
  }
  void enumeration(const std::string& scope, const std::vector<Annotation>& annotations) {
    Declaration made = begun(DeclarationKind::enumeration, scope, "an enum");
    std::int64_t bits = 0;
    made.type = integer(annotations, "", bits);
    enumerators(made, scope, "value", static_cast<std::int64_t>((std::uint64_t{1} << (bits - 1)) - 1));
    for (const IdlEnumerator& each : made.enumerators) {
      const ConstantValue value{.form = ValueForm::enumerator,
                                .integer = each.value,
                                .text = "::" + made.full_name() + "::" + each.name + (is_cpp_word(each.name) ? "_" : "")};
      to_.define_value(scope.empty() ? each.name : scope + "::" + each.name, value);
      to_.define_value(made.full_name() + "::" + each.name, value);
    }
    to_.declare(std::move(made));
  }
  void bitmask(const std::string& scope, const std::vector<Annotation>& annotations) {
    Declaration made = begun(DeclarationKind::bitmask, scope, "a bitmask");
    std::int64_t bits = 0;
    made.type = integer(annotations, "u", bits);
    enumerators(made, scope, "position", bits - 1);
    for (const IdlEnumerator& each : made.enumerators) {
      to_.define_value(made.full_name() + "::" + each.name, {.integer = WideInteger{1} << static_cast<int>(each.value)});
    }
    to_.declare(std::move(made));
  }

  void alias(const std::string& scope) {
    const TypePointer type = this->type(scope, 0);
    do {
      Declaration made = begun(DeclarationKind::alias, scope, "a type");
      made.type = dimensions(type, scope);
      to_.declare(std::move(made));
    } while (tokens_.take_if(","));
  }
  void constant(const std::string& scope) {
    const TypePointer type = this->type(scope, 0);
    Declaration made = begun(DeclarationKind::constant, scope, "a constant");
    // A text behind an alias would be a std::string, which is no constant.
    const IdlType& behind = to_.resolved(*type);
    made.type = behind.form == TypeForm::text ? std::make_shared<IdlType>(behind) : type;
    tokens_.expect("=");
    const SourcePlace place = tokens_.peek().place;
    const ConstantValue value = this->value(scope);
    made.value = cpp_literal(value, to_.resolved(*type), place);
    const std::string name = made.full_name();
    to_.declare(std::move(made));
    to_.define_value(name, value);
  }

  TypePointer dimensions(TypePointer type, const std::string& scope) {
    std::vector<std::uint64_t> counts;
    std::uint64_t all = 1;
    while (tokens_.take_if("[")) {
      counts.push_back(count(scope));
      if (counts.back() > elements_max / all) refuse(tokens_.peek().place, "the array is too large", "use a sequence");
      all *= counts.back();
      tokens_.expect("]");
    }
    for (auto each = counts.rbegin(); each != counts.rend(); ++each)
      type = std::make_shared<IdlType>(IdlType{.form = TypeForm::array, .element = type, .count = *each});
    return type;
  }

  TypePointer plain(const char* name) { return std::make_shared<IdlType>(IdlType{.name = name}); }
  TypePointer type(const std::string& scope, std::size_t depth) {
    const IdlToken word = tokens_.peek();
    if (depth > depth_max) refuse(word.place, "types are too deep within each other", "name them with typedef");
    refuse_word(word);
    if (tokens_.take_if("unsigned")) return of_long(word, true);
    if (word.text == "long") return of_long(word, false);
    if (tokens_.take_if("string")) return text(scope);
    if (tokens_.take_if("sequence")) return sequence(scope, depth);
    if (tokens_.take_if("map")) return map(scope, depth);
    const auto found = plain_words.find(word.text);
    if (word.kind != TokenKind::word || found == plain_words.end()) return type_by_name(scope);
    tokens_.take();
    return plain(found->second.c_str());
  }
  TypePointer of_long(const IdlToken& word, bool is_unsigned) {
    if (is_unsigned && tokens_.take_if("short")) return plain("std::uint16_t");
    tokens_.expect("long");
    if (tokens_.peek().text == "double") refuse(word.place, "samples hold no long double", "use a double");
    if (tokens_.take_if("long")) return plain(is_unsigned ? "std::uint64_t" : "std::int64_t");
    return plain(is_unsigned ? "std::uint32_t" : "std::int32_t");
  }
  TypePointer text(const std::string& scope) {
    IdlType made{.form = TypeForm::text};
    if (tokens_.take_if("<")) {
      made.count = bound(scope);
      tokens_.expect(">");
    }
    return std::make_shared<IdlType>(std::move(made));
  }
  TypePointer sequence(const std::string& scope, std::size_t depth) {
    IdlType made{.form = TypeForm::sequence};
    tokens_.expect("<");
    made.element = type(scope, depth + 1);
    if (tokens_.take_if(",")) made.count = bound(scope);
    tokens_.expect(">");
    return std::make_shared<IdlType>(std::move(made));
  }
  TypePointer map(const std::string& scope, std::size_t depth) {
    IdlType made{.form = TypeForm::map};
    tokens_.expect("<");
    const SourcePlace place = tokens_.peek().place;
    made.key = type(scope, depth + 1);
    to_.require_map_key(*made.key, place);
    tokens_.expect(",");
    made.element = type(scope, depth + 1);
    if (tokens_.take_if(",")) made.count = bound(scope);
    tokens_.expect(">");
    return std::make_shared<IdlType>(std::move(made));
  }
  std::uint64_t bound(const std::string& scope) {
    to_.note(tokens_.peek().place, "the bound is in the header as a comment, and nobody checks it");
    return count(scope, ExpressionPlace::brackets);
  }
  TypePointer type_by_name(const std::string& scope) {
    const IdlToken first = tokens_.peek();
    std::string name = tokens_.take_if("::") ? "::" : "";
    name += tokens_.word("a type");
    while (tokens_.take_if("::")) name += "::" + tokens_.word("a type");
    const Declaration& found = to_.type_named(scope, name, first.place);
    return std::make_shared<IdlType>(IdlType{.form = TypeForm::named, .name = found.full_name()});
  }

  ModelBuilder& to_;
  IdlUnit& unit_;
  TokenStream tokens_;
};

}  // namespace

void parse_idl(ModelBuilder& to, const std::string& text, IdlUnit& unit) { IdlParser(to, text, unit).definitions("", 0); }

}  // namespace spindrift::idl
