// The target and its shared receive queue, and the ways to peers' targets.
#include <cerrno>
#include <cstring>
#include <utility>

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
  if (auto started = target->start(buffers.count()); !started) return std::move(started).error();
  return target;
}

Result<void> DcTarget::start(std::uint32_t buffers) {
  const DcCalls& calls = *port_.calls;
  ibv_srq_init_attr queue{};
  queue.attr.max_wr = buffers;
  queue.attr.max_sge = 1;
  shared_queue_ = calls.create_srq(port_.domain, &queue);
  if (shared_queue_ == nullptr) return system_error("ibv_create_srq", errno);
  ibv_qp_init_attr_ex asked{};
  asked.qp_type = IBV_QPT_DRIVER;
  asked.send_cq = port_.completions;
  asked.recv_cq = port_.completions;
  asked.srq = shared_queue_;
  asked.comp_mask = IBV_QP_INIT_ATTR_PD;
  asked.pd = port_.domain;
  mlx5dv_qp_init_attr of_target{};
  of_target.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_DC;
  of_target.dc_init_attr.dc_type = MLX5DV_DCTYPE_DCT;
  of_target.dc_init_attr.dct_access_key = key_;
  target_ = calls.create_qp(port_.context, &asked, &of_target);
  if (target_ == nullptr) return system_error("mlx5dv_create_qp of a DC target", errno);
  ibv_qp_attr state{};
  state.qp_state = IBV_QPS_INIT;
  state.port_num = port_.port;
  state.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
  int failed = calls.modify_qp(target_, &state, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
  if (failed != 0) return system_error("ibv_modify_qp of a DC target to INIT", failed);
  state.qp_state = IBV_QPS_RTR;
  state.path_mtu = port_.mtu;
  state.min_rnr_timer = not_ready_pause;
  state.ah_attr = way_by(port_);
  failed = calls.modify_qp(target_, &state, IBV_QP_STATE | IBV_QP_PATH_MTU | IBV_QP_AV | IBV_QP_MIN_RNR_TIMER);
  if (failed != 0) return system_error("ibv_modify_qp of a DC target to RTR", failed);
  return give_buffers();
}

DcTarget::~DcTarget() {
  if (target_ != nullptr) static_cast<void>(port_.calls->destroy_qp(target_));
  if (shared_queue_ != nullptr) static_cast<void>(port_.calls->destroy_srq(shared_queue_));
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
  for (const ReceiveBuffers::Buffer& buffer : buffers_.lend_all()) {
    ibv_sge piece = piece_of(buffer.bytes, port_.buffers_key);
    ibv_recv_wr work{};
    work.wr_id = encode(CompletionToken{life_, true, buffer.place});
    work.sg_list = &piece;
    work.num_sge = 1;
    ibv_recv_wr* refused = nullptr;
    if (const int failed = ibv_post_srq_recv(shared_queue_, &work, &refused); failed != 0)
      return system_error("ibv_post_srq_recv", failed);
  }
  return {};
}

DcPeers::~DcPeers() {
  for (const Peer& peer : peers_) {
    if (peer.way != nullptr) static_cast<void>(port_.calls->destroy_ah(peer.way));
  }
}

Result<PeerHandle> DcPeers::add(const TargetName& target) {
  std::size_t place = peers_.size();
  for (std::size_t i = peers_.size(); i-- > 0;) {
    if (peers_[i].uses > 0 && peers_[i].target == target) {
      ++peers_[i].uses;
      return PeerHandle(static_cast<std::uint32_t>(i + 1));
    }
    if (peers_[i].uses == 0) place = i;
  }
  if (place == peers_max_)
    return Error(ErrorKind::resource, "more peers than the device was opened for").fix("raise peers_max");
  ibv_ah_attr way = way_by(port_);
  std::memcpy(way.grh.dgid.raw, target.gid.data(), target.gid.size());
  way.dlid = target.lid;
  ibv_ah* const made = port_.calls->create_ah(port_.domain, &way);
  if (made == nullptr)
    return Error(system_error("ibv_create_ah", errno)).fix("see whether the peer's network can be reached");
  if (place == peers_.size()) peers_.emplace_back();
  peers_[place] = {target, made, 1};
  return PeerHandle(static_cast<std::uint32_t>(place + 1));
}

void DcPeers::remove(PeerHandle peer) {
  if (find(peer) == nullptr) return;
  Peer& entry = peers_[peer.value() - 1];
  if (--entry.uses == 0) static_cast<void>(port_.calls->destroy_ah(std::exchange(entry.way, nullptr)));
}

const DcPeers::Peer* DcPeers::find(PeerHandle peer) const noexcept {
  if (peer.value() == 0 || peer.value() > peers_.size()) return nullptr;
  const Peer& entry = peers_[peer.value() - 1];
  return entry.uses == 0 ? nullptr : &entry;
}

}  // namespace spindrift::kernel::verbs
