// One step: packets in, timers, packets out. Pieces of requests are sent last and in the same step in which they were added,
// so none is referred to when an answer gives its buffer back.
#include <spindrift/rpc/rpc_endpoint.hpp>

#include <algorithm>
#include <string>

#include <spindrift/core/check.hpp>

namespace spindrift::rpc {
namespace {

std::uint32_t room(const RpcOptions& options, const PacketTransport& transport) {
  return options.receive_packets == 0 ? transport.receive_packets() : options.receive_packets;
}

/// No more may be promised than there is room for, nor less than a session needs.
Result<void> check_room(const RpcOptions& options, const PacketTransport& transport) {
  const std::uint32_t there = transport.receive_packets();
  const std::string where = "receive_packets = " + std::to_string(options.receive_packets) +
                            ", over a transport with room for " + std::to_string(there);
  if (options.receive_packets > there) {
    return Error(ErrorKind::bad_argument, "more packets would be promised to sessions than can wait to be received")
        .at(where)
        .fix("leave it 0, or give the transport more room: receive_buffer_bytes up to net.core.rmem_max, or places");
  }
  if (room(options, transport) < options.credits) {
    return Error(ErrorKind::bad_argument,
                 "there is room for no session: each has " + std::to_string(options.credits) + " packets")
        .at(where)
        .fix("set credits lower, or give the transport more room: receive_buffer_bytes up to net.core.rmem_max, or places");
  }
  return {};
}

/// Before anything is made of them: none of it would be sound.
RpcOptions checked(RpcOptions options, const PacketTransport& transport) {
  CHECK(options.check(transport).ok());
  options.receive_packets = room(options, transport);
  return options;
}
Duration progress_interval(const RpcOptions& options) { return options.retransmit_after / 8; }
Duration silence_interval(const RpcOptions& options) { return options.silence_max / 16; }

}  // namespace

RpcEndpoint::RpcEndpoint(PacketTransport& transport, TokenSource& tokens, const RpcOptions& options)
    : transport_(transport),
      options_(checked(options, transport)),
      payload_bytes_(transport.payload_bytes()),
      burst_(transport, options.burst_packets),
      kept_(options.kept_bytes_max),
      world_{options_, payload_bytes_, burst_, counts_, kept_},
      budget_(options_.receive_packets / options_.credits),
      client_(world_, budget_, tokens),
      server_(world_, budget_, tokens) {
  CHECK(payload_bytes_ >= payload_bytes_least && payload_bytes_ <= payload_bytes_most);
}

void RpcEndpoint::end() {
  client_.close_all();
  server_.dismiss_all();
}

bool RpcEndpoint::step(Time now) {
  CHECK(now >= now_);
  if (now - now_ > options_.silence_max / 4) {  // a process that was away does not judge the silence of others
    client_.forgive_silence(now);
    server_.forgive_silence(now);
  }
  now_ = now;
  const auto packets = transport_.receive();
  for (const IncomingPacket& packet : packets) on_packet(packet);
  const auto ended = transport_.ended_routes();
  for (const PacketRoute& route : ended) {
    client_.on_route_ended(route);
    server_.on_route_ended(route);
  }
  check_timers();
  client_.send_due(now);
  burst_.flush();
  server_.forget_ended();
  return !packets.empty() || !ended.empty();
}

void RpcEndpoint::on_packet(const IncomingPacket& incoming) {
  ++counts_.packets_received;
  const auto packet = decode(incoming.bytes, payload_bytes_);
  if (!packet) {
    ++counts_.packets_strange;
    return;
  }
  if (packet->header.kind == PacketKind::connect) {
    const auto offer = decode_offer(packet->payload);
    if (offer) return server_.on_connect(*offer, incoming.from, now_);
    ++counts_.packets_strange;
    return;
  }
  const bool of_server = packet->header.kind >= PacketKind::accept;
  const bool known =
      of_server ? client_.on_packet(*packet, incoming.from, now_) : server_.on_packet(*packet, incoming.from, now_);
  if (!known) ++counts_.packets_strange;
}

void RpcEndpoint::check_timers() {
  if (now_ >= progress_due_ && client_.waits_for_progress()) {
    client_.check_progress(now_);
    progress_due_ = now_ + progress_interval(options_);
  }
  if (now_ >= silence_due_) {
    client_.check_silence(now_);
    server_.check_silence(now_);
    silence_due_ = now_ + silence_interval(options_);
  }
}

Time RpcEndpoint::next_due() const noexcept {
  if (client_.has_news() || !burst_.empty()) return now_;
  Time due = client_.pace_due();
  if (client_.waits_for_progress()) due = std::min(due, progress_due_);
  if (client_.has_sessions() || server_.has_sessions()) due = std::min(due, silence_due_);
  return due;
}

Result<void> RpcOptions::check(const PacketTransport& transport) const {
  const auto bad = [](const char* what) { return Error(ErrorKind::bad_argument, what); };
  if (credits == 0) return bad("credits is 0: no packet could be sent");
  if (burst_packets == 0) return bad("burst_packets is 0: no packet could be sent");
  if (message_bytes_max > message_bytes_most) return bad("message_bytes_max is more than 8 MiB");
  if (session_kept_bytes_max < message_bytes_max)
    return bad("session_kept_bytes_max is less than message_bytes_max: the longest request would never be taken");
  if (kept_bytes_max < session_kept_bytes_max) return bad("kept_bytes_max is less than session_kept_bytes_max");
  if (congestion.rtt_least <= Duration::zero()) return bad("congestion.rtt_least is not more than 0");
  if (congestion.rtt_high < congestion.rtt_low) return bad("congestion.rtt_high is less than congestion.rtt_low");
  if (retransmit_after <= Duration::zero()) return bad("retransmit_after is not more than 0");
  if (silence_max < 16 * retransmit_after) return bad("silence_max is less than 16 times retransmit_after");
  return check_room(*this, transport);
}

}  // namespace spindrift::rpc
