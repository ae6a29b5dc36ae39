// The checks of JSON against a type, and its values as bytes.
#include <spindrift/dds/json_sample.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>

#include <spindrift/dds/cdr.hpp>
#include <spindrift/dds/map_key.hpp>
#include <spindrift/dds/plain_value.hpp>

namespace spindrift::topics {
namespace {

/// Puts values where they lie in memory; what is between them is zero.
class PlaceWriter {
 public:
  explicit PlaceWriter(std::size_t size) : bytes_(size) {}
  template <class T>
  void put(const T& value) {
    align(sizeof(T));
    std::memcpy(bytes_.data() + at_, &value, sizeof value);
    at_ += sizeof value;
  }
  void put(const std::string&) {}
  void put_count(std::size_t) {}
  std::size_t begin(const DynamicKind& kind) {
    align(kind.alignment);
    return at_;
  }
  void end(const DynamicKind& kind, std::size_t begin) { at_ = begin + kind.size; }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  void align(std::size_t alignment) { at_ = (at_ + alignment - 1) / alignment * alignment; }

  std::vector<std::byte> bytes_;
  std::size_t at_ = 0;
};

/// Appends values as CDR.
class WireWriter {
 public:
  template <class T>
  void put(const T& value) {
    writer_.put(value);
  }
  void put_count(std::size_t count) { writer_.put_count(count); }
  static std::size_t begin(const DynamicKind&) { return 0; }
  static void end(const DynamicKind&, std::size_t) {}
  std::vector<std::byte> take() { return {writer_.bytes().begin(), writer_.bytes().end()}; }

 private:
  CdrWriter writer_;
};

std::string shown(const SampleJson& json) {
  std::string text = json.dump(-1, ' ', true, SampleJson::error_handler_t::replace);
  if (text.size() > 60) text = text.substr(0, 57) + "...";
  return text;
}

/// The value as a T. Nothing: it is none, or out of the range.
template <class T>
std::optional<T> plain_of(const SampleJson& json) {
  if constexpr (std::is_same_v<T, bool>) {
    if (!json.is_boolean()) return std::nullopt;
    return json.get<bool>();
  } else if constexpr (std::is_same_v<T, char>) {
    if (const auto byte = plain_of<std::uint8_t>(json)) return static_cast<char>(*byte);
    const auto* const text = json.get_ptr<const std::string*>();
    if (text == nullptr || text->size() != 1 || static_cast<unsigned char>(text->front()) >= 0x80) return std::nullopt;
    return text->front();
  } else if constexpr (std::is_floating_point_v<T>) {
    if (json == "NaN") return std::numeric_limits<T>::quiet_NaN();
    if (json == "Infinity") return std::numeric_limits<T>::infinity();
    if (json == "-Infinity") return -std::numeric_limits<T>::infinity();
    if (!json.is_number()) return std::nullopt;
    const double value = json.get<double>();
    if (!std::isfinite(value) || std::abs(value) > std::numeric_limits<T>::max()) return std::nullopt;
    return static_cast<T>(value);
  } else {
    if (json.is_number_unsigned()) {
      const auto value = json.get<std::uint64_t>();
      return std::in_range<T>(value) ? std::optional(static_cast<T>(value)) : std::nullopt;
    }
    if (!json.is_number_integer()) return std::nullopt;
    const auto value = json.get<std::int64_t>();
    return std::in_range<T>(value) ? std::optional(static_cast<T>(value)) : std::nullopt;
  }
}

/// The values that such a field takes, in words.
template <class T>
std::string range_words(FieldKind kind) {
  if constexpr (std::is_same_v<T, bool>)
    return "true or false";
  else if constexpr (std::is_same_v<T, char>)
    return "a text of one ASCII character, or the number of a byte";
  else if constexpr (std::is_floating_point_v<T>)
    return "a number of " + std::string(to_string(kind)) + ", or \"NaN\", \"Infinity\" or \"-Infinity\"";
  else
    return "a whole number, " + std::to_string(std::numeric_limits<T>::min()) + " to " +
           std::to_string(std::numeric_limits<T>::max());
}

/// An entry of a map, by its key's place among all: the order of std::map.
struct MapEntry {
  std::uint64_t rank;     // of a key that is a number or a bool
  std::string_view text;  // of one that is a text
  const std::string* name;
  const SampleJson* value;
  [[nodiscard]] bool operator<(const MapEntry& other) const {
    return std::tie(rank, text) < std::tie(other.rank, other.text);
  }
};
template <class T>
std::uint64_t rank_of(T key) {
  const auto bits = static_cast<std::uint64_t>(key);
  return std::is_signed_v<T> ? bits ^ (std::uint64_t{1} << 63U) : bits;
}

template <class Sink>
class JsonWalk {
 public:
  JsonWalk(const DynamicType& type, Sink& sink) : type_(type), sink_(sink) {}

