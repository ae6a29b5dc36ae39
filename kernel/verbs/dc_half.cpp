// Initiators come and go; the target stays, and its messages go to one of them.
#include <spindrift/kernel/verbs/connectionless_half.hpp>

#include <algorithm>
#include <deque>
#include <utility>

#include <spindrift/fabric/endpoint_parts.hpp>
#include <spindrift/fabric/verbs/library.hpp>
#include <spindrift/core/log.hpp>
#include <spindrift/kernel/verbs/dc.hpp>
#include <spindrift/kernel/verbs/rdma_core_device.hpp>

namespace spindrift::kernel::verbs {
namespace {

/// One DC target, to which all peers come, and an initiator for each queue pair that is opened.
class DcHalf final : public ConnectionlessHalf {
 public:
  DcHalf(VerbsDevice& device, VerbsShared& shared)
      : device_(device),
        shared_(shared),
        target_life_(shared.new_life()),
        buffers_(shared.sizes),
        peers_(shared.sizes.peers_max) {
    buffers_.start(target_life_);
  }

  /// Errors: as `open_connectionless`.
  [[nodiscard]] Result<void> start();

  [[nodiscard]] TargetName target() const noexcept override { return target_->name(); }
  [[nodiscard]] Result<PeerHandle> add(const TargetName& peer) override {
    return peers_.add(peer, [&] { return way_to(dc_, peer); });
  }
  void remove(PeerHandle peer) override { static_cast<void>(peers_.remove(peer)); }
  [[nodiscard]] Result<std::unique_ptr<PhysicalQueuePair>> open() override;
  void on_completion(const CompletionToken& token, const ibv_wc& completion) override;
  void progress() override;
  [[nodiscard]] bool quiet() const noexcept override;

 private:
  class QueuePair;

  void close(QueuePair& queue_pair);
  void hand_messages();

  VerbsDevice& device_;
  VerbsShared& shared_;
  const std::uint32_t target_life_;
  DcPort dc_;
  ReceiveBuffers buffers_;
  Handle<ibv_mr> buffers_registered_;
  DcPeers peers_;
  std::unique_ptr<DcTarget> target_;
  std::vector<QueuePair*> queue_pairs_;
  QueuePair* hears_ = nullptr;         ///< to whom messages go: the first that is open
  std::deque<PhysicalEvent> unheard_;  ///< while there is none; at most as many as buffers
};

class DcHalf::QueuePair final : public PhysicalQueuePair {
 public:
  QueuePair(DcHalf& half, std::uint32_t life)
      : PhysicalQueuePair(half.device_),
        half_(half),
        initiator(half.dc_, half.peers_, life, half.shared_.sizes, half.shared_.memory) {}
  ~QueuePair() override { half_.close(*this); }

  /// Errors: resource.
  [[nodiscard]] Result<void> open() {
    SPINDRIFT_TRY_ASSIGN(headers_registered_, half_.shared_.register_own(initiator.queue().headers()));
    initiator.queue().set_headers_key(headers_registered_->lkey);
    return initiator.open();
  }

  [[nodiscard]] std::size_t post(std::span<const PhysicalOperation> operations) override {
    return initiator.post(operations);
  }
  [[nodiscard]] std::size_t take(std::span<PhysicalEvent> events) override {
    return initiator.queue().events().take(events);
  }
  void give_back(std::uint64_t buffer) override { half_.buffers_.give_back(buffer); }
  [[nodiscard]] Result<void> reset() override { return initiator.reset(); }

 private:
  DcHalf& half_;
  Handle<ibv_mr> headers_registered_;  // goes after the initiator, which may be reading there

