// Files in the order of what they include, and names.
#include "model_builder.hpp"

#include <array>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

namespace spindrift::idl {
namespace {

constexpr std::string_view cpp_words =
    " alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t class compl "
    "concept const consteval constexpr constinit const_cast continue co_await co_return co_yield decltype default delete do "
    "double dynamic_cast else enum explicit export extern false float for friend goto if inline int long mutable namespace "
    "new noexcept not not_eq nullptr operator or or_eq private protected public register reinterpret_cast requires return "
    "short signed sizeof static static_assert static_cast std struct switch template this thread_local throw true try "
    "typedef typeid typename union unsigned using virtual void volatile wchar_t while xor xor_eq ";

}  // namespace

bool is_cpp_word(const std::string& name) { return cpp_words.find(" " + name + " ") != std::string_view::npos; }

void refuse(const SourcePlace& place, const std::string& cause, const std::string& fix) {
  throw Exception(Error(ErrorKind::bad_input, cause).at(place.text()).fix(fix));
}

std::string package_of(const std::string& path) {
  std::filesystem::path directory = std::filesystem::path(path).parent_path();
  if (directory.filename() == "msg") directory = directory.parent_path();
  return directory.filename().string();
}

const Declaration* Model::find(const std::string& full_name) const {
  for (const Declaration& each : declarations) {
    if (each.full_name() == full_name) return &each;
  }
  return nullptr;
}

void ModelBuilder::add(const std::string& path, const SourcePlace& place) { add_one_of({path}, "file " + path, place); }

std::string ModelBuilder::add_one_of(const std::vector<std::string>& paths, const std::string& what,
                                     const SourcePlace& place) {
  for (const std::string& each : paths) {
    const std::string path = std::filesystem::path(each).lexically_normal().string();
    if (read_whole_.contains(path)) return path;
    if (reading_.contains(path)) refuse(place, what + " includes itself", "take one of the includes out");
    const auto text = read_(path);
    if (!text) continue;
    if (text->size() > file_bytes_max) refuse({path}, "the file has more than 16 MiB", "split it");
    if (read_whole_.size() + reading_.size() >= units_max || reading_.size() >= depth_max)
      refuse(place, "there are too many files", "give fewer, or put them together");
    reading_.insert(path);
    IdlUnit unit{.path = path};
    std::filesystem::path(path).extension() == ".msg" ? parse_ros(*this, *text, unit) : parse_idl(*this, *text, unit);
    model_.units.push_back(std::move(unit));
    reading_.erase(path);
    read_whole_.insert(path);
    return path;
  }
  std::string looked;
  for (const std::string& each : paths) looked += (looked.empty() ? "" : ", ") + each;
  refuse(place, what + " is not there; looked for " + looked, "give its file, or put it there");
}

void ModelBuilder::enter_module(const std::string& full_name, const SourcePlace& place) {
  const std::string last = full_name.substr(full_name.rfind(':') == std::string::npos ? 0 : full_name.rfind(':') + 1);
  if (is_cpp_word(last)) refuse(place, "C++ has the word " + last + " for itself", "call the module otherwise");
  if (types_.contains(full_name)) refuse(place, full_name + " is a type already", "call the module otherwise");
  modules_.insert(full_name);
}

void ModelBuilder::declare(Declaration declaration) {
  const std::string name = declaration.full_name();
  if (is_cpp_word(declaration.name))
    refuse(declaration.place, "C++ has the word " + declaration.name + " for itself", "call it otherwise");
  if (types_.contains(name) || values_.contains(name) || modules_.contains(name))
    refuse(declaration.place, name + " is there already", "call one of them otherwise");
  types_.emplace(name, model_.declarations.size());
  model_.declarations.push_back(std::move(declaration));
}

template <class Known>
const Known* ModelBuilder::find(const std::map<std::string, Known>& all, std::string scope, const std::string& name) {
  if (name.starts_with("::")) {
    const auto found = all.find(name.substr(2));
    return found == all.end() ? nullptr : &found->second;
  }
  for (;;) {
    const auto found = all.find(scope.empty() ? name : scope + "::" + name);
    if (found != all.end()) return &found->second;
    if (scope.empty()) return nullptr;
    const auto inner = scope.rfind("::");
    scope.resize(inner == std::string::npos ? 0 : inner);
  }
}

const Declaration& ModelBuilder::type_named(const std::string& scope, const std::string& name,
                                            const SourcePlace& place) const {
  const std::size_t* const found = find(types_, scope, name);
  if (found == nullptr || model_.declarations[*found].kind == DeclarationKind::constant)
    refuse(place, "there is no type " + name + " before this", "declare it before, whole, or include its file");
  return model_.declarations[*found];
}

ConstantValue ModelBuilder::value_named(const std::string& scope, const std::string& name, const SourcePlace& place) const {
  const ConstantValue* const found = find(values_, scope, name);
  if (found == nullptr) refuse(place, "there is no constant " + name + " before this", "declare it before");
  return *found;
}

const IdlType& ModelBuilder::resolved(const IdlType& type) const {
  const IdlType* at = &type;
  while (at->form == TypeForm::named) {
    const Declaration& named = model_.declarations[types_.at(at->name)];
    if (named.kind != DeclarationKind::alias && named.kind != DeclarationKind::bitmask) break;
    at = named.type.get();
  }
  return *at;
}

void ModelBuilder::require_map_key(const IdlType& type, const SourcePlace& place) const {
  const IdlType& behind = resolved(type);
  const std::string& name = behind.name;
  if (behind.form == TypeForm::text) return;
  if (behind.form == TypeForm::plain && name != "char" && name != "float" && name != "double") return;
  if (behind.form == TypeForm::named && model_.declarations[types_.at(name)].kind == DeclarationKind::enumeration) return;
  refuse(place, "the keys of a map are integers, booleans, enums or strings", "write map<string, …>, or another of these");
}

void ModelBuilder::require_discriminator(const IdlType& type, const SourcePlace& place) const {
  const IdlType& behind = resolved(type);
  const std::string& name = behind.name;
  if (behind.form == TypeForm::plain && name != "float" && name != "double") return;
  if (behind.form == TypeForm::named && model_.declarations[types_.at(name)].kind == DeclarationKind::enumeration) return;
  refuse(place, "what tells members of a union apart is an integer, a boolean, a char or an enum", "write switch (long)");
}

std::string ModelBuilder::free_label(const IdlType& type, const std::set<WideInteger>& used) const {
  const IdlType& behind = resolved(type);
  if (behind.form == TypeForm::named) {
    const Declaration& named = model_.declarations[types_.at(behind.name)];
    for (const IdlEnumerator& each : named.enumerators) {
      if (!used.contains(each.value)) return "::" + behind.name + "::" + each.name + (is_cpp_word(each.name) ? "_" : "");
    }
    return {};
  }
  WideInteger free = 0;
  while (used.contains(free)) ++free;
  const bool is_bool = behind.name == "bool", is_char = behind.name == "char";
  const int bits = is_bool ? 1 : is_char || behind.name == "std::uint8_t" ? 8 : behind.name == "std::int8_t" ? 7 : 15;
  if (free >> bits != 0) return {};
  const ValueForm form = is_bool ? ValueForm::boolean : is_char ? ValueForm::character : ValueForm::integer;
  return cpp_literal({.form = form, .integer = free}, behind, {});
}

void ModelBuilder::require_key(const IdlType& type, const SourcePlace& place) const {
  const IdlType& behind = resolved(type);
  if (behind.form == TypeForm::sequence || behind.form == TypeForm::map || behind.form == TypeForm::optional)
    refuse(place, "a key holds no sequences, maps and optionals", "make a number, a text or an array the key");
  if (behind.form == TypeForm::array) require_key(*behind.element, place);
  if (behind.form != TypeForm::named) return;
  if (model_.declarations[types_.at(behind.name)].kind == DeclarationKind::choice)
    refuse(place, "a key holds no union", "make a number, a text or an array the key");
  for (const IdlField& each : model_.declarations[types_.at(behind.name)].fields) require_key(*each.type, place);
}

void ModelBuilder::add_field(Declaration& to, IdlField field) {
  for (const IdlField& each : to.fields) {
    if (each.name == field.name) refuse(field.place, "the field " + field.name + " is there already", "call it otherwise");
  }
  if (to.fields.size() == fields_max)
    refuse(field.place, fmt::format("a struct or union has more than {} fields", fields_max),
           "put some of them into a struct within");
  to.fields.push_back(std::move(field));
}

Model parse(const std::vector<std::string>& paths, const ReadFile& read) {
  ModelBuilder builder(paths, read);
  for (const std::string& each : paths) builder.add(each, {.file = each});
  return builder.take();
}

}  // namespace spindrift::idl
