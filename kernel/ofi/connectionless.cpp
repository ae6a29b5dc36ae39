// Operations go out road by road, and come back in any order.
#include <spindrift/kernel/ofi/connectionless.hpp>

#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include <spindrift/core/check.hpp>

namespace spindrift::kernel::ofi {
namespace {

using fabric::ofi::ofi_error;

// Every try of a provider that finds nobody there costs it a socket; one whose connection is being made costs nothing.
constexpr Duration pause_per_try = std::chrono::microseconds(10);
constexpr Duration pause_max = std::chrono::milliseconds(10);
// To a peer that has answered before and to which nothing is under way the provider refuses an operation for one reason
// alone: the connection is gone. Another is taken in this time, or not at all.
constexpr Duration refused_max = std::chrono::seconds(1);

}  // namespace

Connectionless::Connectionless(Side& side, Shelf& shelf)
    : side_(side), shelf_(shelf), flights_(shelf.sizes.send_depth, shelf.sizes.send_depth), inbox_(shelf.sizes) {}

Result<void> Connectionless::open(const SocketAddress& source) {
  CHECK(broken());
  auto completions = side_.completions(2 * std::size_t{shelf_.sizes.send_depth} + shelf_.sizes.receive_buffers);
  if (!completions) return std::move(completions).error();
  if (auto waits = shelf_.wait_for(side_, (*completions)->fid); !waits) return waits;
  auto addresses = side_.addresses();
  if (!addresses) return std::move(addresses).error();
  auto made = side_.endpoint(&source, nullptr);
  if (!made) return std::move(made).error();
  fid_ep* const endpoint = made->get();
  if (const int error = fi_ep_bind(endpoint, &(*addresses)->fid, 0); error != 0) return ofi_error("fi_ep_bind", error);
  if (const int error = fi_ep_bind(endpoint, &(*completions)->fid, FI_TRANSMIT | FI_RECV); error != 0)
    return ofi_error("fi_ep_bind", error);
  if (const int error = fi_enable(endpoint); error != 0) return ofi_error("fi_enable", error);
  addresses_ = std::move(addresses).value();
  completions_ = std::move(completions).value();
  endpoint_ = std::move(made).value();
  source_ = source;
  life_ = shelf_.new_life();
  events_.clear();
  last_progress_ = shelf_.clock->now();
  if (used_) set_used(true);
  return {};
}

Result<SocketAddress> Connectionless::address() { return Side::address_of(endpoint_->fid); }

void Connectionless::set_used(bool used) {
  used_ = used;
  if (!used_ || broken()) return inbox_.stop();
  inbox_.start(*endpoint_, life_);
  if (!inbox_.flush()) break_down("the provider takes no receive buffers");
}

std::size_t Connectionless::post(std::span<const PhysicalOperation> operations) {
  if (broken()) return 0;
  now_ = shelf_.clock->now();
  std::size_t taken = 0;
  for (; taken < operations.size() && flights_.live() + events_.completions() < shelf_.sizes.send_depth; ++taken)
    accept(operations[taken]);
  // What the provider did not take at once waits for `progress`, which hears of failures first.
  for (auto& [peer, road] : roads_) {
    if (!road.waiting.empty() && road.tries == 0) flush(road);
  }
  return taken;
}

std::size_t Connectionless::take(std::span<PhysicalEvent> events) {
  const std::size_t count = events_.take(events);
  if (failure_untold_ && events_.empty()) {
    failure_untold_ = false;
    for (auto& [peer, road] : roads_) road.failed = false;
  }
  return count;
}

void Connectionless::accept(const PhysicalOperation& operation) {
  const std::uint32_t place = flights_.take(operation);
  Status refusal = shelf_.judge(operation);
  Road* const road = refusal == Status::done ? road_to(operation.peer) : nullptr;
  if (road == nullptr) refusal = Status::local_error;
  if (road != nullptr && road->failed) refusal = Status::flushed;
  if (road != nullptr && road->abandoned > 0) refusal = Status::peer_lost;
  if (refusal != Status::done) return finish(place, refusal);
  if (shelf_.fits_copy(operation)) flights_.stage(place, operation.header);
  if (road->waiting.empty() && road->given == 0) {
    road->heard = now_;
    road->tries = 0;
    road->knock.reset();
    road->next_try = now_;
  }
  road->waiting.push_back(place);
}

Connectionless::Road* Connectionless::road_to(PeerHandle peer) {
  if (const auto at = roads_.find(peer); at != roads_.end()) return &at->second;
  const Name* const name = shelf_.peers.find(peer);
  if (name == nullptr || name->connectionless_port == 0) return nullptr;
  const SocketAddress address = socket_address(name->address, name->connectionless_port);
  fi_addr_t to = FI_ADDR_UNSPEC;
  if (fi_av_insert(addresses_.get(), &address.storage, 1, &to, 0, nullptr) != 1) return nullptr;
  Road& road = roads_[peer];
  road.to = to;
  return &road;
}

// Operations of it that are abandoned come back to nobody.
void Connectionless::forget(PeerHandle peer) {
  const auto at = roads_.find(peer);
  if (at == roads_.end()) return;
  for (std::uint32_t place = 0; place < flights_.places(); ++place) {
    Flight& flight = flights_.at(place);
    if (flight.state == Flight::State::abandoned && flight.operation.peer == peer) flight.operation.peer = PeerHandle();
  }
  fi_addr_t to = at->second.to;
  static_cast<void>(fi_av_remove(addresses_.get(), &to, 1, 0));
  roads_.erase(at);
}

void Connectionless::flush(Road& road) {
  while (!road.waiting.empty() && now_ >= road.next_try) {
    const std::uint32_t place = road.waiting.front();
    Flight& flight = flights_.at(place);
    const long refused = give(*endpoint_, flight, road.to, encode({life_, place, false}));
    if (refused == -FI_EAGAIN) {
      road.next_try = now_ + std::min(++road.tries * pause_per_try, pause_max);
      if (road.refused() && std::has_single_bit(road.tries)) knock_at(flight.operation.peer, road);
      return;
    }
    if (refused != 0) {
      road.waiting.pop_front();
      finish(place, status_of_refusal(refused));
      return on_failure(road);
    }
    road.waiting.pop_front();
    flight.state = Flight::State::given;
    if (road.given++ == 0) road.heard = now_;
    road.tries = 0;
    road.knock.reset();
  }
}

// Who ends may close its connections before its door. So it is knocked at again, but ever more rarely: who is there, and has
// lost a connection alone, takes every knock for a caller.
void Connectionless::knock_at(PeerHandle peer, Road& road) {
  const Name& name = *shelf_.peers.find(peer);
  road.knock.emplace(source_, socket_address(name.address, name.connectionless_port));
}

// Completions are taken before anything is handed over, so that a failure is known first.
void Connectionless::progress(Time now) {
  if (broken()) return;
  now_ = now;
  // Who was away itself judges nobody's silence.
  if (now_ - last_progress_ > shelf_.answer_max / 2) {
    for (auto& [peer, road] : roads_) road.heard = now_;
  }
  last_progress_ = now_;
  if (!drain()) return break_down("the completion queue failed");
  if (used_ && !inbox_.flush()) return break_down("the provider takes no receive buffers");
  for (auto& [peer, road] : roads_) {
    if (!road.waiting.empty()) flush(road);
  }
  look_for_silence();
}

bool Connectionless::may_block() noexcept {
  return events_.empty() && (broken() || side_.may_block(*completions_, nullptr));
}

Time Connectionless::next_look() const noexcept {
  Time next = never;
  for (const auto& [peer, road] : roads_) {
    if (!road.waiting.empty() && road.given == 0) next = std::min(next, road.next_try);
    if (!road.waiting.empty() && road.given > 0) next = std::min(next, std::max(road.next_try, now_ + pause_max));
    if (!road.waiting.empty() || road.given > 0) next = std::min(next, silent_at(road));
  }
  return next;
}

bool Connectionless::drain() {
  std::array<fi_cq_msg_entry, 64> entries;
  while (true) {
    const auto count = fi_cq_read(completions_.get(), entries.data(), entries.size());
    if (count == -FI_EAVAIL) {
      on_failed_completion();
      continue;
    }
    if (count == -FI_EAGAIN) return true;
    if (count < 0) return false;
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) on_completion(entries[i]);
    if (static_cast<std::size_t>(count) < entries.size()) return true;
  }
}

