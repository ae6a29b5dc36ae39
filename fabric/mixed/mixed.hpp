// The fabric of a group that has several members on some of its hosts: a peer on this host is reached over shm, so that its
// rows are read in place, and every other over a fabric between hosts, which mirrors them.
#pragma once

#include <memory>

#include <spindrift/fabric/connected/endpoint.hpp>
#include <spindrift/fabric/fabric.hpp>
#include <spindrift/fabric/shm/part.hpp>

namespace spindrift::fabric {

/// One endpoint: a part over shm, and a part over the fabric between hosts.
///
/// - A peer is on this host if its Address::endpoint has the same host as the one given to `listen`, as it is written; no
///   name is looked up. So two ends that have the same addresses decide alike. A node that calls in the other way than it
///   is to be reached here, because its addresses say otherwise, is turned away, and that is told once, with what to do.
/// - Who has the same host as this node meets it in the runtime directory, and nowhere else: in containers with one address
///   they have to share it. A node of another host is never reached over shm, though it shares the directory.
/// - `mappable` is the peer's: see Event. What the traits promise holds for every peer.
/// - A region is one memory, known to both parts under one key. Its memory goes when neither needs it.
/// - Peers on this host: 127 at most.
/// - A sleep ends by what comes from either side. Peers of other hosts wake it by way of the shm part's thread.
///
/// Both are of one node, and neither listens yet; the second is made as a part: `make_ofi_part` and the like.
[[nodiscard]] std::unique_ptr<Fabric> make_mixed(std::unique_ptr<shm::LocalPart> near,
                                                 std::unique_ptr<connected::Endpoint> far);

}  // namespace spindrift::fabric
