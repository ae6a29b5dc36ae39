// One provider of libfabric, opened at an address for one class of queue pairs: its domain, and what is registered there.
#pragma once

#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include <spindrift/fabric/connected/socket_address.hpp>
#include <spindrift/fabric/fabric.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/kernel/ofi/ofi_shared.hpp>

namespace spindrift::kernel::ofi {

using fabric::connected::SocketAddress;
using fabric::ofi::Info;

/// Not movable: everything in it points at it. Whatever was made of it goes before it.
class ProviderDomain {
 public:
  /// `type`: FI_EP_RDM or FI_EP_MSG. `at`: where this host is on the network; its port counts if the endpoint that is made
  /// of it listens. Errors: unsupported, resource.
  [[nodiscard]] static Result<std::unique_ptr<ProviderDomain>> open(const std::string& provider, fi_ep_type type,
                                                                    const SocketAddress& at, std::uint32_t peers_max);

  [[nodiscard]] Result<Handle<fid_cq>> completions(std::size_t size);
  [[nodiscard]] Result<Handle<fid_eq>> events() { return waiting_.open_events(); }
  [[nodiscard]] Result<Handle<fid_av>> addresses();
  /// One that is not bound or enabled yet, of a copy of `info` with these addresses; null: as in `info`.
  [[nodiscard]] Result<Handle<fid_ep>> endpoint(const SocketAddress* source, const SocketAddress* destination);
  [[nodiscard]] Result<Handle<fid_ep>> endpoint(fi_info& info);
  [[nodiscard]] Result<Handle<fid_pep>> listener();
  [[nodiscard]] Result<Handle<fid_mr>> register_memory(std::span<std::byte> memory, fabric::Access access,
                                                       std::uint64_t key);

  /// Whether nothing has come to these queues of this domain that their descriptors would not tell. `events` may be null.
  [[nodiscard]] bool may_block(fid_cq& completions, fid_eq* events) noexcept {
    return waiting_.may_block(completions, events);
  }
  /// From here on until it is closed, that queue of this domain is waited for too. Errors: resource.
  [[nodiscard]] Result<void> add_to(const WaitSet& waits, fid& queue) const;
  /// Binds an endpoint to its completions and to its addresses or events, and enables it. Errors: resource.
  [[nodiscard]] static Result<void> enable(fid_ep& endpoint, fid_cq& completions, fid& other);

  /// One of libfabric's objects' own address. Errors: resource.
  [[nodiscard]] static Result<SocketAddress> address_of(fid& object);

 private:
  explicit ProviderDomain(std::uint32_t peers_max) : peers_max_(peers_max) {}

  const std::uint32_t peers_max_;
  Info info_;
  Handle<fid_fabric> fabric_;
  fabric::ofi::Waiting waiting_;
  Handle<fid_domain> domain_;
};

}  // namespace spindrift::kernel::ofi
