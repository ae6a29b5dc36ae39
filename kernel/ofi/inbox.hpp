// A queue pair's receive buffers: with the provider, or with the owner, or waiting until the provider takes them again.
#pragma once

#include <rdma/fi_endpoint.h>

#include <cstdint>
#include <memory>
#include <vector>

#include <spindrift/kernel/ofi/flights.hpp>
#include <spindrift/kernel/physical.hpp>

namespace spindrift::kernel::ofi {

class Inbox {
 public:
  explicit Inbox(const DeviceSizes& sizes) : buffer_bytes_(sizes.message_bytes_max), places_(sizes.receive_buffers) {}

  /// All buffers are offered to this endpoint; what was given out before is forgotten. The endpoint's last life is over.
  void start(fid_ep& endpoint, std::uint64_t life);
  /// The endpoint is about to go.
  void stop() noexcept { endpoint_ = nullptr; }
  /// Offers the provider what it did not take. False if it refuses for good.
  [[nodiscard]] bool flush();

  /// A message is in that buffer. `bytes` is the provider's word.
  [[nodiscard]] PhysicalEvent received(std::uint32_t place, std::size_t bytes);
  /// What came did not fit, and is lost.
  void spoiled(std::uint32_t place);
  /// By the id that `received` said. Of an earlier life: ignored.
  void give_back(std::uint64_t id);
  /// Messages that were turned away.
  [[nodiscard]] std::uint64_t rejected() const noexcept { return rejected_; }

 private:
  enum class With : std::uint8_t { nobody, provider, owner };
  const std::size_t buffer_bytes_;
  std::vector<With> places_;
  std::unique_ptr<std::byte[]> memory_;
  std::vector<std::uint32_t> waiting_;
  fid_ep* endpoint_ = nullptr;
  std::uint64_t life_ = 0;
  std::uint64_t rejected_ = 0;
};

}  // namespace spindrift::kernel::ofi
