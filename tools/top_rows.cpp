// Deliveries are counted from the start of each process, so only nodes that came in the same view can be compared: those
// have had the same messages to deliver.
#include "top_rows.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace spindrift::tools {
namespace {

struct Totals {
  std::uint64_t sent = 0;
  std::uint64_t sent_bytes = 0;
  std::uint64_t delivered = 0;
  std::uint64_t bytes = 0;
  HistogramValues stable_us{};  ///< of one subgroup
};

/// The counters of one process.
struct Counted {
  std::map<std::string, Totals> subgroups;
  std::uint64_t views = 0;
};

using ByNode = std::map<NodeId, Counted>;

ByNode counted(const GroupCounters& counters) {
  ByNode all;
  for (const NodeCounters& node : counters.nodes) {
    Counted& one = all[node.node];
    for (const CounterValue& counter : node.values) {
      const CounterName name = split_counter_name(counter.name);
      if (name.counter == "views.installed") one.views = counter.value;
      if (name.subgroup.empty()) continue;
      Totals& totals = one.subgroups[name.subgroup];
      if (name.counter == "sent_bytes") totals.sent_bytes = counter.value;
      if (const auto part = histogram_part(name.counter); part && part->histogram == "stable_latency_us")
        put(totals.stable_us, *part, counter.value);
      if (name.counter == "sent") totals.sent = counter.value;
      if (name.counter == "delivered") totals.delivered = counter.value;
      if (name.counter == "delivered_bytes") totals.bytes = counter.value;
    }
  }
  return all;
}

/// The sum over all subgroups, or that of one.
Totals totals_of(const Counted& node, const std::string& subgroup) {
  Totals sum;
  for (const auto& [name, totals] : node.subgroups) {
    if (!subgroup.empty() && name != subgroup) continue;
    sum.sent += totals.sent;
    sum.sent_bytes += totals.sent_bytes;
    sum.delivered += totals.delivered;
    sum.bytes += totals.bytes;
  }
  return sum;
}

/// Two looks at a group, taken apart.
class LookComparison {
 public:
  LookComparison(const GroupLook& before, const GroupLook& now)
      : now_(now),
        seconds_(std::chrono::duration<double>(now.at - before.at).count()),
        before_counted_(counted(before.counters)),
        now_counted_(counted(now.counters)) {}

  [[nodiscard]] std::optional<TopRates> rates(const NodeReport& node, const std::string& subgroup) const {
    const auto before = before_counted_.find(node.status.node);
    const auto after = now_counted_.find(node.status.node);
    if (!node.lives() || before == before_counted_.end() || after == now_counted_.end()) return std::nullopt;
    const Totals old = totals_of(before->second, subgroup);
    const Totals present = totals_of(after->second, subgroup);
    const bool same_process = present.sent >= old.sent && present.sent_bytes >= old.sent_bytes &&
                              present.delivered >= old.delivered && present.bytes >= old.bytes;
    if (!same_process || seconds_ <= 0) return std::nullopt;
    const auto rate = [this](std::uint64_t from, std::uint64_t to) { return static_cast<double>(to - from) / seconds_; };
    return TopRates{rate(old.sent, present.sent), rate(old.sent_bytes, present.sent_bytes),
                    rate(old.delivered, present.delivered), rate(old.bytes, present.bytes)};
  }

  /// That of the messages that were watched between the looks.
  [[nodiscard]] std::optional<TopLatency> latency(const NodeReport& node, const std::string& subgroup) const {
    const auto found = [&](const ByNode& counted) -> const Totals* {
      const auto process = counted.find(node.status.node);
      if (process == counted.end()) return nullptr;
      const auto totals = process->second.subgroups.find(subgroup);
      return totals == process->second.subgroups.end() ? nullptr : &totals->second;
    };
    const Totals* const before = found(before_counted_);
    const Totals* const after = found(now_counted_);
    if (!node.lives() || before == nullptr || after == nullptr) return std::nullopt;
    const auto between = after->stable_us.since(before->stable_us);
    if (!between || between->count() == 0) return std::nullopt;
    return TopLatency{*between->percentile(50), *between->percentile(99)};
  }

