// Calls, and what rdma_cm reports of them and of connections that end.
#include <cerrno>
#include <string>
#include <utility>

#include <spindrift/fabric/verbs/endpoint.hpp>
#include <spindrift/core/log.hpp>

namespace spindrift::fabric::verbs {
namespace {

constexpr int way_found_in_ms = 2000;

std::string text_of(rdma_cm_event_type kind, int status) {
  std::string text = loaded_library().event_str(kind);
  if (status < 0) text += ": " + system_error("rdma_cm", -status).message();
  if (status > 0) text += ", reason " + std::to_string(status);
  return text;
}

}  // namespace

Result<connected::Endpoint::Descriptors> VerbsFabric::open(const connected::SocketAddress& at) {
  auto device = Device::open(at, {.memory_windows = memory_windows_});
  if (!device) return std::move(device).error();
  device_ = std::move(device).value();
  if (auto listening = device_->listen(); !listening) return std::move(listening).error();
  device_->tell_choices();
  return Descriptors{device_->completions_descriptor(), device_->events_descriptor()};
}

void VerbsFabric::take_reports() {
  const Library& lib = loaded_library();
  rdma_cm_event* event = nullptr;
  while (lib.get_cm_event(&device_->events(), &event) == 0) {
    Report report{event->event, event->status, event->id, 0, {}};
    report.lane = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(event->id->context));
    const auto* const data = static_cast<const std::byte*>(event->param.conn.private_data);
    if (data != nullptr) report.data.assign(data, data + event->param.conn.private_data_len);
    lib.ack_cm_event(event);
    on_report(report);
  }
}

void VerbsFabric::on_report(const Report& report) {
  if (report.kind == RDMA_CM_EVENT_CONNECT_REQUEST) return on_request(Handle<rdma_cm_id>(report.id), report.data);
  Lane* const lane = lane_of(report.lane);
  if (lane == nullptr || &lane->id() != report.id) return;
  switch (report.kind) {
    case RDMA_CM_EVENT_ADDR_RESOLVED:
    case RDMA_CM_EVENT_ROUTE_RESOLVED: return on_way_found(*lane, report.kind);
    case RDMA_CM_EVENT_ESTABLISHED: return established(*lane, report.data);
    case RDMA_CM_EVENT_TIMEWAIT_EXIT:
    case RDMA_CM_EVENT_ADDR_CHANGE: return;
    case RDMA_CM_EVENT_DISCONNECTED:
      while (take_completions()) {
      }  // its last words come before its end
      return lane->break_down("the connection broke");
    default: return lane->break_down("the connection broke: " + text_of(report.kind, report.status));
  }
}

Lane* VerbsFabric::lane_of(std::uint32_t number) noexcept {
  const auto at = numbers_.find(number);
  return at == numbers_.end() ? nullptr : at->second;
}

void VerbsFabric::on_request(Handle<rdma_cm_id> id, std::span<const std::byte> data) {
  const auto greeting = welcome(data);
  if (!greeting) {
    static_cast<void>(loaded_library().reject(id.get(), nullptr, 0));
    return;
  }
  auto lane = std::make_unique<Lane>(Lane::State::answering, greeting->node, ++newest_number_, *device_, std::move(id));
  lane->id().context = reinterpret_cast<void*>(std::uintptr_t{lane->number});  // NOLINT: a number, never followed
  Result<void> done = device_->make_room(lanes().size() + 1);
  if (done) done = lane->open();
  if (done) done = device_->accept(lane->id(), greeting_to(greeting->node));
  if (!done) {
    // Most often the caller has gone meanwhile; whoever stays calls again.
    log::info(log::Room::fabric, "cannot answer", {{"node", greeting->node}, {"reason", done.error().to_string()}});
    static_cast<void>(loaded_library().reject(&lane->id(), nullptr, 0));
    return;
  }
  numbers_.emplace(lane->number, lane.get());
  answered(std::move(lane), *greeting);
}

void VerbsFabric::on_way_found(Lane& lane, rdma_cm_event_type how_far) {
  if (lane.state != Lane::State::calling || lane.broken()) return;
  Result<void> done;
  if (how_far == RDMA_CM_EVENT_ADDR_RESOLVED) {
    done = device_->make_room(lanes().size());
    if (done) done = lane.open();
    if (done && loaded_library().resolve_route(&lane.id(), way_found_in_ms) != 0)
      done = system_error("rdma_resolve_route", errno);
  } else {
    done = device_->connect(lane.id(), greeting_to(lane.node));
  }
  if (!done) lane.break_down(done.error().to_string());
}

Result<std::unique_ptr<connected::Lane>> VerbsFabric::start_call(NodeId node, const connected::SocketAddress& address) {
  auto started = device_->call(address, ++newest_number_);
  if (!started) return std::move(started).error();
  auto lane = std::make_unique<Lane>(Lane::State::calling, node, newest_number_, *device_, std::move(started).value());
  numbers_.emplace(lane->number, lane.get());
  return std::unique_ptr<connected::Lane>(std::move(lane));
}

}  // namespace spindrift::fabric::verbs
