// Calling, answering, and handing each completion to its queue pair.
#include <spindrift/kernel/ofi/ofi_connections.hpp>

#include <rdma/fi_errno.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

namespace spindrift::kernel::ofi {
namespace {

using fabric::ofi::ofi_error;

constexpr std::size_t completions_max = 1u << 16;   // of all queue pairs together; it bounds how many there may be
constexpr std::uint32_t passes_between_looks = 16;  // at the event queue, while nothing is expected there
constexpr std::size_t token_bytes = sizeof(std::uint64_t);

}  // namespace

Result<void> OfiConnections::open(const SocketAddress& source) {
  source_ = source;
  const std::size_t each = std::size_t{shared_.sizes.send_depth} + shared_.sizes.receive_buffers;
  queue_pairs_max_ = std::min<std::size_t>(shared_.sizes.peers_max, std::max<std::size_t>(completions_max / each, 1));
  auto events = provider_domain_.events();
  if (!events) return std::move(events).error();
  events_ = std::move(events).value();
  auto completions = provider_domain_.completions(queue_pairs_max_ * each);
  if (!completions) return std::move(completions).error();
  completions_ = std::move(completions).value();
  if (auto waits = shared_.wait_for(provider_domain_, events_->fid); !waits) return waits;
  if (auto waits = shared_.wait_for(provider_domain_, completions_->fid); !waits) return waits;
  auto listener = provider_domain_.listener();
  if (!listener) return std::move(listener).error();
  listener_ = std::move(listener).value();
  if (const int error = fi_pep_bind(listener_.get(), &events_->fid, 0); error != 0) return ofi_error("fi_pep_bind", error);
  if (const int error = fi_listen(listener_.get()); error != 0) {
    return Error(ErrorKind::refused, "cannot listen")
        .because(ofi_error("fi_listen", error))
        .fix("see whether another process has the port (ss -ltnp)");
  }
  return {};
}

Result<SocketAddress> OfiConnections::address() { return ProviderDomain::address_of(listener_->fid); }

Result<std::unique_ptr<OfiConnection>> OfiConnections::make(Handle<fid_ep> endpoint) {
  if (connections_.size() == queue_pairs_max_) {
    return Error(ErrorKind::resource, "as many connections as the completion queue has room for")
        .fix("use connectionless queue pairs, or ask for smaller depths");
  }
  auto made = std::make_unique<OfiConnection>(device_, *this, shared_);
  if (auto started = made->start(std::move(endpoint), *events_, *completions_); !started) return std::move(started).error();
  connections_.add(*made, shared_.clock->now());
  unsettled_ = true;
  return made;
}

Result<std::unique_ptr<PhysicalQueuePair>> OfiConnections::connect(const OfiName& peer, std::uint64_t token) {
  const SocketAddress destination = socket_address(peer.address, peer.connected_port);
  auto endpoint = provider_domain_.endpoint(&source_, &destination);
  if (!endpoint) return std::move(endpoint).error();
  auto made = make(std::move(endpoint).value());
  if (!made) return std::move(made).error();
  if (const int error = fi_connect(&(*made)->endpoint(), &destination.storage, &token, token_bytes); error != 0)
    return ofi_error("fi_connect", error);
  return std::unique_ptr<PhysicalQueuePair>(std::move(made).value());
}

void OfiConnections::progress(Time now) {
  drain_completions();
  if (unsettled_ || ++passes_ > passes_between_looks) {
    passes_ = 0;
    drain_events();
  }
  unsettled_ = false;
  connections_.progress(now);
  unsettled_ |= connections_.find_if([](const OfiConnection& each) { return !each.up(); }) != nullptr;
}

bool OfiConnections::may_block() noexcept {
  unsettled_ = true;  // after the sleep the event queue is looked at
  return connections_.quiet() && provider_domain_.may_block(*completions_, events_.get());
}

void OfiConnections::drain_completions() {
  std::array<fi_cq_msg_entry, 64> entries;
  while (true) {
    const auto count = fi_cq_read(completions_.get(), entries.data(), entries.size());
    if (count == -FI_EAVAIL) {
      fi_cq_err_entry error{};
      if (fi_cq_readerr(completions_.get(), &error, 0) < 0) return;
      const CompletionToken token = token_of(error.op_context);
      unsettled_ = true;
      if (OfiConnection* const at = connections_.find(token.life)) at->on_failed_completion(token, error.err);
      continue;
    }
    if (count <= 0) return;
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
      if (is_news(entries[i])) continue;
      const CompletionToken token = token_of(entries[i].op_context);
      if (OfiConnection* const at = connections_.find(token.life)) at->on_completion(token, entries[i].len);
    }
    if (static_cast<std::size_t>(count) < entries.size()) return;
  }
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
    if (what == FI_CONNECTED) {
      queue_pair->on_connected(!connections_.waits(queue_pair));
    }
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
  return connections_.find_if([which](OfiConnection& each) { return !each.broken() && &each.endpoint().fid == which; });
}

// Who calls says a token and nothing else. It is turned away if it says more or less, or if too many wait to be taken.
void OfiConnections::on_request(fi_info& info, std::span<const std::byte> data) {
  std::uint64_t token = 0;
  std::unique_ptr<OfiConnection> queue_pair;
  bool answers = data.size() == token_bytes && !connections_.calls_full();
  if (answers) {
    std::memcpy(&token, data.data(), token_bytes);
    auto endpoint = provider_domain_.endpoint(info);
    auto made = endpoint ? make(std::move(endpoint).value()) : Result<std::unique_ptr<OfiConnection>>(endpoint.error());
    answers = made.ok();
    if (answers) queue_pair = std::move(made).value();
  }
  if (!answers) {
    static_cast<void>(fi_reject(listener_.get(), info.handle, nullptr, 0));
    return;
  }
  if (fi_accept(&queue_pair->endpoint(), nullptr, 0) == 0) connections_.answer(std::move(queue_pair), token);
}

}  // namespace spindrift::kernel::ofi