// The road of a flight that was given to the provider and has come back; null if nobody waits for it any more.
Connectionless::Road* Connectionless::take_back(std::uint32_t place) {
  const Flight& flight = flights_.at(place);
  const auto at = roads_.find(flight.operation.peer);
  Road* const road = at == roads_.end() ? nullptr : &at->second;
  if (flight.state == Flight::State::abandoned) {
    if (road != nullptr) --road->abandoned;
    flights_.put_back(place);
    return nullptr;
  }
  CHECK(flight.state == Flight::State::given && road != nullptr);
  --road->given;
  return road;
}

void Connectionless::on_completion(const fi_cq_msg_entry& entry) {
  if (is_news(entry)) return;
  const Token token = decode_token(entry.op_context);
  if (token.life != life_) return;
  if (token.receive) {
    if (used_) events_.push(inbox_.received(token.place, entry.len));
    return;
  }
  Road* const road = take_back(token.place);
  if (road == nullptr) return;
  road->heard = now_;
  road->answered = true;
  flights_.land(token.place);
  finish(token.place, Status::done);
}

void Connectionless::on_failed_completion() {
  fi_cq_err_entry error{};
  if (fi_cq_readerr(completions_.get(), &error, 0) < 0) return;
  const Token token = decode_token(error.op_context);
  if (token.life != life_) return;
  if (token.receive) {
    if (used_) inbox_.spoiled(token.place);
    return;
  }
  Road* const road = take_back(token.place);
  if (road == nullptr) return;
  finish(token.place, status_of_completion(error.err));
  on_failure(*road);
}

