// In the place of DC queue pairs where rdma-core's headers have no infiniband/mlx5dv.h.
#include <spindrift/kernel/verbs/connectionless_half.hpp>
#include <spindrift/kernel/verbs/verbs_device.hpp>

namespace spindrift::kernel::verbs {

Result<std::unique_ptr<ConnectionlessHalf>> open_connectionless(VerbsDevice& /*device*/, VerbsShared& /*shared*/) {
  return Error(ErrorKind::unsupported, "no DC queue pairs: " + why_no_dc(""))
      .fix("build with rdma-core's mlx5dv.h (Debian: apt-get install libibverbs-dev), or open the connected class alone");
}

}  // namespace spindrift::kernel::verbs

namespace spindrift::kernel {

std::string why_no_dc(const std::string& /*device*/) { return "this was built without infiniband/mlx5dv.h"; }

}  // namespace spindrift::kernel
