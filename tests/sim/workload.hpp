// The applications of a run: virtual threads that reserve, hold, fill and commit or abandon, each a little program whose
// messages follow from the seed and its place alone, so that they are the same whatever the timing (R5).
#pragma once

#include <cstdint>
#include <vector>

#include <spindrift/views/member.hpp>

#include "checker.hpp"
#include "options.hpp"

namespace spindrift::sim {

class Workload final : public Handler {
 public:
  Workload(Scheduler& scheduler, const Options& options, Ledger& ledger, Checker& checker, Network& network, Report& report);

  /// The member's rings exist; threads of this node begin when it is in its view.
  void set_member(std::uint32_t node, views::Member& member) { members_[node] = &member; }
  void begin(std::uint32_t node);
  /// The process is paused.
  void pause(std::uint32_t node, Ticks until) { paused_until_[node] = until; }

  // From the sink.
  void on_space(std::uint32_t node, std::uint32_t subgroup);
  /// Sends from inside an upcall, at most `echoes` times in all.
  void on_upcall(std::uint32_t node, std::uint32_t subgroup);

  /// Threads that still wait for space or hold a reservation.
  [[nodiscard]] bool anybody_waits() const;

  void on_event(EventKind kind, std::uint32_t which) override;

 private:
  enum class State : std::uint8_t { before_view, thinking, reserving, waiting_for_space, holding, finished };
  struct Thread {
    ThreadOptions options;
    std::uint32_t sender = 0;
    State state = State::before_view;
    std::uint32_t made = 0;
    std::uint64_t acted_before = 0;  ///< what its process had done when it reserved
    views::SendGate::Claim claim;
    std::size_t sent = 0;
    std::uint64_t seed = 0;
    bool abandons = false;
  };

  void think(std::uint32_t which);
  void reserve(std::uint32_t which);
  void finish_message(std::uint32_t which);
  void after_message(std::uint32_t which);
  void choose_message(Thread& thread, std::uint32_t which, std::uint64_t& bytes);
  void sleep(std::uint32_t which, Ticks at_most);
  [[nodiscard]] views::SendGate& gate(const Thread& thread);

  Scheduler& scheduler_;
  Random random_;
  const Options& options_;
  Ledger& ledger_;
  Checker& checker_;
  Network& network_;
  Report& report_;
  std::vector<Thread> threads_;
  std::vector<views::Member*> members_;
  std::vector<Ticks> paused_until_;
  std::vector<std::uint64_t> echoes_left_;
  bool wake_at_half_;
};

}  // namespace spindrift::sim
