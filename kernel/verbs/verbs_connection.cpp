// One connection: requests out in order, completions back in order, buffers round.
#include <cerrno>
#include <string>
#include <utility>

#include <spindrift/core/bytes.hpp>
#include <spindrift/kernel/verbs/verbs_connections.hpp>
#include <spindrift/kernel/verbs/rdma_core_device.hpp>

namespace spindrift::kernel::verbs {
namespace {

constexpr int way_found_in_ms = 2000;
/// Stands before a caller's token, so that a caller of another protocol is turned away.
constexpr std::uint64_t caller_says = 0x31'63'76'44'4e'50'53;  // "SPNDvc1"

ibv_wr_opcode opcode_of(const AdapterRequest& request) {
  switch (request.kind) {
    case PhysicalOperation::Kind::write: return request.news ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE;
    case PhysicalOperation::Kind::read: return IBV_WR_RDMA_READ;
    case PhysicalOperation::Kind::send: return IBV_WR_SEND;
  }
  return IBV_WR_SEND;
}

}  // namespace

VerbsConnection::VerbsConnection(VerbsDevice& device, VerbsConnections& connections, VerbsShared& shared, bool calls)
    : PhysicalQueuePair(device),
      connections_(connections),
      shared_(shared),
      calls_(calls),
      state_(shared.new_life(), shared.answer_max, shared.clock->now()),
      queue_(shared.sizes, shared.memory, nullptr),
      buffers_(shared.sizes) {
  buffers_.start(state_.life());
}

VerbsConnection::~VerbsConnection() {
  connections_.table().remove(state_.life());
  shut();
}

// Registrations go after the queue pair, which may be using them.
void VerbsConnection::shut() noexcept {
  if (id_ != nullptr && std::exchange(has_queue_pair_, false)) {
    fabric::verbs::loaded_library().disconnect(id_.get());
    fabric::verbs::loaded_library().cm_destroy_qp(id_.get());
  }
  id_.reset();
  headers_registered_.reset();
  buffers_registered_.reset();
}

Result<void> VerbsConnection::make_queue_pair() {
  SPINDRIFT_TRY(shared_.adapter->make_queue_pair(*id_, shared_.adapter->domain()));
  has_queue_pair_ = true;
  SPINDRIFT_TRY_ASSIGN(headers_registered_, shared_.register_own(queue_.headers()));
  queue_.set_headers_key(headers_registered_->lkey);
  SPINDRIFT_TRY_ASSIGN(buffers_registered_, shared_.register_own(buffers_.memory()));
  give_buffers();
  return state_.broken() ? Result<void>(Error(ErrorKind::resource, "the adapter takes no receive buffers")) : Result<void>();
}

void VerbsConnection::give_buffers() {
  if (!has_queue_pair_) return;
  ibv_recv_wr* refused = nullptr;
  const int failed = lend_all(buffers_, state_.life(), buffers_registered_->lkey,
                              [&](ibv_recv_wr* list) { return ibv_post_recv(id_->qp, list, &refused); });
  if (failed != 0) break_down(system_error("ibv_post_recv", failed).message(), OperationStatus::flushed);
}

std::size_t VerbsConnection::post(std::span<const PhysicalOperation> operations) {
  if (!state_.up()) return 0;
  if (queue_.idle()) state_.hear(shared_.clock->now());
  requests_.clear();
  const std::size_t taken = queue_.take(operations, requests_);
  if (requests_.empty()) return taken;
  std::vector<ibv_send_wr> works(requests_.size());
  for (std::size_t i = 0; i < works.size(); ++i) {
    AdapterRequest& request = requests_[i];
    ibv_send_wr& work = works[i];
    work.wr_id = encode(CompletionToken{state_.life(), false, request.number});
    work.opcode = opcode_of(request);
    work.send_flags = request.signaled ? 0U + IBV_SEND_SIGNALED : 0U;
    work.sg_list = request.pieces.data();
    work.num_sge = request.piece_count;
    work.wr.rdma.remote_addr = request.remote_address;
    work.wr.rdma.rkey = request.remote_key;
    work.next = i + 1 < works.size() ? &works[i + 1] : nullptr;
  }
  ibv_send_wr* refused = nullptr;
  if (const int failed = ibv_post_send(id_->qp, works.data(), &refused); failed != 0)
    break_down(system_error("ibv_post_send", failed).message(), OperationStatus::flushed);
  return taken;
}

void VerbsConnection::on_way_found(rdma_cm_event_type how_far, std::uint64_t token) {
  Result<void> done;
  if (how_far == RDMA_CM_EVENT_ADDR_RESOLVED) {
    done = make_queue_pair();
    if (done && fabric::verbs::loaded_library().resolve_route(id_.get(), way_found_in_ms) != 0)
      done = system_error("rdma_resolve_route", errno);
  } else {
    done = shared_.adapter->connect(*id_, field_bytes(caller_says, token));
  }
  if (!done) break_down(done.error().to_string(), OperationStatus::peer_lost);
}

void VerbsConnection::on_established() {
  if (state_.establish(shared_.clock->now()) && calls_) queue_.events().connected();
}

// A completion that failed has a valid token and status, and nothing else.
void VerbsConnection::on_completion(const CompletionToken& token, const ibv_wc& completion) {
  if (state_.broken()) return;
  state_.hear(shared_.clock->now());
  if (completion.status != IBV_WC_SUCCESS) {
    const OperationStatus status = status_of(completion.status);
    if (!token.receive) queue_.on_failed(token.which, status);
    // A peer's mistake here fails its own operations there; a flushed buffer follows a failure that is told elsewhere.
    if (token.receive && status == OperationStatus::flushed) return;
    return break_down(
        std::string("the connection broke: ") + fabric::verbs::loaded_library().wc_status_str(completion.status),
        status == OperationStatus::peer_lost ? OperationStatus::peer_lost : OperationStatus::flushed);
  }
  if (!token.receive) return queue_.on_done(token.which);
  if (completion.opcode != IBV_WC_RECV) return buffers_.spent(token.which);  // news
  queue_.events().push(buffers_.received(token.which, completion.byte_len));
}

void VerbsConnection::break_down(std::string reason, OperationStatus status) {
  if (!state_.end()) return;
  shut();
  queue_.fail_all(status);
  queue_.events().broken(std::move(reason));
}

void VerbsConnection::progress(Time now) {
  if (state_.broken()) return;
  give_buffers();
  if (now > next_look()) break_down("the peer does not answer", OperationStatus::peer_lost);
}

std::optional<std::uint64_t> token_said(std::span<const std::byte> said) noexcept {
  ByteReader reader(said);
  const auto who = reader.get<std::uint64_t>();
  const auto token = reader.get<std::uint64_t>();
  if (!reader.ok() || who != caller_says) return std::nullopt;
  return token;
}

}  // namespace spindrift::kernel::verbs
