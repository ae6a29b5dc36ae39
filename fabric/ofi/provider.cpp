// Choosing a provider of libfabric; every reason for a refusal is told.
#include <spindrift/fabric/ofi/provider.hpp>

#include <netdb.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <span>

#include <spindrift/fabric/ofi/ofi.hpp>

namespace spindrift::fabric::ofi {
namespace {

constexpr std::uint64_t needed_order = FI_ORDER_WAW | FI_ORDER_SAW | FI_ORDER_WAS | FI_ORDER_SAS;
constexpr std::size_t completions_min = 4096;

bool keeps_order(const fi_info& info) {
  return (info.tx_attr->msg_order & info.rx_attr->msg_order & needed_order) == needed_order;
}

std::string offered() {
  std::string names;
  if (const auto offers = ofi_offers()) {
    for (const OfiOffer& offer : offers.value()) names += (names.empty() ? "" : ", ") + offer.provider;
  }
  return names.empty() ? "none" : names;
}

/// An address in numbers, as libfabric's functions want it.
struct NumericAddress {
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
};

Result<NumericAddress> in_numbers(const SocketAddress& address) {
  NumericAddress text;
  const int failed = ::getnameinfo(reinterpret_cast<const sockaddr*>(&address.storage), address.bytes, text.host.data(),
                                   text.host.size(), text.port.data(), text.port.size(), NI_NUMERICHOST | NI_NUMERICSERV);
  if (failed == 0) return text;
  auto cause = failed == EAI_SYSTEM ? system_error("getnameinfo", errno)
                                    : Error(ErrorKind::bad_argument, std::string("getnameinfo: ") + ::gai_strerror(failed));
  return Error(ErrorKind::bad_argument, "this node's address cannot be written in numbers")
      .because(std::move(cause))
      .fix("give this node an IPv4 or IPv6 address in [SPINDRIFT] addresses");
}

}  // namespace

Result<std::unique_ptr<Provider>> Provider::open(const std::string& name, const SocketAddress& at) {
  auto lib = library();
  if (!lib) return std::move(lib).error();
  auto source = in_numbers(at);
  if (!source) return std::move(source).error();
  const Library& fi = **lib;
  const Info hints(fi.dupinfo(nullptr));
  hints->caps = FI_MSG | FI_RMA;
  hints->mode = 0;
  hints->ep_attr->type = FI_EP_MSG;
  hints->domain_attr->mr_mode = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED;
  hints->domain_attr->threading = FI_THREAD_DOMAIN;
  hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
  hints->domain_attr->control_progress = FI_PROGRESS_MANUAL;
  hints->fabric_attr->prov_name = ::strdup(name.c_str());
  hints->addr_format = at.storage.ss_family == AF_INET6 ? FI_SOCKADDR_IN6 : FI_SOCKADDR_IN;
  fi_info* found = nullptr;
  const int failed = fi.getinfo(FI_VERSION(1, 17), source->host.data(), source->port.data(), FI_SOURCE | FI_NUMERICHOST,
                                hints.get(), &found);
  if (failed != 0) {
    return Error(ErrorKind::unsupported, "libfabric's provider " + name + " offers no connected endpoints with one-sided " +
                                             "writes at this address; installed are: " + offered())
        .because(ofi_error("fi_getinfo", failed))
        .fix(
            "see to this host's entry in [SPINDRIFT] addresses: it must be an address of this host; or choose another "
            "fabric");
  }
  std::unique_ptr<Provider> provider(new Provider);
  provider->info_.reset(found);
  if (!keeps_order(*found)) {
    return Error(ErrorKind::unsupported, "libfabric's provider " + name +
                                             " does not promise that writes and messages to one " +
                                             "peer arrive in their order, which the shared state table rests on")
        .fix("choose another [SPINDRIFT] fabric, for instance ofi:tcp");
  }
  fid_fabric* fabric = nullptr;
  if (const int error = fi.fabric(found->fabric_attr, &fabric, nullptr); error != 0) return ofi_error("fi_fabric", error);
  provider->fabric_.reset(fabric);
  if (auto opened = provider->open_queues(); !opened) return std::move(opened).error();
  return provider;
}

Result<void> Provider::open_queues() {
  auto waiting = Waiting::open(*fabric_, info_->fabric_attr->prov_name);
  if (!waiting) return std::move(waiting).error();
  waiting_ = std::move(waiting).value();
  auto events = waiting_.open_events();
  if (!events) return std::move(events).error();
  events_ = std::move(events).value();
  fid_domain* domain = nullptr;
  if (const int error = fi_domain(fabric_.get(), info_.get(), &domain, nullptr); error != 0)
    return ofi_error("fi_domain", error);
  domain_.reset(domain);
  fi_cq_attr attributes{};
  attributes.format = FI_CQ_FORMAT_MSG;
  attributes.size = completions_min;
  auto completions = waiting_.open_completions(*domain, attributes);
  if (!completions) return std::move(completions).error();
  completions_ = std::move(completions).value();
  auto events_descriptor = waiting_.descriptor_of(events_->fid);
  if (!events_descriptor) return std::move(events_descriptor).error();
  events_descriptor_ = events_descriptor.value();
  auto completions_descriptor = waiting_.descriptor_of(completions_->fid);
  if (!completions_descriptor) return std::move(completions_descriptor).error();
  completions_descriptor_ = completions_descriptor.value();
  return {};
}

// Providers bind at either of two moments.
Result<void> Provider::listen() {
  const auto refused = [](const char* what, int error) {
    return Error(ErrorKind::refused, "cannot listen at this node's address")
        .because(ofi_error(what, error))
        .fix("see whether another process has the port (ss -ltnp), and whether the address is this host's (ip address)");
  };
  fid_pep* listener = nullptr;
  if (const int error = fi_passive_ep(fabric_.get(), info_.get(), &listener, nullptr); error != 0)
    return refused("fi_passive_ep", error);
  listener_.reset(listener);
  if (const int error = fi_pep_bind(listener, &events_->fid, 0); error != 0) return ofi_error("fi_pep_bind", error);
  if (const int error = fi_listen(listener); error != 0) return refused("fi_listen", error);
  return {};
}

Result<Handle<fid_ep>> Provider::open_endpoint(fi_info& info) {
  fid_ep* endpoint = nullptr;
  if (const int error = fi_endpoint(domain_.get(), &info, &endpoint, nullptr); error != 0)
    return ofi_error("fi_endpoint", error);
  Handle<fid_ep> handle(endpoint);
  if (const int error = fi_ep_bind(endpoint, &events_->fid, 0); error != 0) return ofi_error("fi_ep_bind", error);
  if (const int error = fi_ep_bind(endpoint, &completions_->fid, FI_TRANSMIT | FI_RECV); error != 0)
    return ofi_error("fi_ep_bind", error);
  if (const int error = fi_enable(endpoint); error != 0) return ofi_error("fi_enable", error);
  return handle;
}

Result<Handle<fid_ep>> Provider::endpoint_to(const SocketAddress& peer) {
  const Info info(loaded_library().dupinfo(info_.get()));
  std::free(std::exchange(info->src_addr, nullptr));
  info->src_addrlen = 0;
  std::free(info->dest_addr);
  info->dest_addr = std::malloc(peer.bytes);
  info->dest_addrlen = peer.bytes;
  std::memcpy(info->dest_addr, &peer.storage, peer.bytes);
  info->addr_format = peer.storage.ss_family == AF_INET6 ? FI_SOCKADDR_IN6 : FI_SOCKADDR_IN;
  return open_endpoint(*info);
}

Result<Handle<fid_ep>> Provider::endpoint_for(fi_info& info) { return open_endpoint(info); }

Result<Handle<fid_mr>> Provider::register_memory(std::span<std::byte> memory, Access access, std::uint64_t key) {
  fid_mr* registered = nullptr;
  const std::uint64_t rights = access == Access::write ? FI_REMOTE_WRITE : FI_REMOTE_READ;
  const int error = fi_mr_reg(domain_.get(), memory.data(), memory.size(), rights, 0, key, 0, &registered, nullptr);
  if (error != 0) return ofi_error("fi_mr_reg", error);
  return Handle<fid_mr>(registered);
}

bool Provider::may_block() noexcept { return waiting_.may_block(*completions_, events_.get()); }

std::uint64_t Provider::address_of(const std::byte* memory) const noexcept {
  return (info_->domain_attr->mr_mode & FI_MR_VIRT_ADDR) == 0 ? 0 : reinterpret_cast<std::uintptr_t>(memory);
}

}  // namespace spindrift::fabric::ofi

