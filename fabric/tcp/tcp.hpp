// The fabric between processes of different hosts, over the kernel's TCP: one-sided writes, reads and messages as frames of
// one connection per pair of processes.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <spindrift/core/audit.hpp>
#include <spindrift/core/clock.hpp>
#include <spindrift/core/ids.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/fabric/fabric.hpp>

namespace spindrift::fabric {

namespace connected {
class Endpoint;
}
namespace tcp {
class DiscoveryAnswer;
}
namespace tls {
class Credentials;
}

struct TcpOptions {
  NodeId self;
  /// Directory and group under which processes of one host see that a node's id is taken; as ShmOptions has them.
  std::string runtime_directory;
  std::string group_name;
  /// The keys by which this process proves itself, and judges others. Null: nobody proves anything, and nothing is
  /// encrypted.
  std::shared_ptr<tls::Credentials> credentials{};
  /// The audit that is told of callers, proved and refused.
  std::shared_ptr<AuditTrail> audit = std::make_shared<AuditTrail>();
  /// The answer to callers that ask for the group (discovery.hpp); null: they are refused.
  std::shared_ptr<const tcp::DiscoveryAnswer> discovery{};
  /// A peer from which nothing came for so long is lost. Every side says something four times in that time.
  Duration silence_max = std::chrono::seconds(10);
  /// A peer that lives, and takes nothing of what was sent to it for so long, is lost.
  Duration unread_max = std::chrono::seconds(10);
};

/// One endpoint. Where nodes are, is in Address::endpoint: "host:port", "[v6]:port"; a name is resolved anew for each
/// attempt, by a thread of its own. `listen` takes the port; calls leave from any port.
///
/// - Two processes call each other; the later call finds the earlier. An attempt that fails is repeated, after 20 ms at
///   first and a second at most, until there is a connection or `disconnect` ends the wish.
/// - Nobody's region is mapped. Each peer that a region is exposed to has a random key of its own to it, which ends with
///   `disconnect`: a write that is on its way then hits nothing. A write under another key ends the connection.
/// - The bytes of a large write go from the socket to their place without a copy; those of a small one word by word.
/// - A released region's memory is given back when the peers have unmapped it or are gone, and own operations that read
///   it are done.
/// - With credentials all that travels is inside of TLS 1.3, and both ends are proved to each other, and to be the nodes
///   that they say they are, before a byte of either is looked at. Keys that change are found within a second or two; a
///   connection whose other end would not be let in any more ends then.
/// - A thread of its own begins connections: callers that have not proved themselves and greeted are bounded in number, in
///   all and from one address, and in time.
/// - A peer that takes nothing while 64 MiB or 2^18 operations wait for it is lost.
///
/// Errors: bad_argument (an address); refused (the id is in use); resource, also for a port in use.
[[nodiscard]] Result<std::unique_ptr<Fabric>> make_tcp(const TcpOptions& options);
/// The same as a part of a mixed fabric, whose other part claims the node's id: the directory and the group are not used.
[[nodiscard]] Result<std::unique_ptr<connected::Endpoint>> make_tcp_part(const TcpOptions& options);
/// Listens there for a moment, as an endpoint would. Errors: as Fabric::listen.
[[nodiscard]] Result<void> try_tcp_address(const std::string& endpoint);

}  // namespace spindrift::fabric