  /// Sums what the node lacks in the subgroup, or in all of its own.
  [[nodiscard]] std::optional<std::uint64_t> behind(const NodeReport& node, const std::string& subgroup) const {
    const auto own = now_counted_.find(node.status.node);
    const auto first = first_view(node);
    if (!first || own == now_counted_.end()) return std::nullopt;
    std::optional<std::uint64_t> sum;
    for (const auto& [name, totals] : own->second.subgroups) {
      if (!subgroup.empty() && name != subgroup) continue;
      const auto most = most_delivered(node.status.node, *first, name);
      if (most) sum = sum.value_or(0) + *most - std::min(*most, totals.delivered);
    }
    return sum;
  }

 private:
  /// The view that its process came in; nothing: it is in none.
  [[nodiscard]] std::optional<std::uint64_t> first_view(const NodeReport& node) const {
    const auto own = now_counted_.find(node.status.node);
    if (!node.lives() || !node.status.view || own == now_counted_.end()) return std::nullopt;
    const std::uint64_t later = own->second.views;
    if (later == 0 || later > node.status.view->value() + 1) return std::nullopt;  // its files are of different moments
    return node.status.view->value() + 1 - later;
  }

  /// The most that another node which came in that view has delivered.
  [[nodiscard]] std::optional<std::uint64_t> most_delivered(NodeId self, std::uint64_t first,
                                                            const std::string& subgroup) const {
    std::optional<std::uint64_t> most;
    for (const NodeReport& other : now_.report.nodes) {
      if (other.status.node == self || first_view(other) != first) continue;
      const auto& theirs = now_counted_.at(other.status.node).subgroups;
      const auto found = theirs.find(subgroup);
      if (found != theirs.end()) most = std::max(most.value_or(0), found->second.delivered);
    }
    return most;
  }

  const GroupLook& now_;
  double seconds_;
  ByNode before_counted_;
  ByNode now_counted_;
};

/// The first thing that a node waits for, and how many more there are.
std::string waits_of(const NodeReport& node) {
  if (!node.lives()) return {};
  std::vector<std::string> waits;
  if (!node.status.waits.handler.empty()) waits.push_back(node.status.waits.handler);
  if (!node.status.waits.sends.empty()) waits.push_back("to send: " + node.status.waits.sends);
  if (!node.status.waits.leave.empty()) waits.push_back("to leave: " + node.status.waits.leave);
  for (const group::MemberStatus::SubgroupEntry& subgroup : node.status.subgroups) {
    if (!subgroup.blocked.empty()) waits.push_back(subgroup.name + ": " + subgroup.blocked);
    if (subgroup.paused) waits.push_back(subgroup.name + " is paused: " + waiting_text(*subgroup.paused));
  }
  if (waits.size() < 2) return waits.empty() ? std::string() : waits.front();
  return "(" + std::to_string(waits.size()) + ") " + waits.front();
}

}  // namespace

Result<GroupLook> look_at(const std::string& directory) {
  SPINDRIFT_TRY_ASSIGN(auto report, read_group(directory));
  SPINDRIFT_TRY_ASSIGN(auto counters, read_group_counters(directory));
  return GroupLook{SystemClock().now(), std::move(report), std::move(counters)};
}

std::vector<TopRow> node_rows(const GroupLook& before, const GroupLook& now) {
  const LookComparison compared(before, now);
  std::vector<TopRow> rows;
  for (const NodeReport& node : now.report.nodes) {
    rows.push_back({node.status.node, {}, condition_text(node), node.status.view, compared.rates(node, {}), {},
                    compared.behind(node, {}), waits_of(node)});
  }
  return rows;
}

std::vector<TopRow> subgroup_rows(const GroupLook& before, const GroupLook& now, NodeId node) {
  const LookComparison compared(before, now);
  std::vector<TopRow> rows;
  for (const NodeReport& each : now.report.nodes) {
    if (each.status.node != node) continue;
    for (const group::MemberStatus::SubgroupEntry& subgroup : each.status.subgroups) {
      rows.push_back({node, subgroup.name, subgroup.inadequate.empty() ? "adequate" : "inadequate", each.status.view,
                      compared.rates(each, subgroup.name), compared.latency(each, subgroup.name),
                      compared.behind(each, subgroup.name), subgroup.blocked});
    }
  }
  return rows;
}

}  // namespace spindrift::tools
