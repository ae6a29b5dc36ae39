// Making a device, and sharing out what its adapter reports.
#include <spindrift/kernel/verbs/rdma_core_device.hpp>

#include <array>
#include <utility>

#include <spindrift/core/log.hpp>

namespace spindrift::kernel::verbs {
VerbsDevice::VerbsDevice(const VerbsDeviceOptions& options)
    : options_(options),
      shared_{{options.sizes, options.answer_max, options.clock == nullptr ? &system_clock_ : options.clock}},
      connections_(*this, shared_) {}

VerbsDevice::~VerbsDevice() = default;

Result<void> VerbsDevice::start() {
  constexpr std::uint32_t depth_max = 1U << 14U;
  SPINDRIFT_TRY(check_sizes(options_.sizes, depth_max, options_.answer_max));
  SPINDRIFT_TRY_ASSIGN(const auto at, interface_at(options_.listen));
  fabric::verbs::QueuePairLimits wishes;
  wishes.send_depth = options_.sizes.send_depth;
  wishes.receive_depth = options_.sizes.receive_buffers;
  wishes.pieces = 2;
  wishes.inline_bytes = 0;
  SPINDRIFT_TRY_ASSIGN(shared_.adapter, fabric::verbs::Device::open(at, wishes));
  shared_.sizes.send_depth = shared_.adapter->limits().send_depth;
  shared_.sizes.receive_buffers = shared_.adapter->limits().receive_depth;
  SPINDRIFT_TRY(shared_.adapter->listen());
  SPINDRIFT_TRY(shared_.waits.open());
  SPINDRIFT_TRY(shared_.waits.add(shared_.adapter->events_descriptor()));
  SPINDRIFT_TRY(shared_.waits.add(shared_.adapter->completions_descriptor()));
  name_.address = address_of(at);
  name_.port = port_of(shared_.adapter->address());
  if (options_.connectionless) {
    SPINDRIFT_TRY_ASSIGN(connectionless_, open_connectionless(*this, shared_));
    name_.target = connectionless_->target();
  }
  const auto metadata = encode(name_);
  if (!metadata) {
    return Error(ErrorKind::unsupported, "the adapter's GID has a prefix that is neither its address nor link-local")
        .at(options_.listen)
        .fix("listen at an IPv4 address of the adapter");
  }
  metadata_ = *metadata;
  set_traits();
  return {};
}

void VerbsDevice::set_traits() {
  traits_.name = "verbs:" + std::string(shared_.adapter->listener().verbs->device->name);
  traits_.connectionless = connectionless_ != nullptr;
  traits_.connected = true;
  traits_.ordered_completions = true;
  traits_.connected_in_order = true;
  traits_.send_depth = shared_.sizes.send_depth;
  traits_.message_bytes_max = options_.sizes.message_bytes_max;
  log::info(log::Room::kernel, "a device over rdma-core",
            {{"device", traits_.name}, {"connectionless", connectionless_ != nullptr ? "by DC" : "none"}});
}

Result<PeerHandle> VerbsDevice::resolve(const Metadata& peer) {
  const auto name = decode(peer);
  if (connectionless_ == nullptr || !name || !name->target)
    return Error(ErrorKind::bad_argument, "not the metadata of a device with DC queue pairs, or this one has none");
  return connectionless_->add(*name->target);
}

void VerbsDevice::forget(PeerHandle peer) {
  if (connectionless_ != nullptr) connectionless_->remove(peer);
}

Result<std::unique_ptr<PhysicalQueuePair>> VerbsDevice::open() {
  if (connectionless_ == nullptr)
    return Error(ErrorKind::unsupported, "this device was opened without connectionless queue pairs");
  return connectionless_->open();
}

Result<std::unique_ptr<PhysicalQueuePair>> VerbsDevice::connect(const Metadata& peer, std::uint64_t token) {
  const auto name = decode(peer);
  if (!name || name->port == 0)
    return Error(ErrorKind::bad_argument, "not the metadata of a device with connected queue pairs over rdma-core");
  return connections_.connect(*name, token);
}

Result<MemoryKeys> VerbsDevice::register_memory(std::span<std::byte> memory, std::optional<fabric::Access> access) {
  if (memory.empty()) return Error(ErrorKind::bad_argument, "memory without bytes");
  const int rights = !access ? 0 : *access == fabric::Access::write ? IBV_ACCESS_REMOTE_WRITE : IBV_ACCESS_REMOTE_READ;
  fabric::verbs::Device& adapter = *shared_.adapter;
  SPINDRIFT_TRY_ASSIGN(auto made, adapter.register_memory(adapter.domain(), memory, IBV_ACCESS_LOCAL_WRITE | rights));
  const MemoryKeys keys{made->lkey, access ? made->rkey : 0, reinterpret_cast<std::uintptr_t>(memory.data())};
  shared_.memory.add(keys.local_key, memory);
  registered_.emplace(keys.local_key, std::move(made));
  return keys;
}

void VerbsDevice::deregister(const MemoryKeys& keys) {
  shared_.memory.remove(keys.local_key);
  registered_.erase(keys.local_key);
}

bool VerbsDevice::take_completions() {
  std::array<ibv_wc, 32> completions;
  bool any = false;
  while (true) {
    const int count = ibv_poll_cq(&shared_.adapter->completions(), static_cast<int>(completions.size()), completions.data());
    for (int i = 0; i < count; ++i) {
      const ibv_wc& completion = completions[static_cast<std::size_t>(i)];
      const CompletionToken token = decode_token(completion.wr_id);
      if (VerbsConnection* const connection = connections_.table().find(token.life)) {
        connection->on_completion(token, completion);
      } else if (connectionless_ != nullptr) {
        connectionless_->on_completion(token, completion);
      }
    }
    any |= count > 0;
    if (count < static_cast<int>(completions.size())) return any;
  }
}

void VerbsDevice::progress() {
  if (std::exchange(armed_, false)) shared_.adapter->disarm();
  take_completions();
  connections_.take_reports();
  if (connectionless_ != nullptr) connectionless_->progress();
  connections_.progress(shared_.clock->now());
}

// A completion from before the queue was armed makes nothing readable, so it is looked at once more; and news that came so
// is told to nobody but by this.
bool VerbsDevice::may_block() noexcept {
  shared_.adapter->arm();
  armed_ = true;
  const bool came = take_completions();
  return !came && connections_.table().quiet() && (connectionless_ == nullptr || connectionless_->quiet());
}

Time VerbsDevice::next_look() const noexcept { return connections_.table().next_look(); }

}  // namespace spindrift::kernel::verbs

namespace spindrift::kernel {

Result<std::unique_ptr<PhysicalDevice>> make_verbs_device(const VerbsDeviceOptions& options) {
  auto device = std::make_unique<verbs::VerbsDevice>(options);
  SPINDRIFT_TRY(device->start());
  return std::unique_ptr<PhysicalDevice>(std::move(device));
}

}  // namespace spindrift::kernel
