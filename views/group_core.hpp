// Behind Group: the one place of a process where the fabric, the clock, the protocol and the threads meet.
//
// The poller thread alone steps the member; application threads touch only the rings, the two event counts and the state
// behind the mutex.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/config/config.hpp>
#include <spindrift/core/counters.hpp>
#include <spindrift/core/event_count.hpp>
#include <spindrift/core/fabric/fabric.hpp>
#include <spindrift/smc/multicast.hpp>
#include <spindrift/views/group.hpp>
#include <spindrift/views/member.hpp>

namespace spindrift {

class GroupCore final : public smc::DeliverySink {
 public:
  explicit GroupCore(Config config);
  /// Leaves if the group is open, then ends the poller.
  ~GroupCore() override;

  /// Opens the fabric, starts the poller and waits for the view; see Group::Group. Once.
  void join();

  [[nodiscard]] Subgroup& subgroup(std::string_view name);
  [[nodiscard]] std::vector<std::string> subgroup_names() const;
  [[nodiscard]] const View& view() const noexcept { return member_->view(); }
  [[nodiscard]] NodeId self() const noexcept { return member_->self(); }
  [[nodiscard]] std::vector<CounterValue> counters() const { return counters_->values(); }
  [[nodiscard]] bool open() const noexcept { return member_->accepts_sends(); }

  void leave();
  void wait();
  void on_failure(std::function<void(const Error&)> handler);

  // For Subgroup.
  [[nodiscard]] smc::Reservation reserve(SubgroupId id, std::uint64_t bytes);
  [[nodiscard]] std::optional<smc::Reservation> try_reserve(SubgroupId id, std::uint64_t bytes);
  void commit(SubgroupId id, const smc::Reservation& reservation) noexcept;
  void abandon(SubgroupId id, const smc::Reservation& reservation) noexcept;
  void set_handler(SubgroupId id, Subgroup::DeliveryHandler handler);
  [[nodiscard]] bool is_sender(SubgroupId id) const noexcept { return channels_[id.value()].ring != nullptr; }

 private:
  /// What application threads and the poller share of one subgroup.
  struct Channel {
    std::unique_ptr<Subgroup> handle;  ///< null where this process is not a member
    smc::SendRing* ring = nullptr;     ///< null where it does not send
    Subgroup::DeliveryHandler handler;
    std::atomic<bool> accepting{false};
    EventCount space;
  };

  // DeliverySink, on the poller thread.
  void on_delivery(SubgroupId id, std::span<const Delivery> batch) override;
  void on_space(SubgroupId id) override;
  [[nodiscard]] bool accepts(SubgroupId id) const override;

  void open_fabric();
  void make_member();
  void await_view();
  void end_poller() noexcept;

  void poll_loop();
  views::Member::Step step();
  void rest();
  void publish_state();
  void report_slow(SubgroupId id, Duration took, Time now);

  [[nodiscard]] bool on_poller_thread() const noexcept;
  [[nodiscard]] bool ended() const noexcept;  // the poller's
  [[nodiscard]] std::string own_name() const;
  void check_sendable(SubgroupId id, std::uint64_t bytes) const;
  [[nodiscard]] std::optional<smc::Reservation> reserve_if_open(SubgroupId id, std::uint64_t bytes);
  [[noreturn]] void throw_closed() const;

  Config config_;
  SystemClock clock_;
  std::unique_ptr<fabric::Fabric> fabric_;
  std::optional<CounterBlock> counters_;
  Counter sleeps_;
  Counter slow_upcalls_;
  std::unique_ptr<views::Member> member_;
  std::unique_ptr<Channel[]> channels_;  // by subgroup
  std::optional<Time> last_slow_report_;
  views::MemberState published_ = views::MemberState::connecting;  // the poller's copy of state_

  std::atomic<bool> abort_{false};  // the poller ends without a word; only before the view
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  views::MemberState state_ = views::MemberState::connecting;  // as published by the poller; behind mutex_
  std::optional<Error> failure_;                               // behind mutex_
  std::optional<NodeId> leaver_;                               // behind mutex_
  std::function<void(const Error&)> failure_handler_;          // behind mutex_
  std::thread poller_;
};

}  // namespace spindrift
