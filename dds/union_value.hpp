// The unions of IDL: `spindrift idl` makes a class for each, on top of `union_value`, with `_d()` and functions of the name
// of each member, as OMG's mapping to C++ has them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

namespace spindrift::topics {

/// Throws dds::core::PreconditionNotMetError: another member is the one that is there.
[[noreturn]] void refuse_member();
/// Throws dds::core::InvalidArgumentError: the discriminator is of another member.
[[noreturn]] void refuse_discriminator();

/// A label or a discriminator as a number: of a char its byte.
template <class T>
[[nodiscard]] constexpr std::int64_t label_number(T label) noexcept {
  if constexpr (std::is_enum_v<T>)
    return label_number(static_cast<std::underlying_type_t<T>>(label));
  else if constexpr (std::is_same_v<T, char>)
    return static_cast<unsigned char>(label);
  else
    return static_cast<std::int64_t>(label);
}

inline constexpr std::size_t no_member = SIZE_MAX;

}  // namespace spindrift::topics

namespace dds::topic {

/// A member, and the discriminators with which it is there.
template <class T, auto... labels>
struct union_case {
  using type = T;
  static constexpr bool is_default = false;
  static constexpr std::array numbers{spindrift::topics::label_number(labels)...};
};
/// The member that is there with all other discriminators; `label` is the one that it gets where none is said.
template <class T, auto label>
struct union_default {
  using type = T;
  static constexpr bool is_default = true;
  static constexpr std::array numbers{spindrift::topics::label_number(label)};
};

/// One of several members, as the discriminator says, or none. It begins with the first.
template <class D, class... Cases>
class union_value {
 public:
  /// The discriminator.
  [[nodiscard]] D _d() const noexcept { return d_; }
  /// Throws PreconditionNotMetError: it is of another member than the one that is there.
  void _d(D d) {
    if (_member(d) != _member(d_)) spindrift::topics::refuse_member();
    d_ = d;
  }

  /// The place of the member that is there with that discriminator, or no_member.
  [[nodiscard]] static constexpr std::size_t _member(D d) noexcept {
    const std::int64_t number = spindrift::topics::label_number(d);
    std::size_t found = spindrift::topics::no_member, at = 0;
    (
        [&] {
          for (const std::int64_t each : Cases::numbers) {
            if (!Cases::is_default && each == number) found = at;
          }
          ++at;
        }(),
        ...);
    at = 0;
    ((found = found == spindrift::topics::no_member && Cases::is_default ? at : found, ++at), ...);
    return found;
  }
  /// A member. Throws PreconditionNotMetError: another one is there.
  template <std::size_t at>
  [[nodiscard]] const auto& _of() const {
    if (_member(d_) != at) spindrift::topics::refuse_member();
    return std::get<at + 1>(value_);
  }
  template <std::size_t at>
  [[nodiscard]] auto& _of() {
    if (_member(d_) != at) spindrift::topics::refuse_member();
    return std::get<at + 1>(value_);
  }
  /// Makes a member the one that is there. Throws InvalidArgumentError: the discriminator is of another one.
  template <std::size_t at, class T>
  void _set(T&& value, D d) {
    if (_member(d) != at) spindrift::topics::refuse_discriminator();
    value_.template emplace<at + 1>(std::forward<T>(value));
    d_ = d;
  }
  /// The same with one that is made anew.
  template <std::size_t at>
  auto& _make(D d) {
    if (_member(d) != at) spindrift::topics::refuse_discriminator();
    auto& made = value_.template emplace<at + 1>();
    d_ = d;
    return made;
  }
  /// Makes none of them the one that is there. Throws InvalidArgumentError: it is the discriminator of one.
  void _none(D d) {
    if (_member(d) != spindrift::topics::no_member) spindrift::topics::refuse_discriminator();
    value_.template emplace<0>();
    d_ = d;
  }

 protected:
  union_value() : value_(std::in_place_index<1>) {}

 private:
  static constexpr D first() {
    using First = std::tuple_element_t<0, std::tuple<Cases...>>;
    return static_cast<D>(First::numbers[0]);
  }

  D d_ = first();
  std::variant<std::monostate, typename Cases::type...> value_;
};

}  // namespace dds::topic
