// From formats to descriptions of types, and from recorded bytes to CDR.
#include "ulog_type.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <set>
#include <string>

#include <spindrift/dds/type_support.hpp>

namespace spindrift::ulog {
namespace {

constexpr const char* key_name = "multi_id";
constexpr std::size_t encapsulation_bytes = 4;
/// CDR of version 1, and the order of this machine's bytes: the reader of recordings asks for that.
constexpr std::array<std::byte, encapsulation_bytes> little_endian{std::byte{0}, std::byte{1}, std::byte{0}, std::byte{0}};
constexpr std::size_t shown_max = 60;

std::string as_identifier(std::string_view name) {
  std::string made(name);
  std::ranges::replace_if(
      made, [](char c) { return c == '-' || c == '/'; }, '_');
  return made;
}

std::string_view kind_of(std::string_view basic) {
  static const std::map<std::string_view, std::string_view> kinds{
      {"int8_t", "i8"},    {"uint8_t", "u8"},   {"bool", "bool"},   {"char", "char"},
      {"int16_t", "i16"},  {"uint16_t", "u16"}, {"int32_t", "i32"}, {"uint32_t", "u32"},
      {"int64_t", "i64"},  {"uint64_t", "u64"}, {"float", "f32"},   {"double", "f64"}};
  return kinds.at(basic);
}

Error bad(std::string_view format, std::string message, std::string fix) {
  return Error(ErrorKind::bad_input, std::move(message))
      .at("format of " + std::string(format.substr(0, shown_max)))
      .fix(std::move(fix));
}

Result<void> check_name(std::string_view format, const FormatField& field, std::set<std::string>& names) {
  const std::string name = as_identifier(field.name);
  const std::string shown = name.substr(0, shown_max);
  if (!topics::is_identifier(name))
    return bad(format, "field " + shown + " has a name that begins with a digit", "record it with another name");
  if (!names.insert(name).second)
    return bad(format, "two fields are called " + shown, "record them with names of their own");
  if (field.count == 0)
    return bad(format, "field " + shown + " is an array without elements", "record it without that field");
  return {};
}

/// Appends a number of the stream, which begins behind the encapsulation.
void put(std::vector<std::byte>& to, const std::byte* from, std::size_t size) {
  const std::size_t at = to.size() - encapsulation_bytes;
  to.resize(to.size() + (size - at % size) % size);
  to.insert(to.end(), from, from + size);
}

void put_text(std::vector<std::byte>& to, std::span<const std::byte> field) {
  const auto end = std::ranges::find(field, std::byte{0});
  const auto length = static_cast<std::uint32_t>(end - field.begin() + 1);
  put(to, reinterpret_cast<const std::byte*>(&length), sizeof length);
  to.insert(to.end(), field.begin(), end);
  to.push_back(std::byte{0});
}

}  // namespace

class TypeMaker {
 public:
  using Step = SampleType::Step;
  explicit TypeMaker(const FormatTable& formats) : formats_(formats) {}

  Result<SampleType> make(std::string_view topic) {
    Made made;
    std::set<std::string> names;
    SPINDRIFT_TRY(add_fields(topic, made, names));
    std::string key = key_name;
    while (names.contains(key)) key += '_';
    const std::string text = as_identifier(topic) + "{" + made.text + "," + key + "=u8} key=" + std::to_string(names.size());
    SPINDRIFT_TRY(check_size(topic, text));
    auto type = topics::DynamicType::parse(text);
    if (!type) return bad(topic, "it is no type of a topic: " + type.error().message(), "record it with another format");
    SampleType result;
    result.type_ = std::make_shared<const topics::DynamicType>(std::move(type).value());
    result.steps_ = std::move(made.steps);
    result.steps_.erase(result.steps_.begin());  // the timestamp
    result.steps_.push_back({});
    result.bytes_max_ = most_bytes(result.steps_);
    return result;
  }

 private:
  struct Made {
    std::string text;  ///< the fields, separated by commas
    std::vector<Step> steps;
  };

