// Opening a member to observers of other hosts.
#include <spindrift/group/observer_service.hpp>

#include <cstdint>
#include <random>
#include <utility>

#include <spindrift/core/config/addresses.hpp>

namespace spindrift::group {

namespace {

std::uint64_t random_life() {
  std::random_device random;
  return (std::uint64_t{random()} << 32U | random()) | 1U;
}

}  // namespace

Result<void> ObserverService::start_elsewhere(const Config& config, std::shared_ptr<fabric::tls::Credentials> credentials,
                                              std::shared_ptr<AuditTrail> audit) {
  const std::string endpoint = config::observer_address_of(config, self_);
  if (endpoint.empty()) return {};
  elsewhere_.emplace(ObservedMember{self_, directory_, std::move(audit), random_life()}, std::move(credentials));
  return elsewhere_->start(endpoint);
}

}  // namespace spindrift::group
