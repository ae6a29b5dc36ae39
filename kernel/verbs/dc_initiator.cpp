// The initiator: from one peer to the next with each request, and back to work after a failure; and whether an adapter has
// any.
#include <cerrno>
#include <string>
#include <utility>

#include <arpa/inet.h>

#include <spindrift/core/check.hpp>
#include <spindrift/kernel/verbs/verbs_connections.hpp>
#include <spindrift/kernel/verbs/dc.hpp>
#include <spindrift/kernel/verbs/verbs_device.hpp>

namespace spindrift::kernel::verbs {
namespace {

constexpr std::uint8_t answer_time = 16;  // 4.096 µs times 2^16, as over reliable connections
constexpr std::uint8_t tries = 6;
constexpr std::uint8_t buffer_tries = 6;  // 7 would be for ever, and other peers wait behind it
constexpr std::uint8_t reads_max = 16;

/// Null, and errno says why, if the adapter makes none.
DcHandle<ibv_qp> create(const DcCalls& calls, ibv_context& context, ibv_pd& domain, ibv_cq& completions,
                        std::uint32_t send_depth) {
  ibv_qp_init_attr_ex asked{};
  asked.qp_type = IBV_QPT_DRIVER;
  asked.send_cq = asked.recv_cq = &completions;
  asked.cap.max_send_wr = send_depth;
  asked.cap.max_send_sge = 2;
  asked.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  asked.pd = &domain;
  asked.send_ops_flags =
      IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_SEND;
  // A completion carries no bytes of a read: libmlx5 does not look for them on an initiator.
  mlx5dv_qp_init_attr of_initiator{};
  of_initiator.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_DC | MLX5DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS;
  of_initiator.create_flags = MLX5DV_QP_CREATE_DISABLE_SCATTER_TO_CQE;
  of_initiator.dc_init_attr.dc_type = MLX5DV_DCTYPE_DCI;
  return {calls.create_qp(&context, &asked, &of_initiator), DcReturn{&calls}};
}

}  // namespace

DcInitiator::DcInitiator(const DcPort& port, const DcPeers& peers, std::uint32_t life, const DeviceSizes& sizes,
                         const OwnMemory& memory)
    : port_(port), peers_(peers), life_(life), send_depth_(sizes.send_depth), queue_(sizes, memory, [this](PeerHandle peer) {
        return peers_.find(peer) != nullptr;
      }) {}

Result<void> DcInitiator::open() {
  const DcCalls& calls = *port_.calls;
  initiator_ = create(calls, *port_.context, *port_.domain, *port_.completions, send_depth_);
  if (initiator_ == nullptr) return system_error("mlx5dv_create_qp of a DC initiator", errno);
  extended_ = calls.to_extended(initiator_.get());
  mlx5_ = extended_ == nullptr ? nullptr : calls.to_mlx5(extended_);
  if (mlx5_ == nullptr) return Error(ErrorKind::resource, "libmlx5 made a DC initiator that cannot be posted to");
  return get_ready();
}

Result<void> DcInitiator::change(ibv_qp_attr& state, int mask, const char* where) {
  const int failed = port_.calls->modify_qp(initiator_.get(), &state, mask);
  if (failed == 0) return {};
  return system_error(std::string("ibv_modify_qp of a DC initiator to ") + where, failed);
}

// From INIT on, which is where a new one and one that was reset begin.
Result<void> DcInitiator::get_ready() {
  ibv_qp_attr state{};
  state.qp_state = IBV_QPS_INIT;
  state.port_num = port_.port;
  SPINDRIFT_TRY(change(state, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT, "INIT"));
  state.qp_state = IBV_QPS_RTR;
  state.path_mtu = port_.mtu;
  state.ah_attr.port_num = port_.port;
  state.ah_attr.is_global = port_.lid == 0 ? 1 : 0;
  state.ah_attr.grh.sgid_index = port_.gid_index;
  SPINDRIFT_TRY(change(state, IBV_QP_STATE | IBV_QP_PATH_MTU | IBV_QP_AV, "RTR"));
  state.qp_state = IBV_QPS_RTS;
  state.timeout = answer_time;
  state.retry_cnt = tries;
  state.rnr_retry = buffer_tries;
  state.max_rd_atomic = reads_max;
  constexpr int to_send =
      IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;
  SPINDRIFT_TRY(change(state, to_send, "RTS"));
  state_ = State::ready;
  return {};
}

std::size_t DcInitiator::post(std::span<const PhysicalOperation> operations) {
  if (state_ != State::ready) return 0;
  requests_.clear();
  const std::size_t taken = queue_.take(operations, requests_);
  if (requests_.empty()) return taken;
  ibv_wr_start(extended_);
  for (const AdapterRequest& request : requests_) hand_over(request);
  // A list that is refused was not begun; what is before it is flushed.
  if (const int failed = ibv_wr_complete(extended_); failed != 0) {
    ibv_qp_attr state{};
    state.qp_state = IBV_QPS_ERR;
    static_cast<void>(change(state, IBV_QP_STATE, "ERR"));
    queue_.take_back(requests_);
    fail(system_error("ibv_wr_complete", failed).message());
  }
  return taken;
}

// The order is libmlx5's: the kind, then where to, then the bytes.
void DcInitiator::hand_over(const AdapterRequest& request) noexcept {
  const DcPeers::Peer* const peer = peers_.find(request.peer);
  CHECK(peer != nullptr);
  extended_->wr_id = encode(CompletionToken{life_, false, request.number});
  extended_->wr_flags = request.signaled ? 0U + IBV_SEND_SIGNALED : 0U;
  switch (request.kind) {
    case PhysicalOperation::Kind::write:
      if (request.news) ibv_wr_rdma_write_imm(extended_, request.remote_key, request.remote_address, htonl(0));
      if (!request.news) ibv_wr_rdma_write(extended_, request.remote_key, request.remote_address);
      break;
    case PhysicalOperation::Kind::read: ibv_wr_rdma_read(extended_, request.remote_key, request.remote_address); break;
    case PhysicalOperation::Kind::send: ibv_wr_send(extended_); break;
  }
  mlx5dv_wr_set_dc_addr(mlx5_, peer->path.get(), peer->name.number, peer->name.key);
  ibv_wr_set_sge_list(extended_, static_cast<std::size_t>(request.piece_count), request.pieces.data());
}

void DcInitiator::on_completion(std::uint32_t number, ibv_wc_status status) {
  if (status == IBV_WC_SUCCESS) {
    queue_.on_done(number);
  } else {
    queue_.on_failed(number, status_of(status));
    if (state_ == State::ready) return fail("an operation failed: " + std::string(to_string(status_of(status))));
  }
  if (state_ == State::failing && queue_.idle()) tell_broken();
}

void DcInitiator::fail(std::string reason) {
  state_ = State::failing;
  reason_ = std::move(reason);
  if (queue_.idle()) tell_broken();
}

void DcInitiator::tell_broken() {
  state_ = State::broken;
  queue_.events().broken(reason_);
}

Result<void> DcInitiator::reset() {
  if (state_ != State::broken) return Error(ErrorKind::bad_argument, "the queue pair is not broken");
  ibv_qp_attr state{};
  state.qp_state = IBV_QPS_RESET;
  SPINDRIFT_TRY(change(state, IBV_QP_STATE, "RESET"));
  return get_ready();
}

}  // namespace spindrift::kernel::verbs

namespace spindrift::kernel {

// Asked by making one, for no attribute of rdma-core says it.
std::string why_no_dc(const std::string& device) {
  namespace rdma = fabric::verbs;
  auto library = rdma::library();
  if (!library) return library.error().message();
  const rdma::RdmaCoreCalls& lib = **library;
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
    if (verbs::create(**calls, *context, *domain, *queue, 1) == nullptr)
      return system_error("mlx5dv_create_qp", errno).message();
    return "";
  }
  return "there is no such device";
}

}  // namespace spindrift::kernel
