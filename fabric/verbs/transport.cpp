// The fabric over rdma-core: what rdma_cm reports of calls and of connections that end, and what the device reports of
// requests that are over and of what peers sent.
#include <array>
#include <cerrno>
#include <deque>
#include <string>
#include <unordered_map>
#include <utility>

#include <spindrift/fabric/connected/endpoint.hpp>
#include <spindrift/fabric/verbs/connection.hpp>
#include <spindrift/fabric/verbs/verbs.hpp>

namespace spindrift::fabric::verbs {
namespace {

std::string text_of(rdma_cm_event_type kind, int status) {
  std::string text = loaded_library().event_str(kind);
  if (status < 0) text += ": " + system_error("rdma_cm", -status).message();
  if (status > 0) text += ", reason " + std::to_string(status);
  return text;
}

class VerbsTransport final : public connected::Transport {
 public:
  /// `memory_windows`: as VerbsOptions has it.
  explicit VerbsTransport(bool memory_windows) : memory_windows_(memory_windows) {}

  [[nodiscard]] Result<Descriptors> open(const connected::SocketAddress& at, NodeId, std::uint64_t) override {
    SPINDRIFT_TRY_ASSIGN(device_, Device::open(at, {.memory_windows = memory_windows_}));
    SPINDRIFT_TRY(device_->listen());
    device_->tell_choices();
    return Descriptors{device_->completions_descriptor(), device_->events_descriptor()};
  }

  [[nodiscard]] Result<connected::ConnectionPointer> call(const connected::Opening& opening,
                                                          const connected::SocketAddress* address) override {
    SPINDRIFT_TRY_ASSIGN(auto id, device_->call(*address, ++newest_number_));
    return add(std::make_unique<QueuePair>(opening, newest_number_, *device_, std::move(id)));
  }

  [[nodiscard]] std::optional<std::span<const std::byte>> waiting_call() override {
    if (waiting_.empty()) return std::nullopt;
    return waiting_.front().greeting;
  }

  [[nodiscard]] Result<connected::ConnectionPointer> answer(const connected::Opening& opening) override {
    auto connection = std::make_unique<QueuePair>(opening, ++newest_number_, *device_, std::move(waiting_.front().id));
    waiting_.pop_front();
    connection->id().context = reinterpret_cast<void*>(std::uintptr_t{connection->number});  // NOLINT: never followed
    Result<void> done = device_->make_room(numbers_.size() + 1);
    if (done) done = connection->open();
    if (done) done = device_->accept(connection->id(), opening.greeting);
    if (done) return add(std::move(connection));
    static_cast<void>(loaded_library().reject(&connection->id(), nullptr, 0));
    return std::move(done).error();
  }

  void turn_away() override {
    static_cast<void>(loaded_library().reject(waiting_.front().id.get(), nullptr, 0));
    waiting_.pop_front();
  }

  void on_gone(connected::Connection& connection) override { numbers_.erase(static_cast<QueuePair&>(connection).number); }

  void take_reports(connected::TransportEvents& to) override {
    const RdmaCoreCalls& lib = loaded_library();
    rdma_cm_event* event = nullptr;
    while (lib.get_cm_event(&device_->events(), &event) == 0) {
      Report report{event->event, event->status, event->id, 0, {}};
      report.number = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(event->id->context));
      const auto* const data = static_cast<const std::byte*>(event->param.conn.private_data);
      if (data != nullptr) report.data.assign(data, data + event->param.conn.private_data_len);
      lib.ack_cm_event(event);
      on_report(to, std::move(report));
    }
  }

  bool take_completions(connected::TransportEvents& to, Time) override {
    std::array<ibv_wc, 32> completions;
    bool any = false;
    while (true) {
      const int count = ibv_poll_cq(&device_->completions(), static_cast<int>(completions.size()), completions.data());
      if (count <= 0) return any;
      any = true;
      for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) on_completion(to, completions[i]);
      if (static_cast<std::size_t>(count) < completions.size()) return any;
    }
  }

  void arm() noexcept override { device_->arm(); }
  void disarm() noexcept override { device_->disarm(); }
  [[nodiscard]] bool may_block(connected::TransportEvents& to) noexcept override { return !take_completions(to, {}); }
  [[nodiscard]] std::uint64_t address_of(const connected::OwnRegion& region) const noexcept override {
    return reinterpret_cast<std::uintptr_t>(region.memory.data());
  }

 private:
  /// A report of rdma_cm, copied out of its event.
  struct Report {
    rdma_cm_event_type kind = RDMA_CM_EVENT_ADDR_RESOLVED;
    int status = 0;
    rdma_cm_id* id = nullptr;
    std::uint32_t number = 0;
    std::vector<std::byte> data;
  };
  /// A call that came.
  struct WaitingCall {
    Handle<rdma_cm_id> id;
    std::vector<std::byte> greeting;
  };

