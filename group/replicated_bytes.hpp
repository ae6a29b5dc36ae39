// Values as bytes: arguments, results and states of replicated objects. Numbers, enums, plain structs, and by cereal what
// it knows: standard containers and types with a `serialize(archive)` of their own.
//
// The bytes that are read come from a peer. To remember: a reader never looks beyond its bytes, never allocates for more
// elements than it has bytes, never nests deeper than `depth_max`; whatever else is wrong throws BadBytes, which no user
// sees.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <ostream>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include <cereal/cereal.hpp>
#include <cereal/types/array.hpp>
#include <cereal/types/chrono.hpp>
#include <cereal/types/deque.hpp>
#include <cereal/types/list.hpp>
#include <cereal/types/map.hpp>
#include <cereal/types/optional.hpp>
#include <cereal/types/set.hpp>
#include <cereal/types/string.hpp>
#include <cereal/types/tuple.hpp>
#include <cereal/types/unordered_map.hpp>
#include <cereal/types/unordered_set.hpp>
#include <cereal/types/utility.hpp>
#include <cereal/types/variant.hpp>
#include <cereal/types/vector.hpp>

#include <spindrift/core/ids.hpp>

namespace spindrift::replicated {

/// Bytes that no correct member writes.
class BadBytes : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// How deep values may nest. Bounds the stack that a message can make its reader use.
inline constexpr unsigned depth_max = 100;

/// Appends values to a growing buffer or, with `behind`, to a stream through that buffer, of which a piece at a time is in
/// memory.
class ValueWriter : public cereal::OutputArchive<ValueWriter, cereal::AllowEmptyClassElision> {
 public:
  explicit ValueWriter(std::vector<std::byte>& to, std::ostream* behind = nullptr)
      : OutputArchive(this), to_(to), behind_(behind) {}

  void bytes(const void* from, std::size_t count) {
    if (behind_ != nullptr && to_.size() + count > piece_bytes) flush();
    const auto* first = static_cast<const std::byte*>(from);
    if (behind_ != nullptr && count > piece_bytes) {
      behind_->write(reinterpret_cast<const char*>(first), static_cast<std::streamsize>(count));
    } else {
      to_.insert(to_.end(), first, first + count);
    }
  }
  /// To the stream, with `behind`.
  void flush() {
    behind_->write(reinterpret_cast<const char*>(to_.data()), static_cast<std::streamsize>(to_.size()));
    to_.clear();
  }

 private:
  static constexpr std::size_t piece_bytes = 64 * 1024;

  std::vector<std::byte>& to_;
  std::ostream* behind_;
};

/// Takes values from bytes that a peer wrote.
class ValueReader : public cereal::InputArchive<ValueReader, cereal::AllowEmptyClassElision> {
 public:
  explicit ValueReader(std::span<const std::byte> from) : InputArchive(this), rest_(from) {}

  void bytes(void* to, std::size_t count) {
    if (count > rest_.size()) throw BadBytes("the bytes end in the middle of a value");
    if (count > 0) std::memcpy(to, rest_.data(), count);
    rest_ = rest_.subspan(count);
  }
  /// A count of elements, each of which takes at least one byte.
  [[nodiscard]] std::uint64_t count() {
    std::uint64_t claimed = 0;
    bytes(&claimed, sizeof claimed);
    if (claimed > rest_.size()) throw BadBytes("a container claims more elements than there are bytes");
    return claimed;
  }
  [[nodiscard]] std::span<const std::byte> rest() const noexcept { return rest_; }
  void expect_end() const {
    if (!rest_.empty()) throw BadBytes("there are bytes behind the last value");
  }

  void enter() {
    if (++depth_ > depth_max) throw BadBytes("values nest too deep");
  }
  void leave() noexcept { --depth_; }

 private:
  std::span<const std::byte> rest_;
  unsigned depth_ = 0;
};

/// The hooks that cereal calls around each value.
template <class T>
void prologue(ValueReader& reader, const T&) {
  reader.enter();
}
template <class T>
void epilogue(ValueReader& reader, const T&) {
  reader.leave();
}

template <class T>
concept SerializesItself = requires(T& value, ValueWriter& archive) { value.serialize(archive); } ||
                           requires(const T& value, ValueWriter& archive) { value.save(archive); };

template <class T>
concept HasTupleSize = requires { std::tuple_size<T>::value; };

/// Whether a T travels as the bytes that it is. True for plain aggregates without a `serialize` member; a program may
/// specialize it for a type of its own: true for another trivially copyable one, false for an aggregate with a free
/// `serialize`. Such a type must not hold pointers, and members must agree on its layout; peers are trusted as far as the
/// values in its fields go.
template <class T>
inline constexpr bool travels_as_bytes =
    std::is_class_v<T> && std::is_trivially_copyable_v<T> && std::is_aggregate_v<T> && !std::is_empty_v<T> &&
    !HasTupleSize<T> && !SerializesItself<T>;

template <class T>
  requires(std::is_arithmetic_v<T> || travels_as_bytes<T>)
void CEREAL_SAVE_FUNCTION_NAME(ValueWriter& to, const T& value) {
  to.bytes(std::addressof(value), sizeof value);
}
template <class T>
  requires(std::is_arithmetic_v<T> || travels_as_bytes<T>)
void CEREAL_LOAD_FUNCTION_NAME(ValueReader& from, T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    std::uint8_t raw = 0;
    from.bytes(&raw, 1);
    if (raw > 1) throw BadBytes("a bool is neither 0 nor 1");
    value = raw == 1;
  } else {
    from.bytes(std::addressof(value), sizeof value);
  }
}

