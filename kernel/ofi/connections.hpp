// The connected half of a device: one listener, one event queue and one completion queue for all connected queue pairs.
#pragma once

#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>

#include <spindrift/kernel/answered_calls.hpp>
#include <spindrift/kernel/ofi/flights.hpp>
#include <spindrift/kernel/ofi/inbox.hpp>
#include <spindrift/kernel/ofi/shelf.hpp>
#include <spindrift/kernel/ofi/side.hpp>

namespace spindrift::kernel::ofi {

class Connections;
class OfiDevice;

/// One connection. Its completions come in the order of its posts: a read that writes overtake keeps their completions back.
class Connected final : public PhysicalQueuePair {
 public:
  Connected(OfiDevice& device, Connections& connections, Shelf& shelf);
  ~Connected() override;

  [[nodiscard]] bool connectionless() const noexcept override { return false; }
  [[nodiscard]] std::size_t post(std::span<const PhysicalOperation> operations) override;
  [[nodiscard]] std::size_t poll(std::span<PhysicalEvent> events) override;
  [[nodiscard]] std::size_t take(std::span<PhysicalEvent> events) override { return events_.take(events); }
  void give_back(std::uint64_t buffer) override { inbox_.give_back(buffer); }
  [[nodiscard]] Result<void> reset() override;

  /// Binds it, and offers it buffers. Errors: resource.
  [[nodiscard]] Result<void> start(Handle<fid_ep> endpoint, fid_eq& events, fid_cq& completions);
  [[nodiscard]] fid_ep& endpoint() noexcept { return *endpoint_; }
  [[nodiscard]] std::uint64_t life() const noexcept { return life_; }
  [[nodiscard]] bool up() const noexcept { return state_ == State::up; }
  [[nodiscard]] bool broken() const noexcept { return state_ == State::broken; }

  /// `called`: by this device's `connect`, so the owner wants to hear of it.
  void on_connected(bool called);
  void on_completion(const Token& token, std::size_t bytes);
  void on_failed_completion(const Token& token, int error);
  /// Every operation under way is told as lost.
  void break_down(std::string reason);
  void progress(Time now);
  /// Its silence counts from now on.
  void excuse(Time now) noexcept { heard_ = now; }
  [[nodiscard]] bool has_events() const noexcept { return !events_.empty(); }
  [[nodiscard]] Time next_look() const noexcept;

 private:
  enum class State : std::uint8_t { connecting, up, broken };

  void flush();
  /// Tells the completions whose turn it is.
  void tell();

  OfiDevice& device_;
  Connections& connections_;
  Shelf& shelf_;
  const std::uint64_t life_;
  State state_ = State::connecting;
  Flights flights_;
  Inbox inbox_;
  DeviceEvents events_;
  std::deque<std::uint32_t> order_;  // places, as posted
  std::size_t given_ = 0;            // of `order_`, from its front
  Time heard_{};
  Handle<fid_ep> endpoint_;
};

class Connections {
 public:
  Connections(OfiDevice& device, Side& side, Shelf& shelf) : device_(device), side_(side), shelf_(shelf) {}

  /// Listens. `source`: this host's address, without a port. Errors: refused, resource.
  [[nodiscard]] Result<void> open(const SocketAddress& source);
  [[nodiscard]] Result<SocketAddress> address();

  [[nodiscard]] Result<std::unique_ptr<PhysicalQueuePair>> connect(const Name& peer, std::uint64_t token);
  [[nodiscard]] Device::Accepted accepted() { return calls_.take(); }
  void progress(Time now);
  void remove(std::uint64_t life) { all_.erase(life); }
  /// As Device has them.
  [[nodiscard]] bool may_block() noexcept;
  [[nodiscard]] Time next_look() const noexcept;

 private:
  [[nodiscard]] Result<std::unique_ptr<Connected>> make(Handle<fid_ep> endpoint);
  void drain_events();
  void drain_completions();
  void on_request(fi_info& info, std::span<const std::byte> data);
  void on_event_error();
  [[nodiscard]] Connected* find(fid_t which) noexcept;

  OfiDevice& device_;
  Side& side_;
  Shelf& shelf_;
  SocketAddress source_;
  Handle<fid_eq> events_;
  Handle<fid_cq> completions_;
  Handle<fid_pep> door_;
  std::size_t queue_pairs_max_ = 0;
  std::map<std::uint64_t, Connected*> all_;  // by life
  AnsweredCalls<Connected> calls_;
  std::uint32_t passes_ = 0;
  bool unsettled_ = false;
  Time now_{};
  Time last_progress_{};
};

}  // namespace spindrift::kernel::ofi
