// Encoding and checking of greetings and control messages.
#include <spindrift/fabric/connected/wire.hpp>

#include <algorithm>
#include <utility>

#include <spindrift/core/bytes.hpp>

namespace spindrift::fabric::connected {
namespace {

constexpr std::uint64_t magic = 0x32'69'66'6f'44'4e'50'53;  // "SPNDofi2"
constexpr std::uint64_t discovery_magic = 0x31'73'69'64'44'4e'50'53;  // "SPNDdis1"
constexpr std::uint64_t observer_magic = 0x31'62'6f'44'4e'50'53;  // "SPNDob1"
constexpr std::uint64_t client_magic = 0x31'6c'61'63'44'4e'50'53;  // "SPNDcal1"
using Word = std::uint64_t;

std::vector<std::byte> message_of(Kind kind, std::span<const std::byte> payload) {
  std::vector<std::byte> message;
  message.reserve(header_bytes + payload.size());
  return ByteWriter(std::move(message)).put(static_cast<Word>(kind)).put_bytes(payload).take();
}

}  // namespace

GreetingBytes encode(const Greeting& greeting) noexcept {
  return field_bytes(magic, Word{greeting.node.value()}, greeting.incarnation, greeting.attempt, greeting.word,
                     greeting.proof);
}

GreetingBytes observer_greeting() noexcept { return field_bytes(observer_magic, Word{}, Word{}, Word{}, Word{}, Word{}); }

GreetingBytes client_greeting() noexcept { return field_bytes(client_magic, Word{}, Word{}, Word{}, Word{}, Word{}); }

GreetingBytes discovery_greeting() noexcept { return field_bytes(discovery_magic, Word{}, Word{}, Word{}, Word{}, Word{}); }

// Providers may hand out more than was sent.
std::optional<Greeting> decode_greeting(std::span<const std::byte> bytes) noexcept {
  ByteReader reader(bytes);
  const bool known = reader.get<Word>() == magic;
  const auto node = reader.get<Word>();
  const auto incarnation = reader.get<Word>();
  const auto attempt = reader.get<Word>();
  const auto word = reader.get<Word>();
  const auto proof = reader.get<Word>();
  if (!reader.ok() || !known) return std::nullopt;
  if (node > UINT32_MAX || incarnation == 0 || word == 0) return std::nullopt;
  return Greeting{NodeId(static_cast<std::uint32_t>(node)), incarnation, attempt, word, proof};
}

bool append(std::vector<std::byte>& message, const SmallWrite& write) {
  const auto head = field_bytes(write.remote_key, write.address, Word{write.bytes.size()});
  const std::size_t begin = std::max(message.size(), header_bytes);
  if (begin + sizeof head + write.bytes.size() > writes_bytes_max || write.bytes.size() > small_write_bytes_max)
    return false;
  if (message.empty()) {
    const auto header = field_bytes(static_cast<Word>(Kind::writes));
    message.assign(header.begin(), header.end());
  }
  message.insert(message.end(), head.begin(), head.end());
  message.insert(message.end(), write.bytes.begin(), write.bytes.end());
  return true;
}

std::optional<SmallWrite> take_write(std::span<const std::byte>& writes) noexcept {
  ByteReader reader(writes);
  SmallWrite write{reader.get<Word>(), reader.get<Word>(), {}};
  const auto bytes = reader.get<Word>();
  if (bytes > small_write_bytes_max) return std::nullopt;
  write.bytes = reader.get_bytes(bytes);
  writes = reader.rest();
  return reader.ok() ? std::optional(write) : std::nullopt;
}

std::optional<Control> decode_control(std::span<const std::byte> message) noexcept {
  ByteReader reader(message);
  Control control;
  control.kind = static_cast<Kind>(reader.get<Word>());
  if (!reader.ok()) return std::nullopt;
  switch (control.kind) {
    case Kind::user:
    case Kind::sealed:
    case Kind::writes: control.payload = reader.rest(); return control;
    case Kind::revoked:
      control.rest = reader.get<Word>();
      control.payload = reader.rest();
      if (!reader.ok() || control.payload.empty() || control.rest > revoked_bytes_max) return std::nullopt;
      return control;
    case Kind::exposed: {
      control.exposure = {reader.get<RegionKey>(), reader.get<Word>(), reader.get<Word>(), reader.get<Word>()};
      const auto access = reader.get<Word>();
      if (!reader.complete() || access > 1) return std::nullopt;
      control.exposure.access = access == 1 ? Access::write : Access::read;
      const bool wraps = control.exposure.address + control.exposure.bytes < control.exposure.address;
      if (control.exposure.bytes == 0 || wraps) return std::nullopt;
      return control;
    }
    case Kind::unmapped:
    case Kind::goodbye:
    case Kind::alive:
      control.remote_key = reader.get<Word>();
      return reader.complete() ? std::optional(control) : std::nullopt;
  }
  return std::nullopt;
}

std::vector<std::byte> user_message(std::span<const std::byte> payload) { return message_of(Kind::user, payload); }

std::vector<std::byte> sealed_message(std::span<const std::byte> records) { return message_of(Kind::sealed, records); }

std::vector<std::vector<std::byte>> revoked_messages(std::span<const std::byte> lists) {
  std::vector<std::vector<std::byte>> messages;
  while (!lists.empty()) {
    const auto part = lists.first(std::min(lists.size(), message_bytes_max - sizeof(Word)));
    lists = lists.subspan(part.size());
    messages.push_back(ByteWriter().put(static_cast<Word>(Kind::revoked), Word{lists.size()}).put_bytes(part).take());
  }
  return messages;
}

ExposureBytes encode(const Exposure& exposure) noexcept {
  return field_bytes(static_cast<Word>(Kind::exposed), exposure.region, exposure.remote_key, exposure.address,
                     exposure.bytes, Word{exposure.access == Access::write ? 1U : 0U});
}

WordBytes encode(Kind kind, std::uint64_t word) noexcept { return field_bytes(static_cast<Word>(kind), word); }

}  // namespace spindrift::fabric::connected
