// Listing devices, and reading GID tables.

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include <spindrift/fabric/connected/socket_address.hpp>
#include <spindrift/fabric/verbs/device.hpp>
#include <spindrift/fabric/verbs/verbs.hpp>

namespace spindrift::fabric::verbs {
namespace {

constexpr std::size_t gids_max = 256;

/// RoCE keeps an IPv4 address as ::ffff:a.b.c.d.
std::string text_of(const ibv_gid& gid) {
  in6_addr address{};
  std::memcpy(&address, gid.raw, sizeof address);
  std::array<char, INET6_ADDRSTRLEN> text{};
  const bool mapped = IN6_IS_ADDR_V4MAPPED(&address);
  ::inet_ntop(mapped ? AF_INET : AF_INET6, mapped ? &gid.raw[12] : &gid.raw[0], text.data(), text.size());
  return text.data();
}

const char* kind_of(const ibv_gid_entry& entry) {
  if (entry.gid_type == IBV_GID_TYPE_ROCE_V2) return "RoCE v2";
  return entry.gid_type == IBV_GID_TYPE_ROCE_V1 ? "RoCE v1" : "InfiniBand";
}

Error no_device(const std::string& reason) {
  return Error(ErrorKind::unsupported, "no RDMA device: " + reason)
      .fix(
          "load the driver of this host's adapter, or, without one, the kernel's over Ethernet (modprobe rdma_rxe rdma_ucm; "
          "rdma link add rxe0 type rxe netdev eth0); or use [SPINDRIFT] fabric = ofi:tcp");
}

VerbsPort look_at(ibv_context& context, std::uint8_t number) {
  const RdmaCoreCalls& lib = loaded_library();
  VerbsPort port{.device = context.device->name, .port = number, .addresses = {}};
  ibv_port_attr attributes{};
  if (lib.query_port(&context, number, reinterpret_cast<_compat_ibv_port_attr*>(&attributes)) == 0)
    port.active = attributes.state == IBV_PORT_ACTIVE;
  ibv_device_attr device{};
  if (lib.query_device(&context, &device) == 0)
    port.memory_windows = (device.device_cap_flags & IBV_DEVICE_MEM_WINDOW_TYPE_2B) != 0;
  for (const ibv_gid_entry& entry : gids_of(context)) {
    if (entry.port_num != number || within_the_link(entry.gid)) continue;
    if (std::string text = text_of(entry.gid);
        std::find(port.addresses.begin(), port.addresses.end(), text) == port.addresses.end())
      port.addresses.push_back(std::move(text));
  }
  return port;
}

}  // namespace

std::vector<ibv_gid_entry> gids_of(ibv_context& context) {
  std::vector<ibv_gid_entry> gids(gids_max);
  const auto count = loaded_library().query_gid_table(&context, gids.data(), gids.size(), 0, sizeof gids[0]);
  gids.resize(count < 0 ? 0 : static_cast<std::size_t>(count));
  return gids;
}

bool within_the_link(const ibv_gid& gid) noexcept { return gid.raw[0] == 0xfe && (gid.raw[1] & 0xc0) == 0x80; }

std::optional<ibv_gid_entry> gid_entry_in_use(rdma_cm_id& bound) {
  const ibv_gid& taken = bound.route.addr.addr.ibaddr.sgid;
  std::optional<ibv_gid_entry> found;
  for (const ibv_gid_entry& entry : gids_of(*bound.verbs)) {
    if (entry.port_num != bound.port_num || std::memcmp(&entry.gid, &taken, sizeof taken) != 0) continue;
    if (!found || (found->gid_type == IBV_GID_TYPE_ROCE_V1 && entry.gid_type == IBV_GID_TYPE_ROCE_V2)) found = entry;
  }
  return found;
}

std::string gid_in_use(rdma_cm_id& bound) {
  constexpr const char* chosen = ": rdma_cm takes that of the node's address";
  const auto entry = gid_entry_in_use(bound);
  if (!entry) return text_of(bound.route.addr.addr.ibaddr.sgid) + chosen;
  return text_of(entry->gid) + ", index " + std::to_string(entry->gid_index) + ", " + kind_of(*entry) + chosen;
}

}  // namespace spindrift::fabric::verbs

namespace spindrift::fabric {

Result<std::vector<VerbsPort>> verbs_ports() {
  SPINDRIFT_TRY_ASSIGN(const verbs::RdmaCoreCalls* const loaded, verbs::library());
  const verbs::RdmaCoreCalls& lib = *loaded;
  int count = 0;
  const verbs::Handle<ibv_device*> devices(lib.get_device_list(&count));
  if (devices == nullptr) return verbs::no_device(system_error("ibv_get_device_list", errno).message());
  if (count == 0) return verbs::no_device("the kernel has none that rdma-core knows");
  std::vector<VerbsPort> ports;
  std::string unopened;
  for (int i = 0; i < count; ++i) {
    const verbs::Handle<ibv_context> context(lib.open_device(devices.get()[i]));
    ibv_device_attr attributes{};
    if (context == nullptr || lib.query_device(context.get(), &attributes) != 0) {
      unopened +=
          " " + system_error(std::string("ibv_open_device ") + lib.get_device_name(devices.get()[i]), errno).message();
      continue;
    }
    for (std::uint8_t number = 1; number <= attributes.phys_port_cnt; ++number) {
      ports.push_back(verbs::look_at(*context, number));
    }
  }
  if (ports.empty()) return verbs::no_device("none can be opened:" + unopened);
  return ports;
}

Result<void> try_verbs_address(const std::string& endpoint) {
  SPINDRIFT_TRY_ASSIGN(auto address, connected::resolve(endpoint, false));
  SPINDRIFT_TRY_ASSIGN(auto device, verbs::Device::open(address, {.memory_windows = true}));
  return device->listen();
}

}  // namespace spindrift::fabric
