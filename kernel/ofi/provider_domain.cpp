// Opening a provider, and making its objects; what libfabric refuses is told with the name of the call.
#include <spindrift/kernel/ofi/provider_domain.hpp>

#include <netdb.h>
#include <rdma/fi_cm.h>

#include <array>
#include <cstdlib>
#include <cstring>

namespace spindrift::kernel::ofi {
namespace {

constexpr std::uint64_t needed_order = FI_ORDER_WAW | FI_ORDER_SAW | FI_ORDER_WAS | FI_ORDER_SAS;

// Puts a copy of the address in the place of what libfabric allocated.
void replace(void*& place, std::size_t& bytes, const SocketAddress& address) {
  std::free(place);
  place = std::malloc(address.bytes);
  bytes = address.bytes;
  std::memcpy(place, &address.storage, address.bytes);
}

// With no bit of mr_mode asked for, keys are the caller's, addresses are offsets, and own memory needs no descriptor: the
// same for both classes, so that one key and one base do for both.
Info hints_for(const fabric::ofi::LibfabricCalls& fi, const std::string& provider, fi_ep_type type, int family) {
  Info hints(fi.dupinfo(nullptr));
  hints->caps = FI_MSG | FI_RMA;
  hints->mode = 0;
  hints->ep_attr->type = type;
  hints->domain_attr->mr_mode = 0;
  hints->domain_attr->threading = FI_THREAD_DOMAIN;
  hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
  hints->domain_attr->control_progress = FI_PROGRESS_MANUAL;
  hints->tx_attr->op_flags = FI_DELIVERY_COMPLETE;
  hints->fabric_attr->prov_name = ::strdup(provider.c_str());
  hints->addr_format = family == AF_INET6 ? FI_SOCKADDR_IN6 : FI_SOCKADDR_IN;
  return hints;
}

/// Errors: unsupported.
Result<Info> find_provider(const fabric::ofi::LibfabricCalls& fi, const std::string& provider, fi_ep_type type,
                           const SocketAddress& at) {
  const Info hints = hints_for(fi, provider, type, at.storage.ss_family);
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  ::getnameinfo(reinterpret_cast<const sockaddr*>(&at.storage), at.bytes, host.data(), host.size(), port.data(), port.size(),
                NI_NUMERICHOST | NI_NUMERICSERV);
  fi_info* found = nullptr;
  const int failed =
      fi.getinfo(FI_VERSION(1, 17), host.data(), port.data(), FI_SOURCE | FI_NUMERICHOST, hints.get(), &found);
  if (failed != 0) {
    return Error(ErrorKind::unsupported, "libfabric's provider " + provider + " offers no " +
                                             (type == FI_EP_RDM ? "connectionless" : "connected") +
                                             " endpoints with acknowledged one-sided operations at this address")
        .because(ofi_error("fi_getinfo", failed))
        .fix("listen at an address of this host (ip address), and choose a provider that this libfabric has");
  }
  if ((found->tx_attr->msg_order & found->rx_attr->msg_order & needed_order) == needed_order) return Info(found);
  fi.freeinfo(found);
  return Error(ErrorKind::unsupported,
               "libfabric's provider " + provider + " does not keep the order of writes and messages")
      .fix("choose another provider, for instance tcp");
}

}  // namespace

Result<std::unique_ptr<ProviderDomain>> ProviderDomain::open(const std::string& provider, fi_ep_type type,
                                                             const SocketAddress& at, std::uint32_t peers_max) {
  SPINDRIFT_TRY_ASSIGN(const fabric::ofi::LibfabricCalls* const fi, fabric::ofi::library());
  std::unique_ptr<ProviderDomain> opened(new ProviderDomain(peers_max));
  SPINDRIFT_TRY_ASSIGN(opened->info_, find_provider(*fi, provider, type, at));
  fi_info& found = *opened->info_;
  SPINDRIFT_TRY_ASSIGN(opened->fabric_, made_by<fid_fabric>("fi_fabric", [&](fid_fabric** made) {
                         return fi->fabric(found.fabric_attr, made, nullptr);
                       }));
  fid_fabric* const fabric = opened->fabric_.get();
  SPINDRIFT_TRY_ASSIGN(opened->waiting_, fabric::ofi::Waiting::open(*fabric, found.fabric_attr->prov_name));
  SPINDRIFT_TRY_ASSIGN(opened->domain_, made_by<fid_domain>("fi_domain", [&](fid_domain** made) {
                         return fi_domain(fabric, &found, made, nullptr);
                       }));
  return opened;
}

Result<Handle<fid_cq>> ProviderDomain::completions(std::size_t size) {
  fi_cq_attr attributes{};
  attributes.format = FI_CQ_FORMAT_MSG;
  attributes.size = size;
  return waiting_.open_completions(*domain_, attributes);
}

Result<Handle<fid_av>> ProviderDomain::addresses() {
  fi_av_attr attributes{};
  attributes.type = FI_AV_TABLE;
  attributes.count = peers_max_;
  return made_by<fid_av>("fi_av_open", [&](fid_av** made) { return fi_av_open(domain_.get(), &attributes, made, nullptr); });
}

Result<Handle<fid_ep>> ProviderDomain::endpoint(const SocketAddress* source, const SocketAddress* destination) {
  const Info info(fabric::ofi::loaded_library().dupinfo(info_.get()));
  if (source != nullptr) replace(info->src_addr, info->src_addrlen, *source);
  if (destination != nullptr) replace(info->dest_addr, info->dest_addrlen, *destination);
  return endpoint(*info);
}

Result<Handle<fid_ep>> ProviderDomain::endpoint(fi_info& info) {
  info.tx_attr->op_flags = FI_DELIVERY_COMPLETE;
  return made_by<fid_ep>("fi_endpoint", [&](fid_ep** made) { return fi_endpoint(domain_.get(), &info, made, nullptr); });
}

Result<Handle<fid_pep>> ProviderDomain::listener() {
  auto listener = made_by<fid_pep>("fi_passive_ep",
                                   [&](fid_pep** made) { return fi_passive_ep(fabric_.get(), info_.get(), made, nullptr); });
  if (!listener) return Error(ErrorKind::resource, "cannot listen").because(std::move(listener).error());
  return listener;
}

Result<Handle<fid_mr>> ProviderDomain::register_memory(std::span<std::byte> memory, fabric::Access access,
                                                       std::uint64_t key) {
  const std::uint64_t rights = access == fabric::Access::write ? FI_REMOTE_WRITE : FI_REMOTE_READ;
  return made_by<fid_mr>("fi_mr_reg", [&](fid_mr** made) {
    return fi_mr_reg(domain_.get(), memory.data(), memory.size(), rights, 0, key, 0, made, nullptr);
  });
}

Result<void> ProviderDomain::add_to(const WaitSet& waits, fid& queue) const {
  SPINDRIFT_TRY_ASSIGN(const int descriptor, waiting_.descriptor_of(queue));
  return waits.add(descriptor);
}

Result<void> ProviderDomain::enable(fid_ep& endpoint, fid_cq& completions, fid& other) {
  SPINDRIFT_TRY(outcome_of("fi_ep_bind", fi_ep_bind(&endpoint, &other, 0)));
  SPINDRIFT_TRY(outcome_of("fi_ep_bind", fi_ep_bind(&endpoint, &completions.fid, FI_TRANSMIT | FI_RECV)));
  return outcome_of("fi_enable", fi_enable(&endpoint));
}

Result<SocketAddress> ProviderDomain::address_of(fid& object) {
  SocketAddress address;
  std::size_t bytes = sizeof address.storage;
  SPINDRIFT_TRY(outcome_of("fi_getname", fi_getname(&object, &address.storage, &bytes)));
  address.bytes = static_cast<socklen_t>(bytes);
  return address;
}

}  // namespace spindrift::kernel::ofi
