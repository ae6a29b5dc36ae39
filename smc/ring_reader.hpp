// Walks one sender's ring, record by record, as far as its committed counter says. Reads every header once, validates the
// copy, and never trusts it: whatever the bytes say, the reader stays inside the ring and ends.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>

#include <spindrift/core/check.hpp>
#include <spindrift/smc/record.hpp>

namespace spindrift::smc {

class RingReader {
 public:
  RingReader() = default;
  RingReader(const std::byte* ring, std::uint64_t ring_bytes, std::uint64_t message_bytes_max) noexcept
      : ring_(ring), ring_bytes_(ring_bytes), message_bytes_max_(message_bytes_max) {}

  /// Says where this sender's large messages lie; before the first message.
  void set_bulk(const std::byte* ring, std::uint64_t ring_bytes, std::uint64_t message_bytes_max) noexcept {
    bulk_ = ring;
    bulk_ring_bytes_ = ring_bytes;
    large_bytes_max_ = message_bytes_max;
  }

  struct Message {
    bool null = false;
    std::span<const std::byte> payload;
    bool large = false;  ///< `large()` says where it lies, also of one that was given up
  };

  /// The message with index `count()`; the sender committed it, and `committed` is how many it committed in all, checked by
  /// the caller. Nothing: the bytes are impossible (`fault()` says how), and this reader is finished.
  [[nodiscard]] std::optional<Message> next(std::uint64_t committed) noexcept {
    Message message;
    if (!next(committed, message)) return std::nullopt;
    return message;
  }
  /// The same into a fresh `message`, for who takes every one: where it is inlined, nothing of it passes through memory.
  [[nodiscard, gnu::always_inline]] bool next(std::uint64_t committed, Message& message) noexcept {
    if (nulls_left_ == 0) return next_record(committed, message);
    --nulls_left_;
    ++count_;
    message.null = true;
    return true;
  }

  /// As `next`, if the message is a plain one that lies right behind the one before, as nearly all do: its payload. Else
  /// nothing is changed, and `next` says what comes.
  [[nodiscard, gnu::always_inline]] bool next_plain(std::uint64_t committed, std::span<const std::byte>& payload) noexcept;

  /// How many messages are still to come of a null run whose beginning was taken.
  [[nodiscard]] std::uint64_t nulls_left() const noexcept { return nulls_left_; }
  /// Takes so many of those, or as many as there are. Returns how many it took.
  std::uint64_t pass_nulls(std::uint64_t count) noexcept {
    const std::uint64_t passed = std::min(count, nulls_left_);
    nulls_left_ -= passed;
    count_ += passed;
    return passed;
  }

  /// Messages taken so far, nulls included.
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  [[nodiscard]] const char* fault() const noexcept { return fault_; }
  /// The descriptor of the last large message taken; validated.
  [[nodiscard]] const LargeDescriptor& large() const noexcept { return large_; }

 private:
  [[nodiscard]] bool next_record(std::uint64_t committed, Message& message) noexcept;
  [[nodiscard]] std::optional<RecordHeader> header_here() noexcept;
  [[nodiscard]] std::optional<RecordHeader> header_behind_padding(RecordHeader padding) noexcept;
  [[nodiscard]] bool take_large(RecordHeader header, Message& message) noexcept;
  void pass_record(std::uint64_t bytes) noexcept;

