// The unions among the fields of samples, std::variant and those that `spindrift idl` makes, by one interface: the
// discriminator, and a member by its place.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include <spindrift/dds/union_value.hpp>

namespace spindrift::topics {

struct NoUnion {};

/// A std::variant: the discriminator is the place of its alternative, and there always is one.
template <class... Ts>
struct VariantUnion {
  using Value = std::variant<Ts...>;
  using Discriminator = std::int32_t;
  static constexpr bool is_variant = true;
  static constexpr std::size_t count = sizeof...(Ts);
  template <std::size_t at>
  using Member = std::variant_alternative_t<at, Value>;

  /// Throws std::bad_variant_access: an exception has left it without a value.
  [[nodiscard]] static Discriminator discriminator(const Value& value) {
    if (value.valueless_by_exception()) throw std::bad_variant_access();
    return static_cast<Discriminator>(value.index());
  }
  [[nodiscard]] static std::size_t member(Discriminator d) noexcept {
    return d >= 0 && static_cast<std::size_t>(d) < count ? static_cast<std::size_t>(d) : no_member;
  }
  template <std::size_t at>
  [[nodiscard]] static const auto& get(const Value& value) {
    return std::get<at>(value);
  }
  template <std::size_t at>
  [[nodiscard]] static auto& make(Value& value, Discriminator) {
    return value.template emplace<at>();
  }
};

/// One that `spindrift idl` makes.
template <class D, class... Cases>
struct IdlUnion {
  using Value = dds::topic::union_value<D, Cases...>;
  using Discriminator = D;
  static constexpr bool is_variant = false;
  static constexpr std::size_t count = sizeof...(Cases);
  template <std::size_t at>
  using Case = std::tuple_element_t<at, std::tuple<Cases...>>;
  template <std::size_t at>
  using Member = typename Case<at>::type;

  [[nodiscard]] static Discriminator discriminator(const Value& value) noexcept { return value._d(); }
  [[nodiscard]] static std::size_t member(Discriminator d) noexcept { return Value::_member(d); }
  template <std::size_t at>
  [[nodiscard]] static const auto& get(const Value& value) {
    return value.template _of<at>();
  }
  template <std::size_t at>
  [[nodiscard]] static auto& make(Value& value, Discriminator d) {
    return value.template _make<at>(d);
  }
};

template <class D, class... Cases>
IdlUnion<D, Cases...> union_of(const dds::topic::union_value<D, Cases...>*);
template <class... Ts>
VariantUnion<Ts...> union_of(const std::variant<Ts...>*);
NoUnion union_of(const void*);

/// How a union is looked at; NoUnion, of what is none.
template <class T>
using UnionOf = decltype(union_of(static_cast<const T*>(nullptr)));
template <class T>
concept UnionField = std::is_class_v<T> && !std::same_as<UnionOf<T>, NoUnion>;

/// Calls `use` with the place as a constant.
template <std::size_t count, class Use>
void with_place(std::size_t place, const Use& use) {
  [&]<std::size_t... at>(std::index_sequence<at...>) {
    ((place == at ? use(std::integral_constant<std::size_t, at>()) : void()), ...);
  }
  (std::make_index_sequence<count>());
}
/// Calls `use.template operator()<Member>()` with the type of each member.
template <UnionField T, class Use>
constexpr void for_each_member_type(const Use& use) {
  [&]<std::size_t... at>(std::index_sequence<at...>) {
    (use.template operator()<typename UnionOf<T>::template Member<at>>(), ...);
  }
  (std::make_index_sequence<UnionOf<T>::count>());
}

}  // namespace spindrift::topics
