// The public face: a process joins its group, sends to subgroups and receives what they deliver.
//
// One poller thread per Group runs the protocol and calls the handlers. Errors are thrown as spindrift::Exception, here and
// nowhere below; every message names what failed, why and what to do.
#pragma once

#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <spindrift/core/config/config.hpp>
#include <spindrift/core/counters.hpp>
#include <spindrift/core/view.hpp>
#include <spindrift/smc/delivery.hpp>
#include <spindrift/smc/send_ring.hpp>

namespace spindrift {

class Group;
class GroupCore;

/// A subgroup as this member sees it. Lives as long as its Group. All functions are thread-safe unless said otherwise.
class Subgroup {
 public:
  using DeliveryHandler = std::function<void(std::span<const Delivery>)>;

  [[nodiscard]] const std::string& name() const noexcept;
  [[nodiscard]] const SubgroupView& description() const noexcept;
  /// Whether this member may send here.
  [[nodiscard]] bool is_sender() const noexcept;
  /// Largest payload in bytes.
  [[nodiscard]] std::uint64_t message_bytes_max() const noexcept;

  /// Sets who takes the deliveries, once. Until then messages wait (and finally the senders: nothing is lost). The handler
  /// runs on the poller thread with batches in delivery order; it should return soon, for it holds up this process's
  /// protocol. It may send; where a `send` would have to wait it throws would_block instead. An exception that leaves it
  /// stops the group.
  void on_delivery(DeliveryHandler handler);

  /// Sends one message of `bytes`: `build(std::span<std::byte>)` fills it in place in the ring, on this thread. Waits while
  /// the window is full. If `build` throws, nothing is sent and the exception goes on. Returns when the message is on its
  /// way; delivery here and elsewhere follows in order. Throws: bad_argument (too large, not a sender), group_closed,
  /// member_lost, would_block (from a handler).
  template <class Build>
  void send(std::uint64_t bytes, Build&& build) {
    fill(reserve(bytes), build);
  }
  void send(std::span<const std::byte> payload) {
    send(payload.size(), [&](std::span<std::byte> to) {
      if (!to.empty()) std::memcpy(to.data(), payload.data(), to.size());
    });
  }
  void send(std::string_view text) { send(std::as_bytes(std::span(text))); }

  /// The same without waiting: false if the window is full.
  template <class Build>
  [[nodiscard]] bool try_send(std::uint64_t bytes, Build&& build) {
    auto reservation = try_reserve(bytes);
    if (!reservation) return false;
    fill(*reservation, build);
    return true;
  }

  Subgroup(const Subgroup&) = delete;
  Subgroup& operator=(const Subgroup&) = delete;

 private:
  friend class GroupCore;
  friend class Group;
  Subgroup(GroupCore& core, SubgroupId id) noexcept : core_(core), id_(id) {}

  [[nodiscard]] smc::Reservation reserve(std::uint64_t bytes);
  [[nodiscard]] std::optional<smc::Reservation> try_reserve(std::uint64_t bytes);
  void commit(const smc::Reservation& reservation) noexcept;
  void abandon(const smc::Reservation& reservation) noexcept;

  template <class Build>
  void fill(const smc::Reservation& reservation, Build& build) {
    try {
      build(reservation.payload);
    } catch (...) {
      abandon(reservation);
      throw;
    }
    commit(reservation);
  }

  GroupCore& core_;
  SubgroupId id_;
};

/// A process's membership in its group.
class Group {
 public:
  /// Joins: returns when this process is in a view with all configured members. Throws: bad_config, resource, unsupported,
  /// refused (a peer's configuration differs, or the id is in use), member_lost, timed_out (the others did not come within
  /// [SPINDRIFT] join_timeout_ms; the message names who is missing).
  explicit Group(const Config& config);
  /// Leaves first, if `leave` was not called. Never throws; what went wrong is logged.
  ~Group();
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  /// The subgroup of that name. Throws bad_argument, naming the known ones, if there is none or this member is not in it.
  [[nodiscard]] Subgroup& subgroup(std::string_view name);
  [[nodiscard]] std::vector<std::string> subgroup_names() const;

  [[nodiscard]] NodeId self() const noexcept;
  [[nodiscard]] const View& view() const noexcept;
  [[nodiscard]] std::vector<CounterValue> counters() const;

  /// Ends the group gracefully, for all its members: sends are refused from now on, everything sent before is delivered at
  /// every member, then this returns. Other members see `wait` return. Throws member_lost if a member died on the way.
  /// Not from a handler.
  void leave();

  /// Blocks until the group has ended: returns after a graceful end, throws the failure otherwise. Not from a handler.
  void wait();
  /// Whether sends are still accepted.
  [[nodiscard]] bool open() const noexcept;

  /// Called once when the group stops because of an error: on the poller thread, or at once on this one if it has stopped
  /// already. `wait` reports the same.
  void on_failure(std::function<void(const Error&)> handler);

 private:
  std::unique_ptr<GroupCore> core_;
};

}  // namespace spindrift