void Connectionless::on_failure(Road& road) {
  road.failed = failure_untold_ = true;
  for (const std::uint32_t place : std::exchange(road.waiting, {})) finish(place, Status::flushed);
}

Time Connectionless::silent_at(const Road& road) const noexcept {
  return road.heard + (road.refused() ? std::min(shelf_.answer_max, refused_max) : shelf_.answer_max);
}

void Connectionless::look_for_silence() {
  for (auto& [peer, road] : roads_) {
    if (road.waiting.empty() && road.given == 0) continue;
    const bool gone = road.refused() && road.knock && road.knock->refused();
    if (!gone && now_ <= silent_at(road)) continue;
    if (!lose(peer, road))
      return break_down("a peer does not answer, and the provider still has memory that was lent to it");
  }
}

// False if the provider cannot be left with what it has.
bool Connectionless::lose(PeerHandle peer, Road& road) {
  bool left = true;
  for (std::uint32_t place = 0; place < flights_.places(); ++place) {
    const Flight& flight = flights_.at(place);
    if (flight.state != Flight::State::given || flight.operation.peer != peer) continue;
    const std::uint64_t id = flight.operation.id;
    if (!flights_.abandon(place)) {
      left = false;
      continue;
    }
    events_.completed(id, Status::peer_lost);
    --road.given;
    ++road.abandoned;
  }
  for (const std::uint32_t place : std::exchange(road.waiting, {})) finish(place, Status::peer_lost);
  return left;
}

void Connectionless::finish(std::uint32_t place, Status status) {
  const PhysicalOperation& operation = flights_.at(place).operation;
  if (operation.signaled || status != Status::done) events_.completed(operation.id, status);
  flights_.put_back(place);
}

void Connectionless::break_down(std::string reason) {
  close();
  for (std::uint32_t place = 0; place < flights_.places(); ++place) {
    const Flight& flight = flights_.at(place);
    if (flight.state != Flight::State::waiting && flight.state != Flight::State::given) continue;
    const auto at = roads_.find(flight.operation.peer);
    const bool silent = at != roads_.end() && now_ - at->second.heard > shelf_.answer_max;
    finish(place, silent ? Status::peer_lost : Status::flushed);
  }
  flights_.clear();
  roads_.clear();
  PhysicalEvent event;
  event.kind = PhysicalEvent::Kind::broken;
  event.reason = std::move(reason);
  events_.push(std::move(event));
}

void Connectionless::shut() {
  close();
  used_ = failure_untold_ = false;
  flights_.clear();
  roads_.clear();
  events_.clear();
}

void Connectionless::close() {
  inbox_.stop();
  endpoint_.reset();
  completions_.reset();
  addresses_.reset();
}

}  // namespace spindrift::kernel::ofi
