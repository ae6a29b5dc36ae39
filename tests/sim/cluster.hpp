// One run with one view: a member per node over the simulated fabric, applications, delays, and the checkers over all of it.
//
// The invariant to remember: a node is stepped only when something could have changed for it (an event, a landed line, a
// mapped peer's notification, its application, its own progress, its `wake_at`). A protocol that needs polling hangs here.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <spindrift/core/counters.hpp>
#include <spindrift/views/member.hpp>

#include "checker.hpp"
#include "options.hpp"
#include "workload.hpp"

namespace spindrift::sim {

class Cluster;

/// One process of the run.
class Node final : public views::Upcalls {
 public:
  Node(Cluster& cluster, std::uint32_t rank);

  void on_delivery(SubgroupId subgroup, std::span<const Delivery> batch) override;
  void on_space(SubgroupId subgroup) override;
  [[nodiscard]] bool accepts(SubgroupId subgroup) const override { return accepting_[subgroup.value()]; }
  [[nodiscard]] bool busy(SubgroupId) const override { return false; }
  void on_view(const views::NewView& news) override;
  void on_boundary(SubgroupId, const ObjectBoundary&) override {}
  void on_dropped(SubgroupId, std::uint64_t) override;
  [[nodiscard]] std::unique_ptr<views::StateReader> save_state(SubgroupId) override { return nullptr; }
  [[nodiscard]] std::unique_ptr<views::StateWriter> load_state(SubgroupId) override { return nullptr; }
  void on_private(NodeId, std::span<const std::byte>) override {}

 private:
  friend class Cluster;
  Cluster& cluster_;
  std::uint32_t rank_;
  CounterBlock counters_;
  std::unique_ptr<views::Member> member_;
  std::vector<bool> accepting_;
  std::vector<std::uint64_t> refused_in_step_;
  bool dirty_ = false;  ///< something could have changed since the last step
  bool step_scheduled_ = false;
  bool running_ = false;   ///< started
  bool attached_ = false;  ///< its row is known to the checkers
  bool resumed_ = false;
  Ticks paused_until_ = 0;
  Time wake_at_ = never;
  std::uint64_t steps_ = 0;
  views::MemberState state_ = views::MemberState::idle;
};

class Cluster final : public Handler, public NetworkListener {
 public:
  explicit Cluster(Options options);
  ~Cluster();

  /// Runs until nothing more can happen and judges the end. What went wrong is in `report()`.
  void run();

  [[nodiscard]] const Report& report() const noexcept { return report_; }
  [[nodiscard]] const Options& options() const noexcept { return options_; }
  [[nodiscard]] std::uint64_t events() const noexcept { return scheduler_.events(); }
  [[nodiscard]] std::uint64_t hash() const noexcept { return scheduler_.hash(); }
  [[nodiscard]] const Checker& checker() const noexcept { return checker_; }
  /// One line per state change and node on standard output.
  void set_verbose(bool verbose) noexcept { verbose_ = verbose; }

  /// Stands between the members and the checkers, to plant what the checkers must find: gets each batch before they do.
  using Tamper = std::function<void(Cluster&, std::uint32_t rank, std::uint32_t subgroup, std::vector<Delivery>& batch)>;
  void set_tamper(Tamper tamper) { tamper_ = std::move(tamper); }
  /// Called after every step, before the checkers look.
  void set_meddler(std::function<void(Cluster&, std::uint32_t rank)> meddler) { meddler_ = std::move(meddler); }
  [[nodiscard]] Ledger& ledger() noexcept { return ledger_; }
  [[nodiscard]] Network& network() noexcept { return network_; }

  void on_event(EventKind kind, std::uint32_t which) override;
  void on_news(std::uint32_t endpoint) override;
  void on_posted(const Write& write) override { checker_.on_posted(write); }
  void on_landing(const Write& write, std::uint64_t offset, const std::byte* bytes, std::size_t size) override {
    checker_.on_landing(write, offset, bytes, size);
  }
  void on_landed(const Write& write, std::uint64_t offset, std::size_t size) override;

 private:
  friend class Node;
  void note_options();
  void start_node(std::uint32_t rank);
  void schedule_step(std::uint32_t rank);
  void step_node(std::uint32_t rank);
  void note_beside(std::uint32_t rank);
  void step_again(std::uint32_t rank);
  void note_state(std::uint32_t rank);
  void maybe_pause(std::uint32_t rank);
  void note_pause_over_window(std::uint32_t rank);
  void run_until_quiet();
  void judge_quiet();
  [[nodiscard]] std::string where() const;

  Options options_;
  Report report_;
  Scheduler scheduler_;
  Random schedule_;
  Random faults_;
  Network network_;
  Ledger ledger_;
  Checker checker_;
  Workload workload_;
  std::vector<std::unique_ptr<Node>> nodes_;
  Tamper tamper_;
  std::function<void(Cluster&, std::uint32_t)> meddler_;
  std::vector<Delivery> tampered_;
  bool verbose_ = false;
};

}  // namespace spindrift::sim
