// What the provider reports: requests that are over, what peers sent, calls, and connections that end.
#include <spindrift/fabric/ofi/transport.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <utility>

#include <spindrift/fabric/connected/endpoint.hpp>
#include <spindrift/fabric/ofi/ofi.hpp>

namespace spindrift::fabric::ofi {
namespace {

constexpr std::array<std::string_view, 3> over_sockets{"tcp", "net", "sockets"};

}  // namespace

Result<OfiTransport::Descriptors> OfiTransport::open(const SocketAddress& at, NodeId, std::uint64_t) {
  SPINDRIFT_TRY_ASSIGN(provider_, Provider::open(provider_name_, at));
  SPINDRIFT_TRY(provider_->listen());
  return Descriptors{provider_->completions_descriptor(), provider_->events_descriptor()};
}

bool OfiTransport::take_completions(connected::TransportEvents& to, Time) {
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

void OfiTransport::on_completion(connected::TransportEvents& to, const fi_cq_msg_entry& entry) {
  if ((entry.flags & (FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA)) != 0) return;  // news: the caller looks at its memory anyway
  Flights::Flight* const flight = flights_.find(entry.op_context);
  if (flight == nullptr) return;
  MessageEndpoint& connection = *flight->connection;
  if (flight->request.kind == OfiRequest::Kind::receive) {
    to.on_message(connection, connection.received(flight->request, entry.len));
    if (!connection.broken()) connection.taken(entry.op_context);
    return;
  }
  connected::OwnRegion* const region = flight->request.region;
  const bool signaled = flight->request.signaled;
  const std::uint64_t context = flight->request.context;
  flights_.finish(entry.op_context);
  if (region != nullptr) to.on_unused(*region);
  if (signaled) to.on_completed(connection, context);
}

void OfiTransport::on_failed_completion(connected::TransportEvents& to) {
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

void OfiTransport::take_reports(connected::TransportEvents& to) {
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
    const std::span<const std::byte> data(bytes.data() + sizeof entry, static_cast<std::size_t>(size) - sizeof entry);
    if (what == FI_CONNREQ) waiting_.push_back({Info(entry.info), {data.begin(), data.end()}});
    if (what == FI_SHUTDOWN) {
      while (take_completions(to, Time{})) {
      }  // its last words come before its end
    }
    MessageEndpoint* const connection = connection_of(entry.fid);
    if (connection != nullptr && what == FI_CONNECTED) to.on_established(*connection, data);
    if (connection != nullptr && what == FI_SHUTDOWN) connection->break_down("the connection broke");
  }
}

MessageEndpoint* OfiTransport::connection_of(fid_t which) noexcept {
  const auto at = std::find_if(connections_.begin(), connections_.end(),
                               [&](MessageEndpoint* each) { return &each->endpoint().fid == which; });
  return at == connections_.end() ? nullptr : *at;
}

void OfiTransport::on_event_error() {
  std::array<char, 256> text{};
  fi_eq_err_entry error{};
  error.err_data = text.data();
  error.err_data_size = text.size();
  if (fi_eq_readerr(&provider_->events(), &error, 0) < 0) return;
  if (MessageEndpoint* const connection = connection_of(error.fid))
    connection->break_down(ofi_error("the connection broke", error.err).message());
}

Result<std::unique_ptr<connected::Connection>> OfiTransport::call(const connected::PeerCall& call,
                                                                  const SocketAddress* address,
                                                                  const connected::GreetingBytes& greeting) {
  SPINDRIFT_TRY_ASSIGN(auto endpoint, provider_->endpoint_to(*address));
  auto connection = std::make_unique<MessageEndpoint>(call, *provider_, std::move(endpoint), flights_);
  SPINDRIFT_TRY(connection->start_receiving());
  const int failed = fi_connect(&connection->endpoint(), &address->storage, greeting.data(), greeting.size());
  if (failed != 0) return ofi_error("fi_connect", failed);
  connections_.push_back(connection.get());
  return std::unique_ptr<connected::Connection>(std::move(connection));
}

std::optional<std::span<const std::byte>> OfiTransport::waiting_call() {
  if (waiting_.empty()) return std::nullopt;
  return waiting_.front().greeting;
}

Result<std::unique_ptr<connected::Connection>> OfiTransport::answer(const connected::PeerCall& call,
                                                                    const connected::GreetingBytes& greeting) {
  auto endpoint = provider_->endpoint_for(*waiting_.front().info);
  if (!endpoint) {
    turn_away();
    return std::move(endpoint).error();
  }
  const WaitingCall answered = std::move(waiting_.front());
  waiting_.pop_front();
  auto connection = std::make_unique<MessageEndpoint>(call, *provider_, std::move(endpoint).value(), flights_);
  SPINDRIFT_TRY(connection->start_receiving());
  const int failed = fi_accept(&connection->endpoint(), greeting.data(), greeting.size());
  if (failed != 0) return ofi_error("fi_accept", failed);
  connections_.push_back(connection.get());
  return std::unique_ptr<connected::Connection>(std::move(connection));
}

void OfiTransport::turn_away() {
  static_cast<void>(fi_reject(&provider_->listener(), waiting_.front().info->handle, nullptr, 0));
  waiting_.pop_front();
}

void OfiTransport::on_gone(connected::Connection& connection) {
  std::erase(connections_, static_cast<MessageEndpoint*>(&connection));
}

}  // namespace spindrift::fabric::ofi

namespace spindrift::fabric {
namespace {

Result<std::unique_ptr<connected::Endpoint>> endpoint_of(const OfiOptions& options, std::optional<Rendezvous> rendezvous) {
  const auto& sockets = ofi::over_sockets;
  const bool buffers = std::find(sockets.begin(), sockets.end(), options.provider) != sockets.end();
  return connected::Endpoint::make({options.self, options.silence_max, std::move(rendezvous)},
                                   {.name = "ofi:" + options.provider,
                                    .needs_target_progress = true,
                                    .gathers_small_writes = true,
                                    .buffered_bytes = buffers ? connected::socket_bytes : 0},
                                   std::make_unique<ofi::OfiTransport>(options.provider));
}

}  // namespace

Result<std::unique_ptr<Fabric>> make_ofi(const OfiOptions& options) {
  SPINDRIFT_TRY_ASSIGN(Rendezvous rendezvous, Rendezvous::open(options.runtime_directory, options.group_name));
  SPINDRIFT_TRY_ASSIGN(auto endpoint, endpoint_of(options, std::move(rendezvous)));
  return std::unique_ptr<Fabric>(std::move(endpoint));
}

Result<std::unique_ptr<connected::Endpoint>> make_ofi_part(const OfiOptions& options) {
  return endpoint_of(options, std::nullopt);
}

}  // namespace spindrift::fabric
