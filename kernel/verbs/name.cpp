// Between a device's name and its bytes. What comes from a peer is taken byte by byte or not at all.
#include <spindrift/kernel/verbs/name.hpp>

#include <algorithm>
#include <span>

namespace spindrift::kernel::verbs {
namespace {

constexpr std::size_t connected_bytes = 24;
constexpr std::size_t whole_bytes = 47;
static_assert(whole_bytes <= Metadata::bytes_max);
constexpr std::uint8_t form = 'V';
constexpr std::uint8_t version = 1;
constexpr std::uint8_t has_connected = 1;
constexpr std::uint8_t has_target = 2;

using Bytes = std::array<std::uint8_t, whole_bytes>;

void put(Bytes& bytes, std::size_t at, std::size_t count, std::uint32_t number) {
  for (std::size_t i = 0; i < count; ++i) bytes[at + i] = static_cast<std::uint8_t>(number >> 8 * (count - 1 - i));
}

std::uint32_t number_in(const Bytes& bytes, std::size_t at, std::size_t count) {
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < count; ++i) number = number << 8 | bytes[at + i];
  return number;
}

}  // namespace

Metadata encode(const Name& name) {
  Bytes bytes{form, version,
              static_cast<std::uint8_t>((name.port != 0 ? has_connected : 0) | (name.target ? has_target : 0))};
  std::copy(name.address.begin(), name.address.end(), bytes.begin() + 4);
  put(bytes, 20, 2, name.port);
  if (name.target) {
    put(bytes, 22, 2, name.target->lid);
    std::copy(name.target->gid.begin(), name.target->gid.end(), bytes.begin() + 24);
    put(bytes, 40, 3, name.target->number);
    put(bytes, 43, 4, name.target->key);
  }
  Metadata metadata;
  metadata.size = name.target ? whole_bytes : connected_bytes;
  const auto written = std::as_bytes(std::span(bytes)).first(metadata.size);
  std::copy(written.begin(), written.end(), metadata.bytes.begin());
  return metadata;
}

std::optional<Name> decode(const Metadata& metadata) {
  if (metadata.size != connected_bytes && metadata.size != whole_bytes) return std::nullopt;
  Bytes bytes{};
  for (std::size_t i = 0; i < metadata.size; ++i) bytes[i] = std::to_integer<std::uint8_t>(metadata.bytes[i]);
  const bool whole = metadata.size == whole_bytes;
  Name name;
  std::copy_n(bytes.begin() + 4, name.address.size(), name.address.begin());
  name.port = static_cast<std::uint16_t>(number_in(bytes, 20, 2));
  if (whole) {
    TargetName target;
    target.lid = static_cast<std::uint16_t>(number_in(bytes, 22, 2));
    std::copy_n(bytes.begin() + 24, target.gid.size(), target.gid.begin());
    target.number = number_in(bytes, 40, 3);
    target.key = number_in(bytes, 43, 4);
    if (target.number == 0) return std::nullopt;
    name.target = target;
  }
  if ((name.port == 0 && !whole) || !names_one_host(name.address) || encode(name) != metadata) return std::nullopt;
  return name;
}

}  // namespace spindrift::kernel::verbs
