// The judgment of a run that has nothing left to do: these things must be true.
#include "cluster.hpp"

namespace spindrift::sim {

using views::MemberState;

void Cluster::note_options() {
  std::size_t mapped = 0;
  std::size_t pairs = 0;
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    for (std::uint32_t j = 0; j < i; ++j, ++pairs) mapped += network_.mappable(i, j) ? 1 : 0;
    if (options_.nodes[i].step_ns_max > 10'000) report_.hit(Probe::slow_poller);
  }
  report_.hit(mapped == 0 ? Probe::all_mirrored : mapped == pairs ? Probe::all_mapped : Probe::mapped_and_mirrored_mixed);
  if (nodes_.size() == 8) report_.hit(Probe::eight_members);
  if (options_.view.subgroups.size() >= 3) report_.hit(Probe::many_subgroups);
  if (options_.view.subgroups.size() > sst::subgroups_per_activity) report_.hit(Probe::several_activity_words);
  for (std::uint32_t s = 0; s < options_.view.subgroups.size(); ++s) {
    const SubgroupView& subgroup = options_.view.subgroups[s];
    if (subgroup.members.size() == 1) report_.hit(Probe::single_member_subgroup);
    if (subgroup.senders.size() == 1) report_.hit(Probe::single_sender_subgroup);
    if (subgroup.mode == DeliveryMode::unordered) report_.hit(Probe::unordered_subgroup);
    std::vector<bool> sends(nodes_.size());
    for (const ThreadOptions& thread : options_.threads) {
      if (thread.subgroup == s) sends[thread.node] = true;
    }
    for (const NodeId sender : subgroup.senders) {
      if (!sends[options_.view.rank_of(sender)->value()]) report_.hit(Probe::idle_sender);
    }
  }
}

std::string Cluster::where() const {
  std::string text = " [at " + std::to_string(scheduler_.now()) + " ns; states:";
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    text += " " + std::to_string(options_.view.members[i].value()) + "=" + std::string(views::to_string(nodes_[i]->state_));
  }
  return text + "]";
}

// M10 and liveness: all are in the view, nobody waits, all that was sent was delivered.
void Cluster::judge_quiet() {
  for (const auto& node : nodes_) {
    if (node->state_ != MemberState::active) return report_.violate("L1", "quiet before everybody was in the view");
  }
  if (workload_.anybody_waits()) report_.violate("L2", "quiet, but a thread waits for space");
  checker_.on_quiet();
  report_.hit(Probe::went_quiet);
}

}  // namespace spindrift::sim
