// The one codec for what goes into files and over wires: little-endian fields without padding, one behind the other. A
// reader of a peer's bytes never looks beyond them; whether the fields make sense is for its caller to check.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace spindrift {

static_assert(std::endian::native == std::endian::little, "fields travel as they are in memory");

/// Whatever has the same bytes in every process: integers, ids, arrays and structs of those without padding. A bool or an
/// enum travels as an integer, so that its value is checked before it becomes one.
template <class T>
concept WireField = std::is_trivially_copyable_v<T> && std::has_unique_object_representations_v<T> &&
                    !std::is_pointer_v<T> && !std::is_enum_v<T> && !std::is_same_v<T, bool> && !std::ranges::enable_view<T>;

/// The fields, one behind the other.
template <WireField... Fields>
[[nodiscard]] std::array<std::byte, (sizeof(Fields) + ...)> field_bytes(const Fields&... fields) noexcept {
  std::array<std::byte, (sizeof(Fields) + ...)> bytes;
  std::size_t at = 0;
  ((std::memcpy(bytes.data() + at, &fields, sizeof fields), at += sizeof fields), ...);
  return bytes;
}

/// The field with which `bytes` begin, copied once out of memory that may change; nothing if they are fewer.
template <WireField T>
[[nodiscard]] std::optional<T> field_at_front(std::span<const std::byte> bytes) noexcept {
  if (bytes.size() < sizeof(T)) return std::nullopt;
  T field;
  std::memcpy(&field, bytes.data(), sizeof field);
  return field;
}

/// Appends fields to bytes that it owns.
class ByteWriter {
 public:
  ByteWriter() = default;
  explicit ByteWriter(std::vector<std::byte> begin) : bytes_(std::move(begin)) {}

  template <WireField... Fields>
  ByteWriter& put(const Fields&... fields) {
    (put_bytes(std::as_bytes(std::span(&fields, 1))), ...);
    return *this;
  }
  ByteWriter& put_bytes(std::span<const std::byte> bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    return *this;
  }
  /// At most `most` bytes of the text; how many is not said.
  ByteWriter& put_text(std::string_view text, std::size_t most) {
    return put_bytes(std::as_bytes(std::span(text.substr(0, most))));
  }

  [[nodiscard]] std::size_t size() const noexcept { return bytes_.size(); }
  [[nodiscard]] std::vector<std::byte> take() noexcept { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

/// Takes fields from bytes that a peer wrote. A field that is not there is 0, `ok` says so, and so are all behind it.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) noexcept : rest_(bytes) {}

  template <WireField T>
  [[nodiscard]] T get() noexcept {
    return field_at_front<T>(get_bytes(sizeof(T))).value_or(T{});
  }
  /// The next `count` bytes, in place; none if there are fewer.
  [[nodiscard]] std::span<const std::byte> get_bytes(std::size_t count) noexcept {
    if (rest_.size() < count) ok_ = false;
    if (!ok_) return rest_ = {};
    const auto taken = rest_.first(count);
    rest_ = rest_.subspan(count);
    return taken;
  }

  [[nodiscard]] std::span<const std::byte> rest() const noexcept { return rest_; }
  /// Whether all fields so far were there.
  [[nodiscard]] bool ok() const noexcept { return ok_; }
  /// Whether that is so, and nothing is left.
  [[nodiscard]] bool complete() const noexcept { return ok_ && rest_.empty(); }

 private:
  std::span<const std::byte> rest_;
  bool ok_ = true;
};

/// A peer's text, fit for logs and terminals: each byte that cannot be printed is a question mark.
[[nodiscard]] inline std::string printable(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte byte : bytes) {
    const char character = static_cast<char>(byte);
    text += character >= ' ' && character <= '~' ? character : '?';
  }
  return text;
}

}  // namespace spindrift
