// The application threads of a run with views: each process of a node has that node's threads. They send through the
// member's gates, hold claims over steps and over changes of the view, and wait when told to.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <spindrift/views/member.hpp>

#include "history.hpp"

namespace spindrift::sim {

class Senders final : public Handler {
 public:
  using Wake = std::function<void(std::uint32_t process)>;

  Senders(Scheduler& scheduler, const Plan& plan, History& history, const Network& network, Report& report, Wake wake);

  /// The process's threads begin.
  void begin(std::uint32_t process, std::uint32_t node, views::Member& member);
  /// One more thread, for scripts.
  void add(std::uint32_t process, const SenderPlan& plan);
  void end(std::uint32_t process) { processes_[process].gone = true; }
  void pause(std::uint32_t process, Ticks until) { processes_[process].paused_until = until; }
  /// Its threads go on now.
  void resume(std::uint32_t process);
  /// From now on nobody thinks or holds for long.
  void hurry() { hurry_ = true; }
  /// No new messages from now on.
  void finish() { finished_ = true; }

  // From the upcalls.
  void on_space(std::uint32_t process, std::uint32_t subgroup);
  void on_upcall(std::uint32_t process, std::uint32_t subgroup);

  /// A thread of this process holds a claim, or waits although the gate is open, or still has messages that it could send.
  [[nodiscard]] bool busy(std::uint32_t process) const;
  [[nodiscard]] bool holds_claim(std::uint32_t process) const;

  void on_event(EventKind kind, std::uint32_t which) override;

 private:
  enum class State : std::uint8_t { thinking, waiting, holding, finished };
  struct Thread {
    SenderPlan plan;
    std::uint32_t process = 0;
    std::uint32_t stream = 0;
    State state = State::thinking;
    std::uint32_t made = 0;
    bool abandons = false;
    ViewId reserved_in;
    views::SendGate::Claim claim;
  };
  struct Process {
    views::Member* member = nullptr;
    std::uint32_t node = 0;
    bool gone = false;
    Ticks paused_until = 0;
    std::uint64_t echoes_left = 0;
    std::vector<std::uint32_t> echo_streams;  ///< by subgroup
    std::vector<std::uint32_t> threads;
  };

  void reserve(std::uint32_t which);
  void finish_message(std::uint32_t which);
  void sleep(std::uint32_t which, Ticks at_most);
  [[nodiscard]] std::uint64_t draw_bytes(std::uint32_t subgroup, std::uint32_t largest_in_8, bool large);

  Scheduler& scheduler_;
  Random random_;
  const Plan& plan_;
  History& history_;
  const Network& network_;
  Report& report_;
  Wake wake_;
  std::vector<Thread> threads_;
  std::vector<Process> processes_;
  bool hurry_ = false;
  bool finished_ = false;
};

}  // namespace spindrift::sim
