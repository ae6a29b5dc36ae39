// Processes that do not run for a while, for whatever reason.
#include "fleet.hpp"

namespace spindrift::sim {

// A process that does not run is silent: whoever suspects it is right, if it takes long enough.
void Fleet::pause(Process& process, Ticks ticks) {
  sleep(process, ticks);
  if (plan_.suspect_after > 0 && ticks > plan_.suspect_after / 4) blame(process.node_);
  report_.hit(plan_.suspect_after > 0 && ticks > plan_.suspect_after ? Probe::paused_beyond_patience : Probe::paused);
}

// A process that waits for its machine is silent, and its neighbors see why, if they map each other: of them nobody has a
// reason to suspect it. It has its machine again a while before it comes to its beat.
void Fleet::starve(Process& process, Ticks ticks) {
  sleep(process, ticks);
  network_.starve(process.index_, ticks - std::min(ticks, plan_.suspect_after / 32));
  const std::uint32_t host = plan_.nodes[process.node_].host;
  const auto elsewhere = [host](const NodePlan& node) { return node.host != host; };
  const bool for_ever = ticks > (views::SilenceWatch::patience_with_machines - 1) * plan_.suspect_after;
  const bool seen =
      plan_.fabric.mappable && std::none_of(plan_.nodes.begin(), plan_.nodes.end(), elsewhere);
  if (for_ever || !seen) blame(process.node_);
  report_.hit(ticks > plan_.suspect_after ? Probe::starved_beyond_patience : Probe::starved);
}

// A process whose application holds up the thread that steps it shows that it lives: nobody has a reason to suspect it.
void Fleet::work(Process& process, Ticks ticks) {
  sleep(process, ticks);
  report_.hit(ticks > plan_.suspect_after ? Probe::worked_beyond_patience : Probe::worked);
  if (std::exchange(process.works_, true)) return;
  scheduler_.at(scheduler_.now() + beat_beside(), *this, EventKind::beat, process.index_);
}

Ticks Fleet::beat_beside() const { return std::max<Ticks>(plan_.suspect_after / 4, 1); }

void Fleet::beat(Process& process) {
  process.works_ = process.running_ && !process.frozen_ && process.paused_until_ > scheduler_.now();
  if (!process.works_) return;
  process.member_->show_life(SubgroupId(0));
  scheduler_.at(scheduler_.now() + beat_beside(), *this, EventKind::beat, process.index_);
}

// In the middle of what it posts: the rest goes out when it wakes.
void Fleet::stand_still(Process& process, Ticks ticks) {
  pause(process, ticks);
  network_.stall(process.index_, ticks);
}

}  // namespace spindrift::sim
