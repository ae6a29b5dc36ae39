// Behind Group: the one place of a process where the fabric, the clock, the protocol and the threads meet.
//
// The poller thread alone steps the member; application threads touch only the gates, the event counts and what lies behind
// the mutex.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/config/config.hpp>
#include <spindrift/core/counters.hpp>
#include <spindrift/fabric/fabric.hpp>
#include <spindrift/group/group.hpp>
#include <spindrift/group/handler_worker.hpp>
#include <spindrift/views/member.hpp>
#include <spindrift/group/objects.hpp>
#include <spindrift/group/replicated_core.hpp>
#include <spindrift/group/space_queue.hpp>
#include <spindrift/group/status.hpp>

namespace spindrift {

class GroupCore final : public views::Upcalls {
 public:
  using Claim = views::SendGate::Claim;

  GroupCore(Config config, GroupOptions options);
  /// Leaves if the group is open, then ends the poller.
  ~GroupCore() override;

  /// Opens the fabric, starts the poller and waits for the first view; see Group::Group. Once.
  void join();

  [[nodiscard]] Subgroup& subgroup(std::string_view name);
  [[nodiscard]] std::vector<std::string> subgroup_names() const;
  [[nodiscard]] View view() const;
  [[nodiscard]] NodeId self() const noexcept { return member_->self(); }
  [[nodiscard]] std::vector<CounterValue> counters() const { return counters_->values(); }
  [[nodiscard]] bool open() const;
  [[nodiscard]] bool on_poller_thread() const noexcept;

  using ReplicaMaker = std::function<std::unique_ptr<ReplicaBase>(ReplicaChannel&)>;
  [[nodiscard]] ReplicaBase& attach_replica(std::string_view subgroup, const ReplicaMaker& make);
  [[nodiscard]] ObjectChannel& attach_objects(std::string_view subgroup, ObjectHandlers handlers);
  void send_private(NodeId to, std::span<const std::byte> message) { send_letter(to, 0, message); }
  [[nodiscard]] std::size_t private_bytes_max() const noexcept { return member_->private_bytes_max() - letter_head_bytes; }
  void leave();
  void wait();
  void on_failure(std::function<void(const Error&)> handler);

  // For Subgroup.
  /// Waits for space, if need be.
  void reserve(SubgroupId id, std::uint64_t bytes, Claim& claim);
  [[nodiscard]] bool try_reserve(SubgroupId id, std::uint64_t bytes, Claim& claim);
  /// Something was committed or abandoned.
  void wake() noexcept { fabric_->wake(); }
  void set_handler(SubgroupId id, Subgroup::DeliveryHandler handler, HandlerThread thread);
  void set_state(SubgroupId id, Subgroup::StateSaver save, Subgroup::StateLoader load);
  [[nodiscard]] SubgroupView description(SubgroupId id) const;
  [[nodiscard]] std::string blocked(SubgroupId id) const;

 private:
  /// What application threads and the poller share of one subgroup.
  struct Channel {
    std::unique_ptr<Subgroup> handle;
    Subgroup::DeliveryHandler handler;
    Subgroup::StateSaver save;
    Subgroup::StateLoader load;
    std::unique_ptr<ObjectChannel> objects;  ///< if the subgroup carries objects
    std::unique_ptr<HandlerWorker> worker;   ///< if the handler runs on a thread of its own
    std::atomic<bool> accepting{false};      ///< the above is set, and stays
    group::SpaceQueue space;
    std::mutex large;  ///< one thread at a time reserves a large message
  };

  /// A replicated object and what it needs of its group.
  class Replica final : public ReplicaChannel {
   public:
    Replica(GroupCore& core, SubgroupId id) noexcept : core_(core), id_(id) {}
    void send_ordered(std::span<const std::byte> message) override;
    void send_private(NodeId to, std::span<const std::byte> message) override;
    [[nodiscard]] NodeId self() const noexcept override;
    [[nodiscard]] bool on_poller_thread() const noexcept override;
    [[nodiscard]] SubgroupId id() const noexcept { return id_; }

    std::unique_ptr<ReplicaBase> object;
    std::uint64_t stable = 0;  ///< as last told; the poller's

