// Between a device's name and its bytes. What comes from a peer is taken byte by byte or not at all.
#include <spindrift/kernel/verbs/verbs_name.hpp>

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>
#include <span>

#include <spindrift/core/bytes.hpp>

namespace spindrift::kernel::verbs {
namespace {

constexpr std::uint8_t form = 'V';
constexpr std::uint8_t version = 1;
constexpr std::uint8_t has_connected = 1;
constexpr std::uint8_t has_target = 2;

/// The part of a target's GID that is said.
enum class GidForm : std::uint8_t { none, address, link_local, whole };

constexpr std::array<std::uint8_t, 8> link_local_prefix{0xfe, 0x80};

/// The shortest; nothing if none has room.
std::optional<GidForm> form_of(const VerbsName& name) {
  if (!name.target) return GidForm::none;
  const auto& gid = name.target->gid;
  if (gid == name.address) return GidForm::address;
  if (std::equal(link_local_prefix.begin(), link_local_prefix.end(), gid.begin())) return GidForm::link_local;
  if (is_mapped(name.address)) return GidForm::whole;
  return std::nullopt;
}

/// The prefix, and behind it what is read.
HostAddress read_behind(std::span<const std::uint8_t> prefix, ByteReader& reader) {
  HostAddress address{};
  std::copy(prefix.begin(), prefix.end(), address.begin());
  const auto rest = reader.get_bytes(address.size() - prefix.size());
  if (!rest.empty()) std::memcpy(address.data() + prefix.size(), rest.data(), rest.size());
  return address;
}

}  // namespace

std::optional<Metadata> encode(const VerbsName& name) {
  const auto gid_form = form_of(name);
  if (!gid_form) return std::nullopt;
  const TargetName target = name.target.value_or(TargetName{});
  const auto classes = static_cast<std::uint8_t>((name.port != 0 ? has_connected : 0) | (name.target ? has_target : 0));
  const auto address = std::as_bytes(std::span(name.address));
  const auto gid = std::as_bytes(std::span(target.gid));
  ByteWriter writer;
  writer.put(form, version, classes, static_cast<std::uint8_t>(*gid_form), htons(name.port), htons(target.lid));
  writer.put_bytes(*gid_form == GidForm::whole ? address.subspan(mapped_prefix.size()) : address);
  if (*gid_form == GidForm::link_local) writer.put_bytes(gid.subspan(link_local_prefix.size()));
  if (*gid_form == GidForm::whole) writer.put_bytes(gid);
  const std::uint32_t number = htonl(target.number);
  if (name.target) writer.put_bytes(std::as_bytes(std::span(&number, 1)).last(3)).put(htonl(target.key));
  return Metadata::of(writer.take());
}

// Each name has one encoding, so what was taken wrongly does not come back as it was.
std::optional<VerbsName> decode(const Metadata& metadata) {
  ByteReader reader(metadata.said());
  if (reader.get<std::uint8_t>() != form || reader.get<std::uint8_t>() != version) return std::nullopt;
  const auto classes = reader.get<std::uint8_t>();
  const auto gid_byte = reader.get<std::uint8_t>();
  if (gid_byte > static_cast<std::uint8_t>(GidForm::whole)) return std::nullopt;
  const GidForm gid_form{gid_byte};
  VerbsName name;
  TargetName target;
  name.port = ntohs(reader.get<std::uint16_t>());
  target.lid = ntohs(reader.get<std::uint16_t>());
  name.address = gid_form == GidForm::whole ? read_behind(mapped_prefix, reader) : read_behind({}, reader);
  if (gid_form == GidForm::address) target.gid = name.address;
  if (gid_form == GidForm::link_local) target.gid = read_behind(link_local_prefix, reader);
  if (gid_form == GidForm::whole) target.gid = read_behind({}, reader);
  if ((classes & has_target) != 0) {
    const auto number = reader.get<std::array<std::uint8_t, 3>>();
    target.number = std::uint32_t{number[0]} << 16U | std::uint32_t{number[1]} << 8U | number[2];
    target.key = ntohl(reader.get<std::uint32_t>());
    if (target.number == 0) return std::nullopt;
    name.target = target;
  }
  const bool reachable = name.port != 0 || name.target;
  if (!reachable || !reader.complete() || !names_one_host(name.address) || encode(name) != metadata) return std::nullopt;
  return name;
}

}  // namespace spindrift::kernel::verbs
