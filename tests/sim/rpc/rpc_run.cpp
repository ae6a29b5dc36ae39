// Plays a plan.
#include "rpc_run.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace spindrift::sim {
namespace {

constexpr Ticks no_step = INT64_MAX;
/// A session may have a thousandth of its link's rate, by which some kilobytes take seconds.
constexpr Ticks patience = 30'000 * millisecond;

class RpcRun final : public Handler, PacketReceiver {
 public:
  explicit RpcRun(const RpcPlan& plan)
      : plan_(plan),
        books_(plan),
        network_(scheduler_, plan, books_, *this),
        random_(plan.seed, Purpose::rpc_work),
        world_{scheduler_, plan, books_, network_, random_},
        nodes_(plan.nodes) {}

  RpcRunResult play() {
    for (std::uint32_t node = 0; node < plan_.nodes; ++node) {
      start(node);
      for (Ticks when = 0, calls = 0; calls < plan_.calls && when < plan_.healed_at; ++calls) {
        when += static_cast<Ticks>(random_.below(2 * static_cast<std::uint64_t>(plan_.between_calls)));
        scheduler_.at(when, *this, EventKind::thread, node);
      }
    }
    for (std::uint32_t i = 0; i < plan_.faults.size(); ++i) {
      scheduler_.at(plan_.faults[i].at, *this, EventKind::fault, i);
      scheduler_.at(std::min(plan_.faults[i].at + plan_.faults[i].lasts, plan_.healed_at), *this, EventKind::link_broken, i);
    }
    run_until(plan_.healed_at, [] { return false; });
    network_.heal();
    finish();
    return result();
  }

 private:
  struct Node {
    std::unique_ptr<RpcProcess> process;  ///< null: crashed
    Ticks step_at = no_step;
    Ticks paused_until = 0;
  };

  void start(std::uint32_t node) {
    nodes_[node].process = std::make_unique<RpcProcess>(world_, node);
    step_at(node, scheduler_.now());
  }

  void crash(std::uint32_t node) {
    if (nodes_[node].process == nullptr) return;
    add_counts(*nodes_[node].process);
    nodes_[node].process.reset();
    network_.drop_inbox(node);
    books_.on_crash(node);
  }

  void begin(const RpcFault& fault) {
    switch (fault.kind) {
      case RpcFault::Kind::crash: return crash(fault.node);
      case RpcFault::Kind::pause: nodes_[fault.node].paused_until = scheduler_.now() + fault.lasts; return;
      case RpcFault::Kind::cut: return network_.cut(fault.node, fault.other);
      case RpcFault::Kind::hang_up: return network_.hang_up(fault.node, fault.other);
    }
  }

  void mend(const RpcFault& fault) {
    if (fault.kind == RpcFault::Kind::cut) network_.mend(fault.node, fault.other);
    if (fault.kind == RpcFault::Kind::crash && nodes_[fault.node].process == nullptr) start(fault.node);
    if (fault.kind != RpcFault::Kind::pause) return;
    nodes_[fault.node].paused_until = std::min(nodes_[fault.node].paused_until, plan_.healed_at);
    step_at(fault.node, scheduler_.now());
  }

  void step_at(std::uint32_t node, Ticks when) {
    if (nodes_[node].step_at <= when) return;
    nodes_[node].step_at = when;
    scheduler_.at(when, *this, EventKind::step, node);
  }

  void on_arrival(std::uint32_t node) override {
    step_at(node, scheduler_.now() + static_cast<Ticks>(random_.below(2 * microsecond)));
  }

  void step(std::uint32_t node) {
    Node& stepped = nodes_[node];
    if (stepped.step_at != scheduler_.now()) return;  // it was stepped earlier
    stepped.step_at = no_step;
    if (stepped.process == nullptr) return network_.drop_inbox(node);
    if (stepped.paused_until > scheduler_.now()) return step_at(node, stepped.paused_until);
    stepped.process->step(scheduler_.time());
    plan_next_step(node);
  }

  void plan_next_step(std::uint32_t node) {
    if (network_.waits_for(node)) return step_at(node, scheduler_.now() + microsecond);
    const Time due = nodes_[node].process->next_due();
    if (due != never) step_at(node, std::max(due.time_since_epoch().count(), scheduler_.now() + microsecond));
  }

