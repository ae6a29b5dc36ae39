// What the device reports: requests that are over, and what peers sent.
#include <array>
#include <string>

#include <spindrift/fabric/verbs/endpoint.hpp>

namespace spindrift::fabric::verbs {

bool VerbsFabric::take_completions() {
  std::array<ibv_wc, 32> completions;
  bool any = false;
  while (true) {
    const int count = ibv_poll_cq(&device_->completions(), static_cast<int>(completions.size()), completions.data());
    if (count <= 0) return any;
    any = true;
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) on_completion(completions[i]);
    if (static_cast<std::size_t>(count) < completions.size()) return any;
  }
}

// Of a completion that failed, the token alone is valid; one of a queue pair that is gone belongs to nobody.
void VerbsFabric::on_completion(const ibv_wc& completion) {
  const Token token = decode_token(completion.wr_id);
  Lane* const lane = lane_of(token.lane);
  if (lane == nullptr) return;
  if (completion.status != IBV_WC_SUCCESS) {
    const bool follows = completion.status == IBV_WC_WR_FLUSH_ERR;  // from a failure that was or will be told
    lane->break_down(follows ? "the connection broke"
                             : std::string("the connection broke: ") + loaded_library().wc_status_str(completion.status));
    return;
  }
  if (!token.receive) return on_finished(*lane, token.which);
  lane->heard = now();
  if ((completion.wc_flags & IBV_WC_WITH_IMM) == 0 || token.which >= Credits::buffers)
    return lane->break_down("it does not keep to the protocol of connections");
  const bool message = completion.opcode == IBV_WC_RECV;
  if (const auto bytes = lane->received(token.which, completion.byte_len, completion.imm_data, message))
    message_came(*lane, *bytes);
  lane->taken(token.which);
}

void VerbsFabric::on_finished(Lane& lane, std::uint32_t sequence) {
  while (const auto flight = lane.take_finished(sequence)) {
    if (flight->region != nullptr) settle(*flight->region);
    if (flight->signaled) completed(lane, flight->context);
  }
}

void VerbsFabric::on_writes(connected::Lane& lane, std::span<const std::byte>) {
  lane.break_down("it sent writes in a message, which this fabric does not have");
}

}  // namespace spindrift::fabric::verbs
