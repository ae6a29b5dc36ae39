// Devices on loopback, polled.
#include <spindrift/bench/reached.hpp>

#include <span>
#include <utility>

#include <spindrift/core/check.hpp>
#include <spindrift/kernel/meta_values.hpp>
#include <spindrift/kernel/ofi/ofi_name.hpp>
#include <spindrift/kernel/ofi/ofi_device.hpp>

namespace spindrift::bench {

using kernel::Metadata;
using kernel::PhysicalDevice;
using kernel::PhysicalEvent;

std::unique_ptr<PhysicalDevice> open_loopback_device(const std::string& provider, const kernel::DeviceSizes& sizes) {
  kernel::OfiDeviceOptions options;
  options.connectionless = provider;
  options.listen = "127.0.0.1:0";
  options.sizes = sizes;
  return value_or_throw(kernel::make_ofi_device(options));
}

// 127.64.0.0 and on, an IPv4 address in its IPv6 form.
Metadata elsewhere(const Metadata& real, std::uint32_t number) {
  auto name = kernel::ofi::decode(real);
  CHECK(name && number < 1U << 22U);
  name->address[13] = static_cast<std::uint8_t>(64 + (number >> 16U));
  name->address[14] = static_cast<std::uint8_t>(number >> 8U);
  name->address[15] = static_cast<std::uint8_t>(number);
  return kernel::ofi::encode(*name);
}

void ReachedPeer::start(const std::string& provider, const kernel::DeviceSizes& sizes) {
  device = open_loopback_device(provider, sizes);
  metadata = device->metadata();
  open = value_or_throw(device->open());
  auto for_writes = value_or_throw(device->register_memory(writable, fabric::Access::write));
  auto for_reads = value_or_throw(device->register_memory(readable, fabric::Access::read));
  write_keys = for_writes;
  read_keys = for_reads;
}

void ReachedPeer::poll() {
  std::array<PhysicalEvent, 8> events;
  static_cast<void>(open->poll(events));
  if (auto call = device->accepted(); call.queue_pair != nullptr) accepted.push_back(std::move(call.queue_pair));
  std::erase_if(accepted, [&](const auto& queue_pair) {
    const std::size_t count = queue_pair->take(events);
    return count > 0 && events[count - 1].kind == PhysicalEvent::Kind::broken;
  });
}

void TableKeeper::start(const std::string& provider, std::uint32_t nodes, std::uint32_t told_max) {
  auto geometry = value_or_throw(kernel::MetaGeometry::for_entries(nodes + told_max));
  lines_.resize((geometry.bytes() + sizeof(TableLine) - 1) / sizeof(TableLine));
  const std::span region(reinterpret_cast<std::byte*>(lines_.data()), geometry.bytes());
  auto table = value_or_throw(kernel::MetaTable::format(region, geometry));
  table_.emplace(std::move(table));
  device_ = open_loopback_device(provider, {.send_depth = 16, .receive_buffers = 16});
  open_ = value_or_throw(device_->open());
  for (std::uint32_t node = 1; node <= nodes; ++node) {
    const kernel::MetaValue value = kernel::encode(kernel::NodeRecord{node, elsewhere(device_->metadata(), node)});
    value_or_throw(table_->put(kernel::meta_key_of(NodeId(node)), value));
  }
  auto keys = value_or_throw(device_->register_memory(region, fabric::Access::read));
  server_ = {NodeId(0), device_->metadata(), geometry, keys.remote_base, keys.remote_key};
}

void TableKeeper::tell(NodeId node, const ReachedPeer& peer) {
  tell(node, peer.metadata, peer.write_keys, peer.writable.size());
}

void TableKeeper::tell(NodeId node, const Metadata& metadata, const kernel::MemoryKeys& memory, std::size_t bytes) {
  const kernel::MemoryRecord record{node, memory.remote_key, memory.remote_base, bytes, 1, fabric::Access::write};
  value_or_throw(table_->put(kernel::meta_key_of(node, record.key), kernel::encode(record)));
  value_or_throw(table_->put(kernel::meta_key_of(node), kernel::encode(kernel::NodeRecord{node.value(), metadata})));
}

void TableKeeper::poll() {
  std::array<PhysicalEvent, 8> events;
  static_cast<void>(open_->poll(events));
}

}  // namespace spindrift::bench