  [[nodiscard]] connected::ConnectionPointer add(std::unique_ptr<QueuePair> connection) {
    numbers_.emplace(connection->number, connection.get());
    return connection;
  }

  [[nodiscard]] QueuePair* numbered(std::uint32_t number) noexcept {
    const auto at = numbers_.find(number);
    return at == numbers_.end() ? nullptr : at->second;
  }

  void on_report(connected::TransportEvents& to, Report report) {
    if (report.kind == RDMA_CM_EVENT_CONNECT_REQUEST) {
      report.id->context = nullptr;
      waiting_.push_back({Handle<rdma_cm_id>(report.id), std::move(report.data)});
      return;
    }
    QueuePair* const connection = numbered(report.number);
    if (connection == nullptr || &connection->id() != report.id) return;
    switch (report.kind) {
      case RDMA_CM_EVENT_ADDR_RESOLVED:
      case RDMA_CM_EVENT_ROUTE_RESOLVED: return on_way_found(*connection, report.kind);
      case RDMA_CM_EVENT_ESTABLISHED: return to.on_established(*connection, report.data);
      case RDMA_CM_EVENT_TIMEWAIT_EXIT:
      case RDMA_CM_EVENT_ADDR_CHANGE: return;
      case RDMA_CM_EVENT_DISCONNECTED:
        while (take_completions(to, {})) {
        }  // its last words come before its end
        return connection->break_down("the connection broke");
      default: return connection->break_down("the connection broke: " + text_of(report.kind, report.status));
    }
  }

  void on_way_found(QueuePair& connection, rdma_cm_event_type how_far) {
    if (connection.call().state != connected::PeerCall::State::calling || connection.broken()) return;
    Result<void> done;
    if (how_far == RDMA_CM_EVENT_ADDR_RESOLVED) {
      done = device_->make_room(numbers_.size());
      if (done) done = connection.open();
      if (done && loaded_library().resolve_route(&connection.id(), way_found_in_ms) != 0)
        done = system_error("rdma_resolve_route", errno);
    } else {
      done = device_->connect(connection.id(), connection.greeting());
    }
    if (!done) connection.break_down(done.error().to_string());
  }

  // The token alone is valid of a completion that failed; one of a queue pair that is gone belongs to nobody.
  void on_completion(connected::TransportEvents& to, const ibv_wc& completion) {
    const Token token = decode_token(completion.wr_id);
    QueuePair* const connection = numbered(token.queue_pair);
    if (connection == nullptr) return;
    if (completion.status != IBV_WC_SUCCESS) {
      const bool follows = completion.status == IBV_WC_WR_FLUSH_ERR;  // from a failure that was or will be told
      const std::string why = follows ? "" : std::string(": ") + loaded_library().wc_status_str(completion.status);
      return connection->break_down("the connection broke" + why);
    }
    if (!token.receive) {
      while (const auto flight = connection->take_finished(token.which)) {
        if (flight->region != nullptr) to.on_unused(*flight->region);
        if (flight->signaled) to.on_completed(*connection, flight->context);
      }
      return;
    }
    to.on_heard(*connection);
    if ((completion.wc_flags & IBV_WC_WITH_IMM) == 0 || token.which >= Credits::buffers)
      return connection->break_down("it does not keep to the protocol of connections");
    const bool message = completion.opcode == IBV_WC_RECV;
    if (const auto bytes = connection->received(token.which, completion.byte_len, completion.imm_data, message))
      to.on_message(*connection, *bytes);
    connection->taken(token.which);
  }

  const bool memory_windows_;
  std::unique_ptr<Device> device_;
  std::deque<WaitingCall> waiting_;
  std::unordered_map<std::uint32_t, QueuePair*> numbers_;
  std::uint32_t newest_number_ = 0;
};

}  // namespace
}  // namespace spindrift::fabric::verbs

namespace spindrift::fabric {

Result<std::unique_ptr<connected::Endpoint>> make_verbs_part(const VerbsOptions& options) {
  SPINDRIFT_TRY(verbs::library());
  return connected::Endpoint::make({options.self, options.silence_max, options.credentials, options.audit},
                                   {.name = "verbs", .prepares_memory = true, .remote_key_max = UINT32_MAX},
                                   std::make_unique<verbs::VerbsTransport>(options.memory_windows));
}

Result<std::unique_ptr<Fabric>> make_verbs(const VerbsOptions& options) {
  return connected::Endpoint::alone(make_verbs_part(options), options.runtime_directory, options.group_name);
}

}  // namespace spindrift::fabric
