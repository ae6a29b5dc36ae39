// The things that members must have alike, in lists that say the same by the same text.
#include <set>

#include <fmt/format.h>

#include <spindrift/core/config/load.hpp>
#include <spindrift/core/ids_text.hpp>

namespace spindrift::config {
namespace {

/// In ascending order, each once, each after a blank.
std::string in_order(const std::vector<NodeId>& nodes) {
  std::string text;
  for (const NodeId id : std::set<NodeId>(nodes.begin(), nodes.end())) text += fmt::format(" {}", id);
  return text;
}

/// Writes down which members belong to a plan in every view, of whatever roster: lists that say the same become the same
/// text.
std::string agreement(const SubgroupPlan& plan) {
  const std::string members = plan.members ? in_order(*plan.members) : " all";
  const std::string senders = plan.senders.empty() ? " all" : in_order(plan.senders);
  if (plan.assigned && plan.pool != 0)
    return fmt::format("filled {} to {} from pool {}\n members{}\n", plan.minimum, plan.maximum, plan.pool, members);
  if (plan.assigned) {
    return fmt::format("filled {} to {}\n reserved{}\n senders{}\n", plan.minimum, plan.maximum, in_order(plan.reserved),
                       senders);
  }
  return fmt::format("named, at least {}\n members{}\n senders{}\n", plan.minimum, members, senders);
}

/// Empty where none is kept, so that a release which knows of none agrees.
std::string words_of(const HistoryBounds& history) {
  if (!history.any()) return {};
  return fmt::format(" history {} messages {} bytes {} ms", history.messages, history.bytes, history.age_ms);
}

}  // namespace

// Names hold neither blanks nor line ends, so no two configurations that differ have the same text. What has its default is
// left out of that, so that a release which has a key more agrees with one that does not know it.
std::vector<AgreedValue> agreement(const Loaded& loaded) {
  std::vector<AgreedValue> all;
  for (const Value& value : loaded.values) {
    const Key& key = *value.key;
    const bool in_view =
        key.section == profile_section || key.section == "LAYOUT" || key.name.starts_with("json_layout");
    if (key.scope != KeyScope::group || !key.used || (in_view && loaded.view)) continue;
    const bool as_ever = value.text == key.default_text;
    all.push_back({fmt::format("[{}] {}", value.section, key.name), value.text,
                   as_ever ? std::string() : fmt::format("{}/{} {}\n", value.section, key.name, value.text)});
  }
  if (!loaded.view) return all;
  for (std::size_t i = 0; i < loaded.view->subgroups.size(); ++i) {
    const SubgroupView& subgroup = loaded.view->subgroups[i];
    const Profile& profile = subgroup.profile;
    const bool bulky = profile.bulk_ring_bytes != 0;
    const std::string bulk = fmt::format(" bulk {} above {}", profile.bulk_ring_bytes, profile.large_message_bytes);
    const char* const mode = subgroup.mode == DeliveryMode::ordered ? "ordered" : "unordered";
    const char* const storage = subgroup.storage == SubgroupStorage::logged ? " logged" : "";
    const auto sizes = fmt::format("{}{} message {}{}{}", mode, storage, profile.message_bytes_max, bulky ? bulk : "",
                                   words_of(subgroup.history));
    const std::string shape = fmt::format(" topics {}\n {}", fmt::join(subgroup.topics, " "),
                                          agreement(loaded.plans->layout.subgroups[i]));
    all.push_back({"subgroup " + subgroup.name, sizes + " shape " + spindrift::digest_of(shape).to_string().substr(0, 8),
                   fmt::format("subgroup {} {}\n{}", subgroup.name, sizes, shape)});
  }
  return all;
}

ConfigDigest digest_of(const std::vector<AgreedValue>& agreed) {
  std::string text = "spindrift configuration 5\n";
  for (const AgreedValue& each : agreed) text += each.line;
  return spindrift::digest_of(text);
}

}  // namespace spindrift::config
