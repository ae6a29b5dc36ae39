// Descriptions of types, taken apart: one function per rule of what fields.hpp writes.
#include <spindrift/dds/dynamic_type.hpp>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include <spindrift/dds/plain_value.hpp>
#include <spindrift/dds/type_support.hpp>

namespace spindrift::topics {
namespace {

constexpr std::string_view kind_names[] = {"bool", "char",     "i8",          "i16",   "i32",       "i64",    "u8",
                                           "u16",  "u32",      "u64",         "f32",   "f64",       "string", "sequence",
                                           "map",  "optional", "enumeration", "array", "aggregate", "union"};
constexpr std::uint64_t plain_bytes[] = {1, 1, 1, 2, 4, 8, 1, 2, 4, 8, 4, 8};

std::uint64_t aligned(std::uint64_t offset, std::uint64_t alignment) {
  return (offset + alignment - 1) / alignment * alignment;
}

/// Compilers call a namespace without a name so, which looks like the fields of a type.
constexpr std::string_view unnamed_namespace = "{anonymous}";

}  // namespace

std::string_view to_string(FieldKind kind) noexcept { return kind_names[static_cast<std::size_t>(kind)]; }

const DynamicField* member_of(const DynamicKind& kind, std::int64_t label) noexcept {
  const DynamicField* otherwise = nullptr;
  for (const DynamicField& each : kind.fields) {
    if (each.is_default) otherwise = &each;
    if (!each.is_default && std::find(each.labels.begin(), each.labels.end(), label) != each.labels.end()) return &each;
  }
  return otherwise;
}

class TypeParser {
 public:
  explicit TypeParser(std::string_view text) : text_(text) {}

  Result<DynamicType> parse() {
    if (text_.size() > description_bytes_max) {
      fail("it has more than " + std::to_string(description_bytes_max) + " bytes");
    } else if (const auto name = type_name()) {
      if (take('{')) {
        static_cast<void>(aggregate(std::string(*name), 1));
      } else {
        fail("the fields of the sample, in braces, are expected");
      }
      keys();
      layout();
      if (at_ < text_.size()) fail("something is behind the end of the type");
    }
    if (fault_) return *fault_;
    type_.description_ = type_.text_of(type_.root(), false) + std::string(tail_);
    type_.named_ = type_.text_of(type_.root(), true) + std::string(tail_);
    if (type_.named_ == type_.description_) type_.named_.clear();
    return std::move(type_);
  }

 private:
  void fail(const std::string& what) {
    if (fault_) return;
    fault_ = Error(ErrorKind::bad_input, what + " in \"" + std::string(text_.substr(0, 200)) + "\"")
                 .at("character " + std::to_string(at_ + 1) + " of the description of a type")
                 .fix("let all programs of the domain be of one release");
  }

