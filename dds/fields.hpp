// The fields of an aggregate: how they are described, written and read, one rule per kind. Their names are said beside the
// type.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <spindrift/dds/cdr.hpp>
#include <spindrift/dds/field_kinds.hpp>
#include <spindrift/dds/type_text.hpp>

namespace dds::topic {

/// The names of an aggregate's fields, or a union's members, in their order, for programs that do not have the type:
/// `spindrift topic`, recorders, gateways. They are announced, and no part of the type's identity. Specialize it before the
/// first use of the type, and of those that hold it; without it they are called f0, f1 and so on:
///   template <> struct dds::topic::topic_field_names<Sensor> { static constexpr std::array names{"id", "value"}; };
template <class T>
struct topic_field_names {
  static constexpr std::array<const char*, 0> names{};
};

}  // namespace dds::topic

namespace spindrift::topics {

/// How a plain field is called in descriptions: its kind and its bits.
template <PlainField T>
[[nodiscard]] std::string plain_text() {
  if constexpr (std::same_as<T, bool>)
    return "bool";
  else if constexpr (std::same_as<T, char>)
    return "char";
  else if constexpr (std::floating_point<T>)
    return sizeof(T) == 4 ? "f32" : "f64";
  else
    return (std::is_signed_v<T> ? "i" : "u") + std::to_string(8 * sizeof(T));
}

/// Fewest bytes that CDR takes for one, without what aligns it; at least 1.
template <class T>
[[nodiscard]] constexpr std::size_t wire_bytes_min() {
  if constexpr (PlainField<T> || std::is_enum_v<T>)
    return sizeof(T);
  else if constexpr (std::same_as<T, std::string>)
    return 5;
  else if constexpr (is_sequence<T> || is_map<T>)
    return 4;
  else if constexpr (UnionField<T>)
    return sizeof(typename UnionOf<T>::Discriminator);
  else if constexpr (is_fixed_array<T>)
    return std::tuple_size_v<T> * wire_bytes_min<typename T::value_type>();
  else if constexpr (AggregateField<T>) {
    std::size_t sum = 0;
    for_each_field_type<T>([&]<class Field>() { sum += wire_bytes_min<Field>(); });
    return sum;
  } else
    return 1;
}

template <class T>
inline constexpr bool no_such_field = false;

/// A name as languages have it: of a-z, A-Z, 0-9 and _, and no digit first.
[[nodiscard]] constexpr bool is_identifier(std::string_view name) noexcept {
  if (name.empty() || (name[0] >= '0' && name[0] <= '9')) return false;
  for (const char each : name) {
    const bool alphabetic = (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z');
    if (!alphabetic && each != '_' && (each < '0' || each > '9')) return false;
  }
  return true;
}
/// Whether these can be the names of so many fields: each is one, and no two are alike.
template <std::size_t size>
[[nodiscard]] constexpr bool name_fields(const std::array<const char*, size>& names, std::size_t count) noexcept {
  if (size != count) return false;
  for (std::size_t at = 0; at < size; ++at) {
    if (!is_identifier(names[at])) return false;
    for (std::size_t before = 0; before < at; ++before) {
      if (std::string_view(names[before]) == names[at]) return false;
    }
  }
  return true;
}
/// "id=" where the fields of an aggregate or the members of a union have names, else nothing.
template <class T, std::size_t count>
[[nodiscard]] std::string name_text(std::size_t at) {
  constexpr auto names = dds::topic::topic_field_names<T>::names;
  if constexpr (names.size() == 0) {
    return {};
  } else {
    static_assert(name_fields(names, count),
                  "topic_field_names has one name for each field: of a-z, A-Z, 0-9 and _, and no two alike");
    return std::string(names.at(at)) + "=";
  }
}

template <class T, bool named = false>
[[nodiscard]] std::string field_text();

/// "1|2", or "*3" of the default.
template <class Case>
[[nodiscard]] std::string label_text() {
  std::string text = Case::is_default ? "*" : "";
  for (const std::int64_t each : Case::numbers) text += (text.empty() || text == "*" ? "" : "|") + std::to_string(each);
  return text;
}
/// "variant<i32,string>", or "union Value:u8 {1|2:number=i32,*0:text=string}".
template <UnionField T, bool named>
[[nodiscard]] std::string union_text() {
  using Union = UnionOf<T>;
  return [&]<std::size_t... at>(std::index_sequence<at...>) {
    std::string text;
    if constexpr (Union::is_variant) {
      ((text += (at == 0 ? "" : ",") + field_text<typename Union::template Member<at>, named>()), ...);
      return "variant<" + text + ">";
    } else {
      ((text += (at == 0 ? "" : ",") + label_text<typename Union::template Case<at>>() + ":" +
                (named ? name_text<T, Union::count>(at) : "") + field_text<typename Union::template Member<at>, named>()),
       ...);
      return "union " + std::string(type_text<T>()) + ":" + field_text<typename Union::Discriminator>() + " {" + text + "}";
    }
  }
  (std::make_index_sequence<Union::count>());
}

/// A field's kind in words: "f32[3]", "sequence<string>", "sensors::Mode:u8", "Inner{i32,bool}"; `named`: with the names of
/// fields that have some, "Inner{number=i32,valid=bool}".
template <class T, bool named>
[[nodiscard]] std::string field_text() {
  if constexpr (PlainField<T>)
    return plain_text<T>();
  else if constexpr (std::is_enum_v<T>)
    return std::string(type_text<T>()) + ":" + plain_text<std::underlying_type_t<T>>();
  else if constexpr (std::same_as<T, std::string>)
    return "string";
  else if constexpr (is_sequence<T>)
    return "sequence<" + field_text<typename T::value_type, named>() + ">";
  else if constexpr (is_maybe<T>) {
    static_assert(SingleOptional<T>::checked);
    return "optional<" + field_text<typename T::value_type, named>() + ">";
  } else if constexpr (is_map<T>) {
    static_assert(CheckedKey<typename T::key_type>::checked);
    return "map<" + field_text<typename T::key_type>() + "," + field_text<HeldType<T>, named>() + ">";
  } else if constexpr (UnionField<T>)
    return union_text<T, named>();
  else if constexpr (is_fixed_array<T>)
    return field_text<typename T::value_type, named>() + "[" + std::to_string(std::tuple_size_v<T>) + "]";
  else if constexpr (AggregateField<T>) {
    std::string text;
    std::size_t at = 0;
    for_each_field_type<T>([&]<class Field>() {
      text += at == 0 ? "" : ",";
      if constexpr (named) text += name_text<T, field_count<T>()>(at);
      text += field_text<Field, named>();
      ++at;
    });
    return std::string(type_text<T>()) + "{" + text + "}";
  } else {
    static_assert(no_such_field<T>,
                  "a sample's field is a number, bool, char, enum, std::string, std::vector, std::array, "
                  "std::map, std::optional, std::variant, or an aggregate of these");
  }
}

template <class T>
void write_field(CdrWriter& to, const T& value);

template <UnionField T>
void write_union(CdrWriter& to, const T& value) {
  using Union = UnionOf<T>;
  const auto d = Union::discriminator(value);
  write_field(to, d);
  with_place<Union::count>(Union::member(d), [&](auto place) { write_field(to, Union::template get<place>(value)); });
}

template <class T>
void write_field(CdrWriter& to, const T& value) {
  if constexpr (PlainField<T> || std::is_enum_v<T>)
    to.put(static_cast<WireForm<T>>(value));
  else if constexpr (std::same_as<T, std::string>)
    to.put(value);
  else if constexpr (is_sequence<T>) {
    to.put_count(value.size());
    for (const auto& each : value) write_field<typename T::value_type>(to, each);
  } else if constexpr (is_map<T>) {
    to.put_count(value.size());
    for (const auto& [key, each] : value) {
      write_field(to, key);
      write_field(to, each);
    }
  } else if constexpr (UnionField<T>) {
    write_union(to, value);
  } else if constexpr (is_fixed_array<T>) {
    for (const auto& each : value) write_field(to, each);
  } else if constexpr (is_maybe<T>) {
    to.put(value.has_value());
    if (value) write_field(to, *value);
  } else {
    for_each_field(value, [&](const auto& field) { write_field(to, field); });
  }
}

template <class T>
[[nodiscard]] bool read_field(CdrReader& from, T& value);

inline constexpr const char* no_member_told = "the discriminator of a std::variant is of none of its alternatives";
inline constexpr const char* doubled_key = "a key of a map is there twice";

template <class T>
[[nodiscard]] bool read_sequence(CdrReader& from, std::vector<T>& value) {
  static_assert(wire_bytes_min<T>() > 0, "elements of a sequence hold something: else no bytes bound how many there are");
  std::uint32_t count = 0;
  if (!from.get_count(wire_bytes_min<T>(), count)) return false;
  value.clear();  // its type may make it with some
  value.reserve(count);
  for (std::uint32_t at = 0; at < count; ++at) {
    T each{};
    if (!read_field(from, each)) return false;
    value.push_back(std::move(each));
  }
  return true;
}

/// In whatever order the entries are.
template <class Key, class T>
[[nodiscard]] bool read_map(CdrReader& from, std::map<Key, T>& value) {
  std::uint32_t count = 0;
  if (!from.get_count(wire_bytes_min<Key>() + wire_bytes_min<T>(), count)) return false;
  value.clear();
  for (std::uint32_t at = 0; at < count; ++at) {
    Key key{};
    if (!read_field(from, key)) return false;
    const auto [entry, is_new] = value.try_emplace(std::move(key));
    if (!is_new) from.fail(doubled_key);
    if (!is_new || !read_field(from, entry->second)) return false;
  }
  return true;
}

template <UnionField T>
[[nodiscard]] bool read_union(CdrReader& from, T& value) {
  using Union = UnionOf<T>;
  typename Union::Discriminator d{};
  if (!read_field(from, d)) return false;
  const std::size_t place = Union::member(d);
  bool there = place == no_member;
  if (there) {
    if constexpr (Union::is_variant) {
      from.fail(no_member_told);
      return false;
    } else {
      value._none(d);
    }
  }
  with_place<Union::count>(place, [&](auto at) { there = read_field(from, Union::template make<at>(value, d)); });
  return there;
}

/// False: it is not there; `from` knows why.
template <class T>
bool read_field(CdrReader& from, T& value) {
  if constexpr (PlainField<T> || std::is_enum_v<T>) {
    WireForm<T> wire{};
    if (!from.get(wire)) return false;
    value = static_cast<T>(wire);
    return true;
  } else if constexpr (std::same_as<T, std::string>) {
    return from.get(value);
  } else if constexpr (is_sequence<T>) {
    return read_sequence(from, value);
  } else if constexpr (is_map<T>) {
    return read_map(from, value);
  } else if constexpr (UnionField<T>) {
    return read_union(from, value);
  } else if constexpr (is_maybe<T>) {
    bool there = false;
    if (!from.get(there)) return false;
    value.reset();
    return !there || read_field(from, value.emplace());
  } else if constexpr (is_fixed_array<T>) {
    for (auto& each : value) {
      if (!read_field(from, each)) return false;
    }
    return true;
  } else {
    bool all = true;
    for_each_field(value, [&](auto& field) { all = all && read_field(from, field); });
    return all;
  }
}

/// Whether every bool of a value that was copied bytewise is one. Such a bool is looked at as the byte that it is.
template <class T>
[[nodiscard]] bool bools_hold(const T& value) {
  if constexpr (std::same_as<T, bool>) {
    return *reinterpret_cast<const unsigned char*>(&value) <= 1;
  } else if constexpr (is_fixed_array<T>) {
    for (const auto& each : value) {
      if (!bools_hold(each)) return false;
    }
    return true;
  } else if constexpr (AggregateField<T>) {
    bool all = true;
    for_each_field(value, [&](const auto& field) { all = all && bools_hold(field); });
    return all;
  } else {
    return true;
  }
}

}  // namespace spindrift::topics