  /// False: it does not fit, and `fault` says how.
  bool put(const DynamicKind& kind, const SampleJson& json) {
    const DynamicKind& element = type_.kinds()[kind.element];
    switch (kind.kind) {
      case FieldKind::string: return put_text(json);
      case FieldKind::sequence:
        if (!json.is_array()) return fail(json, "an array");
        if (json.size() > std::numeric_limits<std::uint32_t>::max()) return fail(json, "an array of less than 2^32 values");
        sink_.put_count(json.size());
        return put_all(element, json);
      case FieldKind::map: return put_map(kind, json);
      case FieldKind::choice: return put_choice(kind, json);
      case FieldKind::optional: sink_.put(!json.is_null()); return json.is_null() || put(element, json);
      case FieldKind::enumeration: return put(element, json);
      case FieldKind::array: {
        if (!json.is_array() || json.size() != kind.count)
          return fail(json, "an array of " + std::to_string(kind.count) + " values");
        const std::size_t begin = sink_.begin(kind);
        const bool fits = put_all(element, json);
        sink_.end(kind, begin);
        return fits;
      }
      case FieldKind::aggregate: return put_fields(kind, json);
      default: return put_plain(kind.kind, json);
    }
  }
  [[nodiscard]] Error fault() const { return *fault_; }

