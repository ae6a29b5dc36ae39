// Operations go out queue by queue, and come back in any order.
#include <spindrift/kernel/ofi/rdm_endpoint.hpp>

#include <algorithm>
#include <bit>
#include <utility>

#include <spindrift/core/check.hpp>

namespace spindrift::kernel::ofi {
namespace {

// Every try of a provider that finds nobody there costs it a socket; one whose connection is being made costs nothing.
constexpr Duration pause_per_try = std::chrono::microseconds(10);
constexpr Duration pause_max = std::chrono::milliseconds(10);
// To a peer that has answered before and to which nothing is under way the provider refuses an operation for one reason
// alone: the connection is gone. Another is taken in this time, or not at all.
constexpr Duration refused_max = std::chrono::seconds(1);

}  // namespace

RdmEndpoint::RdmEndpoint(ProviderDomain& domain, OfiShared& shared)
    : provider_domain_(domain),
      shared_(shared),
      pending_(shared.sizes.send_depth, shared.sizes.send_depth),
      buffers_(shared.sizes),
      absence_(shared.answer_max) {}

Result<void> RdmEndpoint::open(const SocketAddress& source) {
  CHECK(broken());
  SPINDRIFT_TRY_ASSIGN(auto completions, provider_domain_.completions(2 * std::size_t{shared_.sizes.send_depth} +
                                                                      shared_.sizes.receive_buffers));
  SPINDRIFT_TRY(provider_domain_.add_to(shared_.waits, completions->fid));
  SPINDRIFT_TRY_ASSIGN(auto addresses, provider_domain_.addresses());
  SPINDRIFT_TRY_ASSIGN(auto endpoint, provider_domain_.endpoint(&source, nullptr));
  SPINDRIFT_TRY(ProviderDomain::enable(*endpoint, *completions, addresses->fid));
  addresses_ = std::move(addresses);
  completions_ = std::move(completions);
  endpoint_ = std::move(endpoint);
  source_ = source;
  life_ = shared_.new_life();
  events_.clear();
  absence_.on_pass(shared_.clock->now());
  if (used_) set_used(true);
  return {};
}

void RdmEndpoint::set_used(bool used) {
  used_ = used;
  if (!used_ || broken()) return;
  buffers_.start(life_);
  if (!offer_buffers()) break_down("the provider takes no receive buffers");
}

bool RdmEndpoint::offer_buffers() { return !used_ || broken() || offer(*endpoint_, buffers_, life_); }

void RdmEndpoint::give_back(std::uint64_t buffer) {
  buffers_.give_back(buffer);
  static_cast<void>(offer_buffers());  // a refusal is found by the next pass
}

std::size_t RdmEndpoint::post(std::span<const PhysicalOperation> operations) {
  if (broken()) return 0;
  now_ = shared_.clock->now();
  std::size_t taken = 0;
  for (; taken < operations.size() && pending_.live() + events_.completions() < shared_.sizes.send_depth; ++taken)
    accept(operations[taken]);
  // An operation that the provider did not take at once waits for `progress`, which hears of failures first.
  for (auto& [peer, queue] : queues_) {
    if (!queue.waiting.empty() && queue.tries == 0) flush(queue);
  }
  return taken;
}

std::size_t RdmEndpoint::take(std::span<PhysicalEvent> events) {
  const std::size_t count = events_.take(events);
  if (failure_untold_ && events_.empty()) {
    failure_untold_ = false;
    for (auto& [peer, queue] : queues_) queue.failed = false;
  }
  return count;
}

void RdmEndpoint::accept(const PhysicalOperation& operation) {
  const std::uint32_t place = pending_.take(operation);
  OperationStatus refusal = judge(operation, shared_.memory, shared_.sizes.message_bytes_max);
  PeerQueue* const queue = refusal == OperationStatus::done ? queue_for(operation.peer) : nullptr;
  if (queue == nullptr) refusal = OperationStatus::local_error;
  if (queue != nullptr && queue->failed) refusal = OperationStatus::flushed;
  if (queue != nullptr && queue->abandoned > 0) refusal = OperationStatus::peer_lost;
  if (refusal != OperationStatus::done) return finish(place, refusal);
  if (shared_.fits_copy(operation)) pending_.stage(place, operation.header);
  if (queue->waiting.empty() && queue->given == 0) {
    queue->heard = now_;
    queue->tries = 0;
    queue->probe.reset();
    queue->next_try = now_;
  }
  queue->waiting.push_back(place);
}

RdmEndpoint::PeerQueue* RdmEndpoint::queue_for(PeerHandle peer) {
  if (const auto at = queues_.find(peer); at != queues_.end()) return &at->second;
  const auto* const known = shared_.peers.find(peer);
  if (known == nullptr || known->name.connectionless_port == 0) return nullptr;
  const SocketAddress address = socket_address(known->name.address, known->name.connectionless_port);
  fi_addr_t to = FI_ADDR_UNSPEC;
  if (fi_av_insert(addresses_.get(), &address.storage, 1, &to, 0, nullptr) != 1) return nullptr;
  PeerQueue& queue = queues_[peer];
  queue.to = to;
  return &queue;
}

// Operations of it that are abandoned come back to nobody.
void RdmEndpoint::forget(PeerHandle peer) {
  const auto at = queues_.find(peer);
  if (at == queues_.end()) return;
  for (std::uint32_t place = 0; place < pending_.places(); ++place) {
    PendingOperation& pending = pending_.at(place);
    if (pending.state == PendingOperation::State::abandoned && pending.operation.peer == peer)
      pending.operation.peer = PeerHandle();
  }
  fi_addr_t to = at->second.to;
  static_cast<void>(fi_av_remove(addresses_.get(), &to, 1, 0));
  queues_.erase(at);
}

void RdmEndpoint::flush(PeerQueue& queue) {
  while (!queue.waiting.empty() && now_ >= queue.next_try) {
    const std::uint32_t place = queue.waiting.front();
    PendingOperation& pending = pending_.at(place);
    const long refused = give(*endpoint_, pending, queue.to, to_context({life_, false, place}));
    if (refused == -FI_EAGAIN) {
      queue.next_try = now_ + std::min(++queue.tries * pause_per_try, pause_max);
      if (queue.refused() && std::has_single_bit(queue.tries)) probe_listener(pending.operation.peer, queue);
      return;
    }
    if (refused != 0) {
      queue.waiting.pop_front();
      finish(place, status_of_refusal(refused));
      return on_failure(queue);
    }
    queue.waiting.pop_front();
    pending.state = PendingOperation::State::given;
    if (queue.given++ == 0) queue.heard = now_;
    queue.tries = 0;
    queue.probe.reset();
  }
}

// A peer that ends may close its connections before its listener, so that is probed again, but ever more rarely: a peer that
// is there, and has lost a connection alone, takes every probe for a caller.
void RdmEndpoint::probe_listener(PeerHandle peer, PeerQueue& queue) {
  const OfiName& name = shared_.peers.find(peer)->name;
  queue.probe.emplace(source_, socket_address(name.address, name.connectionless_port));
}

// Completions are taken before anything is handed over, so that a failure is known first.
void RdmEndpoint::progress(Time now) {
  if (broken()) return;
  now_ = now;
  absence_.on_pass(now_);
  if (absence_.away()) {
    for (auto& [peer, queue] : queues_) queue.heard = now_;
  }
  const bool drained = drain(
      *completions_, [this](const CompletionToken& token, std::size_t bytes) { on_completion(token, bytes); },
      [this](const CompletionToken& token, int error) { on_failed_completion(token, error); });
  if (!drained) return break_down("the completion queue failed");
  if (!offer_buffers()) return break_down("the provider takes no receive buffers");
  for (auto& [peer, queue] : queues_) {
    if (!queue.waiting.empty()) flush(queue);
  }
  look_for_silence();
}

bool RdmEndpoint::may_block() noexcept {
  return events_.empty() && (broken() || provider_domain_.may_block(*completions_, nullptr));
}

Time RdmEndpoint::next_look() const noexcept {
  Time next = never;
  for (const auto& [peer, queue] : queues_) {
    if (!queue.waiting.empty() && queue.given == 0) next = std::min(next, queue.next_try);
    if (!queue.waiting.empty() && queue.given > 0) next = std::min(next, std::max(queue.next_try, now_ + pause_max));
    if (!queue.waiting.empty() || queue.given > 0) next = std::min(next, silent_at(queue));
  }
  return next;
}

// The queue of an operation that was given to the provider and has come back; null if nobody waits for it any more.
RdmEndpoint::PeerQueue* RdmEndpoint::take_back(std::uint32_t place) {
  const PendingOperation& pending = pending_.at(place);
  const auto at = queues_.find(pending.operation.peer);
  PeerQueue* const queue = at == queues_.end() ? nullptr : &at->second;
  if (pending.state == PendingOperation::State::abandoned) {
    if (queue != nullptr) --queue->abandoned;
    pending_.put_back(place);
    return nullptr;
  }
  CHECK(pending.state == PendingOperation::State::given && queue != nullptr);
  --queue->given;
  return queue;
}

void RdmEndpoint::on_completion(const CompletionToken& token, std::size_t bytes) {
  if (token.life != life_) return;
  if (token.receive) {
    if (used_) events_.push(buffers_.received(token.which, bytes));
    return;
  }
  PeerQueue* const queue = take_back(token.which);
  if (queue == nullptr) return;
  queue->heard = now_;
  queue->answered = true;
  pending_.land(token.which);
  finish(token.which, OperationStatus::done);
}

void RdmEndpoint::on_failed_completion(const CompletionToken& token, int error) {
  if (token.life != life_) return;
  if (token.receive) {
    if (used_) buffers_.spent(token.which);
    return;
  }
  PeerQueue* const queue = take_back(token.which);
  if (queue == nullptr) return;
  finish(token.which, status_of_completion(error));
  on_failure(*queue);
}

void RdmEndpoint::on_failure(PeerQueue& queue) {
  queue.failed = failure_untold_ = true;
  for (const std::uint32_t place : std::exchange(queue.waiting, {})) finish(place, OperationStatus::flushed);
}

Time RdmEndpoint::silent_at(const PeerQueue& queue) const noexcept {
  return queue.heard + (queue.refused() ? std::min(shared_.answer_max, refused_max) : shared_.answer_max);
}

void RdmEndpoint::look_for_silence() {
  for (auto& [peer, queue] : queues_) {
    if (queue.waiting.empty() && queue.given == 0) continue;
    const bool gone = queue.refused() && queue.probe && queue.probe->refused();
    if (!gone && now_ <= silent_at(queue)) continue;
    if (!lose(peer, queue))
      return break_down("a peer does not answer, and the provider still has memory that was lent to it");
  }
}

// False if the provider cannot be left with what it has.
bool RdmEndpoint::lose(PeerHandle peer, PeerQueue& queue) {
  bool left = true;
  for (std::uint32_t place = 0; place < pending_.places(); ++place) {
    const PendingOperation& pending = pending_.at(place);
    if (pending.state != PendingOperation::State::given || pending.operation.peer != peer) continue;
    const std::uint64_t id = pending.operation.id;
    if (!pending_.abandon(place)) {
      left = false;
      continue;
    }
    events_.completed(id, OperationStatus::peer_lost);
    --queue.given;
    ++queue.abandoned;
  }
  for (const std::uint32_t place : std::exchange(queue.waiting, {})) finish(place, OperationStatus::peer_lost);
  return left;
}

void RdmEndpoint::finish(std::uint32_t place, OperationStatus status) {
  const PhysicalOperation& operation = pending_.at(place).operation;
  if (operation.signaled || status != OperationStatus::done) events_.completed(operation.id, status);
  pending_.put_back(place);
}

void RdmEndpoint::break_down(std::string reason) {
  close();
  for (std::uint32_t place = 0; place < pending_.places(); ++place) {
    const PendingOperation& pending = pending_.at(place);
    if (pending.state != PendingOperation::State::waiting && pending.state != PendingOperation::State::given) continue;
    const auto at = queues_.find(pending.operation.peer);
    const bool silent = at != queues_.end() && now_ - at->second.heard > shared_.answer_max;
    finish(place, silent ? OperationStatus::peer_lost : OperationStatus::flushed);
  }
  pending_.clear();
  queues_.clear();
  events_.broken(std::move(reason));
}

void RdmEndpoint::shut() {
  close();
  used_ = failure_untold_ = false;
  pending_.clear();
  queues_.clear();
  events_.clear();
}

void RdmEndpoint::close() {
  endpoint_.reset();
  completions_.reset();
  addresses_.reset();
}

}  // namespace spindrift::kernel::ofi
