// Reads over modelled cards: their bytes are taken when they are posted, their completions come when the model says.
#include <spindrift/bench/model/cards.hpp>

#include <algorithm>
#include <cstring>
#include <deque>
#include <utility>

#include <spindrift/core/check.hpp>

namespace spindrift::bench::model {

using kernel::PhysicalEvent;
using kernel::PhysicalOperation;
using kernel::Status;

Ticks CardCosts::occupancy_ns(std::uint64_t bytes) const noexcept {
  return std::max(operation_ns, (static_cast<double>(bytes) + packet_header_bytes) / bytes_per_ns);
}

/// Serves one peer at a time: for another it waits until everything before is back, and takes its turn.
class CardQueuePair final : public kernel::PhysicalQueuePair {
 public:
  explicit CardQueuePair(CardDevice& device) : device_(device) {}

  [[nodiscard]] bool connectionless() const noexcept override { return true; }
  [[nodiscard]] std::size_t post(std::span<const PhysicalOperation> operations) override;
  [[nodiscard]] std::size_t poll(std::span<PhysicalEvent> events) override;
  void give_back(std::uint64_t) override {}
  [[nodiscard]] Result<void> reset() override { return {}; }

 private:
  [[nodiscard]] Status carry_out(const PhysicalOperation& operation);

  struct Pending {
    Ticks at_ns;
    PhysicalEvent event;
  };
  CardDevice& device_;
  std::deque<Pending> pending_;  // in the order of time: one peer at a time, and a peer answers in order
  kernel::PeerHandle peer_;      // the last
  Ticks back_ns_ = 0;            // when the last read is back
};

std::size_t CardQueuePair::post(std::span<const PhysicalOperation> operations) {
  const CardCosts& costs = device_.network_.costs();
  std::size_t taken = 0;
  for (const PhysicalOperation& operation : operations) {
    if (pending_.size() == device_.traits_.send_depth) break;
    device_.now_ns += taken++ == 0 ? costs.thread_ns() / 2 : costs.further_ns;
    const bool turns = operation.peer != peer_ || back_ns_ <= device_.now_ns;
    const Ticks start_ns = turns ? std::max(device_.now_ns, back_ns_) + costs.turn_ns : device_.now_ns;
    const Status status = carry_out(operation);
    Ticks& port_free_ns = device_.network_.devices_.at(device_.peers_.at(operation.peer.value()))->port_free_ns_;
    port_free_ns = std::max(port_free_ns, start_ns + costs.flight_ns / 2) + costs.occupancy_ns(operation.bytes);
    back_ns_ = std::max(back_ns_, port_free_ns + costs.flight_ns / 2);
    peer_ = operation.peer;
    PhysicalEvent event;
    event.status = status;
    event.id = operation.id;
    pending_.push_back({back_ns_, std::move(event)});
    device_.network_.arrivals_.push({back_ns_, device_.number_});
  }
  return taken;
}

Status CardQueuePair::carry_out(const PhysicalOperation& operation) {
  const CardDevice* const peer = device_.network_.devices_.at(device_.peers_.at(operation.peer.value()));
  const auto found = peer->memory_.find(operation.remote_key);
  if (operation.kind != PhysicalOperation::Kind::read) return Status::local_error;
  if (found == peer->memory_.end() || found->second.access != fabric::Access::read) return Status::access_refused;
  const std::span<const std::byte> memory = found->second.memory;
  const std::uint64_t offset = operation.remote_address - reinterpret_cast<std::uint64_t>(memory.data());
  if (offset > memory.size() || operation.bytes > memory.size() - offset) return Status::access_refused;
  std::memcpy(operation.local, memory.data() + offset, operation.bytes);
  return Status::done;
}

std::size_t CardQueuePair::poll(std::span<PhysicalEvent> events) {
  const CardCosts& costs = device_.network_.costs();
  std::size_t taken = 0;
  for (; taken < events.size() && !pending_.empty() && pending_.front().at_ns <= device_.now_ns; ++taken) {
    events[taken] = std::move(pending_.front().event);
    pending_.pop_front();
  }
  if (taken > 0) device_.now_ns += costs.thread_ns() / 2 + static_cast<double>(taken - 1) * costs.further_ns;
  return taken;
}

std::unique_ptr<CardDevice> CardNetwork::add() {
  auto device = std::make_unique<CardDevice>(*this, devices_.size());
  devices_.push_back(device.get());
  return device;
}

std::optional<CardNetwork::Arrival> CardNetwork::next() {
  if (arrivals_.empty()) return std::nullopt;
  const Arrival first = arrivals_.top();
  arrivals_.pop();
  return first;
}

CardDevice::CardDevice(CardNetwork& network, std::size_t number) : network_(network), number_(number) {
  traits_.name = "modelled card";
  traits_.connectionless = true;
  traits_.ordered_completions = true;
  traits_.ordered_writes = true;
  traits_.visible_on_completion = true;
  traits_.send_depth = 256;
  traits_.message_bytes_max = 512;
  metadata_.size = sizeof number_;
  std::memcpy(metadata_.bytes.data(), &number_, sizeof number_);
}

CardDevice::~CardDevice() = default;

Result<kernel::PeerHandle> CardDevice::resolve(const kernel::Metadata& peer) {
  std::uint64_t number = 0;
  if (peer.size != sizeof number) return Error(ErrorKind::bad_argument, "no metadata of this network");
  std::memcpy(&number, peer.bytes.data(), sizeof number);
  peers_.emplace(++newest_peer_, number);
  return kernel::PeerHandle(newest_peer_);
}

Result<std::unique_ptr<kernel::PhysicalQueuePair>> CardDevice::open() {
  return std::unique_ptr<kernel::PhysicalQueuePair>(std::make_unique<CardQueuePair>(*this));
}

Result<std::unique_ptr<kernel::PhysicalQueuePair>> CardDevice::connect(const kernel::Metadata&, std::uint64_t) {
  return Error(ErrorKind::unsupported, "a modelled card has no connected queue pairs");
}

Result<kernel::MemoryKeys> CardDevice::register_memory(std::span<std::byte> memory, fabric::Access access) {
  memory_.emplace(++newest_key_, Registered{memory, access});
  return kernel::MemoryKeys{newest_key_, newest_key_, reinterpret_cast<std::uint64_t>(memory.data())};
}

Result<kernel::MemoryKeys> CardDevice::register_local(std::span<std::byte>) {
  return kernel::MemoryKeys{++newest_key_, 0, 0};
}

}  // namespace spindrift::bench::model
