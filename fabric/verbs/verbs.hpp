// The fabric between processes of different hosts with RDMA devices: reliable connected queue pairs of rdma-core, which
// order what is posted to one of them (InfiniBand Architecture Specification, volume 1, section 9.5). libibverbs and
// librdmacm are loaded when an endpoint is made, so a process that does without them does not need them.
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

struct VerbsOptions {
  NodeId self;
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
  /// Whether what peers may do is given to them by memory windows, where the device has those of type 2. Else, and on other
  /// devices, by a protection domain for each peer: its registrations cost more, and the same memory is pinned once for
  /// each.
  bool memory_windows = true;
};

/// One endpoint, on one device: that which has the address given to `listen`. Where nodes are, is in Address::endpoint:
/// "host:port", "[v6]:port", an address of the device's network interface; rdma_cm finds the way. A name is resolved anew
/// for each attempt, by a thread of its own.
///
/// - Two processes call each other; the later call finds the earlier. An attempt that fails is repeated, after 20 ms at
///   first and a second at most, until there is a connection or `disconnect` ends the wish.
/// - Nobody's region is mapped. What a peer may do holds for its queue pair alone, and is taken back before `disconnect`
///   returns; when the last words are said, in 250 ms at most, the queue pair is destroyed, and with it the last way in.
/// - A released region's memory is given back when the peers have unmapped it or are gone, and own operations that read
///   it are done.
/// - Memory that is exposed, or written from, is pinned: the limit of locked memory must allow it (ulimit -l).
/// - The last write of a posted list tells the target that there is news, which ends its `sleep`. Writes and reads need
///   nobody's help at the target; a peer that takes none of its messages holds up what is posted behind 124 of them.
/// - A peer for which 64 MiB or 2^18 operations wait is lost.
///
/// Errors: unsupported (no rdma-core); bad_argument (an address); refused (the id or the port is in use, or no device has
/// the address); resource.
[[nodiscard]] Result<std::unique_ptr<Fabric>> make_verbs(const VerbsOptions& options);
/// The same as a part of a mixed fabric, whose other part claims the node's id: the directory and the group are not used.
[[nodiscard]] Result<std::unique_ptr<connected::Endpoint>> make_verbs_part(const VerbsOptions& options);

/// A port of a device that rdma-core can open, with the addresses under which rdma_cm knows it.
struct VerbsPort {
  std::string device;
  std::uint32_t port = 0;  ///< from 1
  bool active = false;
  bool memory_windows = false;         ///< of type 2
  std::vector<std::string> addresses;  ///< of IPv4, or IPv6 beyond the link
};
/// Errors: unsupported (no rdma-core, or no device: with what makes one).
[[nodiscard]] Result<std::vector<VerbsPort>> verbs_ports();
/// Listens there for a moment, as an endpoint would. Errors: as Fabric::listen.
[[nodiscard]] Result<void> try_verbs_address(const std::string& endpoint);

}  // namespace spindrift::fabric
