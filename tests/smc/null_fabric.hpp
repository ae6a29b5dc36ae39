// A fabric that refuses everything: for members whose rows are mapped, among whom nothing is ever posted.
#pragma once

#include <spindrift/core/check.hpp>
#include <spindrift/fabric/fabric.hpp>

namespace spindrift::smc {

class NullFabric : public fabric::Fabric {
 public:
  [[nodiscard]] Result<void> post(std::span<const fabric::Operation>) override { return none(); }
  [[nodiscard]] const fabric::Traits& traits() const noexcept override { return traits_; }
  [[nodiscard]] Result<fabric::Region> allocate(std::size_t, std::string_view) override { return none(); }
  void release(fabric::RegionKey) override {}
  [[nodiscard]] Result<void> listen(const fabric::Address&) override { return none(); }
  [[nodiscard]] Result<void> connect(const fabric::Address&) override { return none(); }
  void disconnect(fabric::PeerId) override {}
  [[nodiscard]] Result<void> expose(fabric::PeerId, fabric::RegionKey, fabric::Access) override { return none(); }
  [[nodiscard]] Result<std::span<const std::byte>> map(fabric::PeerId, fabric::RegionKey) override { return none(); }
  void unmap(fabric::PeerId, fabric::RegionKey) override {}
  [[nodiscard]] std::size_t poll(std::span<fabric::Event>) override { return 0; }
  void notify() noexcept override {}
  void prepare_sleep() noexcept override {}
  void sleep(Time) noexcept override {}
  void cancel_sleep() noexcept override {}
  void wake() noexcept override {}

 private:
  static Error none() { return {ErrorKind::unsupported, "nothing is posted between mapped rows"}; }
  fabric::Traits traits_;
};

}  // namespace spindrift::smc
