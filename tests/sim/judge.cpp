// What must be true when a run has nothing left to do.
#include <cctype>

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

// M10 and the liveness of everything before the leave: all are in the view, nobody waits, all that was sent was delivered.
void Cluster::judge_quiet() {
  for (const auto& node : nodes_) {
    if (node->state_ != MemberState::in_view) return report_.violate("L1", "quiet before everybody was in the view");
  }
  if (workload_.anybody_waits()) report_.violate("L2", "quiet, but a thread waits for space");
  checker_.on_quiet();
  report_.hit(Probe::went_quiet);
}

void Cluster::judge_end() {
  if (crashed_in_) return judge_after_crash();
  for (const auto& node : nodes_) {
    if (node->state_ != MemberState::left) return report_.violate("L1", "somebody asked to leave, but not everybody left");
  }
  if (workload_.anybody_waits()) report_.violate("L2", "everybody left, but a thread waits");
  checker_.on_quiet();
}

// A crash ends the group: everybody says so and names the dead, except who had nothing to wait for any more (the end was
// being agreed), or who never met the dead.
void Cluster::judge_after_crash() {
  for (const auto& node : nodes_) {
    if (!node->member_ || node->rank_ == options_.crash->node) continue;
    const bool closing = furthest_at_crash_ >= MemberState::closing;
    const bool connecting = *crashed_in_ == MemberState::connecting || *crashed_in_ == MemberState::ready;
    if (node->state_ == MemberState::left && closing) continue;
    if (node->state_ == MemberState::connecting && connecting) continue;
    if (node->state_ != MemberState::failed) {
      return report_.violate(
          "L1", "a member died, but node " + std::to_string(options_.view.members[node->rank_].value()) + " did not stop");
    }
    if (!names_crashed(*node))
      return report_.violate("L1", "a failure does not name the dead: " + node->member_->failure()->to_string());
    if (node->member_->failure()->kind() != ErrorKind::member_lost)
      return report_.violate("L1", "a death was reported as something else");
  }
}

bool Cluster::names_crashed(const Node& node) const {
  const std::string text = node.member_->failure()->to_string();
  const std::string name = "node " + std::to_string(options_.view.members[options_.crash->node].value());
  for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    if (end == text.size() || std::isdigit(static_cast<unsigned char>(text[end])) == 0) return true;
  }
  return false;
}

}  // namespace spindrift::sim
