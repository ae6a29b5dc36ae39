// Loading libmlx5, which only a device with a connectionless half needs.
#include <spindrift/kernel/verbs/dc_calls.hpp>

#include <spindrift/fabric/load_library.hpp>

namespace spindrift::kernel::verbs {
namespace {

Result<DcCalls> load() {
  DcCalls calls;
  fabric::LoadedLibrary mlx5("libmlx5.so.1");
  mlx5.find(calls.is_supported, "mlx5dv_is_supported")
      .find(calls.create_qp, "mlx5dv_create_qp")
      .find(calls.to_mlx5, "mlx5dv_qp_ex_from_ibv_qp_ex");
  fabric::LoadedLibrary verbs("libibverbs.so.1");
  verbs.find(calls.to_extended, "ibv_qp_to_qp_ex")
      .find(calls.modify_qp, "ibv_modify_qp")
      .find(calls.destroy_qp, "ibv_destroy_qp")
      .find(calls.create_ah, "ibv_create_ah")
      .find(calls.destroy_ah, "ibv_destroy_ah")
      .find(calls.create_srq, "ibv_create_srq")
      .find(calls.destroy_srq, "ibv_destroy_srq");
  const std::string problem = mlx5.error().empty() ? verbs.error() : mlx5.error();
  if (problem.empty()) return calls;
  return Error(ErrorKind::unsupported, "no DC queue pairs: " + problem)
      .fix("install rdma-core's providers (Debian: apt-get install ibverbs-providers)");
}

}  // namespace

Result<const DcCalls*> dc_calls() {
  static const Result<DcCalls> loaded = load();
  if (!loaded) return loaded.error();
  return &loaded.value();
}

}  // namespace spindrift::kernel::verbs
