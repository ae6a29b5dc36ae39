// Defaults of the configuration, and names that are not there.
#include <spindrift/group/created_subgroups.hpp>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

namespace spindrift::group {
namespace {

// The layout says who is in a subgroup, and how large its messages are: programs go by that, and files that are compared.
// Nobody need know its mode.
Result<void> make_resize(RosterChange& change, const SubgroupView& now) {
  const AddedSubgroup subgroup = std::move(change.subgroup);
  Profile profile = subgroup.profile;
  change = {.kind = RosterChange::Kind::resize, .sizes = {now.name, profile.ring_bytes, profile.window_messages}};
  profile.ring_bytes = now.profile.ring_bytes;
  profile.window_messages = now.profile.window_messages;
  if (profile == now.profile && subgroup.members.empty() && subgroup.senders.empty()) return {};
  return Error(ErrorKind::bad_argument,
               "subgroup " + now.name + " is the configuration's, which says who is in it and how large messages are")
      .fix("change window or ring alone; or change the files of all members, and start the group again");
}

}  // namespace

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

Result<void> complete_change(RosterChange& change, const View& view) {
  AddedSubgroup& subgroup = change.subgroup;
  const SubgroupView* const of_layout = view.in_layout(subgroup.name);
  const AddedSubgroup* const created = view.roster.find_added(subgroup.name);
  if (created == nullptr && of_layout == nullptr) return {};
  const Profile& now = of_layout != nullptr ? of_layout->profile : created->profile;
  const auto keep = [&](auto field) {
    if (subgroup.profile.*field == 0) subgroup.profile.*field = now.*field;
  };
  for (const auto field : {&Profile::ring_bytes, &Profile::window_messages, &Profile::message_bytes_max,
                           &Profile::bulk_ring_bytes, &Profile::large_message_bytes})
    keep(field);
  subgroup.profile.split_rows = now.split_rows;
  for (auto* nodes : {&subgroup.members, &subgroup.senders}) std::ranges::sort(*nodes);
  return of_layout == nullptr ? Result<void>() : make_resize(change, *of_layout);
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
