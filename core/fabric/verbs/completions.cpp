// What the device reports: requests that are over, and what peers sent.
#include <algorithm>
#include <array>
#include <utility>

#include <spindrift/core/fabric/verbs/endpoint.hpp>

namespace spindrift::fabric::verbs {
namespace {

constexpr std::size_t unheard_max = 1024;

}  // namespace

bool VerbsFabric::drain_completions() {
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
  lane->heard = now_;
  if ((completion.wc_flags & IBV_WC_WITH_IMM) == 0 || token.which >= Credits::buffers)
    return lane->break_down("it does not keep to the protocol of connections");
  const bool message = completion.opcode == IBV_WC_RECV;
  if (const auto bytes = lane->received(token.which, completion.byte_len, completion.imm_data, message)) {
    const auto control = connected::decode_control(*bytes);
    if (!control) return lane->break_down("it does not keep to the protocol of connections");
    on_control(*lane, *control);
  }
  if (lane->unheard > unheard_max) {
    lane->held.push_back(token.which);  // the peer waits until the caller has taken what is here
  } else {
    lane->give_back(token.which);
  }
}

void VerbsFabric::on_finished(Lane& lane, std::uint32_t sequence) {
  while (const auto flight = lane.take_finished(sequence)) {
    if (flight->region != nullptr && flight->region->released) give_back(*flight->region);
    if (!flight->signaled || lane.state != Lane::State::up) continue;
    Event done;
    done.kind = Event::Kind::completed;
    done.context = flight->context;
    tell(lane, std::move(done));
  }
}

void VerbsFabric::on_control(Lane& lane, const connected::Control& control) {
  if (lane.state == Lane::State::closing) return;
  Event event;
  switch (control.kind) {
    case connected::Kind::alive: return;
    case connected::Kind::goodbye: lane.goodbye = true; return;
    case connected::Kind::user:
      event.kind = Event::Kind::message;
      event.bytes.assign(control.payload.begin(), control.payload.end());
      ++lane.unheard;
      return tell(lane, std::move(event));
    case connected::Kind::writes: return lane.break_down("it sent writes in a message, which this fabric does not have");
    case connected::Kind::exposed:
      if (control.exposure.remote_key > UINT32_MAX || lane.exposed.size() == connected::regions_per_peer_max ||
          !lane.exposed.emplace(control.exposure.region, control.exposure).second)
        return lane.break_down("it exposed too many regions, one twice, or under no key of this transport");
      event.kind = Event::Kind::exposed;
      event.region = control.exposure.region;
      event.region_bytes = control.exposure.bytes;
      event.access = control.exposure.access;
      return tell(lane, std::move(event));
    case connected::Kind::unmapped: {
      OwnRegion* const region = lane.revoke(control.remote_key);
      if (region == nullptr) return lane.break_down("it gave back a region that it did not have");
      if (region->released) give_back(*region);
      return;
    }
  }
}

void VerbsFabric::tell(Lane& lane, Event event) {
  event.node = lane.node;
  if (lane.state != Lane::State::up) return lane.early.push_back(std::move(event));
  event.peer = lane.peer;
  events_.push_back(std::move(event));
}

}  // namespace spindrift::fabric::verbs