namespace spindrift::fabric {

Result<std::vector<OfiOffer>> ofi_offers() {
  auto lib = ofi::library();
  if (!lib) return std::move(lib).error();
  const ofi::Library& fi = **lib;
  fi_info* list = nullptr;
  if (const int failed = fi.getinfo(FI_VERSION(1, 17), nullptr, nullptr, 0, nullptr, &list); failed != 0)
    return ofi::ofi_error("fi_getinfo", failed);
  const ofi::Info owner(list);
  std::vector<OfiOffer> offers;
  for (const fi_info* info = list; info != nullptr; info = info->next) {
    const std::string name = info->fabric_attr->prov_name;
    auto at = std::find_if(offers.begin(), offers.end(), [&](const OfiOffer& offer) { return offer.provider == name; });
    if (at == offers.end()) at = offers.insert(at, {name});
    const bool connected = info->ep_attr->type == FI_EP_MSG && (info->caps & FI_RMA) != 0;
    at->connected |= connected;
    at->ordered |= connected && ofi::keeps_order(*info);
    at->connectionless |= info->ep_attr->type == FI_EP_RDM && (info->caps & FI_RMA) != 0 && ofi::keeps_order(*info);
  }
  return offers;
}

Result<void> try_ofi_address(const std::string& provider, const std::string& endpoint) {
  auto address = connected::resolve(endpoint, false);
  if (!address) return std::move(address).error();
  auto opened = ofi::Provider::open(provider, *address);
  if (!opened) return std::move(opened).error();
  return opened.value()->listen();
}

}  // namespace spindrift::fabric
