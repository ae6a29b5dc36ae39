// A connection without a provider, for tests of what connected fabrics do before bytes travel.
#pragma once

#include <spindrift/fabric/connected/connection.hpp>

namespace spindrift::fabric::connected {

/// A connection whose operations go nowhere: the test is its provider.
class Unprovided final : public Connection {
 public:
  using Connection::Connection;
  void send(std::span<const std::byte>, bool, std::uint64_t) override {}
  void transfer(const Transfer&) override {}
  void flush() override {}
  [[nodiscard]] bool idle() const noexcept override { return true; }
  void close() override {}

 private:
  [[nodiscard]] Result<Right> give_right(OwnRegion&, Access) override { return Right{}; }
};

}  // namespace spindrift::fabric::connected
