// A device over rdma-core, without libfabric: connected queue pairs are reliable connections (RC), connectionless ones are
// DC initiators and a DC target (dynamically connected transport), which Mellanox' adapters have from ConnectX-4 on and
// libmlx5 makes. (KRCore, sections 2.3 and 4.2.) Peers are reached by the adapter: nobody's process helps.
//
// Some promises differ from those over libfabric:
// * A completion says that the peer's adapter has acknowledged the operation, not that its memory shows it:
//   `visible_on_completion` is false. Completions come in the order of the posts, on both classes.
// * A message that finds no buffer waits on a connection. On a DC initiator, whose other peers wait too, it is tried for a
//   quarter of a second and is then `not_ready`; every failure breaks the initiator, which works again after `reset`.
// * A message's header has at most 128 bytes.
// * Memory that is registered is pinned: the limit of locked memory must allow it (ulimit -l).
// * A key holds for every process that knows it and reaches one of this device's queue pairs, until it is deregistered.
//
// The connectionless half has not been run on an adapter: the machines that build this have none. Its tests look at each
// call into libmlx5. The connected half runs on the kernel's soft-RoCE (`tools/test --vm`).
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/kernel/physical.hpp>

namespace spindrift::kernel {

struct VerbsDeviceOptions {
  std::string listen;  ///< "host:port" or "[v6]:port" of an RDMA device's network interface, of rdma_cm; port 0: any
  bool connectionless = false;  ///< needs an adapter with DC
  DeviceSizes sizes;
  Duration answer_max = std::chrono::seconds(5);  ///< of a connection, above 0: a peer that does not answer is lost
  const Clock* clock = nullptr;                   ///< outlives the device; null: the system's
};

/// Loads rdma-core, and listens. Errors: bad_argument (options), unsupported (no rdma-core, or no DC: with what to use
/// instead), refused (no device has the address, or the port is in use), resource. May wait for a name server.
[[nodiscard]] Result<std::unique_ptr<PhysicalDevice>> make_verbs_device(const VerbsDeviceOptions& options);

/// Why the device of that name ("mlx5_0") has no DC initiators and targets, or nothing if it has. For people.
[[nodiscard]] std::string why_no_dc(const std::string& device);

}  // namespace spindrift::kernel
