// The types of samples: any aggregate. One whose bytes mean the same everywhere travels as it lies in memory, all others as
// CDR. The type's name and the kinds of its fields, in order, are its identity: only who has the same one exchanges samples.
#pragma once

#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include <spindrift/core/digest.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/dds/fields.hpp>
#include <spindrift/dds/sample_memory.hpp>

namespace dds::topic {

/// The key of a topic's type: pointers to its members.
template <auto... members>
struct key_fields {};

/// Specialize it for a type that has instances, before its first use:
///   template <> struct dds::topic::topic_key<Sensor> { using type = dds::topic::key_fields<&Sensor::id>; };
template <class T>
struct topic_key {
  using type = key_fields<>;
};

/// The name by which participants know the type, as in OMG's API. Specialize it where compilers, or programs, name it
/// differently.
template <class T>
struct topic_type_name {
  static std::string value() { return std::string(spindrift::topics::type_text<T>()); }
};

/// Whether T can be a topic's type, as in OMG's API.
template <class T>
struct is_topic_type : std::bool_constant<spindrift::topics::AggregateField<T> && std::is_default_constructible_v<T>> {};

}  // namespace dds::topic

namespace spindrift::topics {

/// A type of samples without the type: what is to be done with its bytes. Made once per type; lives as long as the program.
struct TypeSupport {
  std::string name;
  std::string description;   ///< with the name, all fields, and which of them are keys: the identity
  std::string named;         ///< the same with the names of fields; empty: they have none
  std::uint64_t identity{};  ///< the same in few bytes
  bool keyed = false;
  bool in_place = false;
  std::uint64_t in_place_bytes = 0;  ///< the size of each sample, if they lie in place
  /// A new value, from bytes that a peer wrote. Errors: bad_input.
  std::function<Result<std::shared_ptr<const void>>(std::span<const std::byte> bytes)> decode;
  /// The same from bytes of a type that has the first `fields` fields of this one, and the rest of it stays as it is made;
  /// or that has all of them, and more behind them. Null: no other type is read as this one.
  Result<std::shared_ptr<const void>> (*decode_other)(std::span<const std::byte> bytes, std::size_t fields,
                                                      bool more) = nullptr;
  /// The digest of its keys; of a type without any, nothing's.
  std::function<Digest(const void* value)> key;
};

/// Most bytes of a description, and of one with names: participants tell each other.
inline constexpr std::size_t description_bytes_max = 16384;

/// Two descriptions that differ, in words for people.
[[nodiscard]] std::string words_of_difference(const std::string& here, const std::string& there);
/// Errors: bad_input, where a type that lies in place has another size.
[[nodiscard]] Error wrong_size(std::size_t bytes, std::size_t expected);
[[nodiscard]] Error wrong_bool();

/// Collects the bytes of keys.
template <class T>
void add_key(std::string& to, const T& value) {
  if constexpr (PlainField<T> || std::is_enum_v<T>)
    to.append(reinterpret_cast<const char*>(&value), sizeof value);
  else if constexpr (is_fixed_array<T>) {
    for (const auto& each : value) add_key(to, each);
  } else if constexpr (std::same_as<T, std::string>) {
    add_key(to, value.size());
    to += value;
  } else if constexpr (AggregateField<T>) {
    for_each_field(value, [&](const auto& field) { add_key(to, field); });
  } else {
    static_assert(no_such_field<T>, "a key is a number, bool, char, enum, std::string, std::array, or an aggregate of them");
  }
}

template <class T, auto... members>
[[nodiscard]] Digest key_digest(const T& value, dds::topic::key_fields<members...>) {
  std::string bytes;
  (add_key(bytes, value.*members), ...);
  return bytes.empty() ? Digest{} : digest_of(bytes);
}

/// ",key=0,2": the places of the fields that are keys.
template <class T, auto... members>
[[nodiscard]] std::string key_text(dds::topic::key_fields<members...>) {
  const T value{};
  std::string text;
  [[maybe_unused]] const auto add = [&](const void* member) {
    std::size_t at = 0;
    for_each_field(value, [&](const auto& field) {
      if (static_cast<const void*>(&field) == member) text += (text.empty() ? "" : ",") + std::to_string(at);
      ++at;
    });
  };
  (add(&(value.*members)), ...);
  return text.empty() ? "" : " key=" + text;
}

template <class T>
[[nodiscard]] Result<std::shared_ptr<const void>> decode_sample(std::span<const std::byte> bytes) {
  if constexpr (lies_in_place<T>()) {
    if (bytes.size() != sizeof(T)) return wrong_size(bytes.size(), sizeof(T));
    auto value = std::allocate_shared_for_overwrite<T>(SampleAllocator<T>());
    std::memcpy(static_cast<void*>(value.get()), bytes.data(), sizeof(T));
    if (!bools_hold(*value)) return wrong_bool();
    return std::shared_ptr<const void>(std::move(value));
  } else {
    auto value = std::allocate_shared<T>(SampleAllocator<T>());
    CdrReader reader(bytes);
    if (read_field(reader, *value)) {
    }  // `finish` knows
    SPINDRIFT_TRY(reader.finish());
    return std::shared_ptr<const void>(std::move(value));
  }
}

template <class T>
[[nodiscard]] Result<std::shared_ptr<const void>> decode_other_sample(std::span<const std::byte> bytes, std::size_t fields,
                                                                      bool more) {
  auto value = std::allocate_shared<T>(SampleAllocator<T>());
  CdrReader reader(bytes);
  std::size_t at = 0;
  bool there = true;
  for_each_field(*value, [&](auto& field) { there = there && (at++ >= fields || read_field(reader, field)); });
  SPINDRIFT_TRY(more ? reader.finish_early() : reader.finish());
  return std::shared_ptr<const void>(std::move(value));
}

template <class T>
[[nodiscard]] const TypeSupport& type_support() {
  static_assert(dds::topic::is_topic_type<T>::value, "a topic's type is an aggregate that can be made without arguments");
  static_assert(!holds_itself<T>(),
                "a topic's type does not hold itself, be it in a vector, a map, an optional or a variant");
  static_assert(holds_itself<T>() || !any_base<T>(),
                "a topic's type has no base class, nor has one within it: make what the base has a field, or fields");
  static_assert(holds_itself<T>() || !any_c_array<T>(),
                "a topic's type has no array of C's, nor has one within it: write std::array<float, 3> for float[3]");
  using Keys = typename dds::topic::topic_key<T>::type;
  static const TypeSupport support = [] {
    TypeSupport made;
    made.name = dds::topic::topic_type_name<T>::value();
    std::string rest = key_text<T>(Keys{});
    if (lies_in_place<T>()) rest += " in place, " + std::to_string(sizeof(T)) + " bytes";
    made.description = made.name + field_text<T>().substr(type_text<T>().size()) + rest;
    made.named = made.name + field_text<T, true>().substr(type_text<T>().size()) + rest;
    if (made.named == made.description) made.named.clear();
    made.identity = digest_of(made.description).words[0];
    made.keyed = !std::is_same_v<Keys, dds::topic::key_fields<>>;
    made.in_place = lies_in_place<T>();
    if (made.in_place) made.in_place_bytes = sizeof(T);
    made.decode = &decode_sample<T>;
    if constexpr (!lies_in_place<T>()) made.decode_other = &decode_other_sample<T>;
    made.key = [](const void* value) { return key_digest(*static_cast<const T*>(value), Keys{}); };
    return made;
  }();
  return support;
}

/// Calls `use` with the sample's bytes as they travel: its own memory, or CDR.
template <class T, class Use>
decltype(auto) with_encoded(const T& value, const Use& use) {
  if constexpr (lies_in_place<T>()) {
    return use(std::as_bytes(std::span(&value, 1)));
  } else {
    CdrWriter writer;
    write_field(writer, value);
    return use(writer.bytes());
  }
}

}  // namespace spindrift::topics
