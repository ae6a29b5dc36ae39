// What the provider reports: requests that are over, what peers sent, calls, and connections that end.
#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include <spindrift/fabric/ofi/endpoint.hpp>
#include <spindrift/core/log.hpp>

namespace spindrift::fabric::ofi {

Result<connected::Endpoint::Descriptors> OfiFabric::open(const SocketAddress& at) {
  auto provider = Provider::open(provider_name_, at);
  if (!provider) return std::move(provider).error();
  provider_ = std::move(provider).value();
  if (auto listening = provider_->listen(); !listening) return std::move(listening).error();
  return Descriptors{provider_->completions_descriptor(), provider_->events_descriptor()};
}

bool OfiFabric::take_completions() {
  std::array<fi_cq_msg_entry, 64> entries;
  bool any = false;
  while (true) {
    const auto count = fi_cq_read(&provider_->completions(), entries.data(), entries.size());
    if (count == -FI_EAVAIL) {
      on_failed_completion();
      continue;
    }
    if (count <= 0) return any;
    any = true;
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) on_completion(entries[i]);
    if (static_cast<std::size_t>(count) < entries.size()) return any;
  }
}

void OfiFabric::on_completion(const fi_cq_msg_entry& entry) {
  if ((entry.flags & (FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA)) != 0) return;  // news: the caller looks at its memory anyway
  Flights::Flight* const flight = flights_.find(entry.op_context);
  if (flight == nullptr) return;
  Lane& lane = *flight->lane;
  if (flight->request.kind == Request::Kind::receive) {
    message_came(lane, lane.received(flight->request, entry.len));
    if (!lane.broken()) lane.taken(entry.op_context);
    return;
  }
  connected::OwnRegion* const region = flight->request.region;
  const bool signaled = flight->request.signaled;
  const std::uint64_t context = flight->request.context;
  flights_.finish(entry.op_context);
  if (region != nullptr) settle(*region);
  if (signaled) completed(lane, context);
}

void OfiFabric::on_failed_completion() {
  fi_cq_err_entry error{};
  if (fi_cq_readerr(&provider_->completions(), &error, 0) < 0) return;
  Flights::Flight* const flight = flights_.find(error.op_context);
  if (flight == nullptr) return;
  Lane& lane = *flight->lane;
  const bool receive = flight->request.kind == Request::Kind::receive;
  if (!receive) flights_.finish(error.op_context);
  // A connection that ends gives its buffers back so; how it ended the event queue tells.
  if (error.err == FI_ECANCELED || error.err == FI_ENOTCONN || error.err == FI_ECONNRESET || error.err == FI_ESHUTDOWN)
    return expect_reports();
  lane.break_down(ofi_error(receive ? "receiving failed" : "an operation failed", error.err).message());
}

void OfiFabric::on_writes(connected::Lane& lane, std::span<const std::byte> writes) {
  connected::carry_out(lane, writes,
                       [this](const connected::OwnRegion& region) { return provider_->address_of(region.memory.data()); });
}

void OfiFabric::take_reports() {
  while (true) {
    std::uint32_t what = 0;
    alignas(fi_eq_cm_entry) std::array<std::byte, sizeof(fi_eq_cm_entry) + 256> bytes;
    const auto size = fi_eq_read(&provider_->events(), &what, bytes.data(), bytes.size(), 0);
    if (size == -FI_EAVAIL) {
      on_event_error();
      continue;
    }
    if (size < static_cast<ssize_t>(sizeof(fi_eq_cm_entry))) break;
    fi_eq_cm_entry entry;
    std::memcpy(&entry, bytes.data(), sizeof entry);
    const std::span<const std::byte> data(bytes.data() + sizeof entry, static_cast<std::size_t>(size) - sizeof entry);
    if (what == FI_CONNREQ) on_request(entry.info, data);
    if (what == FI_CONNECTED) {
      if (connected::Lane* const lane = lane_of(entry.fid)) established(*lane, data);
    }
    if (what == FI_SHUTDOWN) {
      while (take_completions()) {
      }  // its last words come before its end
      if (connected::Lane* const lane = lane_of(entry.fid)) lane->break_down("the connection broke");
    }
  }
}

connected::Lane* OfiFabric::lane_of(fid_t which) noexcept {
  const auto at = std::find_if(lanes().begin(), lanes().end(),
                               [&](const auto& lane) { return &static_cast<Lane&>(*lane).endpoint().fid == which; });
  return at == lanes().end() ? nullptr : at->get();
}

void OfiFabric::on_request(fi_info* info, std::span<const std::byte> data) {
  const Info owned(info);
  const auto greeting = welcome(data);
  Result<void> done = greeting ? answer(*info, *greeting) : Result<void>();
  if (greeting && done) return;
  if (!done) log::warn(log::Room::fabric, "cannot answer", {{"node", greeting->node}, {"reason", done.error().to_string()}});
  static_cast<void>(fi_reject(&provider_->door(), info->handle, nullptr, 0));
}

Result<void> OfiFabric::answer(fi_info& info, const connected::Greeting& greeting) {
  auto endpoint = provider_->endpoint_for(info);
  if (!endpoint) return std::move(endpoint).error();
  auto lane =
      std::make_unique<Lane>(Lane::State::answering, greeting.node, *provider_, std::move(endpoint).value(), flights_);
  const connected::GreetingBytes ours = greeting_to(greeting.node);
  if (!lane->start_receiving() || fi_accept(&lane->endpoint(), ours.data(), ours.size()) != 0) return {};
  answered(std::move(lane), greeting);
  return {};
}

void OfiFabric::on_event_error() {
  std::array<char, 256> text{};
  fi_eq_err_entry error{};
  error.err_data = text.data();
  error.err_data_size = text.size();
  if (fi_eq_readerr(&provider_->events(), &error, 0) < 0) return;
  if (connected::Lane* const lane = lane_of(error.fid))
    lane->break_down(ofi_error("the connection broke", error.err).message());
}

Result<std::unique_ptr<connected::Lane>> OfiFabric::start_call(NodeId node, const SocketAddress& address) {
  auto endpoint = provider_->endpoint_to(address);
  if (!endpoint) return std::move(endpoint).error();
  auto lane = std::make_unique<Lane>(Lane::State::calling, node, *provider_, std::move(endpoint).value(), flights_);
  if (auto started = lane->start_receiving(); !started) return std::move(started).error();
  const connected::GreetingBytes ours = greeting_to(node);
  const int failed = fi_connect(&lane->endpoint(), &address.storage, ours.data(), ours.size());
  if (failed != 0) return ofi_error("fi_connect", failed);
  return std::unique_ptr<connected::Lane>(std::move(lane));
}

}  // namespace spindrift::fabric::ofi
