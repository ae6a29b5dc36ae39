// Printing plans.
#include "plan.hpp"

namespace spindrift::sim {

std::string to_string(const Action& action) {
  const std::string node = std::to_string(action.node);
  const std::string pair = node + "-" + std::to_string(action.other);
  const char* const what = action.what == Cut::writes ? " writes" : action.what == Cut::messages ? " messages" : "";
  std::string text = "at " + std::to_string(action.at) + "ns ";
  switch (action.kind) {
    case Action::Kind::start: return text + "start " + node;
    case Action::Kind::start_apart:
      return text + "start " + node + " apart from " + std::to_string(action.other) +
             (action.count > 0 ? " from its first view on" : "") +
             (action.ticks > 0 ? " breaks " + std::to_string(action.ticks) + "ns" : "");
    case Action::Kind::crash: return text + "crash " + node;
    case Action::Kind::crash_in_change: return text + "crash " + node + " in change " + std::to_string(action.count);
    case Action::Kind::crash_at: return text + "crash " + node + " effect " + std::to_string(action.count);
    case Action::Kind::crash_in_large: return text + "crash " + node + " in large " + std::to_string(action.count);
    case Action::Kind::crash_in_relay: return text + "crash " + node + " in relay " + std::to_string(action.count);
    case Action::Kind::pause_in_relay:
      return text + "pause " + node + " " + std::to_string(action.ticks) + "ns in relay " + std::to_string(action.count);
    case Action::Kind::sleep: return text + "all sleep " + std::to_string(action.ticks) + "ns";
    case Action::Kind::pause: return text + "pause " + node + " " + std::to_string(action.ticks) + "ns";
    case Action::Kind::starve: return text + "starve " + node + " " + std::to_string(action.ticks) + "ns";
    case Action::Kind::work: return text + "work " + node + " " + std::to_string(action.ticks) + "ns";
    case Action::Kind::cut:
      return text + "cut " + pair + what + (action.ticks > 0 ? " breaks " + std::to_string(action.ticks) + "ns" : "");
    case Action::Kind::cut_present: return text + "cut " + pair + what + " present";
    case Action::Kind::heal: return text + "heal " + pair;
    case Action::Kind::leave: return text + "leave " + node;
    case Action::Kind::send:
      return text + "send " + node + " " + std::to_string(action.other) + " " + std::to_string(action.count) +
             (action.large ? " large" : "") + (action.ticks > 0 ? " built " + std::to_string(action.ticks) + "ns" : "");
    case Action::Kind::refuse: return text + "refuse " + node + " " + std::to_string(action.ticks) + "ns";
    case Action::Kind::stop: return text + "stop " + node;
    case Action::Kind::add: return text + "add " + pair;
    case Action::Kind::remove: return text + "remove " + pair;
    case Action::Kind::drain: return text + "drain " + pair;
    case Action::Kind::undrain: return text + "undrain " + pair;
    case Action::Kind::found: return text + "found " + node;
    case Action::Kind::adopt: return text + "adopt " + node + " " + std::to_string(action.other);
    case Action::Kind::forget: return text + "forget " + node;
    case Action::Kind::lose_logs: return text + "lose_logs " + node;
    case Action::Kind::create:
      return text + "create " + node + " a" + std::to_string(action.other) +
             (action.count > 0 ? " of " + std::to_string(action.count) : "");
    case Action::Kind::drop: return text + "drop " + node + " a" + std::to_string(action.other);
    case Action::Kind::change:
      return text + "change " + node + " a" + std::to_string(action.other) + " to " + std::to_string(action.count);
    case Action::Kind::resize:
      return text + "resize " + node + " " + std::to_string(action.other) + " to " + std::to_string(action.count);
    case Action::Kind::edit: return text + "edit " + node + " to edition " + std::to_string(action.count);
    case Action::Kind::install:
      return text + "install " + node + " of versions " + std::to_string(action.other) + " to " +
             std::to_string(action.count);
    case Action::Kind::move: return text + "move " + pair + " to place " + std::to_string(action.count);
  }
  return text;
}

std::string Plan::describe() const {
  std::string text = "seed " + std::to_string(seed) + ": " + std::to_string(nodes.size()) + " nodes, suspect after " +
                     std::to_string(suspect_after) + " ns" + (storm ? " (storm)" : "") + ", founders";
  for (const std::uint32_t founder : founders) text += " " + std::to_string(founder);
  if (founded_by == views::FoundedBy::present) text += ", or rather whoever is present";
  if (clocks_go_back) text += ", clocks go back";
  if (broken_links > 0) text += ", nothing but links breaks";
  if (deaths) text += ", nothing happens but deaths on one host";
  text += "\n  delay " + std::to_string(fabric.delay_ns_max) + ", jitter " + std::to_string(fabric.jitter_ns_max) +
          ", lost " + std::to_string(fabric.lost_ns_max) + ", clogs " + std::to_string(fabric.clogs_in_1000) +
          "/1000, messages of " + std::to_string(fabric.message_bytes_max) +
          ", batches " + std::to_string(policy.send_batch_max) + "/" + std::to_string(policy.receive_batch_max) + "/" +
          std::to_string(policy.delivery_batch_max) + ", unsent " + std::to_string(policy.unsent_bytes_max);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const NodePlan& node = nodes[i];
    text += "\n  node " + std::to_string(i) + ": host " + std::to_string(node.host) + ", step " +
            std::to_string(node.step_ns_max) + ", refusals " + std::to_string(node.refusals_in_1000) + "/1000 of " +
            std::to_string(node.refusal_ns_max) + ", busy " + std::to_string(node.busy_in_1000) + "/1000 of " +
            std::to_string(node.busy_ns_max) + ", states " + std::to_string(node.state_ns_max) + ", late " +
            std::to_string(node.late_ns_max) +
            ", failing saves " + std::to_string(node.failing_saves_in_1000) + "/1000" +
            (node.throws_after > 0 ? ", throws after " + std::to_string(node.throws_after) : "") +
            (node.lagging_after > 0 ? ", lagging after " + std::to_string(node.lagging_after) : "") +
            (node.imposter ? ", imposter" : "") + (node.listed ? "" : ", not listed");
    if (node.names == ~std::uint64_t{0}) continue;
    text += ", names";
    for (std::size_t other = 0; other < nodes.size(); ++other)
      text += (node.names >> other & 1) != 0 ? " " + std::to_string(other) : "";
  }
  for (const SubgroupPlan& subgroup : subgroups) {
    text += "\n  " + subgroup.name + (subgroup.mode == DeliveryMode::ordered ? " ordered" : " unordered") + ", ring " +
            std::to_string(subgroup.profile.ring_bytes) + ", window " + std::to_string(subgroup.profile.window_messages) +
            ", message " + std::to_string(subgroup.profile.message_bytes_max) + ", state " +
            std::to_string(subgroup.state_bytes) + ", minimum " + std::to_string(subgroup.minimum) +
            (subgroup.profile.split_rows ? ", ring split off" : "") + (subgroup.added ? ", created" : "") +
            (subgroup.logged ? ", logged" : "") + (subgroup.object ? ", of an object" : "") +
            (subgroup.most > 0 ? ", most " + std::to_string(subgroup.most) : "") +
            (subgroup.moves ? ", moves" : "") + ", members";
    for (std::size_t i = 0; i < nodes.size(); ++i) text += (subgroup.members >> i & 1) != 0 ? " " + std::to_string(i) : "";
  }
  for (const TablePlan& table : tables) {
    text += "\n  table of " + std::to_string(table.words) + " words" + (table.monotone ? ", monotone" : "") +
            (table.watched ? ", watched" : "") + ", sets " + std::to_string(table.sets) + ", rounds " +
            std::to_string(table.rounds) + ", late " + std::to_string(table.late_ns_max) + ", think " +
            std::to_string(table.think_ns_max) + ", nodes";
    for (std::size_t i = 0; i < nodes.size(); ++i) text += (table.nodes >> i & 1) != 0 ? " " + std::to_string(i) : "";
  }
  for (std::size_t i = 0; i < disks.size(); ++i) {
    const DiskPlan& disk = disks[i];
    text += "\n  disk of node " + std::to_string(i) + ": " +
            (disk.room < 1000 ? "room " + std::to_string(disk.room) : "much room") +
            ", writes " + std::to_string(disk.write_ns_max) + ", slow " + std::to_string(disk.slow_in_1000) + "/1000 of " +
            std::to_string(disk.slow_ns_max) + ", fails " + std::to_string(disk.failures_in_10000) + "/10000, reads " +
            std::to_string(disk.read_ns_max) + ", replays " + std::to_string(disk.replay_ns_max) +
            (disk.keeps == ~std::uint64_t{0} ? "" : ", keeps " + std::to_string(disk.keeps));
  }
  text += "\n  " + std::to_string(senders.size()) + " senders";
  for (const Action& action : actions) text += "\n  " + to_string(action);
  return text + "\n  at " + std::to_string(faults_end) + "ns healed";
}

}  // namespace spindrift::sim
