// Lengths and packets in one range of memory.
#include <spindrift/rpc/tcp/packet_frames.hpp>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include <spindrift/core/bytes.hpp>
#include <spindrift/rpc/wire.hpp>

namespace spindrift::rpc {
namespace {

constexpr std::size_t first_bytes = 4096;
constexpr std::size_t many_bytes = std::size_t{64} << 10U;  // worth a call of the system, whatever the packets' size
constexpr std::size_t kept_bytes_max = std::size_t{256} << 10U;

}  // namespace

std::optional<std::size_t> PacketFrames::length() const noexcept {
  const auto head = field_at_front<std::uint32_t>({bytes_.data() + begin_, end_ - begin_});
  return head ? std::optional<std::size_t>(*head) : std::nullopt;
}

bool PacketFrames::possible(std::size_t length) const noexcept {
  return length >= header_bytes && length <= packet_bytes_max_;
}

bool PacketFrames::complete() const noexcept {
  const auto bytes = length();
  return bytes && (!possible(*bytes) || end_ - begin_ - frame_head_bytes >= *bytes);
}

Result<std::optional<std::span<const std::byte>>> PacketFrames::next() {
  const auto bytes = length();
  if (!bytes) return std::optional<std::span<const std::byte>>();
  if (!possible(*bytes)) {
    return Error(ErrorKind::bad_input, "it sent a packet of " + std::to_string(*bytes) +
                                           " bytes, and there are none but of " +
                                           std::to_string(header_bytes) + " to " + std::to_string(packet_bytes_max_))
        .fix("use the same version of spindrift, and the same payload_bytes, at both ends");
  }
  if (end_ - begin_ - frame_head_bytes < *bytes) return std::optional<std::span<const std::byte>>();
  const auto packet = std::span<const std::byte>(bytes_).subspan(begin_ + frame_head_bytes, *bytes);
  begin_ += frame_head_bytes + *bytes;
  return std::optional(packet);
}

// The rest of a packet moves to the front, and a range that is full of one grows.
void PacketFrames::make_room() {
  if (begin_ == end_) {
    begin_ = end_ = 0;
  } else if (begin_ > 0) {
    std::memmove(bytes_.data(), bytes_.data() + begin_, end_ - begin_);
    end_ -= std::exchange(begin_, 0);
  }
  const std::size_t most = std::max(many_bytes, 2 * (packet_bytes_max_ + frame_head_bytes));
  if (end_ * 2 >= bytes_.size() && bytes_.size() < most)
    bytes_.resize(std::min(most, std::max(first_bytes, 2 * bytes_.size())));
}

Result<std::size_t> PacketFrames::read(fabric::tcp::ByteStream& stream) {
  make_room();
  const iovec room{bytes_.data() + end_, bytes_.size() - end_};
  SPINDRIFT_TRY_ASSIGN(const std::size_t came, stream.read({&room, 1}));
  end_ += came;
  // The next read has more room when this one was full.
  if (came == room.iov_len && bytes_.size() < many_bytes) bytes_.resize(std::min(many_bytes, 2 * bytes_.size()));
  return came;
}

bool OutgoingPackets::put(std::span<const std::byte> header, std::span<const std::byte> payload) {
  const std::size_t length = header.size() + payload.size();
  if (length + frame_head_bytes > bytes_max_ - std::min(bytes_max_, bytes())) return false;
  if (begin_ > 0 && begin_ >= bytes_.size() / 2) {
    bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(begin_));
    begin_ = 0;
  }
  const auto head = field_bytes(static_cast<std::uint32_t>(length));
  bytes_.insert(bytes_.end(), head.begin(), head.end());
  bytes_.insert(bytes_.end(), header.begin(), header.end());
  bytes_.insert(bytes_.end(), payload.begin(), payload.end());
  return true;
}

Result<bool> OutgoingPackets::flush(fabric::tcp::ByteStream& stream) {
  while (begin_ < bytes_.size()) {
    const iovec rest{bytes_.data() + begin_, bytes_.size() - begin_};
    SPINDRIFT_TRY_ASSIGN(const std::size_t taken, stream.write({&rest, 1}));
    if (taken == 0) return false;
    begin_ += taken;
  }
  bytes_.clear();
  begin_ = 0;
  if (bytes_.capacity() > kept_bytes_max) bytes_ = {};  // a peer that read late has its memory no longer
  return stream.flush();
}

}  // namespace spindrift::rpc
