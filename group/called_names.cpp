// Asking the resolver of the connected fabrics, whose lookups are bounded in time.
#include <spindrift/group/called_names.hpp>

#include <algorithm>
#include <chrono>
#include <semaphore>
#include <utility>

#include <spindrift/core/check.hpp>
#include <spindrift/core/log.hpp>
#include <spindrift/fabric/connected/resolver.hpp>
#include <spindrift/fabric/connected/socket_address.hpp>
#include <spindrift/fabric/fabric_name.hpp>

namespace spindrift::group {
namespace {

constexpr auto pause = std::chrono::milliseconds(250);

Error nameless(NodeId self, Duration waited, Error why) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(waited).count();
  std::string fix = why.fix();
  return Error(ErrorKind::timed_out, "node " + std::to_string(self.value()) + " waited " + std::to_string(ms) +
                                         " ms for an address of its own host's name")
      .because(std::move(why))
      .fix(std::move(fix));
}

}  // namespace

std::optional<std::string> called_name(const Config& config, NodeId node) {
  const auto fabric = fabric::FabricName::parse(config.fabric());
  CHECK(fabric.ok());  // the configuration has been checked
  std::string address = config.address_of(node);
  if (address.empty() || (fabric->shm && !fabric->mixed())) return std::nullopt;
  const NodeId self = config.local_id();
  if (node != self && fabric->maps(config.address_of(self), address)) return std::nullopt;
  if (fabric::connected::resolve(address, true)) return std::nullopt;
  return address;
}

Result<void> await_own_name(const Config& config, Duration limit, const Clock& clock, const std::function<void()>& told) {
  const NodeId self = config.local_id();
  const auto name = called_name(config, self);
  if (!name) return {};
  const Time begun = clock.now();
  std::binary_semaphore answered{0};
  fabric::connected::Resolver resolver([&answered] { answered.release(); });
  for (bool first = true;; first = false) {
    resolver.ask(self, *name);
    answered.acquire();  // before long, for the lookup is bounded
    auto answer = resolver.take();
    CHECK(answer.has_value());
    if (answer->address) return {};
    const Duration left = begun + limit - clock.now();
    if (left <= Duration::zero()) return nameless(self, limit, std::move(answer->address).error());
    if (first) {
      const Error& why = answer->address.error();
      log::warn(log::Room::fabric, "a node has no address",
                {{"node", self}, {"endpoint", *name}, {"reason", why.message()}, {"fix", why.fix()}});
      told();
    }
    static_cast<void>(answered.try_acquire_for(std::min<Duration>(left, pause)));  // nobody releases it meanwhile
  }
}

}  // namespace spindrift::group