  const std::byte* ring_ = nullptr;
  std::uint64_t ring_bytes_ = 0;
  std::uint64_t message_bytes_max_ = 0;
  std::uint64_t offset_ = 0;
  std::uint64_t record_ = 0;
  std::uint64_t count_ = 0;
  std::uint64_t nulls_left_ = 0;
  const char* fault_ = nullptr;
  const std::byte* bulk_ = nullptr;
  std::uint64_t bulk_ring_bytes_ = 0;
  std::uint64_t large_bytes_max_ = 0;
  LargeDescriptor large_;
};

// In the header, because delivery does nothing else for every message.

[[gnu::always_inline]] inline std::optional<RecordHeader> RingReader::header_here() noexcept {
  auto header = RecordHeader::decode(read_word(ring_ + offset_), record_);
  if (!header) fault_ = "a record header of unknown kind or wrong number";
  return header;
}

[[gnu::always_inline]] inline void RingReader::pass_record(std::uint64_t bytes) noexcept {
  offset_ += bytes;
  if (offset_ == ring_bytes_) offset_ = 0;
  ++record_;
  ++count_;
}

// The length is the header's low half: from an empty message's header to the longest one's, all are plain messages that fit.
// Whatever else it is, `next` judges.
[[gnu::always_inline]] inline bool RingReader::next_plain(std::uint64_t committed,
                                                          std::span<const std::byte>& payload) noexcept {
  if (nulls_left_ != 0) return false;
  SPINDRIFT_CHECK(fault_ == nullptr && count_ < committed);
  const std::uint64_t empty = RecordHeader{0, RecordKind::data, record_}.encode();
  const std::uint64_t longest = empty + std::min(message_bytes_max_, ring_bytes_ - offset_ - header_bytes);
  const auto header = read_word(ring_ + offset_).within(empty, longest);
  if (!header) return false;
  const std::uint64_t length = *header - empty;
  payload = {ring_ + offset_ + header_bytes, length};
  pass_record(record_bytes(length));
  return true;
}

[[gnu::always_inline]] inline bool RingReader::next_record(std::uint64_t committed, Message& message) noexcept {
  SPINDRIFT_CHECK(fault_ == nullptr && count_ < committed);
  auto header = header_here();
  if (header && header->kind == RecordKind::padding) header = header_behind_padding(*header);
  if (!header) return false;

  std::uint64_t bytes = header_bytes;
  switch (header->kind) {
    case RecordKind::data:
    case RecordKind::abandoned:
      bytes = record_bytes(header->length);
      if (header->length > message_bytes_max_ || bytes > ring_bytes_ - offset_) {
        fault_ = "a record longer than the ring or the largest message";
        return false;
      }
      message.null = header->kind == RecordKind::abandoned;
      message.payload = {ring_ + offset_ + header_bytes, header->length};
      break;
    case RecordKind::null_run:
      if (header->length == 0 || header->length > committed - count_) {
        fault_ = "a null run longer than what was committed";
        return false;
      }
      nulls_left_ = header->length - 1;
      message.null = true;
      break;
    case RecordKind::padding: fault_ = "padding behind padding"; return false;
    case RecordKind::large:
    case RecordKind::large_abandoned:
      bytes = record_bytes(descriptor_bytes);
      if (!take_large(*header, message)) return false;
      break;
  }
  pass_record(bytes);
  return true;
}

[[gnu::always_inline]] inline std::optional<RecordHeader> RingReader::header_behind_padding(RecordHeader padding) noexcept {
  if (offset_ == 0 || padding.length != ring_bytes_ - offset_) {
    fault_ = "padding that does not end at the ring's end";
    return std::nullopt;
  }
  offset_ = 0;
  return header_here();
}

// The header is checked here as any other; out of the way of small messages.
[[gnu::noinline]] inline bool RingReader::take_large(RecordHeader header, Message& message) noexcept {
  if (bulk_ == nullptr || header.length != descriptor_bytes || record_bytes(descriptor_bytes) > ring_bytes_ - offset_) {
    fault_ = "a large message without a bulk ring, or with a descriptor that does not fit";
    return false;
  }
  const auto descriptor = LargeDescriptor::read(ring_ + offset_ + header_bytes, bulk_ring_bytes_, large_bytes_max_);
  if (!descriptor) {
    fault_ = "a descriptor that points out of the bulk ring";
    return false;
  }
  large_ = *descriptor;
  message.large = true;
  message.null = header.kind == RecordKind::large_abandoned;
  message.payload = {bulk_ + large_.offset(bulk_ring_bytes_), large_.length};
  return true;
}

}  // namespace spindrift::smc
