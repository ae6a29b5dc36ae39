// The words of others about their devices: the metadata of both kinds of device, the introduction that carries them with a
// greeting, and what a caller says of itself to the device over rdma-core. A name that is taken is one that its kind of
// device writes, byte for byte, and none is taken for one of the other kind.
#include "fuzz.hpp"

#include <spindrift/kernel/provider/finder.hpp>
#include <spindrift/kernel/host_address.hpp>
#include <spindrift/kernel/ofi/ofi_name.hpp>
#include <spindrift/kernel/verbs/verbs_connections.hpp>
#include <spindrift/kernel/verbs/verbs_name.hpp>

using namespace spindrift;
using namespace spindrift::kernel;
using spindrift::fuzz::Choices;
using spindrift::fuzz::expect;

namespace {

/// The size is the input's, also where no metadata are so long.
Metadata metadata_of(std::span<const std::uint8_t> bytes) {
  Metadata metadata;
  metadata.size = static_cast<std::uint8_t>(std::min<std::size_t>(bytes.size(), 255));
  const std::size_t count = std::min(bytes.size(), Metadata::bytes_max);
  if (count > 0) std::memcpy(metadata.bytes.data(), bytes.data(), count);
  return metadata;
}

bool can_be_called(const verbs::VerbsName& name) {
  const bool reachable = name.port != 0 || name.target;
  const bool numbered = !name.target || (name.target->number > 0 && name.target->number < 1U << 24U);
  return reachable && numbered && names_one_host(name.address);
}

void check_metadata(const Metadata& metadata) {
  const auto over_rdma = verbs::decode(metadata);
  const auto over_libfabric = ofi::decode(metadata);
  expect(!over_rdma || !over_libfabric, "metadata are of one kind of device");
  expect((!over_rdma && !over_libfabric) || metadata.size <= Metadata::bytes_max, "a name lies in its metadata");
  if (over_rdma) {
    expect(can_be_called(*over_rdma), "a name over rdma-core is of one host, and says how that is reached");
    expect(verbs::encode(*over_rdma) == metadata, "a name over rdma-core survives its own encoding");
  }
  if (over_libfabric) {
    expect(names_one_host(over_libfabric->address), "a name over libfabric is of one host");
    expect(over_libfabric->connectionless_port != 0 || over_libfabric->connected_port != 0, "it says how that is reached");
    expect(ofi::encode(*over_libfabric) == metadata, "a name over libfabric survives its own encoding");
  }
}

void take_bytes(Choices& choices, std::span<std::uint8_t> to) {
  const auto bytes = choices.take(to.size());
  std::copy(bytes.begin(), bytes.end(), to.begin());
}

/// The other way round: of any name, what there is room for comes back, and nothing else does.
void check_name(Choices choices) {
  verbs::VerbsName name;
  const std::uint64_t shape = choices.choice(16);
  name.port = static_cast<std::uint16_t>(choices.number(2));
  if (shape % 4 == 0) name.address[10] = name.address[11] = 0xff;
  take_bytes(choices, shape % 4 == 0 ? std::span(name.address).last(4) : std::span(name.address));
  if (shape / 4 > 0) {
    verbs::TargetName target;
    if (shape / 4 == 1) target.gid = name.address;
    if (shape / 4 == 2) target.gid[0] = 0xfe, target.gid[1] = 0x80;
    if (shape / 4 > 1) take_bytes(choices, std::span(target.gid).subspan(shape / 4 == 2 ? 8 : 0));
    target.lid = static_cast<std::uint16_t>(choices.number(2));
    target.number = static_cast<std::uint32_t>(choices.number(3));
    target.key = static_cast<std::uint32_t>(choices.number(4));
    name.target = target;
  }
  const auto metadata = verbs::encode(name);
  if (!metadata) {
    expect(shape / 4 > 1, "a target whose GID is its address always has room");
    return;
  }
  expect(metadata->size <= Metadata::bytes_max, "a name is no longer than metadata are");
  const auto again = verbs::decode(*metadata);
  expect(again.has_value() == can_be_called(name), "a name comes back if somebody can be called by it");
  expect(!again || *again == name, "a name comes back as it was");
}

void check_introduction(std::span<const std::byte> bytes) {
  const auto introduction = vq::decode_introduction(bytes);
  if (!introduction) return;
  // A table may lie in more memory than it needs, of which nothing is kept.
  const auto again = vq::decode_introduction(vq::encode(*introduction));
  expect(again && again->table == introduction->table && again->metadata == introduction->metadata,
         "an introduction survives its own encoding");
  const auto said = bytes.last(introduction->metadata.size);
  expect(std::equal(said.begin(), said.end(), introduction->metadata.bytes.begin()), "its metadata are its last bytes");
  check_metadata(introduction->metadata);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  check_metadata(metadata_of({data, size}));
  check_name(Choices(data, size));
  check_introduction(std::as_bytes(std::span(data, size)));
  const auto token = verbs::token_said(std::as_bytes(std::span(data, size)));
  expect(!token || size >= sizeof(std::uint64_t) * 2, "who calls has said all of its token");
  return 0;
}
