// Logs that are adopted, by somebody who knows that their holders are gone for good, or only says so.
#include "fleet.hpp"

namespace spindrift::sim {

// The leader knows whether that may be.
void Fleet::adopt(const Action& action) {
  const std::string& subgroup = plan_.subgroups[action.other].name;
  for (const auto& each : processes_) {
    Process& process = *each;
    if (!process.running_ || process.frozen_) continue;
    if (!views::adopt_log(*process.member_, subgroup, NodeId(action.node), true)) continue;
    say(process, "is told to go on with the log of node " + std::to_string(action.node));
    log_books_.on_adopted(action.other, process.member_->epoch()->id(), action.node);
    cause_at_ = scheduler_.now();
    on_news(process.index_);
  }
}

}  // namespace spindrift::sim
