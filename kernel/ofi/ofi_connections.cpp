// Calling, answering, and handing each completion to its queue pair.
#include <spindrift/kernel/ofi/ofi_connections.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include <spindrift/core/bytes.hpp>

namespace spindrift::kernel::ofi {
namespace {

constexpr std::size_t completions_max = 1u << 16;   // of all queue pairs together; it bounds how many there may be
constexpr std::uint32_t passes_between_looks = 16;  // at the event queue, while nothing is expected there
constexpr std::size_t token_bytes = sizeof(std::uint64_t);

}  // namespace

Result<void> OfiConnections::open(const SocketAddress& source) {
  source_ = source;
  const std::size_t each = std::size_t{shared_.sizes.send_depth} + shared_.sizes.receive_buffers;
  queue_pairs_max_ = std::min<std::size_t>(shared_.sizes.peers_max, std::max<std::size_t>(completions_max / each, 1));
  SPINDRIFT_TRY_ASSIGN(events_, provider_domain_.events());
  SPINDRIFT_TRY_ASSIGN(completions_, provider_domain_.completions(queue_pairs_max_ * each));
  SPINDRIFT_TRY(provider_domain_.add_to(shared_.waits, events_->fid));
  SPINDRIFT_TRY(provider_domain_.add_to(shared_.waits, completions_->fid));
  SPINDRIFT_TRY_ASSIGN(listener_, provider_domain_.listener());
  SPINDRIFT_TRY(outcome_of("fi_pep_bind", fi_pep_bind(listener_.get(), &events_->fid, 0)));
  if (const int error = fi_listen(listener_.get()); error != 0) {
    return Error(ErrorKind::resource, "cannot listen")
        .because(ofi_error("fi_listen", error))
        .fix("see whether another process has the port (ss -ltnp)");
  }
  return {};
}

Result<std::unique_ptr<OfiConnection>> OfiConnections::make(Handle<fid_ep> endpoint) {
  if (connections_.size() == queue_pairs_max_) {
    return Error(ErrorKind::resource, "as many connections as the completion queue has room for")
        .fix("use connectionless queue pairs, or ask for smaller depths");
  }
  auto made = std::make_unique<OfiConnection>(device_, *this, shared_);
  SPINDRIFT_TRY(made->start(std::move(endpoint), *events_, *completions_));
  connections_.add(*made, shared_.clock->now());
  unsettled_ = true;
  return made;
}

Result<std::unique_ptr<PhysicalQueuePair>> OfiConnections::connect(const OfiName& peer, std::uint64_t token) {
  const SocketAddress destination = socket_address(peer.address, peer.connected_port);
  SPINDRIFT_TRY_ASSIGN(Handle<fid_ep> endpoint, provider_domain_.endpoint(&source_, &destination));
  SPINDRIFT_TRY_ASSIGN(std::unique_ptr<OfiConnection> made, make(std::move(endpoint)));
  SPINDRIFT_TRY(outcome_of("fi_connect", fi_connect(&made->endpoint(), &destination.storage, &token, token_bytes)));
  return std::unique_ptr<PhysicalQueuePair>(std::move(made));
}

void OfiConnections::progress(Time now) {
  drain_completions();
  if (unsettled_ || ++passes_ > passes_between_looks) {
    passes_ = 0;
    drain_events();
  }
  unsettled_ = false;
  connections_.progress(now);
  unsettled_ |= connections_.find_if([](OfiConnection& each) { return !each.state().up(); }) != nullptr;
}

bool OfiConnections::may_block() noexcept {
  unsettled_ = true;  // after the sleep the event queue is looked at
  return connections_.quiet() && provider_domain_.may_block(*completions_, events_.get());
}

void OfiConnections::drain_completions() {
  static_cast<void>(drain(
      *completions_,
      [this](const CompletionToken& token, std::size_t bytes) {
        if (OfiConnection* const at = connections_.find(token.life)) at->on_completion(token, bytes);
      },
      [this](const CompletionToken& token, int error) {
        unsettled_ = true;
        if (OfiConnection* const at = connections_.find(token.life)) at->on_failed_completion(token, error);
      }));
}

void OfiConnections::drain_events() {
  while (true) {
    std::uint32_t what = 0;
    alignas(fi_eq_cm_entry) std::array<std::byte, sizeof(fi_eq_cm_entry) + 256> bytes;
    const auto size = fi_eq_read(events_.get(), &what, bytes.data(), bytes.size(), 0);
    if (size == -FI_EAVAIL) {
      on_event_error();
      continue;
    }
    if (size < static_cast<ssize_t>(sizeof(fi_eq_cm_entry))) return;
    fi_eq_cm_entry entry;
    std::memcpy(&entry, bytes.data(), sizeof entry);
    if (what == FI_CONNREQ) {
      const Info info(entry.info);
      on_request(*info, {bytes.data() + sizeof entry, static_cast<std::size_t>(size) - sizeof entry});
      continue;
    }
    OfiConnection* const queue_pair = find(entry.fid);
    if (queue_pair == nullptr) continue;
    if (what == FI_CONNECTED) queue_pair->on_connected(!connections_.waits(queue_pair));
    if (what == FI_SHUTDOWN) {
      drain_completions();  // what the peer said and did last comes before its end
      queue_pair->break_down("the connection broke");
    }
  }
}

void OfiConnections::on_event_error() {
  fi_eq_err_entry error{};
  if (fi_eq_readerr(events_.get(), &error, 0) < 0) return;
  OfiConnection* const queue_pair = find(error.fid);
  if (queue_pair != nullptr) queue_pair->break_down(ofi_error("the connection broke", error.err).message());
}

OfiConnection* OfiConnections::find(fid_t which) noexcept {
  return connections_.find_if(
      [which](OfiConnection& each) { return !each.state().broken() && &each.endpoint().fid == which; });
}

// A caller says a token and nothing else. It is turned away if it says more or less, or if too many wait to be taken.
void OfiConnections::on_request(fi_info& info, std::span<const std::byte> data) {
  const auto made = [&]() -> Result<std::unique_ptr<OfiConnection>> {
    if (data.size() != token_bytes || connections_.calls_full()) return Error(ErrorKind::refused, "turned away");
    SPINDRIFT_TRY_ASSIGN(Handle<fid_ep> endpoint, provider_domain_.endpoint(info));
    return make(std::move(endpoint));
  };
  auto queue_pair = made();
  if (!queue_pair) {
    static_cast<void>(fi_reject(listener_.get(), info.handle, nullptr, 0));
  } else if (fi_accept(&(*queue_pair)->endpoint(), nullptr, 0) == 0) {
    connections_.answer(std::move(queue_pair).value(), field_at_front<std::uint64_t>(data).value());
  }
}

}  // namespace spindrift::kernel::ofi
