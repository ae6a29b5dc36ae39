// A 128-bit digest of bytes (XXH3): equal input, equal digest, on every machine. Tells accidental differences apart; it is
// no protection against somebody who wants a collision.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace spindrift {

struct Digest {
  std::array<std::uint64_t, 2> words{};

  bool operator==(const Digest&) const noexcept = default;
  /// 32 hexadecimal digits.
  [[nodiscard]] std::string to_string() const;
};

[[nodiscard]] Digest digest_of(std::span<const std::byte> bytes) noexcept;
[[nodiscard]] Digest digest_of(std::string_view text) noexcept;

/// The digest of bytes that come in pieces: the same as that of all pieces in one. Not thread-safe.
class RunningDigest {
 public:
  RunningDigest();
  RunningDigest(RunningDigest&&) noexcept;
  RunningDigest& operator=(RunningDigest&&) noexcept;
  ~RunningDigest();

  void add(std::span<const std::byte> bytes) noexcept;
  void add(std::string_view text) noexcept { add(std::as_bytes(std::span(text))); }
  /// The digest of everything added so far; more may follow.
  [[nodiscard]] Digest value() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace spindrift
