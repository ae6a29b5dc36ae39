// Takes memory from both budgets, or from neither.
#include <spindrift/rpc/kept_messages.hpp>

namespace spindrift::rpc {
namespace {

/// Larger buffers are not kept from one message of a slot to the next.
constexpr std::size_t reused_bytes_max = 64 << 10;

}  // namespace

bool KeptMessages::take(std::size_t bytes) noexcept {
  if (!own_.take(bytes)) return false;
  if (world_.kept.take(bytes)) return true;
  own_.give_back(bytes);
  return false;
}

bool KeptMessages::provide(MessageBuffer& buffer, std::size_t bytes) {
  if (buffer.empty() || buffer.capacity() < bytes) {
    drop(buffer);
    if (!take(counted(bytes))) return false;
    buffer = MessageBuffer(bytes, world_.payload_bytes);
  }
  buffer.resize(bytes);
  return true;
}

void KeptMessages::drop(MessageBuffer& buffer) noexcept {
  own_.give_back(counted(buffer.capacity()));
  world_.kept.give_back(counted(buffer.capacity()));
  buffer = MessageBuffer();
}

void KeptMessages::drop_if_large(MessageBuffer& buffer) noexcept {
  if (buffer.capacity() > reused_bytes_max) drop(buffer);
}

}  // namespace spindrift::rpc
