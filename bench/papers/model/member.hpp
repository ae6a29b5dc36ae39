// One modeled member: the real table and multicasts, a poller that steps them and pays for it in virtual time, and
// application threads that send.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include <spindrift/bench/papers/model/experiment.hpp>
#include <spindrift/bench/papers/model/network.hpp>
#include <spindrift/core/counters.hpp>
#include <spindrift/smc/ablation.hpp>
#include <spindrift/sst/table.hpp>

namespace spindrift::bench::model {

/// A sequence of numbers that its state determines (splitmix64).
class Random {
 public:
  explicit Random(std::uint64_t state) noexcept : state_(state) {}
  /// 0 … 1
  [[nodiscard]] double next() noexcept;
  /// Exponentially distributed, with a mean of 1.
  [[nodiscard]] double waiting() noexcept;

 private:
  std::uint64_t state_;
};

/// The phases of a member's application threads, of which some are slow.
class SlowPhases {
 public:
  SlowPhases(const Software& software, Random random) noexcept : software_(software), random_(random) {}
  /// The factor by which the threads are slower at that time.
  [[nodiscard]] double slowness(Ticks when) noexcept;

 private:
  const Software& software_;
  Random random_;
  bool slow_ = false;
  Ticks ends_ = 0;
};

class ModeledMember final : private smc::DeliverySink, private smc::Stepper {
 public:
  /// `view`, `experiment` and `network` outlive the member. It is done when it has delivered `messages`.
  ModeledMember(const View& view, const Experiment& experiment, Network& network, std::uint32_t rank,
                std::uint64_t messages);

  /// When the poller begins.
  [[nodiscard]] Ticks start() { return start_spread_ns * random_.next(); }
  /// Steps the poller at `now`, not before `busy_until()`. Returns when it wants to be stepped again, unless writes of
  /// others come first.
  Ticks step(Ticks now);
  [[nodiscard]] Ticks busy_until() const noexcept { return endpoint_.clock; }
  [[nodiscard]] bool done() const noexcept { return delivered_.all >= delivered_.wanted; }
  [[nodiscard]] std::uint64_t delivered() const noexcept { return delivered_.all; }

  struct Account {
    Ticks quarter_at = 0;  ///< when the first quarter of the messages had been delivered
    Ticks done_at = 0;
    std::uint64_t measured = 0;  ///< messages from then to then
    Ticks latency = 0;           ///< sum over own messages
    std::uint64_t own_messages = 0;
    Ticks active = 0;
    Ticks busy = 0;
    Ticks waiting = 0;
    std::uint64_t null_runs = 0;
    Batches sent, received, delivered;
  };
  /// At the end of a run.
  [[nodiscard]] Account account(Ticks now) const;
  [[nodiscard]] const ModeledEndpoint& endpoint() const noexcept { return endpoint_; }

 private:
  /// An application thread that sends in one subgroup.
  struct Producer {
    std::uint32_t subgroup = 0;
    Ticks next = 0;  ///< when its next message is complete
    Ticks delay = 0;
    bool full = false;  ///< it waits for space
    Ticks waits_since = 0;
    Ticks waited = 0;
    std::deque<Ticks> sent;  ///< of messages that are not delivered here yet
  };

  /// How threads that need the lock take turns at it.
  struct LockTurns {
    Random random;
    double credit = 0;  ///< messages for which the lock was free
    std::size_t next_producer = 0;
  };
  struct Delivered {
    std::uint64_t wanted = 0;
    std::uint64_t all = 0;
    std::uint64_t in_step = 0;
  };

  void on_delivery(SubgroupId subgroup, std::span<const Delivery> batch) override;
  void on_space(SubgroupId subgroup) override;
  [[nodiscard]] bool accepts(SubgroupId) const override { return true; }

  static constexpr Ticks start_spread_ns = 100e3;
  static constexpr double jitter = 0.1;

  void attach_bulk(std::uint32_t rank);
  [[nodiscard]] Ticks pass(Ticks now);
  [[nodiscard]] Ticks evaluate_next(Ticks now);
  bool send_and_receive(smc::Multicast& multicast, std::uint64_t publish_bytes_max) override;
  bool deliver(smc::Multicast& multicast, const smc::TurnLimits& turn) override;
  void push();
  void produce_until(Ticks now);
  /// In a look that began then, while the lock was free for `unlocked` of it.
  void produce_between_locks(Ticks began, Ticks unlocked);
  [[nodiscard]] const Software& software() const noexcept { return experiment_.system.software; }
  [[nodiscard]] Ticks produce_ns() const noexcept;
  bool produce(Producer& producer, Ticks when);
  [[nodiscard]] static std::uint64_t received_messages(const smc::Multicast& multicast);

  const View& view_;
  const Experiment& experiment_;
  Network& network_;
  ModeledEndpoint& endpoint_;
  CounterBlock counters_;
  std::unique_ptr<std::byte[], decltype(&std::free)> row_;
  std::unique_ptr<sst::Table> table_;
  std::unique_ptr<smc::SubgroupScheduler> scheduler_;
  smc::AblatedStepper ablated_;
  std::vector<Producer> producers_;
  Random random_;
  SlowPhases phases_;
  LockTurns lock_;
  std::uint32_t turn_ = 0;  // the subgroup to evaluate next
  Delivered delivered_;
  Account account_;
};

}  // namespace spindrift::bench::model
