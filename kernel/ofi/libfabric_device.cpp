// Making a device: two providers opened, what both must agree on checked, and both names put into one.
#include <spindrift/kernel/ofi/libfabric_device.hpp>

#include <algorithm>
#include <utility>

#include <spindrift/core/check.hpp>
#include <spindrift/fabric/endpoint_parts.hpp>

namespace spindrift::kernel::ofi {
namespace {

constexpr std::uint32_t depth_max = 1u << 16;

/// Rdma-core's devices have queue pairs by libfabric, but not what this device promises of them.
bool is_verbs(const std::string& provider) { return provider == "verbs" || provider == "verbs;ofi_rxm"; }

Error not_over_verbs(const std::string& provider) {
  const char* const reason =
      provider == "verbs"
          ? "its connected endpoints acknowledge no operation when the bytes are in the peer's memory: fi_getinfo refuses "
            "FI_DELIVERY_COMPLETE; and they choose keys themselves and use registered memory alone (FI_MR_PROV_KEY, "
            "FI_MR_LOCAL, FI_MR_VIRT_ADDR), so that one key would not do for both classes"
          : "its connectionless endpoints choose keys themselves and use registered memory alone (FI_MR_PROV_KEY, "
            "FI_MR_VIRT_ADDR), and make one connection for each peer beneath, with a completion queue for 256 of them";
  return Error(ErrorKind::unsupported, "no virtual queue pairs over libfabric's provider " + provider)
      .because(Error(ErrorKind::unsupported, reason))
      .fix("use rdma-core without libfabric: [SPINDRIFT] fabric = verbs");
}

Result<void> check(const OfiDeviceOptions& options) {
  const auto wrong = [](const char* what, const char* fix) { return Error(ErrorKind::bad_argument, what).fix(fix); };
  for (const std::string& provider : {options.connected, options.connectionless}) {
    if (is_verbs(provider)) return not_over_verbs(provider);
  }
  if (!connectionless_wire(options.connectionless)) {
    return wrong("an unknown connectionless provider", "choose tcp;ofi_rxm or net");
  }
  if (!connected_wire(options.connected)) return wrong("an unknown connected provider", "choose tcp");
  if (options.connectionless.empty() && options.connected.empty()) return wrong("no provider", "name one or two");
  return check_sizes(options.sizes, depth_max, options.answer_max);
}

// `open` gives these out.
class ConnectionlessQueuePair final : public PhysicalQueuePair {
 public:
  ConnectionlessQueuePair(OfiDevice& device, RdmEndpoint& endpoint)
      : PhysicalQueuePair(device), device_(device), endpoint_(endpoint) {}
  ~ConnectionlessQueuePair() override { device_.close(endpoint_); }

  [[nodiscard]] std::size_t post(std::span<const PhysicalOperation> operations) override {
    return endpoint_.post(operations);
  }
  [[nodiscard]] std::size_t take(std::span<PhysicalEvent> events) override { return endpoint_.take(events); }
  void give_back(std::uint64_t buffer) override { endpoint_.give_back(buffer); }
  [[nodiscard]] Result<void> reset() override {
    if (!endpoint_.broken()) return Error(ErrorKind::bad_argument, "the queue pair is not broken");
    return device_.reopen(endpoint_);
  }

