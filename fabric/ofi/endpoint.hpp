// The libfabric endpoint: what the provider reports, and operations, of which small writes travel together.
#pragma once

#include <memory>
#include <string>

#include <spindrift/fabric/connected/endpoint.hpp>
#include <spindrift/fabric/connected/small_writes.hpp>
#include <spindrift/fabric/ofi/lane.hpp>
#include <spindrift/fabric/ofi/ofi.hpp>
#include <spindrift/fabric/ofi/provider.hpp>

namespace spindrift::fabric::ofi {

class OfiFabric final : public connected::Endpoint {
 public:
  OfiFabric(const OfiOptions& options, connected::Beginning beginning);
  ~OfiFabric() override { end(); }

  [[nodiscard]] Result<void> post(std::span<const Operation> operations) override;

 private:
  // endpoint.cpp: operations
  [[nodiscard]] Lane* lane_to(PeerId peer) noexcept { return static_cast<Lane*>(find(peer)); }
  void execute(const Operation& operation, bool news);

  // links.cpp: what the provider reports, and calls
  [[nodiscard]] Result<Descriptors> open(const SocketAddress& at) override;
  [[nodiscard]] Result<std::unique_ptr<connected::Lane>> start_call(NodeId node, const SocketAddress& address) override;
  void take_reports() override;
  bool take_completions() override;
  void on_writes(connected::Lane& lane, std::span<const std::byte> writes) override;
  [[nodiscard]] bool may_block() noexcept override { return provider_->may_block(); }
  void on_completion(const fi_cq_msg_entry& entry);
  void on_failed_completion();
  void on_request(fi_info* info, std::span<const std::byte> data);
  [[nodiscard]] Result<void> answer(fi_info& info, const connected::Greeting& greeting);
  void on_event_error();
  [[nodiscard]] connected::Lane* lane_of(fid_t which) noexcept;

  const std::string provider_name_;
  std::unique_ptr<Provider> provider_;
  Flights flights_;
  connected::SmallWrites small_writes_;
};

}  // namespace spindrift::fabric::ofi
