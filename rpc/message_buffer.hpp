// A message in memory, laid out for sending (eRPC, section 4.2): the header of the first packet lies directly before the
// data, those of the others behind it. So the data are contiguous, and a message of one packet goes out in one piece.
//
//   [header 0][data, contiguous, up to the capacity][padding to 8][header 1][header 2] …
//
// Ownership moves: a buffer is given to an endpoint with a call and comes back with the answer. In between nobody else can
// reach it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include <spindrift/core/check.hpp>
#include <spindrift/rpc/wire.hpp>

namespace spindrift::rpc {

class MessageBuffer {
 public:
  /// Without memory: no message fits, not even an empty one.
  MessageBuffer() noexcept = default;
  /// For messages up to `capacity` bytes in packets of `payload_bytes`. Its size is its capacity until `resize`.
  MessageBuffer(std::size_t capacity, std::size_t payload_bytes)
      : memory_(std::make_unique_for_overwrite<std::byte[]>(total_bytes(capacity, payload_bytes))),
        capacity_(static_cast<std::uint32_t>(capacity)),
        size_(static_cast<std::uint32_t>(capacity)),
        payload_bytes_(static_cast<std::uint32_t>(payload_bytes)) {}

  MessageBuffer(MessageBuffer&& other) noexcept { swap(other); }
  MessageBuffer& operator=(MessageBuffer&& other) noexcept {
    MessageBuffer taken(std::move(other));
    swap(taken);
    return *this;
  }

  [[nodiscard]] bool empty() const noexcept { return memory_ == nullptr; }
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t payload_bytes() const noexcept { return payload_bytes_; }
  /// Makes the message so long; CHECKs the capacity.
  void resize(std::size_t size) {
    SPINDRIFT_CHECK(size <= capacity_);
    size_ = static_cast<std::uint32_t>(size);
  }

  /// The message.
  [[nodiscard]] std::span<std::byte> data() noexcept { return {memory_.get() + (empty() ? 0 : header_bytes), size_}; }
  [[nodiscard]] std::span<const std::byte> data() const noexcept {
    return {memory_.get() + (empty() ? 0 : header_bytes), size_};
  }

  [[nodiscard]] std::uint32_t packets() const noexcept { return packets_of(size_, payload_bytes_); }
  /// The bytes of the message that travel in packet `index`.
  [[nodiscard]] std::span<std::byte> piece(std::uint32_t index) noexcept {
    return {memory_.get() + header_bytes + std::size_t{payload_bytes_} * index,
            bytes_in_packet(size_, payload_bytes_, index)};
  }
  /// Room for the header of packet `index`; of packet 0, directly before its piece.
  [[nodiscard]] std::span<std::byte, header_bytes> header(std::uint32_t index) noexcept {
    std::byte* const at =
        index == 0 ? memory_.get() : memory_.get() + headers_offset(capacity_) + header_bytes * (index - 1);
    return std::span<std::byte, header_bytes>(at, header_bytes);
  }

 private:
  [[nodiscard]] static constexpr std::size_t headers_offset(std::size_t capacity) noexcept {
    return header_bytes + (capacity + 7) / 8 * 8;
  }
  [[nodiscard]] static std::size_t total_bytes(std::size_t capacity, std::size_t payload_bytes) {
    SPINDRIFT_CHECK(capacity <= message_bytes_most);
    SPINDRIFT_CHECK(payload_bytes >= payload_bytes_least && payload_bytes <= payload_bytes_most);
    return headers_offset(capacity) + header_bytes * (packets_of(capacity, payload_bytes) - 1);
  }
  void swap(MessageBuffer& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(capacity_, other.capacity_);
    std::swap(size_, other.size_);
    std::swap(payload_bytes_, other.payload_bytes_);
  }

  std::unique_ptr<std::byte[]> memory_;
  std::uint32_t capacity_ = 0;
  std::uint32_t size_ = 0;
  std::uint32_t payload_bytes_ = 0;
};

}  // namespace spindrift::rpc
