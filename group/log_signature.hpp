// A node's signature over a subgroup's log: what it covers, and its bytes, which are the payload of an entry.
//
//   beginning  SHA-256 of: context · length of the group's name 8 · name · length of the subgroup's 8 · name · first
//              version 8
//   chain      SHA-256 of: chain before 32 · version 8 · view 8 · sequence number 8 · sender 4 · payload
//   signed     context · length of the group's name 8 · name · length of the subgroup's 8 · name · covered
//   covered    node 4 · subgroup 4 · first version 8 · version 8 · time 8 · chain 32
//   payload    covered · signature 64 · length of the subgroup's name 4 · name · certificates
//
// The chain is the same at all members that have the same messages from the same first one on. It does not cover the time of
// an entry, which is another at each member.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <spindrift/core/ids.hpp>
#include <spindrift/fabric/tls/signing.hpp>
#include <spindrift/store/entry.hpp>

namespace spindrift::group {

/// A log by name: the places of subgroups may change, and the same messages in another group are another history.
struct LogName {
  std::string group;
  std::string subgroup;
  friend bool operator==(const LogName&, const LogName&) = default;
};

/// The digest of all messages of versions [first, version).
struct LogChain {
  store::LogVersion first;
  store::LogVersion version;
  fabric::tls::Sha256 digest{};
  friend bool operator==(const LogChain&, const LogChain&) = default;
};

/// Makes chains. Its functions throw resource. Not thread-safe.
class LogChainer {
 public:
  /// The chain of no message, before that of version `first`.
  [[nodiscard]] LogChain begin(const LogName& name, store::LogVersion first);
  /// The next message, of version `chain.version`.
  void add(LogChain& chain, const store::EntryHead& head, std::span<const std::byte> payload);

 private:
  fabric::tls::Sha256Digester digester_;
};

struct LogSignature {
  NodeId node;
  SubgroupId subgroup;
  std::string name;        ///< of the subgroup
  LogChain chain;
  std::uint64_t time = 0;  ///< when it was made, as the node says: nanoseconds since 1970
  fabric::tls::Ed25519 signature{};
  std::vector<std::byte> certificates{};  ///< as SigningKey has them
};

/// The bytes that the signature is over.
[[nodiscard]] std::vector<std::byte> signed_text(std::string_view group, const LogSignature& signature);
/// The payload of its entry.
[[nodiscard]] std::vector<std::byte> payload_of(const LogSignature& signature);
/// Nothing: these bytes are no payload of a signature.
[[nodiscard]] std::optional<LogSignature> read_signature(std::span<const std::byte> payload);

}  // namespace spindrift::group