 public:
  DcInitiator initiator;
};

Result<void> DcHalf::start() {
  fabric::verbs::Device& adapter = *shared_.adapter;
  rdma_cm_id& listener = adapter.listener();
  if (std::string why = why_no_dc(listener.verbs->device->name); !why.empty()) {
    return Error(ErrorKind::unsupported, std::string(listener.verbs->device->name) + " has no DC queue pairs: " + why)
        .fix(
            "open the device with its connected class alone, or a device over libfabric (vq:tcp); groups use fabric = "
            "verbs");
  }
  SPINDRIFT_TRY_ASSIGN(dc_.calls, dc_calls());
  dc_.context = listener.verbs;
  dc_.domain = &adapter.domain();
  dc_.completions = &adapter.completions();
  dc_.port = listener.port_num;
  ibv_port_attr port{};
  const int failed = fabric::verbs::loaded_library().query_port(listener.verbs, listener.port_num,
                                                                reinterpret_cast<_compat_ibv_port_attr*>(&port));
  if (failed != 0) return system_error("ibv_query_port", failed);
  dc_.mtu = port.active_mtu;
  dc_.lid = port.link_layer == IBV_LINK_LAYER_INFINIBAND ? port.lid : std::uint16_t{0};
  const auto gid = fabric::verbs::gid_entry_in_use(listener);
  if (!gid) return Error(ErrorKind::resource, "the port's table of GIDs does not have the node's address");
  dc_.gid = gid->gid;
  dc_.gid_index = static_cast<std::uint8_t>(gid->gid_index);
  SPINDRIFT_TRY_ASSIGN(const std::uint64_t key, fabric::random_word());
  SPINDRIFT_TRY_ASSIGN(buffers_registered_, shared_.register_own(buffers_.memory()));
  dc_.buffers_key = buffers_registered_->lkey;
  SPINDRIFT_TRY_ASSIGN(target_, DcTarget::open(dc_, target_life_, static_cast<std::uint32_t>(key), buffers_));
  log::warn(log::Room::kernel, "DC queue pairs, which have not been run on an adapter before this release",
            {{"device", listener.verbs->device->name}, {"target", target_->name().number}});
  return {};
}

Result<std::unique_ptr<PhysicalQueuePair>> DcHalf::open() {
  // An initiator asks for as much of the completion queue as a connection does.
  SPINDRIFT_TRY(shared_.adapter->make_room(queue_pairs_.size() + 2));
  auto made = std::make_unique<QueuePair>(*this, shared_.new_life());
  queue_pairs_.push_back(made.get());
  SPINDRIFT_TRY(made->open());
  if (hears_ == nullptr) hears_ = made.get();
  hand_messages();
  return std::unique_ptr<PhysicalQueuePair>(std::move(made));
}

void DcHalf::close(QueuePair& queue_pair) {
  std::erase(queue_pairs_, &queue_pair);
  if (hears_ == &queue_pair) hears_ = nullptr;
}

void DcHalf::hand_messages() {
  for (; hears_ != nullptr && !unheard_.empty(); unheard_.pop_front())
    hears_->initiator.queue().events().push(std::move(unheard_.front()));
}

void DcHalf::on_completion(const CompletionToken& token, const ibv_wc& completion) {
  if (token.life == target_life_) {
    if (completion.status == IBV_WC_SUCCESS && completion.opcode == IBV_WC_RECV) {
      unheard_.push_back(buffers_.received(token.which, completion.byte_len));
      hand_messages();
    } else {
      buffers_.spent(token.which);  // news, or a message that does not fit
    }
    return;
  }
  const auto at = std::find_if(queue_pairs_.begin(), queue_pairs_.end(),
                               [&](const QueuePair* each) { return each->initiator.life() == token.life; });
  if (at != queue_pairs_.end()) (*at)->initiator.on_completion(token.which, completion.status);
}

void DcHalf::progress() {
  if (auto given = target_->give_buffers(); !given)
    log::error(log::Room::kernel, "the adapter takes no receive buffers", {{"reason", given.error().to_string()}});
}

bool DcHalf::quiet() const noexcept {
  return std::all_of(queue_pairs_.begin(), queue_pairs_.end(),
                     [](QueuePair* each) { return each->initiator.queue().events().empty(); });
}

}  // namespace

Result<std::unique_ptr<ConnectionlessHalf>> open_connectionless(VerbsDevice& device, VerbsShared& shared) {
  auto half = std::make_unique<DcHalf>(device, shared);
  SPINDRIFT_TRY(half->start());
  return std::unique_ptr<ConnectionlessHalf>(std::move(half));
}

}  // namespace spindrift::kernel::verbs
