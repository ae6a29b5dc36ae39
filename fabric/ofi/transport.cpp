// The fabric over libfabric: calls, what a provider reports of requests that are over, of what peers sent and of connections
// that end.
#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <string_view>
#include <utility>

#include <spindrift/fabric/connected/endpoint.hpp>
#include <spindrift/fabric/ofi/connection.hpp>
#include <spindrift/fabric/ofi/ofi.hpp>

namespace spindrift::fabric::ofi {
namespace {

constexpr std::array<std::string_view, 3> over_sockets{"tcp", "net", "sockets"};

class OfiTransport final : public connected::Transport {
 public:
  /// `provider`: as libfabric names it.
  explicit OfiTransport(std::string provider) : provider_name_(std::move(provider)) {}

  [[nodiscard]] Result<Descriptors> open(const SocketAddress& at, NodeId, std::uint64_t) override {
    SPINDRIFT_TRY_ASSIGN(provider_, Provider::open(provider_name_, at));
    SPINDRIFT_TRY(provider_->listen());
    return Descriptors{provider_->completions_descriptor(), provider_->events_descriptor()};
  }

  [[nodiscard]] Result<connected::ConnectionPointer> call(const connected::Opening& opening,
                                                          const SocketAddress* address) override {
    SPINDRIFT_TRY_ASSIGN(auto endpoint, provider_->endpoint_to(*address));
    return begin(opening, std::move(endpoint), "fi_connect", [&](fid_ep& to) {
      return fi_connect(&to, &address->storage, opening.greeting.data(), opening.greeting.size());
    });
  }

  [[nodiscard]] std::optional<std::span<const std::byte>> waiting_call() override {
    if (waiting_.empty()) return std::nullopt;
    return waiting_.front().greeting;
  }

  [[nodiscard]] Result<connected::ConnectionPointer> answer(const connected::Opening& opening) override {
    auto endpoint = provider_->endpoint_for(*waiting_.front().info);
    if (!endpoint) {
      turn_away();
      return std::move(endpoint).error();
    }
    const WaitingCall answered = std::move(waiting_.front());
    waiting_.pop_front();
    return begin(opening, std::move(endpoint).value(), "fi_accept",
                 [&](fid_ep& to) { return fi_accept(&to, opening.greeting.data(), opening.greeting.size()); });
  }

  void turn_away() override {
    static_cast<void>(fi_reject(&provider_->listener(), waiting_.front().info->handle, nullptr, 0));
    waiting_.pop_front();
  }

  void on_gone(connected::Connection& connection) override {
    std::erase(connections_, static_cast<MessageEndpoint*>(&connection));
  }

  void take_reports(connected::TransportEvents& to) override {
    while (true) {
      std::uint32_t what = 0;
      alignas(fi_eq_cm_entry) std::array<std::byte, sizeof(fi_eq_cm_entry) + 256> bytes;
      const auto size = fi_eq_read(&provider_->events(), &what, bytes.data(), bytes.size(), 0);
      if (size == -FI_EAVAIL) {
        on_event_error();
        continue;
      }
      if (size < static_cast<ssize_t>(sizeof(fi_eq_cm_entry))) return;
      fi_eq_cm_entry entry;
      std::memcpy(&entry, bytes.data(), sizeof entry);
      on_event(to, what, entry, std::span(bytes).first(static_cast<std::size_t>(size)).subspan(sizeof entry));
    }
  }

  bool take_completions(connected::TransportEvents& to, Time) override {
    std::array<fi_cq_msg_entry, 64> entries;
    bool any = false;
    while (true) {
      const auto count = fi_cq_read(&provider_->completions(), entries.data(), entries.size());
      if (count == -FI_EAVAIL) {
        on_failed_completion(to);
        continue;
      }
      if (count <= 0) return any;
      any = true;
      for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) on_completion(to, entries[i]);
      if (static_cast<std::size_t>(count) < entries.size()) return any;
    }
  }

  [[nodiscard]] bool may_block(connected::TransportEvents&) noexcept override { return provider_->may_block(); }
  [[nodiscard]] std::uint64_t address_of(const connected::OwnRegion& region) const noexcept override {
    return provider_->address_of(region.memory.data());
  }

 private:
  /// A call that came.
  struct WaitingCall {
    Info info;
    std::vector<std::byte> greeting;
  };

