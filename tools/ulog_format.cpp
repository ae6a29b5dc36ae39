// Parsing and sizing of ULog format definitions.
#include "ulog_format.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>

namespace spindrift::ulog {
namespace {

/// A message has a 16-bit size, so no sample can be larger.
constexpr std::uint64_t sample_bytes_max = 0xffff;
constexpr unsigned nesting_max = 16;

struct BasicType {
  std::string_view name;
  std::uint64_t bytes;
};
constexpr BasicType basic_types[] = {{"int8_t", 1},  {"uint8_t", 1},  {"bool", 1},     {"char", 1},
                                     {"int16_t", 2}, {"uint16_t", 2}, {"int32_t", 4},  {"uint32_t", 4},
                                     {"float", 4},   {"int64_t", 8},  {"uint64_t", 8}, {"double", 8}};

bool is_name(std::string_view text) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '/';
  };
  return !text.empty() && std::all_of(text.begin(), text.end(), allowed);
}

/// The text for an error message: short, and printable whatever the file holds.
std::string quoted(std::string_view text) {
  constexpr std::size_t shown_max = 60;
  std::string result = "\"";
  for (const char c : text.substr(0, shown_max)) result += (c >= ' ' && c <= '~') ? c : '?';
  return result + (text.size() > shown_max ? "…\"" : "\"");
}

Error bad(std::string message) { return {ErrorKind::bad_input, std::move(message)}; }

}  // namespace

std::uint64_t basic_type_bytes(std::string_view type) noexcept {
  const auto basic = std::ranges::find(basic_types, type, &BasicType::name);
  return basic == std::end(basic_types) ? 0 : basic->bytes;
}

bool is_padding(const FormatField& field) noexcept { return field.name.starts_with("_padding"); }

Result<FormatField> FormatTable::parse_field(std::string_view text) {
  const auto blank = text.find(' ');
  if (blank == std::string_view::npos) return bad("field " + quoted(text) + " is not \"type name\"");
  std::string_view type = text.substr(0, blank);
  const std::string_view name = text.substr(blank + 1);
  Field field;
  if (const auto bracket = type.find('['); bracket != std::string_view::npos) {
    const char* const end = type.data() + type.size();
    const auto [stop, error] = std::from_chars(type.data() + bracket + 1, end, field.count);
    if (error != std::errc{} || stop + 1 != end || *stop != ']' || field.count > sample_bytes_max) {
      return bad("field " + quoted(text) + " has no valid array length");
    }
    type = type.substr(0, bracket);
    field.array = true;
  }
  if (!is_name(type) || !is_name(name)) return bad("field " + quoted(text) + " is not \"type name\"");
  field.type = type;
  field.name = name;
  return field;
}

Result<void> FormatTable::define(std::string_view definition) {
  const auto colon = definition.find(':');
  const std::string_view name = definition.substr(0, colon);
  if (colon == std::string_view::npos || !is_name(name)) {
    return bad("format " + quoted(definition) + " does not begin with a topic's name and a colon");
  }
  Format format;
  format.text = definition;
  for (std::string_view rest = definition.substr(colon + 1); !rest.empty();) {
    const auto semicolon = rest.find(';');
    auto field = parse_field(rest.substr(0, semicolon));
    if (!field) return bad("format of " + quoted(name) + ": " + field.error().message());
    format.fields.push_back(std::move(*field));
    if (semicolon == std::string_view::npos) break;
    rest.remove_prefix(semicolon + 1);
  }
  if (format.fields.empty()) return bad("format of " + quoted(name) + " has no fields");
  const auto known = formats_.find(name);
  if (known == formats_.end()) {
    formats_.emplace(std::string(name), std::move(format));
  } else if (known->second.text != definition) {
    return bad("format of " + quoted(name) + " is defined twice, differently");
  }
  return {};
}

Result<std::uint64_t> FormatTable::size_of(const Field& field, unsigned depth) {
  SPINDRIFT_TRY_ASSIGN(const std::uint64_t each, size_of(field.type, depth));
  const std::uint64_t bytes = each * field.count;  // both at most 2^16
  if (bytes > sample_bytes_max) return bad("field " + quoted(field.name) + " is larger than a message can be");
  return bytes;
}

Result<std::uint64_t> FormatTable::size_of(std::string_view type, unsigned depth) {
  if (const std::uint64_t bytes = basic_type_bytes(type); bytes > 0) return bytes;
  const auto found = formats_.find(type);
  if (found == formats_.end()) return bad("type " + quoted(type) + " is not defined before it is used");
  Format& format = found->second;
  if (format.state == Format::State::resolved) return format.bytes;
  if (format.state == Format::State::resolving || depth == nesting_max) {
    return bad("type " + quoted(type) + " contains itself or is nested too deep");
  }
  format.state = Format::State::resolving;
  std::uint64_t bytes = 0;
  for (const Field& field : format.fields) {
    SPINDRIFT_TRY_ASSIGN(const std::uint64_t size, size_of(field, depth + 1));
    bytes += size;
    if (bytes > sample_bytes_max) return bad("type " + quoted(type) + " is larger than a message can be");
  }
  format.bytes = bytes;
  format.state = Format::State::resolved;
  return bytes;
}

Result<SampleSize> FormatTable::sample_size(std::string_view topic) {
  const auto found = formats_.find(topic);
  if (found == formats_.end()) return bad("topic " + quoted(topic) + " has no format");
  const Format& format = found->second;
  const Field& first = format.fields.front();
  if (first.type != "uint64_t" || first.name != "timestamp" || first.count != 1) {
    return bad("format of " + quoted(topic) + " does not begin with uint64_t timestamp");
  }
  SPINDRIFT_TRY_ASSIGN(const auto most, size_of(topic, 0));
  std::uint64_t padding = 0;
  if (const Field& last = format.fields.back(); is_padding(last)) padding = *size_of(last, 0);
  return SampleSize{most - padding, most};
}

const std::vector<FormatField>* FormatTable::fields_of(std::string_view name) const {
  const auto found = formats_.find(name);
  return found == formats_.end() ? nullptr : &found->second.fields;
}

}  // namespace spindrift::ulog
