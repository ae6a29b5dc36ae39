// The fields of an aggregate: what they may be, and how they are described, written and read, one rule per kind. They are
// found by Boost.PFR, without a macro and without names, which it does not know in C++20; those are said beside the type.
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <boost/pfr/core.hpp>

#include <spindrift/dds/cdr.hpp>
#include <spindrift/dds/type_text.hpp>

namespace dds::topic {

/// The names of an aggregate's fields, in their order, for programs that do not have the type: `spindrift topic`, recorders,
/// gateways. They are announced, and no part of the type's identity. Specialize it before the first use of the type, and of
/// those that hold it; without it they are called f0, f1 and so on:
///   template <> struct dds::topic::topic_field_names<Sensor> { static constexpr std::array names{"id", "value"}; };
template <class T>
struct topic_field_names {
  static constexpr std::array<const char*, 0> names{};
};

}  // namespace dds::topic

namespace spindrift::topics {

template <class T>
inline constexpr bool is_sequence = false;
template <class T>
inline constexpr bool is_sequence<std::vector<T>> = true;
template <class T>
inline constexpr bool is_fixed_array = false;
template <class T, std::size_t count>
inline constexpr bool is_fixed_array<std::array<T, count>> = true;
template <class T>
inline constexpr bool is_maybe = false;
template <class T>
inline constexpr bool is_maybe<std::optional<T>> = true;

template <class T>
concept PlainField = std::same_as<T, bool> || std::same_as<T, char> || std::same_as<T, float> || std::same_as<T, double> ||
    (std::integral<T> && sizeof(T) <= 8 && !std::same_as<T, wchar_t> && !std::same_as<T, char8_t> &&
     !std::same_as<T, char16_t> && !std::same_as<T, char32_t>);
template <class T>
concept AggregateField = std::is_aggregate_v<T> && std::is_class_v<T> && !is_fixed_array<T>;

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

/// The integer of that size and sign: `long` and `long long` are one.
template <class T>
using SizedUnsigned = std::tuple_element_t<std::bit_width(sizeof(T)) - 1,
                                           std::tuple<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>>;
template <class T>
using SizedInteger = std::conditional_t<std::is_signed_v<T>, std::make_signed_t<SizedUnsigned<T>>, SizedUnsigned<T>>;
template <class T>
constexpr auto wire_form() {
  if constexpr (std::is_enum_v<T>)
    return wire_form<std::underlying_type_t<T>>();
  else if constexpr (std::same_as<T, bool> || std::same_as<T, char>)
    return std::type_identity<T>();
  else if constexpr (std::floating_point<T>)
    return std::type_identity<T>();
  else
    return std::type_identity<SizedInteger<T>>();
}
template <class T>
using WireForm = typename decltype(wire_form<T>())::type;

/// Converts to whatever a field is; for counting alone.
template <std::size_t>
struct AnyField {
  template <class Field>
  operator Field() const noexcept;  // NOLINT: implicit by design, and never called
};
template <class T, std::size_t... index>
[[nodiscard]] consteval bool takes_fields(std::index_sequence<index...>) {
  return requires { T{AnyField<index>()...}; };
}
/// How many values an aggregate can be made of; each place of an array of C's is one. They are counted here, one by one: PFR
/// looks for as many as the type has bits, which takes minutes where a field is an image.
template <AggregateField T, std::size_t count = 0>
[[nodiscard]] consteval std::size_t value_count() {
  if constexpr (takes_fields<T>(std::make_index_sequence<count + 1>()))
    return value_count<T, count + 1>();
  else
    return count;
}

/// Converts to a base of an aggregate, and to nothing else.
template <class T>
struct AnyBase {
  template <class Base>
  requires(std::is_base_of_v<Base, T> && !std::is_same_v<Base, T>)
  operator Base() const noexcept;  // NOLINT: implicit by design, and never called
};
/// Whether an aggregate has a base class, which comes before its fields.
template <AggregateField T>
[[nodiscard]] consteval bool has_base() {
  return requires { T{AnyBase<T>()}; };
}
template <class T, std::size_t... before, std::size_t... behind>
[[nodiscard]] consteval bool takes_braces(std::index_sequence<before...>, std::index_sequence<behind...>) {
  return requires { T{AnyField<before>()..., {}, AnyField<behind>()...}; };
}
/// Whether an aggregate has an array of C's, of two elements or more: braces stand for all of it, and then too many values
/// follow.
template <AggregateField T>
[[nodiscard]] consteval bool has_c_array() {
  constexpr std::size_t count = value_count<T>();
  return ![]<std::size_t... at>(std::index_sequence<at...>) {
    return (takes_braces<T>(std::make_index_sequence<at>(), std::make_index_sequence<count - 1 - at>()) && ...);
  }
  (std::make_index_sequence<count>());
}
/// How many fields it has; none, where it cannot be taken apart, which `type_support` says in words.
template <AggregateField T>
[[nodiscard]] consteval std::size_t field_count() {
  if constexpr (has_base<T>())
    return 0;
  else if constexpr (has_c_array<T>())
    return 0;
  else
    return value_count<T>();
}

/// References to all fields of the aggregate.
template <class T>
[[nodiscard]] constexpr auto tied(T& value) {
  return boost::pfr::detail::tie_as_tuple(value, boost::pfr::detail::size_t_<field_count<std::remove_const_t<T>>()>());
}
/// Calls `use` with each field of the aggregate.
template <class T, class Use>
constexpr void for_each_field(T& value, const Use& use) {
  [&]<std::size_t... index>(std::index_sequence<index...>) {
    [[maybe_unused]] auto fields = tied(value);
    (use(boost::pfr::detail::sequence_tuple::get<index>(fields)), ...);
  }
  (std::make_index_sequence<field_count<std::remove_const_t<T>>()>());
}
template <class T, std::size_t index>
using FieldType = std::remove_cvref_t<decltype(boost::pfr::detail::sequence_tuple::get<index>(
    std::declval<decltype(tied(std::declval<T&>()))&>()))>;
/// Calls `use.template operator()<Field>()` with the type of each field.
template <AggregateField T, class Use>
constexpr void for_each_field_type(const Use& use) {
  [&]<std::size_t... index>(std::index_sequence<index...>) { (use.template operator()<FieldType<T, index>>(), ...); }
  (std::make_index_sequence<field_count<T>()>());
}

/// Whether its bytes mean the same in every process, but for bools, which are looked at: no pointer, no length, no flag.
template <class T>
[[nodiscard]] constexpr bool lies_in_place() {
  if constexpr (PlainField<T> || std::is_enum_v<T>)
    return true;
  else if constexpr (is_fixed_array<T>)
    return lies_in_place<typename T::value_type>();
  else if constexpr (AggregateField<T>) {
    bool all = std::is_trivially_copyable_v<T>;
    for_each_field_type<T>([&]<class Field>() { all = all && lies_in_place<Field>(); });
    return all;
  } else
    return false;
}

/// Whether values of it can hold others of their own type, in a vector or an optional: its description has no end then.
template <class T, class... Around>
[[nodiscard]] consteval bool holds_itself() {
  if constexpr (is_sequence<T> || is_maybe<T> || is_fixed_array<T>) {
    return holds_itself<typename T::value_type, Around...>();
  } else if constexpr ((std::same_as<T, Around> || ...)) {
    return true;
  } else if constexpr (AggregateField<T>) {
    bool any = false;
    for_each_field_type<T>([&]<class Field>() { any = any || holds_itself<Field, Around..., T>(); });
    return any;
  } else {
    return false;
  }
}

/// Whether that is so of an aggregate, or of one within it. For types that do not hold themselves.
template <class T, class IsSo>
[[nodiscard]] consteval bool any_aggregate(IsSo is_so) {
  if constexpr (is_sequence<T> || is_maybe<T> || is_fixed_array<T>) {
    return any_aggregate<typename T::value_type>(is_so);
  } else if constexpr (AggregateField<T>) {
    bool any = is_so.template operator()<T>();
    for_each_field_type<T>([&]<class Field>() { any = any || any_aggregate<Field>(is_so); });
    return any;
  } else {
    return false;
  }
}
template <class T>
[[nodiscard]] consteval bool any_base() {
  return any_aggregate<T>([]<class Each>() { return has_base<Each>(); });
}
template <class T>
[[nodiscard]] consteval bool any_c_array() {
  return any_aggregate<T>([]<class Each>() {
    if constexpr (has_base<Each>())
      return false;
    else
      return has_c_array<Each>();
  });
}

/// Fewest bytes that CDR takes for one, without what aligns it; at least 1.
template <class T>
[[nodiscard]] constexpr std::size_t wire_bytes_min() {
  if constexpr (PlainField<T> || std::is_enum_v<T>)
    return sizeof(T);
  else if constexpr (std::same_as<T, std::string>)
    return 5;
  else if constexpr (is_sequence<T>)
    return 4;
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
/// "id=" where the aggregate's fields have names, else nothing.
template <AggregateField T>
[[nodiscard]] std::string name_text(std::size_t at) {
  constexpr auto names = dds::topic::topic_field_names<T>::names;
  if constexpr (names.size() == 0) {
    return {};
  } else {
    static_assert(name_fields(names, field_count<T>()),
                  "topic_field_names has one name for each field: of a-z, A-Z, 0-9 and _, and no two alike");
    return std::string(names.at(at)) + "=";
  }
}

/// A field's kind in words: "f32[3]", "sequence<string>", "sensors::Mode:u8", "Inner{i32,bool}"; `named`: with the names of
/// fields that have some, "Inner{number=i32,valid=bool}".
template <class T, bool named = false>
[[nodiscard]] std::string field_text() {
  if constexpr (PlainField<T>)
    return plain_text<T>();
  else if constexpr (std::is_enum_v<T>)
    return std::string(type_text<T>()) + ":" + plain_text<std::underlying_type_t<T>>();
  else if constexpr (std::same_as<T, std::string>)
    return "string";
  else if constexpr (is_sequence<T>)
    return "sequence<" + field_text<typename T::value_type, named>() + ">";
  else if constexpr (is_maybe<T>)
    return "optional<" + field_text<typename T::value_type, named>() + ">";
  else if constexpr (is_fixed_array<T>)
    return field_text<typename T::value_type, named>() + "[" + std::to_string(std::tuple_size_v<T>) + "]";
  else if constexpr (AggregateField<T>) {
    std::string text;
    std::size_t at = 0;
    for_each_field_type<T>([&]<class Field>() {
      text += at == 0 ? "" : ",";
      if constexpr (named) text += name_text<T>(at);
      text += field_text<Field, named>();
      ++at;
    });
    return std::string(type_text<T>()) + "{" + text + "}";
  } else {
    static_assert(no_such_field<T>,
                  "a sample's field is a number, bool, char, enum, std::string, std::vector, std::array, "
                  "std::optional, or an aggregate of these");
  }
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

template <class T>
[[nodiscard]] bool read_sequence(CdrReader& from, std::vector<T>& value) {
  static_assert(wire_bytes_min<T>() > 0, "elements of a sequence hold something: else no bytes bound how many there are");
  std::uint32_t count = 0;
  if (!from.get_count(wire_bytes_min<T>(), count)) return false;
  value.reserve(count);
  for (std::uint32_t at = 0; at < count; ++at) {
    T each{};
    if (!read_field(from, each)) return false;
    value.push_back(std::move(each));
  }
  return true;
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
  } else if constexpr (is_maybe<T>) {
    bool there = false;
    if (!from.get(there)) return false;
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
