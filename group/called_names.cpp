// Asking the resolver of the connected fabrics, whose lookups are bounded in time.
#include <spindrift/group/called_names.hpp>

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <semaphore>
#include <utility>

#include <spindrift/core/check.hpp>
#include <spindrift/core/file_descriptor.hpp>
#include <spindrift/core/log.hpp>
#include <spindrift/fabric/connected/resolver.hpp>
#include <spindrift/fabric/connected/socket_address.hpp>
#include <spindrift/fabric/fabric_name.hpp>

namespace spindrift::group {
namespace {

constexpr auto pause = std::chrono::milliseconds(250);
constexpr auto quick = std::chrono::seconds(1);  // of a name server

/// Whether an address is one of this host's, which a socket finds out. Errors: resource: it is another host's, as that of a
/// name may be until it is told that its host is gone.
Result<void> check_own(const std::string& endpoint, const fabric::connected::SocketAddress& address) {
  sockaddr_storage any_port = address.storage;
  auto* const bytes = reinterpret_cast<sockaddr*>(&any_port);
  if (any_port.ss_family == AF_INET6) {
    reinterpret_cast<sockaddr_in6*>(bytes)->sin6_port = 0;
  } else {
    reinterpret_cast<sockaddr_in*>(bytes)->sin_port = 0;
  }
  const FileDescriptor socket(::socket(any_port.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket || ::bind(socket.get(), bytes, address.bytes) == 0 || errno != EADDRNOTAVAIL) return {};  // listening tells
  SPINDRIFT_TRY_ASSIGN(const auto numbers, fabric::connected::in_numbers(address));
  return Error(ErrorKind::resource, endpoint + " leads to " + numbers.host + ", which is no address of this host")
      .fix("compare [SPINDRIFT] addresses with the host's names");
}

Result<void> look_up_own(fabric::connected::Resolver& resolver, const std::string& endpoint) {
  auto answer = resolver.take();
  CHECK(answer.has_value());
  SPINDRIFT_TRY_ASSIGN(const fabric::connected::SocketAddress address, std::move(answer->address));
  return check_own(endpoint, address);
}

Error silent(const std::string& endpoint) {
  return Error(ErrorKind::resource, "no name server has answered what the address of " + endpoint + " is")
      .fix("see whether the servers of /etc/resolv.conf answer");
}

Error nameless(NodeId self, Duration waited, Error why) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(waited).count();
  std::string fix = why.fix();
  return Error(ErrorKind::timed_out, "node " + std::to_string(self.value()) + " waited " + std::to_string(ms) +
                                         " ms for its own host's name to have an address here")
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
  const Time deadline = clock.now() + limit;
  const auto left = [&](Duration at_most) { return std::clamp(deadline - clock.now(), Duration::zero(), at_most); };
  std::binary_semaphore answered{0};
  fabric::connected::Resolver resolver([&answered] { answered.release(); });
  Error why = silent(*name);
  for (bool first = true;; first = false) {
    resolver.ask(self, *name);
    bool heard = answered.try_acquire_for(left(quick));
    if (!heard && first) told();
    heard = heard || answered.try_acquire_for(left(limit));
    if (!heard) return nameless(self, limit, std::move(why));
    auto found = look_up_own(resolver, *name);
    if (found) return {};
    why = std::move(found).error();
    if (first) {
      log::warn(log::Room::fabric, "a node has no address",
                {{"node", self}, {"endpoint", *name}, {"reason", why.message()}, {"fix", why.fix()}});
      told();
    }
    static_cast<void>(answered.try_acquire_for(left(pause)));  // nobody releases it meanwhile
  }
}

}  // namespace spindrift::group
