// Every fuzz target shares this: reading choices off the input, and saying that an expectation broke. A target is one
// function, LLVMFuzzerTestOneInput; libFuzzer calls it, or replay_main.cpp with the files of the corpus.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace spindrift::fuzz {

/// Ends the run as a finding: a broken promise counts like a crash.
inline void expect(bool kept, const char* promise) {
  if (kept) return;
  std::fprintf(stderr, "broken promise: %s\n", promise);
  std::abort();
}

/// Takes choices off the front of an input; an exhausted input gives zeros.
class Choices {
 public:
  Choices(const std::uint8_t* data, std::size_t size) noexcept : left_(data, size) {}

  [[nodiscard]] bool empty() const noexcept { return left_.empty(); }
  [[nodiscard]] std::uint64_t number(std::size_t bytes) noexcept {
    std::uint64_t value = 0;
    const auto taken = take(bytes);
    if (!taken.empty()) std::memcpy(&value, taken.data(), taken.size());
    return value;
  }
  /// One of 0 … count − 1.
  [[nodiscard]] std::uint64_t choice(std::uint64_t count) noexcept { return number(count <= 256 ? 1 : 8) % count; }
  /// At most `bytes` of the input as they are.
  [[nodiscard]] std::span<const std::uint8_t> take(std::size_t bytes) noexcept {
    const auto taken = left_.first(std::min(bytes, left_.size()));
    left_ = left_.subspan(taken.size());
    return taken;
  }
  [[nodiscard]] std::span<const std::uint8_t> rest() noexcept { return take(left_.size()); }

 private:
  std::span<const std::uint8_t> left_;
};

/// Zeroed memory for a row or a mirror, aligned to words.
class RowMemory {
 public:
  explicit RowMemory(std::uint64_t bytes) : words_(std::make_unique<std::uint64_t[]>(bytes / 8)), bytes_(bytes) {}
  [[nodiscard]] std::span<std::byte> span() noexcept { return {reinterpret_cast<std::byte*>(words_.get()), bytes_}; }

 private:
  std::unique_ptr<std::uint64_t[]> words_;
  std::uint64_t bytes_;
};

[[nodiscard]] inline std::string_view as_text(const std::uint8_t* data, std::size_t size) noexcept {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace spindrift::fuzz
