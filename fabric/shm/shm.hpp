// The fabric between processes of one host: no root, no setup. Every region belongs to the process that allocated it; peers
// map it, read-only unless it was exposed for writing, and the size of whatever a peer maps is sealed.
#pragma once

#include <memory>
#include <string>

#include <spindrift/fabric/fabric.hpp>
#include <spindrift/core/audit.hpp>
#include <spindrift/core/ids.hpp>
#include <spindrift/core/result.hpp>

namespace spindrift::fabric {

struct ShmOptions {
  NodeId self;
  /// A directory that all processes of the group share, for instance $XDG_RUNTIME_DIR; made (mode 0700) if it is missing and
  /// its parent exists.
  std::string runtime_directory;
  /// Names `<runtime_directory>/<group_name>/`, where the group's processes meet: 1 … 64 characters of [A-Za-z0-9._-], the
  /// first of them no dot.
  std::string group_name;
  /// The audit that is told of callers that are refused.
  std::shared_ptr<AuditTrail> audit = std::make_shared<AuditTrail>();
};

/// One endpoint of this host's fabric.
///
/// - `listen` takes the node's id by a lock that the kernel releases when the process ends, and removes what dead processes
///   of the group left behind (their `<id>.lock`, `<id>.sock` and `<id>.counters`). So make `<id>.counters` after `listen`.
/// - `connect` needs a preceding `listen`. The wish stays: a peer that dies and comes back gives a new `connected`.
/// - A region is exposed for reading or for writing, the same to every peer: only a region that nobody may write can be
///   sealed against writing. `allocate` as many as there are needs.
/// - A region takes no memory before its pages are touched, so that a large one is made in microseconds. `release` and
///   `unmap` leave the unmapping to the endpoint's thread. A peer may have 6146 regions exposed to this endpoint at a time
///   that were not unmapped here.
/// - `disconnect` cannot take a mapping away from a process of the same host. A process that must not write any longer must
///   never have been given a region that is still in use: a new view has new regions.
/// - `lost` says "process 1234 of node 2 died" when the connection ended without a goodbye and the process is gone, and
///   that it "ended the connection without a word" when it lives.
/// - `fabric.shm.refused_connections` counts those that were closed for a malformed or unwelcome greeting (`count_in`).
/// - Processes of one group run as one user, in one pid namespace.
///
/// Errors: bad_argument (group name); refused (directory of another user, or writable by others); resource; unsupported
/// (a kernel without futex_waitv, Linux < 5.16).
[[nodiscard]] Result<std::unique_ptr<Fabric>> make_shm(const ShmOptions& options);

}  // namespace spindrift::fabric
