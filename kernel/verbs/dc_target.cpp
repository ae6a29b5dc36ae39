// The target and its shared receive queue, and the ways to peers' targets.
#include <cerrno>
#include <cstring>

#include <spindrift/kernel/verbs/verbs_connections.hpp>
#include <spindrift/kernel/verbs/dc.hpp>

namespace spindrift::kernel::verbs {
namespace {

constexpr std::uint8_t hops_max = 64;
// 41 ms (InfiniBand Architecture Specification, volume 1, section 9.7.5.2.8); an initiator comes six times.
constexpr std::uint8_t not_ready_pause = 24;

/// By GID wherever RoCE is, and beyond the own subnet's LIDs.
ibv_ah_attr way_by(const DcPort& port) {
  ibv_ah_attr way{};
  way.is_global = port.lid == 0 ? 1 : 0;
  way.grh.hop_limit = hops_max;
  way.grh.sgid_index = port.gid_index;
  way.port_num = port.port;
  return way;
}

}  // namespace

Result<std::unique_ptr<DcTarget>> DcTarget::open(const DcPort& port, std::uint32_t life, std::uint32_t key,
                                                 ReceiveBuffers& buffers) {
  std::unique_ptr<DcTarget> target(new DcTarget(port, life, key, buffers));
  SPINDRIFT_TRY(target->start(buffers.count()));
  return target;
}

Result<void> DcTarget::start(std::uint32_t buffers) {
  const DcCalls& calls = *port_.calls;
  ibv_srq_init_attr queue{};
  queue.attr.max_wr = buffers;
  queue.attr.max_sge = 1;
  shared_queue_ = {calls.create_srq(port_.domain, &queue), DcReturn{&calls}};
  if (shared_queue_ == nullptr) return system_error("ibv_create_srq", errno);
  ibv_qp_init_attr_ex asked{};
  asked.qp_type = IBV_QPT_DRIVER;
  asked.send_cq = port_.completions;
  asked.recv_cq = port_.completions;
  asked.srq = shared_queue_.get();
  asked.comp_mask = IBV_QP_INIT_ATTR_PD;
  asked.pd = port_.domain;
  mlx5dv_qp_init_attr of_target{};
  of_target.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_DC;
  of_target.dc_init_attr.dc_type = MLX5DV_DCTYPE_DCT;
  of_target.dc_init_attr.dct_access_key = key_;
  target_ = {calls.create_qp(port_.context, &asked, &of_target), DcReturn{&calls}};
  if (target_ == nullptr) return system_error("mlx5dv_create_qp of a DC target", errno);
  ibv_qp_attr state{};
  state.qp_state = IBV_QPS_INIT;
  state.port_num = port_.port;
  state.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
  int failed = calls.modify_qp(target_.get(), &state, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
  if (failed != 0) return system_error("ibv_modify_qp of a DC target to INIT", failed);
  state.qp_state = IBV_QPS_RTR;
  state.path_mtu = port_.mtu;
  state.min_rnr_timer = not_ready_pause;
  state.ah_attr = way_by(port_);
  failed = calls.modify_qp(target_.get(), &state, IBV_QP_STATE | IBV_QP_PATH_MTU | IBV_QP_AV | IBV_QP_MIN_RNR_TIMER);
  if (failed != 0) return system_error("ibv_modify_qp of a DC target to RTR", failed);
  return give_buffers();
}

TargetName DcTarget::name() const noexcept {
  TargetName name;
  std::memcpy(name.gid.data(), port_.gid.raw, name.gid.size());
  name.lid = port_.lid;
  name.number = target_->qp_num;
  name.key = key_;
  return name;
}

Result<void> DcTarget::give_buffers() {
  ibv_recv_wr* refused = nullptr;
  const int failed = lend_all(buffers_, life_, port_.buffers_key,
                              [&](ibv_recv_wr* list) { return ibv_post_srq_recv(shared_queue_.get(), list, &refused); });
  if (failed != 0) return system_error("ibv_post_srq_recv", failed);
  return {};
}

Result<DcHandle<ibv_ah>> way_to(const DcPort& port, const TargetName& target) {
  ibv_ah_attr way = way_by(port);
  std::memcpy(way.grh.dgid.raw, target.gid.data(), target.gid.size());
  way.dlid = target.lid;
  DcHandle<ibv_ah> made(port.calls->create_ah(port.domain, &way), DcReturn{port.calls});
  if (made == nullptr)
    return Error(system_error("ibv_create_ah", errno)).fix("see whether the peer's network can be reached");
  return made;
}

}  // namespace spindrift::kernel::verbs
