// Which member functions of an object are replicated, and what they are called on the wire: the position in the list that
// the object's type declares. A digest of the list travels with every call, so that no replica ever runs another function
// than was meant.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <vector>

#include <spindrift/core/digest.hpp>

namespace spindrift {

/// The list of replicated member functions: `using Methods = spindrift::Replicates<&Ledger::deposit, &Ledger::balance>;`
/// at the end of the class. New ones go anywhere: all members run the same program.
template <auto... methods>
struct Replicates {
  static constexpr std::size_t count = sizeof...(methods);
};

/// The list of T's methods is found here; specialize it for a type that cannot be changed.
template <class T>
struct MethodsOf {
  using type = typename T::Methods;
};

/// Lists that the object had before, whose calls may be in the log of a logged subgroup: `using FormerMethods =
/// spindrift::Formerly<spindrift::Replicates<&Ledger::deposit>>;`. Their non-const methods are in the list of now, too.
template <class... Lists>
struct Formerly {};

/// The former lists of T are found here, if there are any; to be specialized as MethodsOf.
template <class T>
struct FormerMethodsOf {
  using type = Formerly<>;
};
template <class T>
  requires requires { typename T::FormerMethods; }
struct FormerMethodsOf<T> {
  using type = typename T::FormerMethods;
};

namespace replicated {

struct NoMethod {
  static constexpr bool is_method = false;
};

template <class T, bool constant, class Return, class... Parameters>
struct MethodShape {
  static constexpr bool is_method = true;
  static constexpr bool is_const = constant;
  using Object = T;
  using Result = std::remove_cvref_t<Return>;
  using Arguments = std::tuple<std::remove_cvref_t<Parameters>...>;
  /// The memory that a parameter points to stays with the caller, and so does what would be written into a reference.
  static constexpr bool arguments_travel =
      ((!std::is_pointer_v<std::remove_cvref_t<Parameters>> &&
        (!std::is_lvalue_reference_v<Parameters> || std::is_const_v<std::remove_reference_t<Parameters>>)) && ...);
};

// The shape of a method follows from its type alone; methods that are noexcept convert to those that are not.
template <class T, class R, class... P>
MethodShape<T, false, R, P...> shape_of(R (T::*)(P...));
template <class T, class R, class... P>
MethodShape<T, true, R, P...> shape_of(R (T::*)(P...) const);
NoMethod shape_of(...);

template <auto method>
using Traits = decltype(shape_of(method));

template <class T>
inline constexpr bool is_view_of_text_or_memory = false;
template <class Character>
inline constexpr bool is_view_of_text_or_memory<std::basic_string_view<Character>> = true;
template <class Element, std::size_t extent>
inline constexpr bool is_view_of_text_or_memory<std::span<Element, extent>> = true;

template <class Tuple>
inline constexpr bool owns_its_values = false;
template <class... T>
inline constexpr bool owns_its_values<std::tuple<T...>> = (!is_view_of_text_or_memory<T> && ...);

/// Positions in lists.
template <auto method, auto candidate>
consteval bool same_method() {
  if constexpr (std::is_same_v<decltype(method), decltype(candidate)>) {
    return method == candidate;
  } else {
    return false;
  }
}
template <auto method, class List>
inline constexpr std::size_t position_in = 0;
template <auto method, auto... methods>
inline constexpr std::size_t position_in<method, Replicates<methods...>> = [] {
  std::size_t position = 0;
  bool found = false;
  ((found = found || same_method<method, methods>(), position += found ? 0 : 1), ...);
  return position;
}();

/// The digest of a list: count, names and types of the functions in order.
template <auto method>
std::string describe() {
  // Compilers spell the value differently; the last name in it is the same.
  const std::string_view pretty = __PRETTY_FUNCTION__;
  std::string_view value = pretty.substr(pretty.find("method = ") + 9);
  value = value.substr(0, value.find_first_of(";]"));
  value = value.substr(value.rfind(':') + 1);
  value = value.substr(0, value.find(')'));
  return std::string(value) + ' ' + typeid(decltype(method)).name() + '\n';
}
template <class List>
struct DigestOf;
template <auto... methods>
struct DigestOf<Replicates<methods...>> {
  static std::uint64_t value() {
    return digest_of(std::string_view((std::to_string(sizeof...(methods)) + '\n' + ... + describe<methods>()))).words[0];
  }
};

/// The list of an object's methods as far as its base knows it, and those of before.
struct MethodLists {
  static constexpr std::uint32_t gone = std::numeric_limits<std::uint32_t>::max();  ///< not in the list, and only read
  struct Former {
    std::uint64_t digest = 0;
    std::vector<std::uint32_t> places{};  ///< that its methods have now
  };

  std::uint64_t digest = 0;
  std::size_t count = 0;
  std::vector<Former> former{};

  /// Whether that is the digest of the list, or of a former one.
  [[nodiscard]] bool knows(std::uint64_t of) const {
    return of == digest || std::any_of(former.begin(), former.end(), [&](const Former& each) { return each.digest == of; });
  }
  /// The place now of a method of the list with that digest, which may be none of it; nothing: no such list is known.
  [[nodiscard]] std::optional<std::uint32_t> place(std::uint64_t of, std::uint32_t method) const {
    if (of == digest) return method;
    const auto found = std::find_if(former.begin(), former.end(), [&](const Former& each) { return each.digest == of; });
    if (found == former.end()) return std::nullopt;
    return method < found->places.size() ? found->places[method] : gone;
  }
};

template <class Now, auto method>
consteval std::uint32_t place_now() {
  constexpr std::size_t place = position_in<method, Now>;
  constexpr bool known = place < Now::count || Traits<method>::is_const;
  static_assert(known, "a non-const method of FormerMethods is not in the list of Methods: its calls in logs could not run");
  return place < Now::count ? static_cast<std::uint32_t>(place) : MethodLists::gone;
}
template <class Now, auto... methods>
MethodLists::Former former_list(Replicates<methods...>) {
  return {DigestOf<Replicates<methods...>>::value(), {place_now<Now, methods>()...}};
}
template <class Now, class... Lists>
MethodLists method_lists(Formerly<Lists...>) {
  return {DigestOf<Now>::value(), Now::count, {former_list<Now>(Lists{})...}};
}

}  // namespace replicated

/// A non-const member function of T: it runs at every replica, in one order.
template <auto method, class T>
concept UpdateOf = replicated::Traits<method>::is_method && !replicated::Traits<method>::is_const &&
                   std::is_base_of_v<typename replicated::Traits<method>::Object, T>;
/// A const member function of T: it changes nothing.
template <auto method, class T>
concept QueryOf = replicated::Traits<method>::is_method && replicated::Traits<method>::is_const &&
                  std::is_base_of_v<typename replicated::Traits<method>::Object, T>;
/// In the list of T, so that other replicas know it.
template <auto method, class T>
concept ReplicatedMethodOf = replicated::position_in<method, typename MethodsOf<T>::type> < MethodsOf<T>::type::count;

}  // namespace spindrift
