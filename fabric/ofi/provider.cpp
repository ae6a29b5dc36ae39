// Choosing a provider of libfabric; every reason for a refusal is told.
#include <spindrift/fabric/ofi/provider.hpp>

#include <netinet/in.h>

#include <algorithm>
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

/// The first that keeps the promises at that address. Errors: unsupported, bad_argument.
Result<Info> find_provider(const std::string& name, const SocketAddress& at) {
  SPINDRIFT_TRY_ASSIGN(const LibfabricCalls* const fi, library());
  SPINDRIFT_TRY_ASSIGN(const connected::NumericAddress source, connected::in_numbers(at));
  const Info hints(fi->dupinfo(nullptr));
  hints->caps = FI_MSG | FI_RMA;
  hints->mode = 0;
  hints->ep_attr->type = FI_EP_MSG;
  hints->domain_attr->mr_mode = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED;
  hints->domain_attr->threading = FI_THREAD_DOMAIN;
  hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
  hints->domain_attr->control_progress = FI_PROGRESS_MANUAL;
  hints->fabric_attr->prov_name = ::strdup(name.c_str());
  hints->addr_format = at.storage.ss_family == AF_INET6 ? FI_SOCKADDR_IN6 : FI_SOCKADDR_IN;
  fi_info* list = nullptr;
  const int failed = fi->getinfo(FI_VERSION(1, 17), source.host.c_str(), source.port.c_str(), FI_SOURCE | FI_NUMERICHOST,
                                 hints.get(), &list);
  if (failed != 0) {
    return Error(ErrorKind::unsupported, "libfabric's provider " + name + " offers no connected endpoints with one-sided " +
                                             "writes at this address; installed are: " + offered())
        .because(ofi_error("fi_getinfo", failed))
        .fix(
            "see to this host's entry in [SPINDRIFT] addresses: it must be an address of this host; or choose another "
            "fabric");
  }
  Info found(list);
  if (keeps_order(*found)) return found;
  return Error(ErrorKind::unsupported, "libfabric's provider " + name +
                                           " does not promise that writes and messages to one " +
                                           "peer arrive in their order, which the shared state table rests on")
      .fix("choose another [SPINDRIFT] fabric, for instance ofi:tcp");
}

}  // namespace

Result<std::unique_ptr<Provider>> Provider::open(const std::string& name, const SocketAddress& at) {
  std::unique_ptr<Provider> provider(new Provider);
  SPINDRIFT_TRY_ASSIGN(provider->info_, find_provider(name, at));
  SPINDRIFT_TRY_ASSIGN(provider->fabric_, made_by<fid_fabric>("fi_fabric", [&](fid_fabric** made) {
                         return loaded_library().fabric(provider->info_->fabric_attr, made, nullptr);
                       }));
  SPINDRIFT_TRY(provider->open_queues());
  return provider;
}

Result<void> Provider::open_queues() {
  SPINDRIFT_TRY_ASSIGN(waiting_, Waiting::open(*fabric_, info_->fabric_attr->prov_name));
  SPINDRIFT_TRY_ASSIGN(events_, waiting_.open_events());
  SPINDRIFT_TRY_ASSIGN(domain_, made_by<fid_domain>("fi_domain", [this](fid_domain** made) {
                         return fi_domain(fabric_.get(), info_.get(), made, nullptr);
                       }));
  fi_cq_attr attributes{};
  attributes.format = FI_CQ_FORMAT_MSG;
  attributes.size = completions_min;
  SPINDRIFT_TRY_ASSIGN(completions_, waiting_.open_completions(*domain_, attributes));
  SPINDRIFT_TRY_ASSIGN(events_descriptor_, waiting_.descriptor_of(events_->fid));
  SPINDRIFT_TRY_ASSIGN(completions_descriptor_, waiting_.descriptor_of(completions_->fid));
  return {};
}

// Providers bind at either of two moments.
Result<void> Provider::listen() {
  const auto refused = [](const char* what, int error) {
    return Error(ErrorKind::resource, "cannot listen at this node's address")
        .because(ofi_error(what, error))
        .fix("see whether another process has the port (ss -ltnp), and whether the address is this host's (ip address)");
  };
  fid_pep* listener = nullptr;
  if (const int error = fi_passive_ep(fabric_.get(), info_.get(), &listener, nullptr); error != 0)
    return refused("fi_passive_ep", error);
  listener_.reset(listener);
  SPINDRIFT_TRY(outcome_of("fi_pep_bind", fi_pep_bind(listener, &events_->fid, 0)));
  if (const int error = fi_listen(listener); error != 0) return refused("fi_listen", error);
  return {};
}

Result<Handle<fid_ep>> Provider::endpoint_for(fi_info& info) {
  SPINDRIFT_TRY_ASSIGN(auto handle, made_by<fid_ep>("fi_endpoint", [&](fid_ep** made) {
                         return fi_endpoint(domain_.get(), &info, made, nullptr);
                       }));
  SPINDRIFT_TRY(outcome_of("fi_ep_bind", fi_ep_bind(handle.get(), &events_->fid, 0)));
  SPINDRIFT_TRY(outcome_of("fi_ep_bind", fi_ep_bind(handle.get(), &completions_->fid, FI_TRANSMIT | FI_RECV)));
  SPINDRIFT_TRY(outcome_of("fi_enable", fi_enable(handle.get())));
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
  return endpoint_for(*info);
}

Result<Handle<fid_mr>> Provider::register_memory(std::span<std::byte> memory, Access access, std::uint64_t key) {
  const std::uint64_t rights = access == Access::write ? FI_REMOTE_WRITE : FI_REMOTE_READ;
  return made_by<fid_mr>("fi_mr_reg", [&](fid_mr** made) {
    return fi_mr_reg(domain_.get(), memory.data(), memory.size(), rights, 0, key, 0, made, nullptr);
  });
}

bool Provider::may_block() noexcept { return waiting_.may_block(*completions_, events_.get()); }

std::uint64_t Provider::address_of(const std::byte* memory) const noexcept {
  return (info_->domain_attr->mr_mode & FI_MR_VIRT_ADDR) == 0 ? 0 : reinterpret_cast<std::uintptr_t>(memory);
}

}  // namespace spindrift::fabric::ofi

namespace spindrift::fabric {

Result<std::vector<OfiOffer>> ofi_offers() {
  SPINDRIFT_TRY_ASSIGN(const ofi::LibfabricCalls* const lib, ofi::library());
  const ofi::LibfabricCalls& fi = *lib;
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
  SPINDRIFT_TRY_ASSIGN(auto address, connected::resolve(endpoint, false));
  SPINDRIFT_TRY_ASSIGN(auto opened, ofi::Provider::open(provider, address));
  return opened->listen();
}

}  // namespace spindrift::fabric