 private:
  OfiDevice& device_;
  RdmEndpoint& endpoint_;
};

}  // namespace

OfiDevice::OfiDevice(const OfiDeviceOptions& options)
    : options_(options),
      shared_{{options.sizes, options.answer_max, options.clock == nullptr ? &system_clock_ : options.clock},
              Peers(options.sizes.peers_max)} {}

Result<void> OfiDevice::start() {
  SPINDRIFT_TRY(check(options_));
  SPINDRIFT_TRY_ASSIGN(const SocketAddress at, interface_at(options_.listen));
  SPINDRIFT_TRY(shared_.waits.open());
  name_.address = address_of(at);
  if (!options_.connectionless.empty()) SPINDRIFT_TRY(start_connectionless(at));
  if (!options_.connected.empty()) SPINDRIFT_TRY(start_connected(at));
  metadata_ = encode(name_);
  set_traits();
  return {};
}

Result<void> OfiDevice::start_connectionless(const SocketAddress& at) {
  SPINDRIFT_TRY_ASSIGN(connectionless_domain_,
                       ProviderDomain::open(options_.connectionless, FI_EP_RDM, at, options_.sizes.peers_max));
  auto first = std::make_unique<RdmEndpoint>(*connectionless_domain_, shared_);
  if (auto opened = first->open(at); !opened) {
    return Error(ErrorKind::resource, "cannot listen")
        .at(options_.listen)
        .because(std::move(opened).error())
        .fix("see whether the address is this host's (ip address), and whether another process has the port (ss -ltnp)");
  }
  SPINDRIFT_TRY_ASSIGN(const SocketAddress address, first->address());
  name_.connectionless = *connectionless_wire(options_.connectionless);
  name_.connectionless_port = port_of(address);
  endpoints_.push_back(std::move(first));
  return {};
}

Result<void> OfiDevice::start_connected(const SocketAddress& at) {
  const SocketAddress any_port = socket_address(name_.address, 0);
  const SocketAddress& listener = options_.connectionless.empty() ? at : any_port;
  SPINDRIFT_TRY_ASSIGN(connected_domain_,
                       ProviderDomain::open(options_.connected, FI_EP_MSG, listener, options_.sizes.peers_max));
  connections_ = std::make_unique<OfiConnections>(*this, *connected_domain_, shared_);
  if (auto opened = connections_->open(any_port); !opened) return Error(std::move(opened).error()).at(options_.listen);
  SPINDRIFT_TRY_ASSIGN(const SocketAddress address, connections_->address());
  name_.connected = *connected_wire(options_.connected);
  name_.connected_port = port_of(address);
  return {};
}

void OfiDevice::set_traits() {
  const bool both = connectionless_domain_ != nullptr && connected_domain_ != nullptr;
  traits_.name = "ofi:" + options_.connectionless + (both ? "+" : "") + options_.connected;
  traits_.connectionless = connectionless_domain_ != nullptr;
  traits_.connected = connected_domain_ != nullptr;
  traits_.ordered_completions = !traits_.connectionless;
  traits_.connected_in_order = true;
  traits_.visible_on_completion = true;
  traits_.send_depth = options_.sizes.send_depth;
  traits_.message_bytes_max = options_.sizes.message_bytes_max;
}

Result<PeerHandle> OfiDevice::resolve(const Metadata& peer) {
  const auto name = decode(peer);
  const bool reachable = name && traits_.connectionless && name->connectionless == name_.connectionless;
  if (!reachable) {
    return Error(ErrorKind::bad_argument, "not the metadata of a device with connectionless queue pairs of " +
                                              (options_.connectionless.empty() ? "any provider" : options_.connectionless));
  }
  return shared_.peers.add(*name, [] { return Result(std::monostate{}); });
}

void OfiDevice::forget(PeerHandle peer) {
  if (!shared_.peers.remove(peer)) return;
  for (const auto& endpoint : endpoints_) endpoint->forget(peer);
}

Result<std::unique_ptr<PhysicalQueuePair>> OfiDevice::open() {
  if (!traits_.connectionless) return Error(ErrorKind::unsupported, "this device has no connectionless queue pairs");
  RdmEndpoint* endpoint = endpoints_.front().get();
  if (endpoint->used()) {
    auto made = std::make_unique<RdmEndpoint>(*connectionless_domain_, shared_);
    SPINDRIFT_TRY(made->open(socket_address(name_.address, 0)));
    endpoint = made.get();
    endpoints_.push_back(std::move(made));
  } else if (endpoint->broken()) {
    SPINDRIFT_TRY(reopen(*endpoint));
  }
  endpoint->set_used(true);
  return std::unique_ptr<PhysicalQueuePair>(std::make_unique<ConnectionlessQueuePair>(*this, *endpoint));
}

Result<void> OfiDevice::reopen(RdmEndpoint& endpoint) {
  const bool first = &endpoint == endpoints_.front().get();
  return endpoint.open(socket_address(name_.address, first ? name_.connectionless_port : std::uint16_t{0}));
}

// The first one stays, without an owner: peers reach this device's memory through it.
void OfiDevice::close(RdmEndpoint& endpoint) {
  const auto at =
      std::find_if(endpoints_.begin(), endpoints_.end(), [&](const auto& each) { return each.get() == &endpoint; });
  CHECK(at != endpoints_.end());
  if (at != endpoints_.begin()) {
    endpoints_.erase(at);
    return;
  }
  endpoint.shut();
  if (!ends_) static_cast<void>(reopen(endpoint));  // if that fails, the next `open` says why
}

Result<std::unique_ptr<PhysicalQueuePair>> OfiDevice::connect(const Metadata& peer, std::uint64_t token) {
  if (connections_ == nullptr) return Error(ErrorKind::unsupported, "this device has no connected queue pairs");
  const auto name = decode(peer);
  if (!name || name->connected != name_.connected) {
    return Error(ErrorKind::bad_argument,
                 "not the metadata of a device with connected queue pairs of " + options_.connected);
  }
  return connections_->connect(*name, token);
}

PhysicalDevice::Accepted OfiDevice::accepted() {
  return connections_ == nullptr ? Accepted{} : connections_->table().take(*this);
}

// No provider that the device takes asks for the registration of own memory: what own operations touch is checked here
// alone.
Result<MemoryKeys> OfiDevice::register_memory(std::span<std::byte> memory, std::optional<fabric::Access> access) {
  if (memory.empty()) return Error(ErrorKind::bad_argument, "memory without bytes");
  SPINDRIFT_TRY_ASSIGN(const std::uint64_t key, fabric::random_word());
  Registration made;
  if (access && connectionless_domain_ != nullptr) {
    SPINDRIFT_TRY_ASSIGN(made.connectionless, connectionless_domain_->register_memory(memory, *access, key));
  }
  if (access && connected_domain_ != nullptr) {
    SPINDRIFT_TRY_ASSIGN(made.connected, connected_domain_->register_memory(memory, *access, key));
  }
  if (!shared_.memory.add(key, memory)) return Error(ErrorKind::resource, "the kernel gave the same random number twice");
  registered_.emplace(key, std::move(made));
  return MemoryKeys{key, access ? key : 0, 0};
}

void OfiDevice::deregister(const MemoryKeys& keys) {
  shared_.memory.remove(keys.local_key);
  registered_.erase(keys.local_key);
}

bool OfiDevice::may_block() noexcept {
  return std::all_of(endpoints_.begin(), endpoints_.end(), [](const auto& each) { return each->may_block(); }) &&
         (connections_ == nullptr || connections_->may_block());
}

Time OfiDevice::next_look() const noexcept {
  Time next = connections_ == nullptr ? never : connections_->table().next_look();
  for (const auto& endpoint : endpoints_) next = std::min(next, endpoint->next_look());
  return next;
}

void OfiDevice::progress() {
  const Time now = shared_.clock->now();
  for (const auto& endpoint : endpoints_) endpoint->progress(now);
  if (connections_ != nullptr) connections_->progress(now);
}

}  // namespace spindrift::kernel::ofi

namespace spindrift::kernel {

Result<std::unique_ptr<PhysicalDevice>> make_ofi_device(const OfiDeviceOptions& options) {
  auto device = std::make_unique<ofi::OfiDevice>(options);
  SPINDRIFT_TRY(device->start());
  return std::unique_ptr<PhysicalDevice>(std::move(device));
}

}  // namespace spindrift::kernel
