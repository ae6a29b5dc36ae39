// Whether an adapter has DC queue pairs: asked by making one, for no attribute of rdma-core says it.
#include <cerrno>
#include <cstring>
#include <string>

#include <spindrift/fabric/verbs/library.hpp>
#include <spindrift/kernel/verbs/dc_calls.hpp>
#include <spindrift/kernel/verbs/verbs_device.hpp>

namespace spindrift::kernel {

std::string why_no_dc(const std::string& device) {
  namespace rdma = fabric::verbs;
  auto library = rdma::library();
  if (!library) return library.error().message();
  const rdma::Library& lib = **library;
  auto calls = verbs::dc_calls();
  if (!calls) return calls.error().message();
  int count = 0;
  const rdma::Handle<ibv_device*> devices(lib.get_device_list(&count));
  for (int i = 0; i < count; ++i) {
    ibv_device* const each = devices.get()[i];
    if (lib.get_device_name(each) != device) continue;
    if (!(*calls)->is_supported(each)) return "it is no adapter of libmlx5's";
    const rdma::Handle<ibv_context> context(lib.open_device(each));
    if (context == nullptr) return system_error("ibv_open_device", errno).message();
    const rdma::Handle<ibv_pd> domain(lib.alloc_pd(context.get()));
    const rdma::Handle<ibv_cq> queue(lib.create_cq(context.get(), 1, nullptr, nullptr, 0));
    if (domain == nullptr || queue == nullptr) return system_error("ibv_create_cq", errno).message();
    ibv_qp_init_attr_ex asked{};
    asked.qp_type = IBV_QPT_DRIVER;
    asked.send_cq = asked.recv_cq = queue.get();
    asked.cap.max_send_wr = asked.cap.max_send_sge = 1;
    asked.comp_mask = IBV_QP_INIT_ATTR_PD;
    asked.pd = domain.get();
    mlx5dv_qp_init_attr of_initiator{};
    of_initiator.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_DC;
    of_initiator.dc_init_attr.dc_type = MLX5DV_DCTYPE_DCI;
    ibv_qp* const trial = (*calls)->create_qp(context.get(), &asked, &of_initiator);
    if (trial == nullptr) return system_error("mlx5dv_create_qp", errno).message();
    static_cast<void>((*calls)->destroy_qp(trial));
    return "";
  }
  return "there is no such device";
}

}  // namespace spindrift::kernel
