// ROS 2's .msg files: a field or a constant on each line.
#include <charconv>
#include <filesystem>
#include <map>
#include <utility>

#include "model_builder.hpp"

namespace spindrift::idl {
namespace {

const std::map<std::string, std::string> ros_types = {{"bool", "bool"},
                                                      {"byte", "std::uint8_t"},
                                                      {"char", "std::uint8_t"},
                                                      {"int8", "std::int8_t"},
                                                      {"uint8", "std::uint8_t"},
                                                      {"int16", "std::int16_t"},
                                                      {"uint16", "std::uint16_t"},
                                                      {"int32", "std::int32_t"},
                                                      {"uint32", "std::uint32_t"},
                                                      {"int64", "std::int64_t"},
                                                      {"uint64", "std::uint64_t"},
                                                      {"float32", "float"},
                                                      {"float64", "double"}};

std::string trimmed(std::string text) {
  text.erase(0, text.find_first_not_of(" \t\r"));
  text.erase(text.find_last_not_of(" \t\r") + 1);
  return text;
}

class RosParser {
 public:
  RosParser(ModelBuilder& to, IdlUnit& unit)
      : to_(to), unit_(unit), path_(unit.path), package_(package_of(unit.path)), scope_(package_ + "::msg") {
    place_.file = unit.path;
    made_.place = place_;
    made_.scope = scope_;
    made_.name = path_.stem().string();
  }

  void parse(const std::string& text) {
    if (!is_name(package_) || !is_name(made_.name))
      refuse(place_, "the file's directory is the package, and both names are to be of a-z, A-Z, 0-9 and _",
             "call it PACKAGE/msg/Type.msg");
    to_.enter_module(package_, place_);
    to_.enter_module(scope_, place_);
    for (std::size_t begin = 0; begin <= text.size(); ++place_.line) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      line(text.substr(begin, end - begin));
      begin = end + 1;
    }
    if (made_.fields.empty()) {  // as ROS's own generator has it
      ModelBuilder::add_field(
          made_, {.name = "structure_needs_at_least_one_member", .type = plain("std::uint8_t"), .place = place_});
    }
    to_.declare(std::move(made_));
  }

 private:
  static bool is_name(const std::string& name) {
    static constexpr std::string_view all = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    return !name.empty() && (name[0] < '0' || name[0] > '9') && name.find_first_not_of(all) == std::string::npos;
  }
  static TypePointer plain(const std::string& name) { return std::make_shared<IdlType>(IdlType{.name = name}); }

  void line(const std::string& text) {
    const std::size_t begin = text.find_first_not_of(" \t\r");
    if (begin == std::string::npos || text[begin] == '#') return;
    place_.column = static_cast<std::uint32_t>(begin + 1);
    if (text.compare(begin, 3, "---") == 0) refuse(place_, "this is a service or an action", "give .msg files");
    const std::size_t type_end = std::min(text.find_first_of(" \t", begin), text.size());
    const std::string type = text.substr(begin, type_end - begin);
    const std::size_t name_begin = std::min(text.find_first_not_of(" \t", type_end), text.size());
    const std::size_t name_end = std::min(text.find_first_of(" \t=#\r", name_begin), text.size());
    const std::string name = text.substr(name_begin, name_end - name_begin);
    if (!is_name(name)) refuse(place_, "a type and a name are expected", "write for example: int32 count");
    const std::size_t rest = std::min(text.find_first_not_of(" \t", name_end), text.size());
    const TypePointer made = type_of(type);
    place_.column = static_cast<std::uint32_t>(rest + 1);
    if (rest < text.size() && text[rest] == '=') return constant(name, made, text.substr(rest + 1));
    field(name, made, text.substr(rest));
  }

  void constant(const std::string& name, const TypePointer& type, const std::string& text) {
    Declaration made{.kind = DeclarationKind::constant, .scope = scope_ + "::" + made_.name + "_Constants", .name = name};
    made.place = place_;
    made.type = type;
    made.value = literal(*type, text);
    if (!constants_) to_.enter_module(made.scope, place_);
    constants_ = true;
    to_.declare(std::move(made));
  }
  void field(const std::string& name, const TypePointer& type, const std::string& rest) {
    IdlField made{.name = name, .type = type, .place = place_};
    const std::string initial = trimmed(rest);
    if (!initial.empty() && initial[0] != '#') {
      if (type->form == TypeForm::plain || type->form == TypeForm::text)
        made.initial = literal(*type, rest);
      else
        to_.note(place_, "the default of " + name + " is left out");
    }
    ModelBuilder::add_field(made_, std::move(made));
  }

