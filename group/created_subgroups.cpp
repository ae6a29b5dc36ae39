// Defaults of the configuration, and names that are not there.
#include <spindrift/group/created_subgroups.hpp>

#include <algorithm>
#include <set>
#include <string_view>

namespace spindrift::group {

Result<void> complete(AddedSubgroup& subgroup, const Config& config) {
  SPINDRIFT_TRY_ASSIGN(const Profile defaults, profile_of(config, "DEFAULT"));
  Profile& profile = subgroup.profile;
  if (profile.message_bytes_max == 0) {
    profile.message_bytes_max = defaults.message_bytes_max;
    if (profile.bulk_ring_bytes == 0 && profile.large_message_bytes == 0) {
      profile.bulk_ring_bytes = defaults.bulk_ring_bytes;
      profile.large_message_bytes = defaults.large_message_bytes;
    }
  }
  if (profile.window_messages == 0) profile.window_messages = defaults.window_messages;
  if (profile.ring_bytes == 0) {
    const bool fits = profile.ring_payload_max() <= defaults.ring_bytes / 2 - 8;
    profile.ring_bytes = fits ? defaults.ring_bytes : derived_ring_bytes(profile.ring_payload_max());
  }
  profile.split_rows = config.boolean("SPINDRIFT", "split_rows");
  for (auto* nodes : {&subgroup.members, &subgroup.senders}) std::ranges::sort(*nodes);
  return {};
}

void complete_change(AddedSubgroup& subgroup, const Roster& roster) {
  const AddedSubgroup* const now = roster.find_added(subgroup.name);
  if (now == nullptr) return;
  const auto keep = [&](auto field) {
    if (subgroup.profile.*field == 0) subgroup.profile.*field = now->profile.*field;
  };
  for (const auto field : {&Profile::ring_bytes, &Profile::window_messages, &Profile::message_bytes_max,
                           &Profile::bulk_ring_bytes, &Profile::large_message_bytes})
    keep(field);
  subgroup.profile.split_rows = now->profile.split_rows;
  for (auto* nodes : {&subgroup.members, &subgroup.senders}) std::ranges::sort(*nodes);
}

Result<void> check_drops(std::span<const RosterChange> changes, const View& view) {
  std::set<std::string_view> created;
  for (const RosterChange& change : changes) {
    if (change.kind == RosterChange::Kind::create) created.insert(change.subgroup.name);
    if (change.kind != RosterChange::Kind::drop || created.contains(change.subgroup.name)) continue;
    SPINDRIFT_TRY(check(view.roster, change, view));
  }
  return {};
}

}  // namespace spindrift::group
