// Memory that a peer can write: one aligned 8-byte word is the unit of trust. A word is read once into an Untrusted, which
// opens only through a check; the unchecked value cannot be used as an index, a size or a loop bound by accident.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>

#include <spindrift/core/check.hpp>

namespace spindrift {

static_assert(std::endian::native == std::endian::little, "remote words are little-endian");
static_assert(std::atomic_ref<std::uint64_t>::is_always_lock_free);

/// A value that a peer wrote.
template <class T>
class Untrusted {
 public:
  constexpr explicit Untrusted(T value) noexcept : value_(value) {}

  /// The value if `lowest <= value <= highest`.
  [[nodiscard]] constexpr std::optional<T> within(T lowest, T highest) const noexcept {
    if (value_ < lowest || value_ > highest) return std::nullopt;
    return value_;
  }

  /// The result of a checker that returns an optional; use for structured words.
  template <class Checker>
  [[nodiscard]] constexpr auto validate(Checker&& checker) const {
    return checker(value_);
  }

  /// For equality tests and reports only.
  [[nodiscard]] constexpr bool equals(T other) const noexcept { return value_ == other; }

 private:
  T value_;
};

/// One word of shared memory with acquire: what the writer stored before its release is visible after.
[[nodiscard]] inline std::uint64_t load_acquire(const std::byte* at) noexcept {
  // atomic_ref over const arrives with C++26; a load does not write, and the page may be mapped read-only.
  auto& word = *reinterpret_cast<std::uint64_t*>(const_cast<std::byte*>(at));
  return std::atomic_ref<std::uint64_t>(word).load(std::memory_order_acquire);
}

/// The same, marked as written by somebody else.
[[nodiscard]] inline Untrusted<std::uint64_t> read_word(const std::byte* at) noexcept {
  return Untrusted<std::uint64_t>(load_acquire(at));
}

/// One word of this process's own shared memory, published after everything written before.
inline void store_release(std::byte* at, std::uint64_t value) noexcept {
  std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(at)).store(value, std::memory_order_release);
}

}  // namespace spindrift
