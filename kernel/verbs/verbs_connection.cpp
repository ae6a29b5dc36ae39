// One connection: requests out in order, completions back in order, buffers round.
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include <spindrift/core/check.hpp>
#include <spindrift/kernel/verbs/verbs_connections.hpp>
#include <spindrift/kernel/verbs/rdma_core_device.hpp>

namespace spindrift::kernel::verbs {
namespace {

constexpr int way_found_in_ms = 2000;
/// Before a caller's token: whoever calls from another protocol is turned away.
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
    : device_(device),
      connections_(connections),
      shared_(shared),
      life_(shared.new_life()),
      calls_(calls),
      queue_(shared.sizes, shared.memory, nullptr),
      buffers_(shared.sizes),
      heard_(shared.clock->now()) {
  buffers_.start(life_);
}

VerbsConnection::~VerbsConnection() {
  connections_.remove(life_);
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
  fabric::verbs::Device& adapter = *shared_.adapter;
  if (auto made = adapter.make_queue_pair(*id_, adapter.domain()); !made) return made;
  has_queue_pair_ = true;
  auto headers = adapter.register_memory(adapter.domain(), queue_.headers(), IBV_ACCESS_LOCAL_WRITE);
  if (!headers) return std::move(headers).error();
  headers_registered_ = std::move(headers).value();
  queue_.set_headers_key(headers_registered_->lkey);
  auto buffers = adapter.register_memory(adapter.domain(), buffers_.memory(), IBV_ACCESS_LOCAL_WRITE);
  if (!buffers) return std::move(buffers).error();
  buffers_registered_ = std::move(buffers).value();
  give_buffers();
  return broken() ? Result<void>(Error(ErrorKind::resource, "the adapter takes no receive buffers")) : Result<void>();
}

void VerbsConnection::give_buffers() {
  if (!has_queue_pair_) return;
  const std::vector<ReceiveBuffers::Buffer> buffers = buffers_.lend_all();
  if (buffers.empty()) return;
  std::vector<ibv_recv_wr> works(buffers.size());
  std::vector<ibv_sge> pieces(buffers.size());
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    pieces[i] = piece_of(buffers[i].bytes, buffers_registered_->lkey);
    works[i].wr_id = encode(CompletionToken{life_, true, buffers[i].place});
    works[i].sg_list = &pieces[i];
    works[i].num_sge = 1;
    works[i].next = i + 1 < works.size() ? &works[i + 1] : nullptr;
  }
  ibv_recv_wr* refused = nullptr;
  if (const int failed = ibv_post_recv(id_->qp, works.data(), &refused); failed != 0)
    break_down(system_error("ibv_post_recv", failed).message(), Status::flushed);
}

std::size_t VerbsConnection::post(std::span<const PhysicalOperation> operations) {
  if (!up()) return 0;
  if (queue_.idle()) heard_ = shared_.clock->now();
  requests_.clear();
  const std::size_t taken = queue_.take(operations, requests_);
  if (requests_.empty()) return taken;
  std::vector<ibv_send_wr> works(requests_.size());
  for (std::size_t i = 0; i < works.size(); ++i) {
    AdapterRequest& request = requests_[i];
    ibv_send_wr& work = works[i];
    work.wr_id = encode(CompletionToken{life_, false, request.number});
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
    break_down(system_error("ibv_post_send", failed).message(), Status::flushed);
  return taken;
}

std::size_t VerbsConnection::poll(std::span<PhysicalEvent> events) {
  if (queue_.events().empty()) device_.progress();
  return take(events);
}

Result<void> VerbsConnection::reset() {
  return Error(ErrorKind::bad_argument, "a connected queue pair cannot be reset").fix("destroy it and connect anew");
}

void VerbsConnection::on_way_found(rdma_cm_event_type how_far, std::uint64_t token) {
  Result<void> done;
  if (how_far == RDMA_CM_EVENT_ADDR_RESOLVED) {
    done = make_queue_pair();
    if (done && fabric::verbs::loaded_library().resolve_route(id_.get(), way_found_in_ms) != 0)
      done = system_error("rdma_resolve_route", errno);
  } else {
    const std::uint64_t said[] = {caller_says, token};
    done = shared_.adapter->connect(*id_, std::as_bytes(std::span(said)));
  }
  if (!done) break_down(done.error().to_string(), Status::peer_lost);
}

void VerbsConnection::on_established() {
  if (state_ != State::connecting) return;
  state_ = State::up;
  heard_ = shared_.clock->now();
  if (!calls_) return;
  PhysicalEvent event;
  event.kind = PhysicalEvent::Kind::connected;
  queue_.events().push(std::move(event));
}

// Of a completion that failed, the token and the status alone are valid.
void VerbsConnection::on_completion(const CompletionToken& token, const ibv_wc& completion) {
  if (broken()) return;
  heard_ = shared_.clock->now();
  if (completion.status != IBV_WC_SUCCESS) {
    const Status status = status_of(completion.status);
    if (!token.receive) queue_.on_failed(token.which, status);
    // What a peer did wrong here fails its own operations there; what was flushed follows a failure that is told elsewhere.
    if (token.receive && status == Status::flushed) return;
    return break_down(
        std::string("the connection broke: ") + fabric::verbs::loaded_library().wc_status_str(completion.status),
        status == Status::peer_lost ? Status::peer_lost : Status::flushed);
  }
  if (!token.receive) return queue_.on_done(token.which);
  if (completion.opcode != IBV_WC_RECV) return buffers_.spent(token.which);  // news
  queue_.events().push(buffers_.received(token.which, completion.byte_len));
}

void VerbsConnection::break_down(std::string reason, Status status) {
  if (broken()) return;
  state_ = State::broken;
  shut();
  queue_.fail_all(status);
  PhysicalEvent event;
  event.kind = PhysicalEvent::Kind::broken;
  event.reason = std::move(reason);
  queue_.events().push(std::move(event));
}

Time VerbsConnection::next_look() const noexcept {
  const bool waits = state_ == State::connecting || (up() && !queue_.idle());
  return waits ? heard_ + shared_.answer_max : never;
}

void VerbsConnection::progress(Time now) {
  if (broken()) return;
  give_buffers();
  const bool waits = state_ == State::connecting || !queue_.idle();
  if (waits && now - heard_ > shared_.answer_max) break_down("the peer does not answer", Status::peer_lost);
}

std::optional<std::uint64_t> token_said(std::span<const std::byte> said) noexcept {
  std::uint64_t words[2] = {};
  if (said.size() < sizeof words) return std::nullopt;
  std::memcpy(words, said.data(), sizeof words);
  if (words[0] != caller_says) return std::nullopt;
  return words[1];
}

}  // namespace spindrift::kernel::verbs
