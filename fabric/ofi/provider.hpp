// The part of libfabric that one endpoint needs: a provider that keeps the promises, with its domain, queues and listening
// endpoint.
#pragma once

#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_rma.h>

#include <memory>
#include <string>

#include <spindrift/fabric/connected/socket_address.hpp>
#include <spindrift/fabric/fabric.hpp>
#include <spindrift/fabric/ofi/library.hpp>
#include <spindrift/core/result.hpp>

namespace spindrift::fabric::ofi {

using connected::SocketAddress;

/// One provider, opened. Not movable: everything in it points at it.
class Provider {
 public:
  /// `at`: where to listen. Errors: unsupported, resource.
  [[nodiscard]] static Result<std::unique_ptr<Provider>> open(const std::string& name, const SocketAddress& at);

  /// Errors: resource, also if the port is in use.
  [[nodiscard]] Result<void> listen();
  /// An endpoint to connect to that address. Errors: resource.
  [[nodiscard]] Result<Handle<fid_ep>> endpoint_to(const SocketAddress& peer);
  /// An endpoint of that kind; of a request's, one to accept it. Errors: resource.
  [[nodiscard]] Result<Handle<fid_ep>> endpoint_for(fi_info& info);
  [[nodiscard]] Result<Handle<fid_mr>> register_memory(std::span<std::byte> memory, Access access, std::uint64_t key);

  [[nodiscard]] fid_eq& events() noexcept { return *events_; }
  [[nodiscard]] fid_cq& completions() noexcept { return *completions_; }
  [[nodiscard]] fid_pep& listener() noexcept { return *listener_; }
  [[nodiscard]] int events_descriptor() const noexcept { return events_descriptor_; }
  [[nodiscard]] int completions_descriptor() const noexcept { return completions_descriptor_; }
  /// Whether nothing happened that the descriptors would not tell.
  [[nodiscard]] bool may_block() noexcept;
  [[nodiscard]] const fi_info& info() const noexcept { return *info_; }
  /// The base that an operation on a peer's region adds to its offset: its address, or 0.
  [[nodiscard]] std::uint64_t address_of(const std::byte* memory) const noexcept;

 private:
  Provider() = default;
  [[nodiscard]] Result<void> open_queues();

  Info info_;
  Handle<fid_fabric> fabric_;
  Waiting waiting_;
  Handle<fid_eq> events_;
  Handle<fid_domain> domain_;
  Handle<fid_cq> completions_;
  Handle<fid_pep> listener_;
  int events_descriptor_ = -1;
  int completions_descriptor_ = -1;
};

}  // namespace spindrift::fabric::ofi
