// Bytes up to the first word boundary of the shared side, then words, then the rest.
#include <spindrift/fabric/word_copy.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>

namespace spindrift::fabric {
namespace {

constexpr std::size_t word_bytes = sizeof(std::uint64_t);

std::size_t bytes_to_word_boundary(const std::byte* at) noexcept {
  return (word_bytes - reinterpret_cast<std::uintptr_t>(at) % word_bytes) % word_bytes;
}

}  // namespace

void copy_to_shared(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  const auto store_bytes = [&to, &from](std::size_t count) {
    for (; count > 0; --count) std::atomic_ref<std::byte>(*to++).store(*from++, std::memory_order_release);
  };
  const std::size_t head = std::min(bytes, bytes_to_word_boundary(to));
  store_bytes(head);
  bytes -= head;
  for (; bytes >= word_bytes; bytes -= word_bytes, to += word_bytes, from += word_bytes) {
    std::uint64_t word;
    std::memcpy(&word, from, word_bytes);
    std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(to)).store(word, std::memory_order_release);
  }
  store_bytes(bytes);
}

void copy_from_shared(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  // atomic_ref over const arrives with C++26; loads do not write, and the pages may be mapped read-only.
  auto* source = const_cast<std::byte*>(from);
  const auto load_bytes = [&to, &source](std::size_t count) {
    for (; count > 0; --count) *to++ = std::atomic_ref<std::byte>(*source++).load(std::memory_order_acquire);
  };
  const std::size_t head = std::min(bytes, bytes_to_word_boundary(source));
  load_bytes(head);
  bytes -= head;
  for (; bytes >= word_bytes; bytes -= word_bytes, to += word_bytes, source += word_bytes) {
    const std::uint64_t word =
        std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(source)).load(std::memory_order_acquire);
    std::memcpy(to, &word, word_bytes);
  }
  load_bytes(bytes);
}

}  // namespace spindrift::fabric
