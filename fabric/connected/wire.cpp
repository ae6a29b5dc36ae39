// Encoding and checking of greetings and control messages.
#include <spindrift/fabric/connected/wire.hpp>

#include <algorithm>
#include <cstring>

namespace spindrift::fabric::connected {
namespace {

constexpr std::uint64_t magic = 0x31'69'66'6f'44'4e'50'53;  // "SPNDofi1"

void put(std::span<std::byte> to, std::size_t word, std::uint64_t value) noexcept {
  std::memcpy(to.data() + word * sizeof value, &value, sizeof value);
}

std::uint64_t get(std::span<const std::byte> from, std::size_t word) noexcept {
  std::uint64_t value = 0;
  std::memcpy(&value, from.data() + word * sizeof value, sizeof value);
  return value;
}

}  // namespace

GreetingBytes encode(const Greeting& greeting) noexcept {
  GreetingBytes bytes{};
  put(bytes, 0, magic);
  put(bytes, 1, greeting.node.value());
  put(bytes, 2, greeting.incarnation);
  put(bytes, 3, greeting.attempt);
  return bytes;
}

// Providers may hand out more than was sent.
std::optional<Greeting> decode_greeting(std::span<const std::byte> bytes) noexcept {
  if (bytes.size() < sizeof(GreetingBytes) || get(bytes, 0) != magic) return std::nullopt;
  const std::uint64_t node = get(bytes, 1);
  const std::uint64_t incarnation = get(bytes, 2);
  if (node > UINT32_MAX || incarnation == 0) return std::nullopt;
  return Greeting{NodeId(static_cast<std::uint32_t>(node)), incarnation, get(bytes, 3)};
}

bool append(std::vector<std::byte>& message, const SmallWrite& write) {
  const std::uint64_t head[] = {write.remote_key, write.address, write.bytes.size()};
  const std::size_t begin = std::max(message.size(), header_bytes);
  const std::size_t end = begin + sizeof head + write.bytes.size();
  if (end > writes_bytes_max || write.bytes.size() > small_write_bytes_max) return false;
  message.resize(end);
  put(message, 0, static_cast<std::uint64_t>(Kind::writes));
  std::memcpy(message.data() + begin, head, sizeof head);
  std::memcpy(message.data() + begin + sizeof head, write.bytes.data(), write.bytes.size());
  return true;
}

std::optional<SmallWrite> take_write(std::span<const std::byte>& writes) noexcept {
  constexpr std::size_t head_bytes = 24;
  if (writes.size() < head_bytes) return std::nullopt;
  const std::uint64_t bytes = get(writes, 2);
  if (bytes > small_write_bytes_max || bytes > writes.size() - head_bytes) return std::nullopt;
  const SmallWrite write{get(writes, 0), get(writes, 1), writes.subspan(head_bytes, bytes)};
  writes = writes.subspan(head_bytes + bytes);
  return write;
}

std::optional<Control> decode_control(std::span<const std::byte> message) noexcept {
  if (message.size() < header_bytes) return std::nullopt;
  const auto body = message.subspan(header_bytes);
  Control control;
  control.kind = static_cast<Kind>(get(message, 0));
  switch (control.kind) {
    case Kind::user:
    case Kind::writes: control.payload = body; return control;
    case Kind::exposed: {
      if (body.size() != exposure_bytes || get(body, 4) > 1) return std::nullopt;
      control.exposure = {RegionKey(get(body, 0)), get(body, 1), get(body, 2), get(body, 3),
                          get(body, 4) == 1 ? Access::write : Access::read};
      const bool wraps = control.exposure.address + control.exposure.bytes < control.exposure.address;
      if (control.exposure.bytes == 0 || wraps) return std::nullopt;
      return control;
    }
    case Kind::unmapped:
      control.remote_key = body.size() == 8 ? get(body, 0) : 0;
      return body.size() == 8 ? std::optional(control) : std::nullopt;
    case Kind::goodbye:
    case Kind::alive: return body.size() == 8 ? std::optional(control) : std::nullopt;
  }
  return std::nullopt;
}

std::vector<std::byte> user_message(std::span<const std::byte> payload) {
  std::vector<std::byte> message(header_bytes + payload.size());
  put(message, 0, static_cast<std::uint64_t>(Kind::user));
  std::copy(payload.begin(), payload.end(), message.begin() + header_bytes);
  return message;
}

ExposureBytes encode(const Exposure& exposure) noexcept {
  ExposureBytes bytes{};
  put(bytes, 0, static_cast<std::uint64_t>(Kind::exposed));
  put(bytes, 1, exposure.region.value());
  put(bytes, 2, exposure.remote_key);
  put(bytes, 3, exposure.address);
  put(bytes, 4, exposure.bytes);
  put(bytes, 5, exposure.access == Access::write ? 1 : 0);
  return bytes;
}

WordBytes encode(Kind kind, std::uint64_t word) noexcept {
  WordBytes bytes{};
  put(bytes, 0, static_cast<std::uint64_t>(kind));
  put(bytes, 1, word);
  return bytes;
}

}  // namespace spindrift::fabric::connected
