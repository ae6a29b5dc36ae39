// Names go with their lengths, so that no two say the same.
#include <spindrift/group/log_signature.hpp>

#include <utility>

#include <spindrift/core/bytes.hpp>

namespace spindrift::group {
namespace {

using fabric::tls::Ed25519;
using fabric::tls::Sha256;

constexpr std::string_view chain_context = "spindrift log chain 1";
constexpr std::string_view signature_context = "spindrift log signature 1";
constexpr std::uint32_t name_bytes_max = 4096;

ByteWriter named(std::string_view context, std::string_view group, std::string_view subgroup) {
  ByteWriter bytes;
  bytes.put_text(context, context.size());
  bytes.put(std::uint64_t{group.size()}).put_text(group, group.size());
  bytes.put(std::uint64_t{subgroup.size()}).put_text(subgroup, subgroup.size());
  return bytes;
}

void put_covered(ByteWriter& bytes, const LogSignature& signature) {
  bytes.put(signature.node, signature.subgroup, signature.chain.first, signature.chain.version, signature.time,
            signature.chain.digest);
}

}  // namespace

LogChain LogChainer::begin(const LogName& name, store::LogVersion first) {
  const auto bytes = named(chain_context, name.group, name.subgroup).put(first).take();
  return {first, first, digester_.digest(bytes)};
}

void LogChainer::add(LogChain& chain, const store::EntryHead& head, std::span<const std::byte> payload) {
  chain.digest =
      digester_.digest(field_bytes(chain.digest, chain.version, head.view, head.sequence, head.sender), payload);
  ++chain.version;
}

std::vector<std::byte> signed_text(std::string_view group, const LogSignature& signature) {
  ByteWriter bytes = named(signature_context, group, signature.name);
  put_covered(bytes, signature);
  return bytes.take();
}

std::vector<std::byte> payload_of(const LogSignature& signature) {
  ByteWriter bytes;
  put_covered(bytes, signature);
  bytes.put(signature.signature, static_cast<std::uint32_t>(signature.name.size()));
  bytes.put_text(signature.name, signature.name.size()).put_bytes(signature.certificates);
  return bytes.take();
}

std::optional<LogSignature> read_signature(std::span<const std::byte> payload) {
  ByteReader reader(payload);
  LogSignature signature;
  signature.node = reader.get<NodeId>();
  signature.subgroup = reader.get<SubgroupId>();
  signature.chain.first = reader.get<store::LogVersion>();
  signature.chain.version = reader.get<store::LogVersion>();
  signature.time = reader.get<std::uint64_t>();
  signature.chain.digest = reader.get<Sha256>();
  signature.signature = reader.get<Ed25519>();
  const auto length = reader.get<std::uint32_t>();
  if (length > name_bytes_max) return std::nullopt;
  const auto name = reader.get_bytes(length);
  if (!reader.ok() || signature.chain.version < signature.chain.first) return std::nullopt;
  signature.name.assign(reinterpret_cast<const char*>(name.data()), name.size());
  signature.certificates.assign(reader.rest().begin(), reader.rest().end());
  return signature;
}

}  // namespace spindrift::group