  void on_event(EventKind kind, std::uint32_t which) override {
    switch (kind) {
      case EventKind::step: return step(which);
      case EventKind::fault: return begin(plan_.faults[which]);
      case EventKind::link_broken: return mend(plan_.faults[which]);
      default:
        if (nodes_[which].process == nullptr || nodes_[which].paused_until > scheduler_.now()) return;
        nodes_[which].process->call_somebody();
        step_at(which, scheduler_.now());
    }
  }

  template <class Done>
  void run_until(Ticks until, Done&& done) {
    while (books_.clean() && !scheduler_.empty() && scheduler_.next() <= until && !done()) scheduler_.run_one();
  }

  [[nodiscard]] Ticks silence() const { return plan_.options.silence_max.count(); }

  /// Calls end, new ones are answered, sessions end.
  void finish() {
    std::uint64_t looked = 0;
    run_until(scheduler_.now() + patience, [&] { return ++looked % 512 == 0 && all_ended(); });
    books_.check_all_ended();
    if (!books_.clean()) return;
    run_until(scheduler_.now() + 3 * silence(), [] { return false; });
    check_kept();
    const bool held = plan_.scarce_memory() && plan_.packets.hostile >= 0;  // memory that it never gives back
    if (!plan_.scarce && !held) call_everybody();
    run_until(scheduler_.now() + patience, [&] { return ++looked % 512 == 0 && all_ended(); });
    books_.check_all_ended();
    if (!books_.clean()) return;
    end_sessions();
  }

  /// Sessions are there, and calls are over, of which nothing large is kept any more.
  void check_kept() {
    for (std::uint32_t node = 0; node < plan_.nodes && plan_.packets.hostile < 0; ++node) {
      const std::uint64_t bytes = nodes_[node].process->kept_bytes();
      if (bytes > 0) books_.violated("C9", fmt::format("node {} keeps {} bytes of calls that are over", node, bytes));
    }
  }

  [[nodiscard]] bool all_ended() const { return books_.all_ended(); }

  void call_everybody() {
    for (std::uint32_t from = 0; from < plan_.nodes; ++from) {
      for (std::uint32_t to = 0; to < plan_.nodes; ++to) {
        const bool spoiled = books_.hostile(from) || books_.hostile(to);  // their sessions, by what they said before
        if (from != to && !spoiled) nodes_[from].process->call_for_certain(to);
      }
      step_at(from, scheduler_.now());
    }
  }

  void end_sessions() {
    for (std::uint32_t node = 0; node < plan_.nodes; ++node) {
      nodes_[node].process->end();
      step_at(node, scheduler_.now());
    }
    run_until(scheduler_.now() + 3 * silence(), [] { return false; });
    for (std::uint32_t node = 0; node < plan_.nodes && books_.clean(); ++node) {
      RpcProcess& process = *nodes_[node].process;
      process.check_returned();
      if (!process.forgotten()) books_.violated("C7", "node " + std::to_string(node) + " keeps a session that is over");
      add_counts(process);
    }
  }

  void add_counts(const RpcProcess& process) {
    const rpc::RpcCounts& counts = process.counts();
    probes_["handled in place"] += counts.handled_in_place;
    probes_["handled"] += counts.handled;
    probes_["out of turn"] += counts.packets_out_of_turn;
    probes_["strange"] += counts.packets_strange;
    probes_["went back"] += counts.retransmissions;
    probes_["requests overloaded"] += counts.requests_overloaded;
    probes_["sessions refused"] += counts.sessions_refused;
    probes_["sessions lost"] += counts.sessions_lost;
  }

  RpcRunResult result() {
    for (int status = 0; status <= static_cast<int>(rpc::CallStatus::peer_lost); ++status) {
      const auto each = static_cast<rpc::CallStatus>(status);
      probes_[std::string("calls: ") + std::string(rpc::to_string(each))] += books_.with_status(each);
    }
    return {scheduler_.events(), books_.count(), scheduler_.hash(), books_.invariant(), books_.what(), std::move(probes_)};
  }

  const RpcPlan& plan_;
  Scheduler scheduler_;
  RpcBooks books_;
  RpcNetwork network_;
  Random random_;
  RpcWorld world_;
  std::vector<Node> nodes_;
  std::map<std::string, std::uint64_t> probes_;
};

}  // namespace

RpcRunResult run_rpc(const RpcPlan& plan) { return RpcRun(plan).play(); }

}  // namespace spindrift::sim
