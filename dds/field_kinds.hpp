// The kinds of fields, and how an aggregate is taken apart into them: by Boost.PFR, without a macro and without names,
// which it does not know in C++20.
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <boost/pfr/core.hpp>

#include <spindrift/dds/union_fields.hpp>

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
inline constexpr bool is_map = false;
template <class Key, class T>
inline constexpr bool is_map<std::map<Key, T>> = true;
/// A type that holds values of one other.
template <class T>
inline constexpr bool is_holder = is_sequence<T> || is_maybe<T> || is_fixed_array<T> || is_map<T>;
template <class T>
struct HeldOf {
  using Type = typename T::value_type;
};
template <class Key, class T>
struct HeldOf<std::map<Key, T>> {
  using Type = T;
};
/// The type of the values that it holds; of a map, beside its keys.
template <class T>
using HeldType = typename HeldOf<T>::Type;

template <class T>
concept PlainField = std::same_as<T, bool> || std::same_as<T, char> || std::same_as<T, float> || std::same_as<T, double> ||
    (std::integral<T> && sizeof(T) <= 8 && !std::same_as<T, wchar_t> && !std::same_as<T, char8_t> &&
     !std::same_as<T, char16_t> && !std::same_as<T, char32_t>);
template <class T>
concept AggregateField = std::is_aggregate_v<T> && std::is_class_v<T> && !is_fixed_array<T>;

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
/// A type of a map's keys.
template <class T>
concept MapKey = std::same_as<T, std::string> ||
    ((PlainField<T> || std::is_enum_v<T>)&&!std::same_as<WireForm<T>, char> && !std::floating_point<T>);

// Compilers say the reason once, however often the type is looked at.
template <class Key>
struct CheckedKey {
  static_assert(MapKey<Key>, "the keys of a map are integers, bools, enums or std::string");
  static constexpr bool checked = true;
};
template <class T>
struct SingleOptional {
  static_assert(!is_maybe<typename T::value_type>,
                "an optional is not directly within another: put the inner one into an aggregate");
  static constexpr bool checked = true;
};

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
  requires(std::is_base_of_v<Base, T> && !std::is_same_v<Base, T>) operator Base()
      const noexcept;  // NOLINT: implicit by design, and never called
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

/// Whether values of it can hold others of their own type, in a vector, a map, an optional or a union: its description has
/// no end then.
template <class T, class... Around>
[[nodiscard]] consteval bool holds_itself() {
  if constexpr (is_holder<T>) {
    return holds_itself<HeldType<T>, Around...>();
  } else if constexpr (UnionField<T>) {
    bool any = false;
    for_each_member_type<T>([&]<class Member>() { any = any || holds_itself<Member, Around...>(); });
    return any;
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
  if constexpr (is_holder<T>) {
    return any_aggregate<HeldType<T>>(is_so);
  } else if constexpr (UnionField<T>) {
    bool any = false;
    for_each_member_type<T>([&]<class Member>() { any = any || any_aggregate<Member>(is_so); });
    return any;
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

}  // namespace spindrift::topics
