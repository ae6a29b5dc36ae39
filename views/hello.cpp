// Encoding and checking of the handshake's messages.
#include <spindrift/views/hello.hpp>

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace spindrift::views {
namespace {

constexpr std::uint32_t magic = 0x44'4e'50'53;  // "SPND"
constexpr std::size_t reason_bytes_max = 512;
constexpr std::size_t group_name_bytes = 32;

enum class Kind : std::uint32_t { hello = 1, refusal = 2, stop = 3 };

/// Opens every message.
struct Preamble {
  std::uint32_t magic;
  std::uint32_t version;
  std::uint32_t kind;
  std::uint32_t reserved;  ///< 0
};
static_assert(sizeof(Preamble) == 16 && std::is_trivially_copyable_v<Preamble>);

struct HelloBody {
  std::uint32_t node;
  std::uint32_t reserved;  ///< 0
  std::uint64_t incarnation;
  std::uint64_t config_digest[2];
  char group_name[group_name_bytes];  ///< padded with NUL
};
static_assert(sizeof(HelloBody) == 64 && std::is_trivially_copyable_v<HelloBody>);

template <class Body>
std::vector<std::byte> message(Kind kind, const Body* body, std::size_t bytes) {
  const Preamble preamble{magic, protocol_version, static_cast<std::uint32_t>(kind), 0};
  std::vector<std::byte> encoded(sizeof preamble + bytes);
  std::memcpy(encoded.data(), &preamble, sizeof preamble);
  if (bytes > 0) std::memcpy(encoded.data() + sizeof preamble, body, bytes);
  return encoded;
}

std::vector<std::byte> reason_message(Kind kind, std::string_view reason) {
  return message(kind, reason.data(), std::min(reason.size(), reason_bytes_max));
}

// A peer's words go to logs and terminals: nothing unprintable passes.
std::optional<std::string> decode_reason(std::span<const std::byte> body) {
  if (body.empty() || body.size() > reason_bytes_max) return std::nullopt;
  std::string reason;
  for (const std::byte byte : body) {
    const char letter = static_cast<char>(byte);
    reason += letter >= ' ' && letter <= '~' ? letter : '?';
  }
  return reason;
}

bool padded_with_nul(const HelloBody& body) {
  const std::string_view raw(body.group_name, group_name_bytes);
  const std::size_t end = raw.find('\0');
  return end == raw.npos || raw.find_first_not_of('\0', end) == raw.npos;
}

std::string printable_name(const HelloBody& body) {
  const std::string_view raw(body.group_name, group_name_bytes);
  const auto text = decode_reason(std::as_bytes(std::span(raw.substr(0, raw.find('\0')))));
  return text.value_or("");
}

Error mismatch(std::string what, std::string fix) { return Error(ErrorKind::refused, std::move(what)).fix(std::move(fix)); }

Greeting check_hello(const HelloBody& body, const GroupIdentity& ours) {
  Greeting greeting;
  const std::string name = printable_name(body);
  if (name != ours.group_name) {
    greeting.mismatch = mismatch("group names differ: \"" + ours.group_name + "\" and \"" + name + "\"",
                                 "give both nodes the same [SPINDRIFT] group_name");
  } else if (body.config_digest[0] != ours.config_digest[0] || body.config_digest[1] != ours.config_digest[1]) {
    greeting.mismatch = mismatch("configurations differ in what the whole group must share",
                                 "compare `spindrift config show --effective` of both nodes: layout, members and profiles "
                                 "must be equal");
  } else {
    greeting.hello = Hello{NodeId(body.node), body.incarnation};
  }
  return greeting;
}

}  // namespace

std::vector<std::byte> encode_hello(const GroupIdentity& identity, const Hello& hello) {
  HelloBody body{hello.node.value(), 0, hello.incarnation, {identity.config_digest[0], identity.config_digest[1]}, {}};
  std::memcpy(body.group_name, identity.group_name.data(), std::min(identity.group_name.size(), group_name_bytes));
  return message(Kind::hello, &body, sizeof body);
}

std::vector<std::byte> encode_refusal(std::string_view reason) { return reason_message(Kind::refusal, reason); }

std::vector<std::byte> encode_stop(std::string_view reason) { return reason_message(Kind::stop, reason); }

std::optional<Greeting> decode_greeting(std::span<const std::byte> bytes, const GroupIdentity& ours) {
  Preamble preamble;
  if (bytes.size() < sizeof preamble) return std::nullopt;
  std::memcpy(&preamble, bytes.data(), sizeof preamble);
  if (preamble.magic != magic) return std::nullopt;

  Greeting greeting;
  if (preamble.version != protocol_version) {
    greeting.mismatch = mismatch("protocol versions differ: " + std::to_string(protocol_version) + " and " +
                                     std::to_string(preamble.version),
                                 "run the same release of spindrift on all nodes");
    return greeting;
  }
  if (preamble.reserved != 0) return std::nullopt;

  const auto payload = bytes.subspan(sizeof preamble);
  switch (preamble.kind) {
    case static_cast<std::uint32_t>(Kind::hello): {
      HelloBody body;
      if (payload.size() != sizeof body) return std::nullopt;
      std::memcpy(&body, payload.data(), sizeof body);
      if (body.reserved != 0 || !padded_with_nul(body)) return std::nullopt;
      return check_hello(body, ours);
    }
    case static_cast<std::uint32_t>(Kind::refusal): greeting.refusal = decode_reason(payload); break;
    case static_cast<std::uint32_t>(Kind::stop): greeting.stop = decode_reason(payload); break;
    default: return std::nullopt;
  }
  if (!greeting.refusal && !greeting.stop) return std::nullopt;
  return greeting;
}

}  // namespace spindrift::views
