// Walks one sender's ring, record by record, as far as its committed counter says. Reads every header once, validates the
// copy, and never trusts it: whatever the bytes say, the reader stays inside the ring and ends.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include <spindrift/smc/record.hpp>

namespace spindrift::smc {

class RingReader {
 public:
  RingReader() = default;
  RingReader(const std::byte* ring, std::uint64_t ring_bytes, std::uint64_t message_bytes_max) noexcept
      : ring_(ring), ring_bytes_(ring_bytes), message_bytes_max_(message_bytes_max) {}

  struct Message {
    bool null = false;
    std::span<const std::byte> payload;
  };

  /// The message with index `count()`; the sender committed it, and `committed` is how many it committed in all, checked by
  /// the caller. Nothing: the bytes are impossible (`fault()` says how), and this reader is finished.
  [[nodiscard]] std::optional<Message> next(std::uint64_t committed) noexcept {
    if (nulls_left_ > 0) {
      --nulls_left_;
      ++count_;
      return Message{true, {}};
    }
    return next_record(committed);
  }

  /// Messages taken so far, nulls included.
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  [[nodiscard]] const char* fault() const noexcept { return fault_; }

 private:
  [[nodiscard]] std::optional<Message> next_record(std::uint64_t committed) noexcept;
  [[nodiscard]] std::optional<RecordHeader> header_here() noexcept;

  const std::byte* ring_ = nullptr;
  std::uint64_t ring_bytes_ = 0;
  std::uint64_t message_bytes_max_ = 0;
  std::uint64_t offset_ = 0;
  std::uint64_t record_ = 0;
  std::uint64_t count_ = 0;
  std::uint64_t nulls_left_ = 0;
  const char* fault_ = nullptr;
};

}  // namespace spindrift::smc