template <class Tag, class Representation>
void CEREAL_SAVE_FUNCTION_NAME(ValueWriter& to, const Strong<Tag, Representation>& id) {
  to(id.value());
}
template <class Tag, class Representation>
void CEREAL_LOAD_FUNCTION_NAME(ValueReader& from, Strong<Tag, Representation>& id) {
  Representation value{};
  from(value);
  id = Strong<Tag, Representation>(value);
}

template <class T>
void CEREAL_SAVE_FUNCTION_NAME(ValueWriter& to, const cereal::SizeTag<T>& tag) {
  const auto count = static_cast<std::uint64_t>(tag.size);
  to.bytes(&count, sizeof count);
}
template <class T>
void CEREAL_LOAD_FUNCTION_NAME(ValueReader& from, cereal::SizeTag<T>& tag) {
  tag.size = static_cast<std::remove_reference_t<T>>(from.count());
}

template <class T>
void CEREAL_SAVE_FUNCTION_NAME(ValueWriter& to, const cereal::BinaryData<T>& data) {
  to.bytes(data.data, static_cast<std::size_t>(data.size));
}
template <class T>
void CEREAL_LOAD_FUNCTION_NAME(ValueReader& from, cereal::BinaryData<T>& data) {
  from.bytes(data.data, static_cast<std::size_t>(data.size));
}

/// Names in texts carry no reference.
template <class T>
void CEREAL_SERIALIZE_FUNCTION_NAME(ValueWriter& to, cereal::NameValuePair<T>& pair) {
  to(pair.value);
}
template <class T>
void CEREAL_SERIALIZE_FUNCTION_NAME(ValueReader& from, cereal::NameValuePair<T>& pair) {
  from(pair.value);
}

template <class T>
inline constexpr bool copies_in_place = (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) || travels_as_bytes<T>;

/// Whether a T can be written as bytes and read from them; of a container, whether it is one.
template <class T>
inline constexpr bool travels =
    copies_in_place<T> || (cereal::traits::is_output_serializable<T, ValueWriter>::value &&
                           cereal::traits::is_input_serializable<T, ValueReader>::value);
template <class Tuple>
inline constexpr bool all_travel = false;
template <class... T>
inline constexpr bool all_travel<std::tuple<T...>> = (travels<T> && ...);

/// Appends all `values`. What can be copied is, without the archive's machinery.
template <class... T>
void put(std::vector<std::byte>& to, const T&... values) {
  if constexpr ((copies_in_place<T> && ...)) {
    std::size_t at = to.size();
    to.resize(at + (sizeof(T) + ... + std::size_t{0}));
    ((std::memcpy(to.data() + at, std::addressof(values), sizeof(T)), at += sizeof(T)), ...);
  } else {
    ValueWriter writer(to);
    (writer(values), ...);
  }
}

/// Takes all `values`, which must be all there is. Throws BadBytes; what else a type's own loading throws becomes that too.
template <class... T>
void take(std::span<const std::byte> from, T&... values) {
  if constexpr ((copies_in_place<T> && ...)) {
    if (from.size() != (sizeof(T) + ... + std::size_t{0})) throw BadBytes("the values have another size");
    [[maybe_unused]] const std::byte* at = from.data();
    ((std::memcpy(std::addressof(values), at, sizeof(T)), at += sizeof(T)), ...);
  } else {
    try {
      ValueReader reader(from);
      (reader(values), ...);
      reader.expect_end();
    } catch (const BadBytes&) {
      throw;
    } catch (const std::exception& broken) {
      throw BadBytes(broken.what());
    }
  }
}

}  // namespace spindrift::replicated

// Both are one format, and neither is for cereal's registry of polymorphic types.
CEREAL_SETUP_ARCHIVE_TRAITS(spindrift::replicated::ValueReader, spindrift::replicated::ValueWriter)