   private:
    GroupCore& core_;
    SubgroupId id_;
  };
  /// Every private message begins with whose it is: 0 the application's, else a replica's subgroup, plus 1.
  static constexpr std::size_t letter_head_bytes = 8;

  // Upcalls, on the poller thread.
  void on_delivery(SubgroupId id, std::span<const Delivery> batch) override;
  void on_space(SubgroupId id) override;
  [[nodiscard]] bool accepts(SubgroupId id) const override;
  [[nodiscard]] bool busy(SubgroupId id) const override;
  void on_view(const NewView& view) override;
  void on_boundary(SubgroupId id, const ObjectBoundary& boundary) override;
  void on_dropped(SubgroupId id, std::uint64_t messages) override;
  [[nodiscard]] std::unique_ptr<views::StateReader> save_state(SubgroupId id) override;
  [[nodiscard]] std::unique_ptr<views::StateWriter> load_state(SubgroupId id) override;
  void on_private(NodeId from, std::span<const std::byte> message) override;

  [[nodiscard]] std::string meeting_place(const std::vector<NodeId>& missing) const;
  void make_member();
  void await_view();
  void end_poller() noexcept;

  void poll_loop();
  views::Member::Step step();
  void rest();
  void post_letters();
  [[nodiscard]] Time offer_space(Time now);
  [[nodiscard]] bool worth_waking(SubgroupId id) const noexcept;
  void send_letter(NodeId to, std::uint64_t tag, std::span<const std::byte> message);
  [[nodiscard]] SubgroupId id_of(const Subgroup& subgroup) const noexcept { return subgroup.id_; }

  // group_objects.cpp
  [[nodiscard]] ObjectChannel* objects_of(SubgroupId id) const noexcept;
  void tell_objects_of_view(const View& view);

  // group_replicas.cpp
  void for_each_replica(const std::function<void(Replica&)>& what);
  void tell_replicas_of_view(const View& view);
  void tell_replicas_of_end();
  void tell_replicas_what_is_stable();
  void take_replica_letter(NodeId from, std::uint64_t tag, std::span<const std::byte> message);
  void punish(const std::vector<ReplicaFault>& faults);
  void publish_state();
  void wake_senders();
  void report_slow(SubgroupId id, Duration took, Time now);
  void rethrow_from_workers();

  [[nodiscard]] bool ended() const noexcept;  // the poller's
  [[nodiscard]] std::string own_name() const;
  [[nodiscard]] views::SendGate::Outcome reserve_once(SubgroupId id, std::uint64_t bytes, Claim& claim);
  [[nodiscard]] views::SendGate::Outcome reserve_large(SubgroupId id, std::uint64_t bytes, Claim& claim);
  void check_may_send(SubgroupId id) const;

  static thread_local const GroupCore* polling_for;  ///< whose poller or handler this thread is

  Config config_;
  GroupOptions options_;
  SystemClock clock_;
  std::unique_ptr<fabric::Fabric> fabric_;
  std::optional<CounterBlock> counters_;
  Counter sleeps_;
  Counter slow_upcalls_;
  Counter views_;
  std::unique_ptr<views::Member> member_;
  std::unique_ptr<Channel[]> channels_;  // by subgroup
  std::optional<Time> last_slow_report_;
  std::vector<SubgroupId> turns_;  // whose space queues may have a turn out; the poller's
  std::optional<group::StatusKeeper> status_;
  views::MemberState published_ = views::MemberState::looking;  // the poller's copy of state_

  std::atomic<bool> abort_{false};  // the poller ends without a word; only before the view
  std::atomic<bool> open_{false};   // in the group, and not leaving
  std::atomic<bool> letters_waiting_{false};
  mutable std::mutex mutex_;
  // Behind the mutex:
  std::condition_variable changed_;
  views::MemberState state_ = views::MemberState::looking;
  bool was_active_ = false;
  View view_;
  std::optional<Error> failure_;
  std::function<void(const Error&)> failure_handler_;
  std::vector<std::pair<NodeId, std::vector<std::byte>>> letters_;
  std::vector<std::unique_ptr<Replica>> replicas_;
  std::atomic<bool> has_replicas_{false};
  std::atomic<bool> has_workers_{false};

  std::thread poller_;
};

}  // namespace spindrift
