// Subgroups as text, view by view.
#include <spindrift/group/layout_digest.hpp>

#include <algorithm>
#include <iterator>
#include <string>

namespace spindrift::group {
namespace {

void add(RunningDigest& digest, std::uint64_t number) { digest.add(std::to_string(number) + ' '); }

void add(RunningDigest& digest, const std::vector<NodeId>& nodes) {
  add(digest, nodes.size());
  for (const NodeId node : nodes) add(digest, node.value());
}

void add(RunningDigest& digest, const std::string& text) {
  add(digest, text.size());
  digest.add(text);
}

// The words that say why a subgroup is inadequate are for people; and the sizes of rings that change are those of the view.
// Storage and history are named if they are not the default, so that layouts from before there were others keep their
// digest.
void add(RunningDigest& digest, const SubgroupView& subgroup) {
  add(digest, subgroup.name);
  add(digest, subgroup.members);
  add(digest, subgroup.senders);
  add(digest, static_cast<std::uint64_t>(subgroup.mode));
  if (subgroup.storage == SubgroupStorage::logged) digest.add("logged ");
  if (const HistoryBounds& history = subgroup.history; history.any()) {
    digest.add("history ");
    for (const std::uint64_t bound : {history.messages, history.bytes, history.age_ms}) add(digest, bound);
  }
  const Profile& profile = subgroup.profile;
  for (const std::uint64_t size : {profile.message_bytes_max, profile.bulk_ring_bytes, profile.large_message_bytes})
    add(digest, size);
  add(digest, subgroup.topics.size());
  for (const std::string& topic : subgroup.topics) add(digest, topic);
}

void add(RunningDigest& digest, const std::vector<SubgroupView>& subgroups) {
  add(digest, subgroups.size());
  for (const SubgroupView& subgroup : subgroups) add(digest, subgroup);
}

}  // namespace

Digest digest_of_layout(const LayoutFunction& layout, const std::vector<NodeId>& nodes) {
  RunningDigest digest;
  View all;
  all.members = nodes;
  all.incarnations.assign(nodes.size(), 1);
  all.subgroups = layout(nodes, nullptr);
  add(digest, all.subgroups);
  for (const NodeId without : nodes) {
    std::vector<NodeId> rest;
    std::copy_if(nodes.begin(), nodes.end(), std::back_inserter(rest), [&](NodeId node) { return node != without; });
    if (rest.empty()) break;
    try {
      add(digest, layout(rest, &all));
    } catch (...) {
      digest.add("throws");
    }
  }
  return digest.value();
}

ConfigDigest digest_with_layout(const Config& config, const LayoutFunction& layout, const std::vector<NodeId>& nodes) {
  const Digest own = digest_of_layout(layout, nodes);
  if (const auto configured = config.layout_function(); configured && digest_of_layout(*configured, nodes) == own)
    return config.digest();
  RunningDigest digest;
  digest.add(config.digest().to_string());
  digest.add(own.to_string());
  return digest.value();
}

}  // namespace spindrift::group
