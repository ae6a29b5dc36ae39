// Devices on loopback, polled.
#include <spindrift/bench/reached.hpp>

#include <span>
#include <utility>

#include <spindrift/core/check.hpp>
#include <spindrift/kernel/meta_values.hpp>
#include <spindrift/kernel/ofi/ofi_name.hpp>
#include <spindrift/kernel/ofi/ofi_device.hpp>

namespace spindrift::bench {

using kernel::Device;
using kernel::Metadata;
using kernel::PhysicalEvent;

Result<std::unique_ptr<Device>> open_loopback_device(const std::string& provider, const kernel::DeviceSizes& sizes) {
  kernel::OfiDeviceOptions options;
  options.connectionless = provider;
  options.listen = "127.0.0.1:0";
  options.sizes = sizes;
  return kernel::make_ofi_device(options);
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

Result<void> Peer::start(const std::string& provider, const kernel::DeviceSizes& sizes) {
  auto made = open_loopback_device(provider, sizes);
  if (!made) return std::move(made).error();
  device = std::move(made).value();
  metadata = device->metadata();
  auto opened = device->open();
  if (!opened) return std::move(opened).error();
  open = std::move(opened).value();
  auto for_writes = device->register_memory(writable, fabric::Access::write);
  if (!for_writes) return std::move(for_writes).error();
  auto for_reads = device->register_memory(readable, fabric::Access::read);
  if (!for_reads) return std::move(for_reads).error();
  write_keys = *for_writes;
  read_keys = *for_reads;
  return {};
}

void Peer::poll() {
  std::array<PhysicalEvent, 8> events;
  static_cast<void>(open->poll(events));
  if (auto call = device->accepted(); call.queue_pair != nullptr) accepted.push_back(std::move(call.queue_pair));
  std::erase_if(accepted, [&](const auto& queue_pair) {
    const std::size_t count = queue_pair->take(events);
    return count > 0 && events[count - 1].kind == PhysicalEvent::Kind::broken;
  });
}

Result<void> TableKeeper::start(const std::string& provider, std::uint32_t nodes, std::uint32_t told_max) {
  auto geometry = kernel::MetaGeometry::for_entries(nodes + told_max);
  if (!geometry) return std::move(geometry).error();
  lines_.resize((geometry->bytes() + sizeof(Line) - 1) / sizeof(Line));
  const std::span region(reinterpret_cast<std::byte*>(lines_.data()), geometry->bytes());
  auto table = kernel::MetaTable::format(region, *geometry);
  if (!table) return std::move(table).error();
  table_.emplace(std::move(table).value());
  auto made = open_loopback_device(provider, {.send_depth = 16, .receive_buffers = 16});
  if (!made) return std::move(made).error();
  device_ = std::move(made).value();
  auto opened = device_->open();
  if (!opened) return std::move(opened).error();
  open_ = std::move(opened).value();
  for (std::uint32_t node = 1; node <= nodes; ++node) {
    const kernel::MetaValue value = kernel::encode(kernel::NodeRecord{node, elsewhere(device_->metadata(), node)});
    if (auto put = table_->put(kernel::meta_key_of(NodeId(node)), value); !put) return put;
  }
  auto keys = device_->register_memory(region, fabric::Access::read);
  if (!keys) return std::move(keys).error();
  server_ = {NodeId(0), device_->metadata(), *geometry, keys->remote_base, keys->remote_key};
  return {};
}

Result<void> TableKeeper::tell(NodeId node, const Peer& peer) {
  return tell(node, peer.metadata, peer.write_keys, peer.writable.size());
}

Result<void> TableKeeper::tell(NodeId node, const Metadata& metadata, const kernel::MemoryKeys& memory, std::size_t bytes) {
  const kernel::MemoryRecord record{node, memory.remote_key, memory.remote_base, bytes, 1, fabric::Access::write};
  if (auto put = table_->put(kernel::meta_key_of(node, record.key), kernel::encode(record)); !put) return put;
  return table_->put(kernel::meta_key_of(node), kernel::encode(kernel::NodeRecord{node.value(), metadata}));
}

void TableKeeper::poll() {
  std::array<PhysicalEvent, 8> events;
  static_cast<void>(open_->poll(events));
}

}  // namespace spindrift::bench
