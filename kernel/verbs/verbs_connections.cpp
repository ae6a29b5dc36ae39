// Calling, answering, and what rdma_cm reports of both.
#include <spindrift/kernel/verbs/verbs_connections.hpp>

#include <utility>

#include <spindrift/kernel/verbs/rdma_core_device.hpp>

namespace spindrift::kernel::verbs {
namespace {

void* context_of(std::uint32_t life) { return reinterpret_cast<void*>(std::uintptr_t{life}); }  // NOLINT: never followed

}  // namespace

Result<std::unique_ptr<PhysicalQueuePair>> VerbsConnections::connect(const VerbsName& peer, std::uint64_t token) {
  SPINDRIFT_TRY(shared_.adapter->make_room(connections_.size() + 1));
  auto made = std::make_unique<VerbsConnection>(device_, *this, shared_, true);
  const std::uint32_t life = made->state().life();
  SPINDRIFT_TRY_ASSIGN(auto id, shared_.adapter->call(socket_address(peer.address, peer.port), life));
  made->set_identity(std::move(id));
  connections_.add(*made, shared_.clock->now());
  tokens_[life] = token;
  return std::unique_ptr<PhysicalQueuePair>(std::move(made));
}

void VerbsConnections::take_reports() {
  const fabric::verbs::RdmaCoreCalls& lib = fabric::verbs::loaded_library();
  rdma_cm_event* event = nullptr;
  while (lib.get_cm_event(&shared_.adapter->events(), &event) == 0) {
    const rdma_cm_event_type kind = event->event;
    rdma_cm_id* const id = event->id;
    const auto life = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(id->context));
    std::vector<std::byte> said;
    const auto* const data = static_cast<const std::byte*>(event->param.conn.private_data);
    if (kind == RDMA_CM_EVENT_CONNECT_REQUEST && data != nullptr)
      said.assign(data, data + event->param.conn.private_data_len);
    lib.ack_cm_event(event);
    if (kind == RDMA_CM_EVENT_CONNECT_REQUEST) {
      on_request(Handle<rdma_cm_id>(id), said);
      continue;
    }
    VerbsConnection* const queue_pair = connections_.find(life);
    if (queue_pair == nullptr || queue_pair->state().broken() || queue_pair->id() != id) continue;
    switch (kind) {
      case RDMA_CM_EVENT_ADDR_RESOLVED: queue_pair->on_way_found(kind, 0); break;
      case RDMA_CM_EVENT_ROUTE_RESOLVED:
        queue_pair->on_way_found(kind, tokens_[life]);
        tokens_.erase(life);
        break;
      case RDMA_CM_EVENT_ESTABLISHED: queue_pair->on_established(); break;
      case RDMA_CM_EVENT_TIMEWAIT_EXIT:
      case RDMA_CM_EVENT_ADDR_CHANGE: break;
      case RDMA_CM_EVENT_DISCONNECTED:
        device_.take_completions();  // what the peer said and did last comes before its end
        queue_pair->break_down("the connection broke", OperationStatus::peer_lost);
        break;
      default:
        queue_pair->break_down(std::string("the connection broke: ") + lib.event_str(kind), OperationStatus::peer_lost);
    }
  }
}

// A caller says what it is and a token. It is turned away if it says anything else, or if too many wait to be taken.
void VerbsConnections::on_request(Handle<rdma_cm_id> id, std::span<const std::byte> said) {
  const auto token = token_said(said);
  Result<void> done;
  if (!token || connections_.calls_full()) done = Error(ErrorKind::refused, "turned away");
  if (done) done = shared_.adapter->make_room(connections_.size() + 1);
  if (!done) {
    static_cast<void>(fabric::verbs::loaded_library().reject(id.get(), nullptr, 0));
    return;
  }
  auto made = std::make_unique<VerbsConnection>(device_, *this, shared_, false);
  id->context = context_of(made->state().life());
  made->set_identity(std::move(id));
  if (done = made->make_queue_pair(); done) done = shared_.adapter->accept(*made->id(), {});
  if (!done) {
    if (made->id() != nullptr) static_cast<void>(fabric::verbs::loaded_library().reject(made->id(), nullptr, 0));
    return;
  }
  connections_.add(*made, shared_.clock->now());
  connections_.answer(std::move(made), *token);
}

void VerbsConnections::progress(Time now) {
  connections_.progress(now);
  std::erase_if(tokens_, [this](const auto& each) { return connections_.find(each.first) == nullptr; });
}

}  // namespace spindrift::kernel::verbs