  [[nodiscard]] std::string_view rest() const { return text_.substr(at_); }
  bool take(std::string_view word) {
    if (fault_ || !rest().starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  bool take(char c) { return take(std::string_view(&c, 1)); }
  void expect(char c) {
    if (!take(c)) fail(std::string("a ") + c + " is expected");
  }
  std::uint64_t number() {
    std::uint64_t value = 0;
    const char* const begin = text_.data() + at_;
    const auto [end, failure] = std::from_chars(begin, text_.data() + text_.size(), value);
    const bool leading_zero = end - begin > 1 && *begin == '0';
    if (failure != std::errc() || leading_zero || value > type_bytes_max) fail("a number up to 2^30 is expected");
    if (!fault_) at_ += static_cast<std::size_t>(end - begin);
    return value;
  }

  /// The name of an aggregate or an enum, up to what is behind it. Nothing: there is none.
  std::optional<std::string_view> type_name() {
    const std::size_t begin = at_;
    std::size_t open = 0;  // brackets, of a template's arguments or a function's
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (rest().starts_with(unnamed_namespace)) {
        at_ += unnamed_namespace.size();
        continue;
      }
      if (static_cast<unsigned char>(c) < ' ' || c == '"') break;
      if (open == 0 && rest().starts_with("::"))
        ++at_;
      else if (open == 0 && std::string_view("{}:,[]=>)").find(c) != std::string_view::npos)
        break;
      if (c == '<' || c == '(') ++open;
      if (c == '>' || c == ')') --open;
      ++at_;
    }
    if (at_ > begin && open == 0) return text_.substr(begin, at_ - begin);
    fail("the name of a type is expected");
    return std::nullopt;
  }

  std::size_t add(DynamicKind kind) {
    const std::uint64_t bytes = std::max(kind.size, kind.wire_bytes_min);
    if (bytes > type_bytes_max) fail("a value has more than 2^30 bytes");
    type_.kinds_.push_back(std::move(kind));
    return type_.kinds_.size() - 1;
  }
  [[nodiscard]] const DynamicKind& at(std::size_t kind) const { return type_.kinds_[kind]; }

  /// One kind with all behind it, as "f32[3]". Its place; anything after a fault.
  std::size_t kind(std::size_t depth) {
    if (depth > type_depth_max) fail("there are more than " + std::to_string(type_depth_max) + " levels");
    if (fault_) return 0;
    std::size_t made = element(depth);
    while (take('[')) {
      if (++depth > type_depth_max) fail("there are more than " + std::to_string(type_depth_max) + " levels");
      const std::uint64_t count = number();
      expect(']');
      if (fault_) return 0;
      DynamicKind array{.kind = FieldKind::array, .element = made, .count = count, .fixed = at(made).fixed};
      array.size = count == 0 ? 1 : count * at(made).size;
      array.alignment = count == 0 ? 1 : at(made).alignment;
      array.wire_bytes_min = count * at(made).wire_bytes_min;
      // Counting such elements for long would be for nothing.
      const bool empty = at(made).wire_bytes_min == 0;
      if (empty && count > description_bytes_max) fail("there are too many elements that hold nothing");
      made = add(std::move(array));
    }
    return made;
  }

  std::size_t element(std::size_t depth) {
    if (take("sequence<")) return holder(FieldKind::sequence, depth);
    if (take("map<")) return map(depth);
    if (take("variant<")) return variant(depth);
    if (take("union ")) return choice(depth);
    if (take("optional<")) return holder(FieldKind::optional, depth);
    if (const auto word = plain_word()) return plain(*word);
    const auto name = type_name();
    if (name && take('{')) return aggregate(std::string(*name), depth);
    if (name && take(':')) return enumeration(std::string(*name));
    fail("the kind of a field is expected");
    return 0;
  }

  /// A plain kind or a string, where its name is not that of somebody's type.
  std::optional<FieldKind> plain_word() {
    const std::size_t end = std::min(rest().find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789"), rest().size());
    const std::string_view word = rest().substr(0, end);
    const bool ends = end == rest().size() || std::string_view(",}>[ ").find(rest()[end]) != std::string_view::npos;
    for (std::size_t each = 0; ends && each <= static_cast<std::size_t>(FieldKind::string); ++each) {
      if (word != kind_names[each]) continue;
      at_ += end;
      return static_cast<FieldKind>(each);
    }
    return std::nullopt;
  }
  std::size_t plain(FieldKind kind) {
    if (kind == FieldKind::string) return add({.kind = kind, .wire_bytes_min = 5});
    const std::uint64_t bytes = plain_bytes[static_cast<std::size_t>(kind)];
    return add({.kind = kind, .fixed = true, .size = bytes, .alignment = bytes, .wire_bytes_min = bytes});
  }

  std::size_t holder(FieldKind kind, std::size_t depth) {
    const std::size_t made = this->kind(depth + 1);
    expect('>');
    if (fault_) return 0;
    // Neither has a form of its own: the one as JSON, the other as bytes.
    if (kind == FieldKind::optional && at(made).kind == FieldKind::optional) fail("an optional is directly within another");
    if (kind == FieldKind::sequence && at(made).wire_bytes_min == 0) fail("a sequence is of elements that hold nothing");
    return add({.kind = kind, .element = made, .wire_bytes_min = kind == FieldKind::sequence ? 4U : 1U});
  }

  std::size_t map(std::size_t depth) {
    const std::size_t key = kind(depth + 1);
    if (!fault_ && !is_map_key(at(key))) fail("the keys of a map are integers, bools, enums or strings");
    expect(',');
    const std::size_t made = kind(depth + 1);
    expect('>');
    if (fault_) return 0;
    return add({.kind = FieldKind::map, .element = made, .key = key, .wire_bytes_min = 4});
  }
  [[nodiscard]] bool is_map_key(const DynamicKind& kind) const {
    if (kind.kind == FieldKind::enumeration) return is_map_key(at(kind.element));
    return (kind.kind < FieldKind::f32 && kind.kind != FieldKind::character) || kind.kind == FieldKind::string;
  }

  std::size_t variant(std::size_t depth) {
    DynamicKind made{.kind = FieldKind::choice, .name = "variant", .key = plain(FieldKind::i32), .is_variant = true};
    do {
      DynamicField member{.name = "f" + std::to_string(made.fields.size()), .kind = kind(depth + 1)};
      member.labels = {static_cast<std::int64_t>(made.fields.size())};
      made.fields.push_back(std::move(member));
    } while (take(','));
    expect('>');
    made.wire_bytes_min = at(made.key).size;
    return fault_ ? 0 : add(std::move(made));
  }
  std::size_t choice(std::size_t depth) {
    DynamicKind made{.kind = FieldKind::choice, .name = std::string(type_name().value_or(""))};
    expect(':');
    made.key = kind(depth + 1);
    if (!fault_ && !is_discriminator(at(made.key))) fail("a discriminator is an integer, a bool, a char or an enum");
    if (!take(" {")) fail("the members of a union, in braces, are expected");
    while (!fault_ && !take('}')) {
      if (!made.fields.empty()) expect(',');
      DynamicField member{};
      labels(made, member);
      DynamicField named = field_name(made);
      if (named.name == discriminator_name) fail("a member of a union is called _d, as its discriminator");
      member.name = std::move(named.name);
      member.announced = named.announced;
      member.kind = kind(depth + 1);
      made.fields.push_back(std::move(member));
    }
    if (fault_) return 0;
    if (made.fields.empty()) fail("a union has no members");
    made.wire_bytes_min = at(made.key).size;
    return add(std::move(made));
  }
  [[nodiscard]] bool is_discriminator(const DynamicKind& kind) const {
    return is_map_key(kind) ? kind.kind != FieldKind::string
                            : kind.kind == FieldKind::character ||
                                  (kind.kind == FieldKind::enumeration && at(kind.element).kind == FieldKind::character);
  }
  /// "1|2:", or "*3:".
  void labels(const DynamicKind& of, DynamicField& member) {
    member.is_default = take('*');
    const bool second = std::any_of(of.fields.begin(), of.fields.end(), [](const auto& each) { return each.is_default; });
    if (member.is_default && second) fail("a union has two defaults");
    do {
      member.labels.push_back(label(at(of.key)));
      const auto same = [&](const DynamicField& each) {
        return std::find(each.labels.begin(), each.labels.end(), member.labels.back()) != each.labels.end();
      };
      const bool again = std::count(member.labels.begin(), member.labels.end(), member.labels.back()) > 1;
      if (again || std::any_of(of.fields.begin(), of.fields.end(), same)) fail("a label is there twice");
    } while (!member.is_default && take('|'));
    expect(':');
  }
  std::int64_t label(const DynamicKind& discriminator) {
    std::int64_t value = 0;
    const std::string_view all = rest();
    const auto [end, failure] = std::from_chars(all.data(), all.data() + all.size(), value);
    const std::string_view digits = all.substr(0, static_cast<std::size_t>(end - all.data()));
    const bool plainly = failure == std::errc() && digits == std::to_string(value);
    if (!plainly || !is_label(discriminator, value)) fail("a number that the discriminator can have is expected");
    if (!fault_) at_ += digits.size();
    return value;
  }
  [[nodiscard]] bool is_label(const DynamicKind& discriminator, std::int64_t value) const {
    if (fault_) return false;
    const bool named = discriminator.kind == FieldKind::enumeration;
    return with_plain(named ? at(discriminator.element).kind : discriminator.kind, [&](auto plain) {
      using T = typename decltype(plain)::type;
      if constexpr (std::is_same_v<T, bool>)
        return value == 0 || value == 1;
      else if constexpr (std::is_same_v<T, char>)
        return value >= 0 && value <= 255;
      else if constexpr (std::is_integral_v<T>)
        return std::in_range<T>(value);
      else
        return false;
    });
  }

  std::size_t enumeration(std::string name) {
    const auto word = plain_word();
    if (!word || *word >= FieldKind::f32) fail("the integer of an enum is expected");
    if (fault_) return 0;
    const std::size_t integer = plain(*word);
    DynamicKind made = at(integer);
    made.kind = FieldKind::enumeration;
    made.name = std::move(name);
    made.element = integer;
    return add(std::move(made));
  }

  std::size_t aggregate(std::string name, std::size_t depth) {
    DynamicKind made{.kind = FieldKind::aggregate, .name = std::move(name), .fixed = true};
    while (!fault_ && !take('}')) {
      if (!made.fields.empty()) expect(',');
      add_field(made, field_name(made), depth);
    }
    if (made.fields.empty()) made.size = 1;
    made.size = aligned(made.size, made.alignment);
    return add(std::move(made));
  }
  DynamicField field_name(const DynamicKind& of) {
    DynamicField field{.name = "f" + std::to_string(of.fields.size())};
    const std::size_t end = rest().find('=');
    if (end != std::string_view::npos && is_identifier(rest().substr(0, end))) {
      field.name = rest().substr(0, end);
      field.announced = true;
    }
    const auto same = [&](const DynamicField& each) { return each.name == field.name; };
    if (std::any_of(of.fields.begin(), of.fields.end(), same)) fail("two fields are called " + field.name);
    if (!fault_ && field.announced) at_ += end + 1;
    return field;
  }
  void add_field(DynamicKind& to, DynamicField field, std::size_t depth) {
    field.kind = kind(depth + 1);
    if (fault_) return;
    const DynamicKind& kind = at(field.kind);
    to.fixed = to.fixed && kind.fixed;
    to.size = aligned(to.size, kind.alignment) + kind.size;
    to.alignment = std::max(to.alignment, kind.alignment);
    to.wire_bytes_min += kind.wire_bytes_min;
    to.fields.push_back(std::move(field));
    if (std::max(to.size, to.wire_bytes_min) > type_bytes_max) fail("a value has more than 2^30 bytes");
  }

  void keys() {
    tail_ = fault_ ? "" : rest();
    if (!take(" key=")) return;
    do {
      const std::uint64_t place = number();
      if (!fault_ && place >= type_.root().fields.size()) fail("a key is none of the fields");
      if (fault_) return;
      check_key(type_.kinds_[type_.root().fields[place].kind]);
      type_.keys_.push_back(place);
    } while (take(','));
  }
  void check_key(const DynamicKind& kind) {
    if (kind.kind == FieldKind::sequence || kind.kind == FieldKind::map || kind.kind == FieldKind::optional ||
        kind.kind == FieldKind::choice)
      fail("a key holds a sequence, a map, an optional or a union");
    if (kind.kind == FieldKind::array) check_key(at(kind.element));
    for (const DynamicField& each : kind.fields) check_key(at(each.kind));
  }
  void layout() {
    if (!take(" in place, ")) return;
    type_.in_place_bytes_ = number();
    if (!take(" bytes")) fail("the size of a sample is expected");
    if (fault_) return;
    if (!type_.root().fixed) fail("a sample with strings, sequences, maps, optionals or unions does not lie in place");
    if (type_.root().size != type_.in_place_bytes_) {
      fail("its fields take " + std::to_string(type_.root().size) + " bytes where the sample has " +
           std::to_string(type_.in_place_bytes_) + ", so that it is not known where they lie");
    }
  }

  const std::string_view text_;
  std::size_t at_ = 0;
  std::string_view tail_;  // keys and size
  std::optional<Error> fault_;
  DynamicType type_;
};

Result<DynamicType> DynamicType::parse(std::string_view description) { return TypeParser(description).parse(); }

Result<DynamicType> DynamicType::of(const EndpointFacts& topic) {
  SPINDRIFT_TRY_ASSIGN(DynamicType type, parse(topic.named.empty() ? topic.type : topic.named));
  if (type.description() == topic.type) return type;
  return Error(ErrorKind::bad_input, "what is announced with the names of fields is another type: " +
                                         words_of_difference(type.description(), topic.type))
      .at("topic " + topic.topic)
      .fix("let all programs of the domain be of one release");
}

std::string DynamicType::text_of_choice(const DynamicKind& kind, bool named) const {
  std::string text;
  for (const DynamicField& each : kind.fields) {
    text += text.empty() ? "" : ",";
    const std::size_t begin = text.size();
    for (const std::int64_t label : each.labels) {
      if (!kind.is_variant) text += (text.size() > begin ? "|" : each.is_default ? "*" : "") + std::to_string(label);
    }
    text += kind.is_variant ? "" : ":";
    if (named && each.announced) text += each.name + "=";
    text += text_of(kinds_[each.kind], named);
  }
  if (kind.is_variant) return "variant<" + text + ">";
  return "union " + kind.name + ":" + text_of(kinds_[kind.key], named) + " {" + text + "}";
}

std::string DynamicType::text_of(const DynamicKind& kind, bool named) const {
  const auto element = [&] { return text_of(kinds_[kind.element], named); };
  switch (kind.kind) {
    case FieldKind::sequence:
    case FieldKind::optional: return std::string(to_string(kind.kind)) + "<" + element() + ">";
    case FieldKind::map: return "map<" + text_of(kinds_[kind.key], named) + "," + element() + ">";
    case FieldKind::array: return element() + "[" + std::to_string(kind.count) + "]";
    case FieldKind::enumeration: return kind.name + ":" + element();
    case FieldKind::choice: return text_of_choice(kind, named);
    case FieldKind::aggregate: {
      std::string text;
      for (const DynamicField& each : kind.fields) {
        text += text.empty() ? "" : ",";
        if (named && each.announced) text += each.name + "=";
        text += text_of(kinds_[each.kind], named);
      }
      return kind.name + "{" + text + "}";
    }
    default: return std::string(to_string(kind.kind));
  }
}

}  // namespace spindrift::topics