  static Result<void> check_size(std::string_view format, const std::string& text) {
    if (text.size() <= topics::description_bytes_max) return {};
    return bad(format, "its description as a type has more than " + std::to_string(topics::description_bytes_max) + " bytes",
               "record it with fewer fields, or with shorter names");
  }

  Result<void> add_fields(std::string_view format, Made& to, std::set<std::string>& names) {
    for (const FormatField& field : *formats_.fields_of(format)) {
      const bool basic = basic_type_bytes(field.type) > 0;
      if (is_padding(field) && basic) {
        const auto bytes = basic_type_bytes(field.type) * field.count;
        to.steps.push_back({.kind = Step::Kind::padding, .count = static_cast<std::uint32_t>(bytes)});
        continue;
      }
      SPINDRIFT_TRY(check_name(format, field, names));
      to.text += (to.text.empty() ? "" : ",") + as_identifier(field.name) + "=";
      if (basic)
        add_basic(field, to);
      else
        SPINDRIFT_TRY(add_struct(field, to));
      SPINDRIFT_TRY(check_size(format, to.text));
    }
    if (to.text.empty()) return bad(format, "it has nothing but padding", "record it with some field");
    return {};
  }

  static void add_basic(const FormatField& field, Made& to) {
    Step step{.size = static_cast<std::uint8_t>(basic_type_bytes(field.type)),
              .count = static_cast<std::uint32_t>(field.count)};
    if (field.type == "bool") step.kind = Step::Kind::truth;
    if (field.type == "char" && field.array) step.kind = Step::Kind::text;
    to.steps.push_back(step);
    to.text += step.kind == Step::Kind::text ? "string" : kind_of(field.type);
    if (field.array && step.kind != Step::Kind::text) to.text += "[" + std::to_string(field.count) + "]";
  }

  // A sample has at most 2^16 bytes and each step at least one, so there are no more steps than that.
  Result<void> add_struct(const FormatField& field, Made& to) {
    Made made;
    std::set<std::string> names;
    SPINDRIFT_TRY(add_fields(field.type, made, names));
    to.text += as_identifier(field.type) + "{" + made.text + "}";
    if (field.array) to.text += "[" + std::to_string(field.count) + "]";
    for (std::uint64_t each = 0; each < field.count; ++each)
      to.steps.insert(to.steps.end(), made.steps.begin(), made.steps.end());
    return {};
  }

  static std::uint64_t most_bytes(const std::vector<Step>& steps) {
    std::uint64_t bytes = encapsulation_bytes + sizeof(std::uint64_t);
    for (const Step& step : steps) {
      constexpr std::uint64_t around_text = 2 * sizeof(std::uint32_t) + 1;  // its length, aligned, and a zero
      if (step.kind == Step::Kind::padding) continue;
      bytes += (step.kind == Step::Kind::text ? around_text : step.size - 1U) + std::uint64_t{step.size} * step.count;
    }
    return bytes;
  }

  const FormatTable& formats_;
};

Result<SampleType> SampleType::of(const FormatTable& formats, std::string_view topic) {
  return TypeMaker(formats).make(topic);
}

void SampleType::write(const Sample& sample, std::vector<std::byte>& to) const {
  to.assign(little_endian.begin(), little_endian.end());
  put(to, reinterpret_cast<const std::byte*>(&sample.timestamp_us), sizeof sample.timestamp_us);
  std::span<const std::byte> rest = sample.fields;
  for (const Step& step : std::span(steps_).first(steps_.size() - 1)) {
    // Writers leave out padding at the end.
    const std::size_t bytes = std::min<std::size_t>(std::size_t{step.size} * step.count, rest.size());
    const auto field = rest.first(bytes);
    rest = rest.subspan(bytes);
    switch (step.kind) {
      case Step::Kind::padding: break;
      case Step::Kind::text: put_text(to, field); break;
      case Step::Kind::truth:
        for (const std::byte each : field) to.push_back(each == std::byte{0} ? std::byte{0} : std::byte{1});
        break;
      case Step::Kind::number:
        for (std::size_t at = 0; at < bytes; at += step.size) put(to, field.data() + at, step.size);
    }
  }
  to.push_back(static_cast<std::byte>(sample.instance));
}

}  // namespace spindrift::ulog