  /// A text may stand there without quotes.
  std::string literal(const IdlType& type, const std::string& rest) {
    const std::string text = trimmed(rest);
    const bool quoted = !text.empty() && (text[0] == '"' || text[0] == '\'');
    if (type.form == TypeForm::text && !quoted) return cpp_literal({.form = ValueForm::text, .text = text}, type, place_);
    std::string source = text;
    if (type.form == TypeForm::plain) source = source.substr(0, source.find('#'));
    if (quoted && text[0] == '\'') source = as_double_quoted(text);
    std::vector<IdlToken> tokens = tokens_of(source, place_.file);
    for (IdlToken& each : tokens) {
      each.place = place_;
      if (type.name == "bool" && (each.text == "true" || each.text == "True")) each.text = "TRUE";
      if (type.name == "bool" && (each.text == "false" || each.text == "False")) each.text = "FALSE";
    }
    TokenStream stream(std::move(tokens));
    const ConstantValue value = expression(
        stream, [&](const std::string& name, const SourcePlace& place) { return to_.value_named(scope_, name, place); });
    const bool comment = stream.peek().kind == TokenKind::directive;
    if (stream.peek().kind != TokenKind::end && !comment) refuse(place_, "something is behind the value", "take it out");
    return cpp_literal(value, type, place_);
  }
  static std::string as_double_quoted(const std::string& text) {
    std::string made = "\"";
    for (const char each : text.substr(1, text.rfind('\'') - 1)) made += each == '"' ? "\\\"" : std::string(1, each);
    return made + "\"";
  }

  std::uint64_t number(const std::string& text) const {
    std::uint64_t value = 0;
    const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
    if (end.ec != std::errc() || end.ptr != text.data() + text.size() || value < 1 || value > elements_max)
      refuse(place_, "\"" + text + "\" is no count of elements", "write a whole number, 1 to 2^28");
    return value;
  }
  std::uint64_t bound(const std::string& text) {
    to_.note(place_, "the bound is in the header as a comment, and nobody checks it");
    return number(text);
  }

  TypePointer type_of(const std::string& text) {
    if (text.ends_with("]")) {
      const std::size_t open = text.rfind('[');
      if (open == std::string::npos) refuse(place_, "a [ is missing", "write for example int32[3]");
      const std::string within = text.substr(open + 1, text.size() - open - 2);
      IdlType made{.form = TypeForm::sequence, .element = type_of(text.substr(0, open))};
      if (within.starts_with("<=")) {
        made.count = bound(within.substr(2));
      } else if (!within.empty()) {
        made.form = TypeForm::array;
        made.count = number(within);
      }
      return std::make_shared<IdlType>(std::move(made));
    }
    if (text.starts_with("wstring")) refuse(place_, "samples hold no wstring", "use a string in UTF-8");
    if (text == "string") return std::make_shared<IdlType>(IdlType{.form = TypeForm::text});
    if (text.starts_with("string<="))
      return std::make_shared<IdlType>(IdlType{.form = TypeForm::text, .count = bound(text.substr(8))});
    const auto found = ros_types.find(text);
    return found == ros_types.end() ? message(text) : plain(found->second);
  }

  /// A type of another file: "Point", "geometry_msgs/Point", "geometry_msgs/msg/Point".
  TypePointer message(const std::string& text) {
    const std::size_t first = text.find('/');
    const std::string package = first == std::string::npos ? package_ : text.substr(0, first);
    const std::string name = text.substr(text.rfind('/') == std::string::npos ? 0 : text.rfind('/') + 1);
    if (!is_name(package) || !is_name(name)) refuse(place_, "\"" + text + "\" is no type", "write one");
    const std::string file = name + ".msg";
    std::vector<std::string> paths;
    for (const std::string& each : to_.given()) {
      if (package_of(each) == package && std::filesystem::path(each).filename() == file) paths.push_back(each);
    }
    const std::filesystem::path here = path_.parent_path();
    if (package == package_) paths.push_back((here / file).string());
    paths.push_back((here / ".." / ".." / package / "msg" / file).string());
    paths.push_back((here / ".." / package / file).string());
    unit_.includes.push_back(to_.add_one_of(paths, "type " + text, place_));
    const Declaration& type = to_.type_named("", package + "::msg::" + name, place_);
    return std::make_shared<IdlType>(IdlType{.form = TypeForm::named, .name = type.full_name()});
  }

  ModelBuilder& to_;
  IdlUnit& unit_;
  const std::filesystem::path path_;
  const std::string package_;
  const std::string scope_;
  SourcePlace place_;
  Declaration made_;
  bool constants_ = false;
};

}  // namespace

void parse_ros(ModelBuilder& to, const std::string& text, IdlUnit& unit) { RosParser(to, unit).parse(text); }

}  // namespace spindrift::idl
