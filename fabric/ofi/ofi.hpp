// The fabric between processes of different hosts, over libfabric: connected endpoints (FI_EP_MSG) of a provider that orders
// its writes. libfabric itself is loaded when an endpoint is made, so a process that stays on its host does not need it, and
// a site's own libfabric takes the place of Debian's.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <spindrift/core/audit.hpp>
#include <spindrift/core/clock.hpp>
#include <spindrift/fabric/fabric.hpp>
#include <spindrift/core/ids.hpp>
#include <spindrift/core/result.hpp>

namespace spindrift::fabric {

namespace connected {
class Endpoint;
}
namespace tls {
class Credentials;
}

struct OfiOptions {
  NodeId self;
  /// As libfabric names it: "tcp", "net".
  std::string provider = "tcp";
  /// Directory and group under which processes of one host see that a node's id is taken; as ShmOptions has them.
  std::string runtime_directory;
  std::string group_name;
  /// The keys by which members prove themselves, inside of a TLS session that carries all but data. Null: nobody proves
  /// anything.
  std::shared_ptr<tls::Credentials> credentials{};
  /// The audit that is told of callers, proved and refused.
  std::shared_ptr<AuditTrail> audit = std::make_shared<AuditTrail>();
  /// A peer from which nothing came for so long is lost. Every side says something four times in that time.
  Duration silence_max = std::chrono::seconds(10);
};

/// One endpoint. Where nodes are, is in Address::endpoint: "host:port", "[v6]:port"; a name is resolved anew for each
/// attempt, by a thread of its own. `listen` takes the port.
///
/// - Two processes call each other; the later call finds the earlier. An attempt that fails is repeated, after 20 ms at
///   first and a second at most, until there is a connection or `disconnect` ends the wish.
/// - Nobody's region is mapped. A region is registered for each peer that it is exposed to, under a random key that ends
/// with
///   `disconnect`: a write that is on its way then hits nothing.
/// - A released region's memory is given back when the peers have unmapped it or are gone, and own operations that read
///   it are done.
/// - `sleep` blocks on the provider's wait objects. The last write of a posted list tells the target that there is news.
/// - A peer that takes nothing while 64 MiB or 2^18 operations wait for it is lost.
///
/// Errors: unsupported (no libfabric, no such provider, or it does not order writes: the reason says what it offers);
/// bad_argument (an address); refused (the id is in use); resource, also for a port in use.
[[nodiscard]] Result<std::unique_ptr<Fabric>> make_ofi(const OfiOptions& options);
/// The same as a part of a mixed fabric, whose other part claims the node's id: the directory and the group are not used.
[[nodiscard]] Result<std::unique_ptr<connected::Endpoint>> make_ofi_part(const OfiOptions& options);

/// A provider of the libfabric that is installed.
struct OfiOffer {
  std::string provider;
  bool connected = false;       ///< has connected endpoints with one-sided writes
  bool ordered = false;         ///< and promises the order of writes and messages to one peer
  bool connectionless = false;  ///< has connectionless endpoints that promise the same
};
/// Each provider once, in libfabric's order. Takes up to a second: libfabric looks for devices. Errors: unsupported.
[[nodiscard]] Result<std::vector<OfiOffer>> ofi_offers();
/// Listens there for a moment, as an endpoint would. Errors: as Fabric::listen.
[[nodiscard]] Result<void> try_ofi_address(const std::string& provider, const std::string& endpoint);

}  // namespace spindrift::fabric