 private:
  bool say(const std::string& what, const std::string& fix) {
    fault_ = Error(ErrorKind::bad_input, what).at("$" + path_).fix(fix);
    return false;
  }
  bool fail(const SampleJson& json, const std::string& wanted) {
    const std::string what = json.is_array() ? "an array of " + std::to_string(json.size()) + " values" : shown(json);
    return say(what + " is no value of this field", "write " + wanted);
  }
  /// `put` of something within this value.
  bool put_within(const std::string& step, const DynamicKind& kind, const SampleJson& json) {
    const std::size_t before = path_.size();
    path_ += step;
    if (!put(kind, json)) return false;
    path_.resize(before);
    return true;
  }
  bool put_all(const DynamicKind& element, const SampleJson& json) {
    std::size_t at = 0;
    for (const SampleJson& each : json) {
      if (!put_within("[" + std::to_string(at++) + "]", element, each)) return false;
    }
    return true;
  }
  bool put_plain(FieldKind kind, const SampleJson& json) {
    return with_plain(kind, [&](auto plain) {
      using T = typename decltype(plain)::type;
      const auto value = plain_of<T>(json);
      if (!value) return fail(json, range_words<T>(kind));
      sink_.put(*value);
      return true;
    });
  }
  /// Each key by itself: what is written is in their order, as a C++ type writes it.
  bool put_map(const DynamicKind& kind, const SampleJson& json) {
    const DynamicKind& key = written_kind(type_, type_.kinds()[kind.key]);
    if (!json.is_object()) return fail(json, "an object: " + type_.text_of(kind, true));
    if (json.size() > std::numeric_limits<std::uint32_t>::max()) return fail(json, "an object of less than 2^32 values");
    std::vector<MapEntry> entries;
    for (const auto& [name, value] : json.get_ref<const SampleJson::object_t&>()) {
      MapEntry entry{0, name, &name, &value};
      if (key.kind != FieldKind::string && !find_rank(key.kind, entry)) return false;
      entries.push_back(entry);
    }
    std::sort(entries.begin(), entries.end());
    sink_.put_count(entries.size());
    for (const MapEntry& each : entries) {
      const std::size_t before = path_.size();
      path_ += "[" + SampleJson(*each.name).dump(-1, ' ', true, SampleJson::error_handler_t::replace) + "]";
      const bool same = &each != entries.data() && !(*(&each - 1) < each);
      if (same) return say(doubled_key, "leave one of the two out");
      if (!put_key(key, *each.name) || !put(type_.kinds()[kind.element], *each.value)) return false;
      path_.resize(before);
    }
    return true;
  }
  bool find_rank(FieldKind kind, MapEntry& entry) {
    return with_plain(kind, [&](auto plain) {
      using T = typename decltype(plain)::type;
      const auto key = map_key_of<T>(*entry.name);
      if (!key) return say(shown(*entry.name) + " is no key of this map", "write in quotes " + range_words<T>(kind));
      entry.rank = rank_of(*key);
      entry.text = {};
      return true;
    });
  }
  bool put_key(const DynamicKind& key, const std::string& name) {
    if (key.kind == FieldKind::string) return put_text(name);
    with_plain(key.kind, [&](auto plain) { sink_.put(map_key_of<typename decltype(plain)::type>(name).value()); });
    return true;
  }
  /// The discriminator, or what the member that is there has as one; and that member.
  bool put_choice(const DynamicKind& kind, const SampleJson& json) {
    if (!json.is_object()) return fail(json, "an object: " + type_.text_of(kind, true));
    const auto told = json.find(discriminator_name);
    const DynamicField* member = nullptr;
    for (const DynamicField& each : kind.fields) member = json.contains(each.name) ? &each : member;
    if (json.size() != (told == json.end() ? 0U : 1U) + (member == nullptr ? 0U : 1U))
      return say("a union has its discriminator, _d, and one of its members",
                 "leave all else out: the type is " + type_.text_of(kind, true));
    if (told == json.end() && member == nullptr)
      return say("a union says neither its discriminator nor a member", "write \"_d\", a member, or both");
    const DynamicKind& discriminator = written_kind(type_, type_.kinds()[kind.key]);
    return with_plain(discriminator.kind, [&](auto plain) {
      using T = typename decltype(plain)::type;
      const auto d = told == json.end() ? static_cast<T>(member->labels.front()) : plain_of<T>(*told).value_or(T{});
      if (told != json.end() && !plain_of<T>(*told)) {
        path_ += "._d";
        return fail(*told, range_words<T>(discriminator.kind));
      }
      return put_member(kind, json, d, member);
    });
  }
  template <class T>
  bool put_member(const DynamicKind& kind, const SampleJson& json, T d, const DynamicField* member) {
    const DynamicField* const wanted = member_of(kind, label_number(d));
    if (wanted != member || (wanted == nullptr && kind.is_variant)) {
      path_ += "._d";
      const std::string words = wanted == nullptr ? "no member" : "the member " + wanted->name;
      return say("with this discriminator there is " + words, "write that, or another discriminator");
    }
    sink_.put(d);
    return member == nullptr || put_within("." + member->name, type_.kinds()[member->kind], json.at(member->name));
  }
  bool put_text(const SampleJson& json) {
    const auto* const text = json.get_ptr<const std::string*>();
    if (text == nullptr) return fail(json, "a text");
    if (text->find('\0') != std::string::npos)
      return say("the text has a zero within it, where CDR says that it ends", "write a text without \\u0000");
    if (text->size() >= std::numeric_limits<std::uint32_t>::max())
      return say("the text has 2^32 bytes or more", "shorten it");
    sink_.put(*text);
    return true;
  }
  bool put_fields(const DynamicKind& kind, const SampleJson& json) {
    if (!json.is_object()) return fail(json, "an object: " + type_.text_of(kind, true));
    const std::size_t begin = sink_.begin(kind);
    std::size_t used = 0;
    for (const DynamicField& each : kind.fields) {
      static const SampleJson none = nullptr;
      const auto found = json.find(each.name);
      const DynamicKind& of = type_.kinds()[each.kind];
      if (found == json.end() && of.kind != FieldKind::optional) {
        path_ += "." + each.name;
        return say("the field is missing", "write " + type_.text_of(of, true) + ", or null where that is optional");
      }
      used += found == json.end() ? 0 : 1;
      if (!put_within("." + each.name, of, found == json.end() ? none : *found)) return false;
    }
    sink_.end(kind, begin);
    return used == json.size() || say_unknown(kind, json);
  }
  bool say_unknown(const DynamicKind& kind, const SampleJson& json) {
    for (const auto& [name, value] : json.items()) {
      bool known = false;
      for (const DynamicField& each : kind.fields) known = known || each.name == name;
      if (known) continue;
      path_ += "." + name;
      break;
    }
    return say("there is no such field", "leave it out: the type is " + type_.text_of(kind, true));
  }

  const DynamicType& type_;
  Sink& sink_;
  std::string path_;
  std::optional<Error> fault_;
};

template <class Sink>
Result<std::vector<std::byte>> walked(const DynamicType& type, const SampleJson& json, Sink&& sink) {
  JsonWalk walk(type, sink);
  if (!walk.put(type.root(), json)) return walk.fault();
  return sink.take();
}

}  // namespace

Result<std::vector<std::byte>> bytes_of_json(const DynamicType& type, const SampleJson& json) {
  if (type.in_place()) return walked(type, json, PlaceWriter(type.in_place_bytes()));
  return walked(type, json, WireWriter());
}

}  // namespace spindrift::topics
