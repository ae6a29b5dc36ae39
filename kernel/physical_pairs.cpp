// A list of queue pairs, and the translation of the core's operations into a device's.
#include <spindrift/kernel/physical_pairs.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include <spindrift/core/check.hpp>

namespace spindrift::kernel {

using Role = PhysicalPair::Role;

Result<void> PhysicalPairs::open(std::uint32_t count) {
  for (; connectionless_ < count; ++connectionless_) {
    SPINDRIFT_TRY_ASSIGN(auto queue_pair, device_.open());
    add(std::move(queue_pair), Role::connectionless);
  }
  return {};
}

PhysicalPair& PhysicalPairs::add(std::unique_ptr<PhysicalQueuePair> queue_pair, Role role) {
  const DeviceTraits& traits = device_.traits();
  auto pair = std::make_unique<PhysicalPair>();
  pair->queue_pair = std::move(queue_pair);
  pair->role = role;
  pair->slots.resize(traits.send_depth);
  const bool in_order = traits.ordered_completions || (role != Role::connectionless && traits.connected_in_order);
  vq_physical_init(&pair->core, pair->slots.data(), traits.send_depth, in_order, pair.get());
  all_.push_back(std::move(pair));
  return *all_.back();
}

PhysicalPair& PhysicalPairs::least_used() const {
  return **std::min_element(all_.begin(), all_.begin() + connectionless_,
                            [](const auto& left, const auto& right) { return left->core.pairs < right->core.pairs; });
}

PhysicalPair& PhysicalPairs::best_for(const PoolPeer& peer) const {
  return peer.connected != nullptr && peer.connected->role == Role::connected ? *peer.connected : least_used();
}

bool PhysicalPairs::uses(std::uint64_t local_key) const noexcept {
  return std::any_of(all_.begin(), all_.end(), [local_key](const auto& pair) {
    return std::any_of(pair->slots.begin(), pair->slots.end(), [local_key](const vq_slot& slot) {
      return slot.state != VQ_SLOT_FREE && slot.request.local_key == local_key;
    });
  });
}

std::uint32_t PhysicalPairs::post(PhysicalPair& to, const vq_posted* list, std::uint32_t count) const {
  CHECK(count <= VQ_SEGMENT);
  std::array<PhysicalOperation, VQ_SEGMENT> operations;
  std::array<std::array<std::byte, sizeof(vq_header) + Metadata::bytes_max>, VQ_SEGMENT> headers;
  for (std::uint32_t i = 0; i < count; ++i) {
    const vq_request& request = *list[i].request;
    PhysicalOperation& operation = operations[i];
    operation = {.kind = static_cast<PhysicalOperation::Kind>(request.operation),
                 .signaled = list[i].signaled != 0,
                 .news = (request.flags & VQ_NEWS) != 0,
                 .peer = PeerHandle(list[i].peer),
                 .id = list[i].id,
                 .local = reinterpret_cast<std::byte*>(request.local),
                 .bytes = request.bytes,
                 .local_key = memory_.device_key(request.local_key),
                 .remote_address = request.remote,
                 .remote_key = request.remote_key,
                 .header = {}};
    if (request.operation != VQ_SEND) continue;
    if ((request.flags & VQ_LARGE) != 0) operation.bytes = 0;
    std::memcpy(headers[i].data(), &list[i].header, sizeof(vq_header));
    const std::size_t metadata_bytes = list[i].header.metadata_bytes;
    std::memcpy(headers[i].data() + sizeof(vq_header), device_.metadata().bytes.data(), metadata_bytes);
    operation.header = std::span(headers[i]).first(sizeof(vq_header) + metadata_bytes);
  }
  return static_cast<std::uint32_t>(to.queue_pair->post(std::span(operations).first(count)));
}

}  // namespace spindrift::kernel
