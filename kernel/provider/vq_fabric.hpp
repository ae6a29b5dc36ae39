// Groups of processes on hosts of any kind over virtual queue pairs: a link is a pair of the pool that this process opened
// when it began to listen, and no endpoint, queue or connection is made for it. (KRCore, sections 3 and 4; decision 0016.)
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <spindrift/core/audit.hpp>
#include <spindrift/core/clock.hpp>
#include <spindrift/fabric/fabric.hpp>
#include <spindrift/core/ids.hpp>
#include <spindrift/core/result.hpp>

namespace spindrift::fabric::connected {
class Endpoint;
}
namespace spindrift::fabric::tls {
class Credentials;
}

namespace spindrift::kernel {

struct VqOptions {
  NodeId self;
  /// "tcp": libfabric's tcp;ofi_rxm connectionless, and tcp for the peers that are talked to most. "net": net's own
  /// connectionless endpoints alone.
  std::string provider = "tcp";
  /// Directory and group under which processes of one host see that a node's id is taken; as fabric::ShmOptions has them.
  std::string runtime_directory;
  std::string group_name;
  /// All nodes of the group with their addresses, the same in every process and in the same order: the meta servers are
  /// chosen from it. Empty: everybody is called at the address that `connect` is given.
  std::vector<fabric::Address> roster{};
  /// The keys by which members prove themselves, inside of a TLS session that carries all but data. Null: nobody proves
  /// anything.
  std::shared_ptr<fabric::tls::Credentials> credentials{};
  /// The audit that is told of callers, proved and refused.
  std::shared_ptr<AuditTrail> audit = std::make_shared<AuditTrail>();
  /// So long a meta server is given to answer at its address before the next one is met at its own, and after the last one
  /// everybody: at the start, when nobody's table is known.
  Duration meet_max = std::chrono::milliseconds(50);
  /// So long a meta server is given for each lookup; then the next one is asked.
  Duration lookup_max = std::chrono::milliseconds(100);
  /// A peer from which nothing came for so long is lost. Every side says something four times in that time.
  Duration silence_max = std::chrono::seconds(10);
};

/// One endpoint. Addresses, calls and silence are as of fabric::make_ofi; of this fabric:
///
/// - An address names one interface, no wildcard: peers of the pool answer there.
/// - Regions are carved out of memory that is registered once. Each peer that a region is exposed to has a key of its own,
///   random, which ends with `disconnect`. Memory that such a peer could write to is never used again in the endpoint's
///   life: what it had under way, if anything, hits nobody's memory.
/// - A node of the roster is reached by what its last link told or by a lookup in a meta server's table, which every process
///   keeps; at its address when it is to be met first, when no server knows it, and after a call by what a table said came
///   to nothing. What is counted says which (`count_in`): decision 0018. The pool's pairs, breaks and replays are counted
///   with it, and address space that is lost to fences.
/// - What is posted is cut into pieces of 64 KiB, each copied once more where the queue pair is shared.
///
/// Errors: unsupported (no libfabric, or no such provider with ordered, acknowledged operations: the reason says which
/// promise is missing); bad_argument (an address); refused (the id is in use); resource.
[[nodiscard]] Result<std::unique_ptr<fabric::Fabric>> make_vq(const VqOptions& options);
/// The same as a part of a mixed fabric, whose other part claims the node's id: the directory and the group are not used,
/// and the roster leaves out the nodes that the other part reaches.
[[nodiscard]] Result<std::unique_ptr<fabric::connected::Endpoint>> make_vq_part(const VqOptions& options);

/// The nodes of that roster that keep meta tables for all: at most three, on different hosts if there are so many, in its
/// order.
[[nodiscard]] std::vector<NodeId> vq_meta_servers(std::span<const fabric::Address> roster);

/// The provider of libfabric whose connectionless endpoints `VqOptions::provider` takes; empty if there is no such fabric.
[[nodiscard]] std::string vq_connectionless(std::string_view provider);
/// Listens there for a moment, as an endpoint would. Errors: as Fabric::listen.
[[nodiscard]] Result<void> try_vq_address(const std::string& provider, const std::string& endpoint);

}  // namespace spindrift::kernel