  /// `start`: the provider's call, named `what`, that greets the other side. Buffers are there before it answers.
  template <class Start>
  [[nodiscard]] Result<connected::ConnectionPointer> begin(const connected::Opening& opening, Handle<fid_ep> endpoint,
                                                           const char* what, const Start& start) {
    auto connection = std::make_unique<MessageEndpoint>(opening.call, *provider_, std::move(endpoint), flights_);
    SPINDRIFT_TRY(connection->start_receiving());
    if (const int failed = start(connection->endpoint()); failed != 0) return ofi_error(what, failed);
    connections_.push_back(connection.get());
    return connected::ConnectionPointer(std::move(connection));
  }

  void on_completion(connected::TransportEvents& to, const fi_cq_msg_entry& entry) {
    if ((entry.flags & (FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA)) != 0) return;  // news: the caller looks at its memory anyway
    Flights::Flight* const flight = flights_.find(entry.op_context);
    if (flight == nullptr) return;
    MessageEndpoint& connection = *flight->connection;
    if (flight->request.kind == OfiRequest::Kind::receive) {
      to.on_message(connection, connection.received(flight->request, entry.len));
      if (!connection.broken()) connection.taken(entry.op_context);
      return;
    }
    const connected::Transfer done = flight->request;
    flights_.finish(entry.op_context);
    if (done.region != nullptr) to.on_unused(*done.region);
    if (done.signaled) to.on_completed(connection, done.context);
  }

  void on_failed_completion(connected::TransportEvents& to) {
    fi_cq_err_entry error{};
    if (fi_cq_readerr(&provider_->completions(), &error, 0) < 0) return;
    Flights::Flight* const flight = flights_.find(error.op_context);
    if (flight == nullptr) return;
    MessageEndpoint& connection = *flight->connection;
    const bool receive = flight->request.kind == OfiRequest::Kind::receive;
    if (!receive) flights_.finish(error.op_context);
    // A connection that ends gives its buffers back so; how it ended the event queue tells.
    if (error.err == FI_ECANCELED || error.err == FI_ENOTCONN || error.err == FI_ECONNRESET || error.err == FI_ESHUTDOWN)
      return to.on_reports_due();
    connection.break_down(ofi_error(receive ? "receiving failed" : "an operation failed", error.err).message());
  }

  void on_event(connected::TransportEvents& to, std::uint32_t what, const fi_eq_cm_entry& entry,
                std::span<const std::byte> data) {
    if (what == FI_CONNREQ) waiting_.push_back({Info(entry.info), {data.begin(), data.end()}});
    if (what == FI_SHUTDOWN) {
      while (take_completions(to, Time{})) {
      }  // its last words come before its end
    }
    MessageEndpoint* const connection = connection_of(entry.fid);
    if (connection != nullptr && what == FI_CONNECTED) to.on_established(*connection, data);
    if (connection != nullptr && what == FI_SHUTDOWN) connection->break_down("the connection broke");
  }

  void on_event_error() {
    std::array<char, 256> text{};
    fi_eq_err_entry error{};
    error.err_data = text.data();
    error.err_data_size = text.size();
    if (fi_eq_readerr(&provider_->events(), &error, 0) < 0) return;
    if (MessageEndpoint* const connection = connection_of(error.fid))
      connection->break_down(ofi_error("the connection broke", error.err).message());
  }

  [[nodiscard]] MessageEndpoint* connection_of(fid_t which) noexcept {
    const auto at = std::find_if(connections_.begin(), connections_.end(),
                                 [&](MessageEndpoint* each) { return &each->endpoint().fid == which; });
    return at == connections_.end() ? nullptr : *at;
  }

  const std::string provider_name_;
  std::unique_ptr<Provider> provider_;
  Flights flights_;
  std::deque<WaitingCall> waiting_;
  std::vector<MessageEndpoint*> connections_;
};

}  // namespace
}  // namespace spindrift::fabric::ofi

namespace spindrift::fabric {

Result<std::unique_ptr<connected::Endpoint>> make_ofi_part(const OfiOptions& options) {
  const auto& sockets = ofi::over_sockets;
  const bool buffers = std::find(sockets.begin(), sockets.end(), options.provider) != sockets.end();
  return connected::Endpoint::make({options.self, options.silence_max, options.credentials, options.audit},
                                   {.name = "ofi:" + options.provider,
                                    .needs_target_progress = true,
                                    .gathers_small_writes = true,
                                    .buffered_bytes = buffers ? connected::socket_bytes : 0},
                                   std::make_unique<ofi::OfiTransport>(options.provider));
}

Result<std::unique_ptr<Fabric>> make_ofi(const OfiOptions& options) {
  return connected::Endpoint::alone(make_ofi_part(options), options.runtime_directory, options.group_name);
}

}  // namespace spindrift::fabric
