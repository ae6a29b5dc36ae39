// Values as CDR (OMG's Common Data Representation, version 1, with its four bytes of encapsulation), by Fast-CDR, whose
// headers and exceptions stay behind this.
//
// A peer wrote what is read: each length is compared with the bytes that are there before memory is taken for it,
// and after the first fault nothing more is read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <spindrift/core/result.hpp>

namespace spindrift::topics {

/// Appends values. Not thread-safe. Throws std::bad_alloc alone, but for `put_count`.
class CdrWriter {
 public:
  CdrWriter();
  ~CdrWriter();
  CdrWriter(const CdrWriter&) = delete;
  CdrWriter& operator=(const CdrWriter&) = delete;

  void put(bool value);
  void put(char value);
  void put(std::int8_t value);
  void put(std::uint8_t value);
  void put(std::int16_t value);
  void put(std::uint16_t value);
  void put(std::int32_t value);
  void put(std::uint32_t value);
  void put(std::int64_t value);
  void put(std::uint64_t value);
  void put(float value);
  void put(double value);
  /// Throws bad_argument: it contains a zero, which CDR cannot tell from its end, or has 2^32 bytes.
  void put(const std::string& value);
  /// The length of what follows. Throws bad_argument: it is 2^32 or more.
  void put_count(std::size_t count);

  /// All bytes so far; valid until the next call.
  [[nodiscard]] std::span<const std::byte> bytes() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Takes values. Each `get` says whether it was there; after one that was not, none is. Not thread-safe.
class CdrReader {
 public:
  /// `bytes` outlive it.
  explicit CdrReader(std::span<const std::byte> bytes);
  ~CdrReader();
  CdrReader(const CdrReader&) = delete;
  CdrReader& operator=(const CdrReader&) = delete;

  [[nodiscard]] bool get(bool& value);
  [[nodiscard]] bool get(char& value);
  [[nodiscard]] bool get(std::int8_t& value);
  [[nodiscard]] bool get(std::uint8_t& value);
  [[nodiscard]] bool get(std::int16_t& value);
  [[nodiscard]] bool get(std::uint16_t& value);
  [[nodiscard]] bool get(std::int32_t& value);
  [[nodiscard]] bool get(std::uint32_t& value);
  [[nodiscard]] bool get(std::int64_t& value);
  [[nodiscard]] bool get(std::uint64_t& value);
  [[nodiscard]] bool get(float& value);
  [[nodiscard]] bool get(double& value);
  [[nodiscard]] bool get(std::string& value);
  /// A length, of elements that take at least so many bytes each: no more of them than the rest can hold.
  [[nodiscard]] bool get_count(std::size_t element_bytes_min, std::uint32_t& count);
  /// Records a fault that the caller found.
  void fail(const std::string& what);

  /// Errors: bad_input: the first fault, with the offset at which it was met; or bytes are left over.
  [[nodiscard]] Result<void> finish();
  /// The same, where more than what was read may follow.
  [[nodiscard]] Result<void> finish_early() const;

 private:
  template <class T>
  [[nodiscard]] bool take(T& value);
  [[nodiscard]] std::size_t rest() const;

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace spindrift::topics
