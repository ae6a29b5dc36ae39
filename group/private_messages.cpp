// Keeping private messages for the poller.
#include <spindrift/group/private_messages.hpp>

#include <string>
#include <utility>

#include <spindrift/core/bytes.hpp>
#include <spindrift/core/result.hpp>

namespace spindrift::group {

void PrivateMessages::add(NodeId to, std::uint64_t tag, std::span<const std::byte> message) {
  if (message.size() > bytes_max_) {
    throw Exception(Error(ErrorKind::bad_argument, "a private message of " + std::to_string(message.size()) +
                                                       " bytes is larger than " + std::to_string(bytes_max_))
                        .fix("send it in parts"));
  }
  ByteWriter writer;
  writer.put(tag).put_bytes(message);
  {
    std::lock_guard lock(mutex_);
    messages_.push_back({to, writer.take()});
  }
  waiting_.store(true, std::memory_order_seq_cst);
}

std::vector<PrivateMessages::Outgoing> PrivateMessages::take() {
  std::lock_guard lock(mutex_);
  waiting_.store(false, std::memory_order_seq_cst);
  return std::exchange(messages_, {});
}

std::optional<PrivateMessages::Incoming> PrivateMessages::parse(std::span<const std::byte> message) noexcept {
  ByteReader reader(message);
  const auto tag = reader.get<std::uint64_t>();
  if (!reader.ok()) return std::nullopt;
  return Incoming{tag, reader.rest()};
}

}  // namespace spindrift::group
