// Calling, answering, and what rdma_cm reports of both.
#include <spindrift/kernel/verbs/connections.hpp>

#include <algorithm>
#include <string>
#include <utility>

#include <spindrift/kernel/verbs/device.hpp>

namespace spindrift::kernel::verbs {
namespace {


void* context_of(std::uint32_t life) { return reinterpret_cast<void*>(std::uintptr_t{life}); }  // NOLINT: never followed

}  // namespace

Connected* Connections::find(std::uint32_t life) noexcept {
  const auto at = all_.find(life);
  return at == all_.end() ? nullptr : at->second;
}

Result<std::unique_ptr<PhysicalQueuePair>> Connections::connect(const Name& peer, std::uint64_t token) {
  if (auto room = ground_.adapter->make_room(all_.size() + 1); !room) return std::move(room).error();
  auto made = std::make_unique<Connected>(device_, *this, ground_, true);
  auto id = ground_.adapter->call(socket_address(peer.address, peer.port), made->life());
  if (!id) return std::move(id).error();
  made->set_identity(std::move(id).value());
  all_.emplace(made->life(), made.get());
  tokens_[made->life()] = token;
  return std::unique_ptr<PhysicalQueuePair>(std::move(made));
}

void Connections::take_reports() {
  const fabric::verbs::Library& lib = fabric::verbs::loaded_library();
  rdma_cm_event* event = nullptr;
  while (lib.get_cm_event(&ground_.adapter->events(), &event) == 0) {
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
    Connected* const queue_pair = find(life);
    if (queue_pair == nullptr || queue_pair->broken() || queue_pair->id() != id) continue;
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
        queue_pair->break_down("the connection broke", Status::peer_lost);
        break;
      default: queue_pair->break_down(std::string("the connection broke: ") + lib.event_str(kind), Status::peer_lost);
    }
  }
}

// Who calls says what it is and a token. It is turned away if it says anything else, or if too many wait to be taken.
void Connections::on_request(Handle<rdma_cm_id> id, std::span<const std::byte> said) {
  const auto token = token_said(said);
  Result<void> done;
  if (!token || calls_.full()) done = Error(ErrorKind::refused, "turned away");
  if (done) done = ground_.adapter->make_room(all_.size() + 1);
  if (!done) {
    static_cast<void>(fabric::verbs::loaded_library().reject(id.get(), nullptr, 0));
    return;
  }
  auto made = std::make_unique<Connected>(device_, *this, ground_, false);
  id->context = context_of(made->life());
  made->set_identity(std::move(id));
  if (done = made->make_queue_pair(); done) done = ground_.adapter->accept(*made->id(), {});
  if (!done) {
    if (made->id() != nullptr) static_cast<void>(fabric::verbs::loaded_library().reject(made->id(), nullptr, 0));
    return;
  }
  all_.emplace(made->life(), made.get());
  calls_.add(std::move(made), *token);
}

void Connections::progress(Time now) {
  const bool away = now - last_progress_ > ground_.answer_max / 2;
  last_progress_ = now;
  for (const auto& [life, queue_pair] : all_) {
    if (away) queue_pair->excuse(now);  // who was away itself judges nobody's silence
    queue_pair->progress(now);
  }
  calls_.forget_broken();
  std::erase_if(tokens_, [this](const auto& each) { return find(each.first) == nullptr; });
}

bool Connections::quiet() const noexcept {
  return std::none_of(all_.begin(), all_.end(), [](const auto& each) { return each.second->has_events(); });
}

Time Connections::next_look() const noexcept {
  Time next = never;
  for (const auto& [life, queue_pair] : all_) next = std::min(next, queue_pair->next_look());
  return next;
}

}  // namespace spindrift::kernel::verbs
