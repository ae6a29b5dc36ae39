// The few calls of rdma-core that DC queue pairs take, in a table: an adapter's, or a test's that writes them down.
#pragma once

#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>

#include <memory>

#include <spindrift/core/result.hpp>

namespace spindrift::kernel::verbs {

struct DcCalls {
  bool (*is_supported)(ibv_device*) = nullptr;
  ibv_qp* (*create_qp)(ibv_context*, ibv_qp_init_attr_ex*, mlx5dv_qp_init_attr*) = nullptr;
  mlx5dv_qp_ex* (*to_mlx5)(ibv_qp_ex*) = nullptr;
  ibv_qp_ex* (*to_extended)(ibv_qp*) = nullptr;
  int (*modify_qp)(ibv_qp*, ibv_qp_attr*, int) = nullptr;
  int (*destroy_qp)(ibv_qp*) = nullptr;
  ibv_ah* (*create_ah)(ibv_pd*, ibv_ah_attr*) = nullptr;
  int (*destroy_ah)(ibv_ah*) = nullptr;
  ibv_srq* (*create_srq)(ibv_pd*, ibv_srq_init_attr*) = nullptr;
  int (*destroy_srq)(ibv_srq*) = nullptr;
};

/// Gives an object of rdma-core back by the calls that made it.
struct DcReturn {
  const DcCalls* calls = nullptr;
  void operator()(ibv_qp* object) const noexcept { calls->destroy_qp(object); }
  void operator()(ibv_ah* object) const noexcept { calls->destroy_ah(object); }
  void operator()(ibv_srq* object) const noexcept { calls->destroy_srq(object); }
};
template <class Object>
using DcHandle = std::unique_ptr<Object, DcReturn>;

/// The calls of libmlx5 and libibverbs, loaded once; they stay. Errors: unsupported (no libmlx5, or one without a call).
[[nodiscard]] Result<const DcCalls*> dc_calls();

}  // namespace spindrift::kernel::verbs
