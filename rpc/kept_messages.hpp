// Memory that a server keeps for the messages of one session, within what is allowed for it and for all sessions together.
// Messages of one packet are not counted: their buffers are bounded by the number of slots.
#pragma once

#include <cstddef>

#include <spindrift/rpc/message_buffer.hpp>
#include <spindrift/rpc/session_parts.hpp>

namespace spindrift::rpc {

class KeptMessages {
 public:
  explicit KeptMessages(const SessionWorld& world) noexcept : world_(world), own_(world.options.session_kept_bytes_max) {}
  KeptMessages(const KeptMessages&) = delete;
  KeptMessages& operator=(const KeptMessages&) = delete;
  ~KeptMessages() { world_.kept.give_back(own_.used()); }

  [[nodiscard]] std::uint64_t bytes() const noexcept { return own_.used(); }

  /// Makes `buffer` one for so many bytes, out of what it is if that does; what was in it is lost. False: that would be
  /// too much, and it is without memory.
  [[nodiscard]] bool provide(MessageBuffer& buffer, std::size_t bytes);
  /// Lets go of its memory.
  void drop(MessageBuffer& buffer) noexcept;
  /// The same, unless it is so small that the slot's next message may have it.
  void drop_if_large(MessageBuffer& buffer) noexcept;

 private:
  [[nodiscard]] bool take(std::size_t bytes) noexcept;
  [[nodiscard]] std::size_t counted(std::size_t capacity) const noexcept {
    return capacity > world_.payload_bytes ? capacity : 0;
  }

  const SessionWorld& world_;
  ByteBudget own_;
};

}  // namespace spindrift::rpc
