// Making a device, and sharing out what its adapter reports.
#include <spindrift/kernel/verbs/rdma_core_device.hpp>

#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <spindrift/core/check.hpp>
#include <spindrift/core/log.hpp>

namespace spindrift::kernel::verbs {
namespace {

constexpr std::uint32_t depth_max = 1U << 14U;

Result<void> check(const VerbsDeviceOptions& options) {
  const auto wrong = [](const char* what, const char* fix) { return Error(ErrorKind::bad_argument, what).fix(fix); };
  const DeviceSizes& sizes = options.sizes;
  if (sizes.send_depth == 0 || sizes.send_depth > depth_max || sizes.receive_buffers == 0 ||
      sizes.receive_buffers > depth_max) {
    return wrong("queues without room, or with too much", "choose depths of 1 to 16384");
  }
  if (sizes.peers_max == 0 || sizes.message_bytes_max == 0) return wrong("no room for a peer or a message", "choose more");
  if (options.answer_max <= Duration{}) return wrong("no time to answer in", "choose answer_max above 0");
  return {};
}

}  // namespace

VerbsDevice::VerbsDevice(const VerbsDeviceOptions& options)
    : options_(options),
      shared_{options.sizes, options.answer_max, options.clock == nullptr ? &system_clock_ : options.clock, {}, nullptr},
      connections_(*this, shared_) {}

VerbsDevice::~VerbsDevice() = default;

Result<void> VerbsDevice::start() {
  SPINDRIFT_TRY(check(options_));
  SPINDRIFT_TRY_ASSIGN(const auto at, fabric::connected::resolve(options_.listen, false));
  if (!names_one_host(address_of(at)))
    return Error(ErrorKind::bad_argument, "peers cannot reach a wildcard").at(options_.listen).fix("name one interface");
  fabric::verbs::Limits wishes;
  wishes.send_depth = options_.sizes.send_depth;
  wishes.receive_depth = options_.sizes.receive_buffers;
  wishes.pieces = 2;
  wishes.inline_bytes = 0;
  SPINDRIFT_TRY_ASSIGN(shared_.adapter, fabric::verbs::Device::open(at, wishes));
  shared_.sizes.send_depth = shared_.adapter->limits().send_depth;
  shared_.sizes.receive_buffers = shared_.adapter->limits().receive_depth;
  SPINDRIFT_TRY(shared_.adapter->listen());
  SPINDRIFT_TRY(open_waits());
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
  traits_name_ = "verbs:" + std::string(shared_.adapter->listener().verbs->device->name);
  traits_.name = traits_name_;
  traits_.connectionless = connectionless_ != nullptr;
  traits_.connected = true;
  traits_.ordered_completions = true;
  traits_.connected_in_order = true;
  traits_.ordered_writes = true;
  traits_.send_depth = shared_.sizes.send_depth;
  traits_.message_bytes_max = options_.sizes.message_bytes_max;
  log::info(log::Room::kernel, "a device over rdma-core",
            {{"device", traits_name_}, {"connectionless", connectionless_ != nullptr ? "by DC" : "none"}});
}

Result<void> VerbsDevice::open_waits() {
  waits_ = FileDescriptor(::epoll_create1(EPOLL_CLOEXEC));
  if (!waits_) return system_error("epoll_create1", errno);
  for (const int each : {shared_.adapter->events_descriptor(), shared_.adapter->completions_descriptor()}) {
    epoll_event event{};
    event.events = EPOLLIN;
    if (::epoll_ctl(waits_.get(), EPOLL_CTL_ADD, each, &event) != 0) return system_error("epoll_ctl", errno);
  }
  return {};
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

Device::Accepted VerbsDevice::accepted() {
  auto first = connections_.accepted();
  if (first.queue_pair != nullptr) return first;
  progress();
  return connections_.accepted();
}

Result<MemoryKeys> VerbsDevice::register_for(std::span<std::byte> memory, int access) {
  if (memory.empty()) return Error(ErrorKind::bad_argument, "memory without bytes");
  auto made = shared_.adapter->register_memory(shared_.adapter->domain(), memory, access);
  if (!made) return std::move(made).error();
  const MemoryKeys keys{(*made)->lkey, (*made)->rkey, reinterpret_cast<std::uintptr_t>(memory.data())};
  shared_.memory.add(keys.local_key, memory);
  registered_.emplace(keys.local_key, std::move(made).value());
  return keys;
}

Result<MemoryKeys> VerbsDevice::register_memory(std::span<std::byte> memory, fabric::Access access) {
  return register_for(memory, access == fabric::Access::write ? IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE
                                                              : IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
}

Result<MemoryKeys> VerbsDevice::register_local(std::span<std::byte> memory) {
  auto keys = register_for(memory, IBV_ACCESS_LOCAL_WRITE);
  if (keys) keys->remote_key = 0;
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
      if (VerbsConnection* const connection = connections_.find(token.life)) {
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

// What came before the queue was armed makes nothing readable, so it is looked at once more; and news that came so is told
// to nobody but by this.
bool VerbsDevice::may_block() noexcept {
  shared_.adapter->arm();
  armed_ = true;
  const bool came = take_completions();
  return !came && connections_.quiet() && (connectionless_ == nullptr || connectionless_->quiet());
}

Time VerbsDevice::next_look() const noexcept { return connections_.next_look(); }

}  // namespace spindrift::kernel::verbs

namespace spindrift::kernel {

Result<std::unique_ptr<Device>> make_verbs_device(const VerbsDeviceOptions& options) {
  auto device = std::make_unique<verbs::VerbsDevice>(options);
  if (auto started = device->start(); !started) return std::move(started).error();
  return std::unique_ptr<Device>(std::move(device));
}

}  // namespace spindrift::kernel
