// The network in one thread: order, faults and what they leave behind.
#include "sim_device.hpp"

#include <algorithm>
#include <cstring>

#include <spindrift/core/check.hpp>

namespace spindrift::kernel::sim {

SimDevice::SimDevice(SimNetwork& network, std::uint64_t number, const SimOptions& options)
    : network_(network), number_(number), options_(options) {
  traits_.name = "sim";
  traits_.connectionless = options.connectionless;
  traits_.connected = true;
  traits_.ordered_completions = options.ordered;
  traits_.visible_on_completion = options.proves;
  traits_.send_depth = options.send_depth;
  traits_.message_bytes_max = options.message_bytes_max;
  metadata_.size = sizeof number;
  std::memcpy(metadata_.bytes.data(), &number, sizeof number);
}

SimDevice::~SimDevice() { network_.kill(*this); }

Result<PeerHandle> SimDevice::resolve(const Metadata& peer) {
  std::uint64_t number = 0;
  if (peer.size != sizeof number) return Error(ErrorKind::bad_argument, "no metadata of this network");
  std::memcpy(&number, peer.bytes.data(), sizeof number);
  peers_.emplace(++newest_peer_, number);
  return PeerHandle(newest_peer_);
}

void SimDevice::forget(PeerHandle peer) { peers_.erase(peer.value()); }

Result<std::unique_ptr<PhysicalQueuePair>> SimDevice::open() {
  return std::unique_ptr<PhysicalQueuePair>(std::make_unique<SimQueuePair>(*this, SimQueuePair::Kind::connectionless));
}

Result<std::unique_ptr<PhysicalQueuePair>> SimDevice::connect(const Metadata& peer, std::uint64_t token) {
  std::uint64_t number = 0;
  if (peer.size != sizeof number) return Error(ErrorKind::bad_argument, "no metadata of this network");
  std::memcpy(&number, peer.bytes.data(), sizeof number);
  auto queue_pair = std::make_unique<SimQueuePair>(*this, SimQueuePair::Kind::calling, number);
  queue_pair->token_ = token;
  return std::unique_ptr<PhysicalQueuePair>(std::move(queue_pair));
}

PhysicalDevice::Accepted SimDevice::accepted() {
  if (accepted_.empty()) return {};
  Accepted first = std::move(accepted_.front());
  accepted_.pop_front();
  return first;
}

Result<MemoryKeys> SimDevice::register_memory(std::span<std::byte> memory, std::optional<fabric::Access> access) {
  if (!access) return MemoryKeys{++newest_key_, 0, 0};
  memory_.emplace(++newest_key_, Registered{memory, *access});
  return MemoryKeys{newest_key_, newest_key_, reinterpret_cast<std::uint64_t>(memory.data())};
}

void SimDevice::deregister(const MemoryKeys& keys) { memory_.erase(keys.remote_key); }

void SimDevice::break_down() { queue_pairs_.front()->break_down(); }

void SimDevice::report(const PhysicalEvent& event) {
  const auto& all = network_.queue_pairs_;
  const auto newest = std::find_if(all.rbegin(), all.rend(), [&](const SimQueuePair* one) { return &one->device_ == this; });
  (*newest)->events_.push_back(event);
}

std::unique_ptr<SimDevice> SimNetwork::add(const SimOptions& options) {
  auto device = std::make_unique<SimDevice>(*this, ++newest_, options);
  devices_.emplace(newest_, device.get());
  return device;
}

std::unique_ptr<SimDevice> SimNetwork::start_again(const SimDevice& former) {
  auto device = std::make_unique<SimDevice>(*this, former.number_, former.options_);
  devices_.insert_or_assign(former.number_, device.get());
  return device;
}

void SimNetwork::kill(const SimDevice& device) {
  if (alive(device.number_) == &device) devices_.erase(device.number_);
}

SimDevice* SimNetwork::alive(std::uint64_t number) const {
  const auto found = devices_.find(number);
  return found == devices_.end() ? nullptr : found->second;
}

bool SimNetwork::step() {
  if (queue_pairs_.empty()) return false;
  const std::size_t first = draw(queue_pairs_.size());
  for (std::size_t i = 0; i < queue_pairs_.size(); ++i) {
    if (queue_pairs_[(first + i) % queue_pairs_.size()]->step()) return true;
  }
  return false;
}

SimQueuePair::SimQueuePair(SimDevice& device, Kind kind, std::uint64_t peer)
    : PhysicalQueuePair(device), device_(device), kind_(kind), peer_(peer) {
  for (std::uint64_t i = 0; i < device.options_.receive_buffers; ++i) {
    buffers_.emplace_back(device.options_.message_bytes_max);
    free_buffers_.push_back(i);
  }
  if (kind == Kind::connectionless) device.queue_pairs_.push_back(this);
  device.network_.queue_pairs_.push_back(this);
}

SimQueuePair::~SimQueuePair() {
  if (partner_ != nullptr) {
    partner_->partner_ = nullptr;
    partner_->break_down();
  }
  std::erase(device_.queue_pairs_, this);
  std::erase(device_.network_.queue_pairs_, this);
}

std::size_t SimQueuePair::post(std::span<const PhysicalOperation> operations) {
  std::size_t taken = 0;
  for (; taken < operations.size() && !broken_ && kind_ != Kind::calling && under_way_ < device_.options_.send_depth;
       ++taken) {
    ++under_way_;
    if (failed_.contains(operations[taken].peer)) {
      flush(operations[taken]);
      continue;
    }
    Pending pending{operations[taken], {operations[taken].header.begin(), operations[taken].header.end()}, {}};
    pending.operation.header = {};
    pending_.push_back(std::move(pending));
  }
  device_.under_way_max_ = std::max(device_.under_way_max_, under_way_);
  return taken;
}

std::size_t SimQueuePair::take(std::span<PhysicalEvent> events) {
  std::size_t taken = 0;
  for (; taken < events.size() && !events_.empty(); ++taken) {
    events[taken] = std::move(events_.front());
    events_.pop_front();
  }
  if (events_.empty()) failed_.clear();
  return taken;
}

void SimQueuePair::give_back(std::uint64_t buffer) { free_buffers_.push_back(buffer); }

Result<void> SimQueuePair::reset() {
  SPINDRIFT_CHECK(broken_ && pending_.empty());
  if (device_.resets_refused_) return Error(ErrorKind::resource, "no more queue pairs");
  broken_ = false;
  return {};
}

// A queue pair without order carries out what goes to different peers in any order, to one peer in order.
bool SimQueuePair::step() {
  if (device_.network_.alive(device_.number_) != &device_) return false;
  if (kind_ == Kind::calling) return call();
  if (!flying_.empty() && (pending_.empty() || device_.network_.draw(2) == 0)) return arrive();
  if (pending_.empty()) return false;
  auto chosen = pending_.begin();
  if (!device_.options_.ordered) {
    const PeerHandle peer = pending_[device_.network_.draw(pending_.size())].operation.peer;
    chosen = std::find_if(pending_.begin(), pending_.end(), [&](const Pending& p) { return p.operation.peer == peer; });
  }
  OperationStatus status = OperationStatus::done;
  const bool flies = !device_.options_.proves && peer_of(chosen->operation) != nullptr &&
                     chosen->operation.kind != PhysicalOperation::Kind::read;
  if (flies) {
    const PhysicalOperation& operation = chosen->operation;
    flying_.push_back(*chosen);
    flying_.back().bytes.assign(operation.local, operation.local + operation.bytes);
  } else {
    if (!flying_.empty()) return arrive();  // a read follows what was written before it
    if (carry_out(*chosen, status) == Outcome::waits) return false;
  }
  const PhysicalOperation operation = chosen->operation;
  pending_.erase(chosen);
  complete(operation, status);
  if (status != OperationStatus::done) fail(operation.peer);
  return true;
}

// The first few of what is to go there may be on their way already.
void SimQueuePair::fail(PeerHandle peer) {
  if (!device_.options_.flushes || kind_ != Kind::connectionless) {
    if (device_.options_.ordered || device_.network_.draw(8) == 0) break_down();
    return;
  }
  failed_.insert(peer);
  std::uint64_t on_their_way = device_.network_.draw(3);
  for (Pending& pending : std::exchange(pending_, {})) {
    if (pending.operation.peer == peer && on_their_way == 0) {
      flush(pending.operation);
    } else {
      if (pending.operation.peer == peer) --on_their_way;
      pending_.push_back(std::move(pending));
    }
  }
}

void SimQueuePair::flush(const PhysicalOperation& operation) {
  ++device_.flushed_;
  complete(operation, OperationStatus::flushed);
}

bool SimQueuePair::call() {
  SimDevice* const peer = device_.network_.alive(peer_);
  if (broken_ || peer == nullptr) {
    const bool news = !broken_;
    break_down();
    return news;
  }
  auto other = std::make_unique<SimQueuePair>(*peer, Kind::connected, device_.number_);
  other->partner_ = this;
  partner_ = other.get();
  kind_ = Kind::connected;
  peer->accepted_.push_back({std::move(other), token_});
  PhysicalEvent event;
  event.kind = PhysicalEvent::Kind::connected;
  events_.push_back(std::move(event));
  return true;
}

// An operation that was completed before reaches its peer; one that cannot any more is lost without a word, as on such
// devices.
bool SimQueuePair::arrive() {
  OperationStatus ignored = OperationStatus::done;
  Pending& first = flying_.front();
  first.operation.local = first.bytes.data();
  if (carry_out(first, ignored) == Outcome::waits) return false;
  flying_.pop_front();
  return true;
}

void SimQueuePair::complete(const PhysicalOperation& operation, OperationStatus status) {
  --under_way_;
  if (!operation.signaled && status == OperationStatus::done) return;
  PhysicalEvent event;
  event.kind = PhysicalEvent::Kind::completed;
  event.status = status;
  event.id = operation.id;
  events_.push_back(std::move(event));
}

// Some of the operations that are under way may have been carried out; nobody knows.
void SimQueuePair::break_down() {
  if (broken_) return;
  if (kind_ != Kind::connectionless) flying_.clear();
  const std::size_t carried_out = device_.network_.draw(pending_.size() + 1);
  for (std::size_t i = 0; i < pending_.size(); ++i) {
    OperationStatus ignored = OperationStatus::done;
    if (i < carried_out && carry_out(pending_[i], ignored) == Outcome::waits) break;
  }
  for (const Pending& pending : std::exchange(pending_, {})) complete(pending.operation, OperationStatus::flushed);
  broken_ = true;
  PhysicalEvent event;
  event.kind = PhysicalEvent::Kind::broken;
  event.reason = "broken by the test";
  events_.push_back(std::move(event));
}

SimDevice* SimQueuePair::peer_of(const PhysicalOperation& operation) const {
  if (kind_ == Kind::connected) {
    SimDevice* const peer = device_.network_.alive(peer_);
    return partner_ != nullptr && peer == &partner_->device_ ? peer : nullptr;
  }
  const auto known = device_.peers_.find(operation.peer.value());
  SimDevice* const peer = known == device_.peers_.end() ? nullptr : device_.network_.alive(known->second);
  return peer == nullptr || peer->queue_pairs_.empty() ? nullptr : peer;
}

SimQueuePair::Outcome SimQueuePair::carry_out(const Pending& pending, OperationStatus& status) {
  const PhysicalOperation& operation = pending.operation;
  SimDevice* const peer = peer_of(operation);
  if (peer == nullptr) {
    status = OperationStatus::peer_lost;
    return Outcome::over;
  }
  if (operation.kind == PhysicalOperation::Kind::send) {
    if (pending.header.size() + operation.bytes > peer->options_.message_bytes_max) {
      status = OperationStatus::local_error;
      return Outcome::over;
    }
    SimQueuePair& to = partner_ != nullptr ? *partner_ : *peer->queue_pairs_.front();
    return to.receive(pending.header, {operation.local, operation.bytes}) ? Outcome::over : Outcome::waits;
  }
  const auto found = peer->memory_.find(operation.remote_key);
  const bool write = operation.kind == PhysicalOperation::Kind::write;
  const auto wanted = write ? fabric::Access::write : fabric::Access::read;
  status = OperationStatus::access_refused;
  if (found == peer->memory_.end() || found->second.access != wanted) return Outcome::over;
  const auto begin = reinterpret_cast<std::uint64_t>(found->second.memory.data());
  const std::uint64_t size = found->second.memory.size();
  if (operation.remote_address < begin || operation.remote_address - begin > size ||
      size - (operation.remote_address - begin) < operation.bytes) {
    return Outcome::over;
  }
  status = OperationStatus::done;
  auto* const remote = found->second.memory.data() + (operation.remote_address - begin);
  if (operation.bytes > 0) std::memcpy(write ? remote : operation.local, write ? operation.local : remote, operation.bytes);
  return Outcome::over;
}

bool SimQueuePair::receive(std::span<const std::byte> header, std::span<const std::byte> payload) {
  if (free_buffers_.empty()) return false;
  const std::uint64_t buffer = free_buffers_.back();
  free_buffers_.pop_back();
  std::copy(header.begin(), header.end(), buffers_[buffer].begin());
  std::copy(payload.begin(), payload.end(), buffers_[buffer].begin() + static_cast<std::ptrdiff_t>(header.size()));
  PhysicalEvent event;
  event.kind = PhysicalEvent::Kind::received;
  event.id = buffer;
  event.bytes = std::span(buffers_[buffer]).first(header.size() + payload.size());
  events_.push_back(std::move(event));
  return true;
}

}  // namespace spindrift::kernel::sim
