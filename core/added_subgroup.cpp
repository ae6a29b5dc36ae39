// Checking definitions, and what a view makes of them.
#include <spindrift/core/added_subgroup.hpp>

#include <algorithm>
#include <bit>
#include <set>

#include <spindrift/core/ids_text.hpp>
#include <spindrift/core/view.hpp>

namespace spindrift {
namespace {

constexpr std::size_t name_bytes_max = 64;
constexpr std::uint64_t window_messages_most = std::uint64_t{1} << 20;
constexpr std::uint64_t large_message_least = 16;  // in place of the message, so much of it lies in the other ring
constexpr std::uint64_t bulk_alignment = 64;

Error impossible(std::string what, std::string fix) {
  return Error(ErrorKind::bad_argument, std::move(what)).fix(std::move(fix));
}

bool is_ring(std::uint64_t bytes) noexcept {
  return std::has_single_bit(bytes) && bytes >= ring_bytes_min && bytes <= ring_bytes_max;
}

Result<void> check_bulk_ring(const std::string& name, const Profile& profile) {
  if (profile.bulk_ring_bytes == 0) return {};
  const std::uint64_t needed = 2 * ((profile.message_bytes_max + bulk_alignment - 1) / bulk_alignment * bulk_alignment);
  if (is_ring(profile.bulk_ring_bytes) && profile.bulk_ring_bytes >= needed &&
      profile.large_message_bytes >= large_message_least) {
    return {};
  }
  return impossible(name + " has a ring for large messages that is no power of two from 4096 to 2^30, does not hold two of "
                           "its largest messages, or begins below 16 bytes",
                    "raise bulk_ring_bytes and large_message_bytes in its profile, or let it have none");
}

Result<void> check_messages(const std::string& name, const Profile& profile) {
  if (profile.message_bytes_max == 0 || profile.message_bytes_max > ring_bytes_max)
    return impossible(name + " takes no messages, or larger ones than there are", "give its largest message another size");
  return check_bulk_ring(name, profile);
}

bool ascends(const std::vector<NodeId>& nodes) {
  return std::ranges::adjacent_find(nodes, std::ranges::greater_equal()) == nodes.end();
}

Result<void> check_nodes(const std::string& name, const AddedSubgroup& subgroup) {
  for (const auto* nodes : {&subgroup.members, &subgroup.senders}) {
    if (nodes->size() <= added_node_count_max && ascends(*nodes)) continue;
    return impossible(name + " names nodes twice, out of order, or more than " + std::to_string(added_node_count_max),
                      "name each of its members and senders once, ascending");
  }
  for (const NodeId sender : subgroup.senders) {
    if (subgroup.members.empty() || std::ranges::binary_search(subgroup.members, sender)) continue;
    return impossible(name + " has a sender that is none of its members, node " + std::to_string(sender.value()),
                      "name it among the members, too");
  }
  return {};
}

std::vector<NodeId> some_of(const std::vector<NodeId>& all, const std::vector<NodeId>& named) {
  if (named.empty()) return all;
  std::vector<NodeId> some;
  std::ranges::copy_if(all, std::back_inserter(some), [&](NodeId node) { return std::ranges::binary_search(named, node); });
  return some;
}

std::string lacks(const std::string& what, const std::vector<NodeId>& nodes) {
  return nodes.size() == 1 ? "needs its " + what + ", " + listed(nodes) + ", who is not in the view"
                           : "needs one of its " + what + "s, " + listed(nodes) + ", and none is in the view";
}

void put_nodes(ByteWriter& to, const std::vector<NodeId>& nodes) {
  to.put(static_cast<std::uint32_t>(nodes.size()));
  for (const NodeId node : nodes) to.put(node);
}

bool get_nodes(ByteReader& from, std::vector<NodeId>& nodes) {
  const auto count = from.get<std::uint32_t>();
  if (count > added_node_count_max) return false;
  for (std::uint32_t i = 0; i < count && from.ok(); ++i) nodes.push_back(from.get<NodeId>());
  return from.ok();
}

}  // namespace

bool valid_subgroup_name(std::string_view name) noexcept {
  return !name.empty() && name.size() <= name_bytes_max && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
  });
}

std::uint64_t derived_ring_bytes(std::uint64_t ring_payload_max) noexcept {
  constexpr std::uint64_t smallest = std::uint64_t{1} << 20;
  return std::bit_ceil(std::max(smallest, 4 * (ring_payload_max + 16)));
}

Result<void> check_ring(const std::string& subgroup, const Profile& profile) {
  const std::string name = "subgroup " + subgroup;
  if (!is_ring(profile.ring_bytes))
    return impossible(name + " has rings that are no power of two from 4096 to 2^30 bytes", "give it rings of another size");
  if (profile.window_messages == 0 || profile.window_messages > window_messages_most)
    return impossible(name + " has no window of 1 to 2^20 messages", "give it another window");
  if (profile.ring_payload_max() <= profile.ring_bytes / 2 - 8) return {};
  return impossible(name + " takes messages that do not fit into half of its rings, less 8 bytes",
                    "give it larger rings, or smaller messages");
}

Result<void> check(const AddedSubgroup& subgroup) {
  if (!valid_subgroup_name(subgroup.name))
    return impossible(subgroup.name.empty() ? "a subgroup needs a name" : "\"" + subgroup.name + "\" is no subgroup's name",
                      "name it with 1 to 64 of A-Z, a-z, 0-9, _, . and -");
  const std::string name = "subgroup " + subgroup.name;
  SPINDRIFT_TRY(check_messages(name, subgroup.profile));
  SPINDRIFT_TRY(check_ring(subgroup.name, subgroup.profile));
  return check_nodes(name, subgroup);
}

std::size_t added_count(std::span<const AddedSubgroup> places) noexcept {
  return static_cast<std::size_t>(std::ranges::count_if(places, [](const auto& each) { return !each.name.empty(); }));
}

std::uint64_t added_ring_bytes(std::span<const AddedSubgroup> places) noexcept {
  std::uint64_t bytes = 0;
  for (const AddedSubgroup& each : places) bytes += each.profile.ring_bytes + each.profile.bulk_ring_bytes;
  return bytes;
}

bool possible(std::span<const AddedSubgroup> places) {
  if (places.size() > added_place_count_max || added_count(places) > added_subgroup_count_max) return false;
  std::set<std::string_view> names;
  for (const AddedSubgroup& each : places) {
    if (each.name.empty() ? each != AddedSubgroup() : !check(each) || !names.insert(each.name).second) return false;
  }
  return added_ring_bytes(places) <= added_ring_bytes_max;
}

bool may_become(const AddedSubgroup& now, const AddedSubgroup& next) {
  AddedSubgroup other = next;
  other.senders = now.senders;
  other.profile.window_messages = now.profile.window_messages;
  other.profile.ring_bytes = now.profile.ring_bytes;
  return other == now;
}

// Members of the view before stay in their order, as the layout has it: their positions are sender ranks.
SubgroupView in_view(const AddedSubgroup& subgroup, const std::vector<NodeId>& members, const SubgroupView* before) {
  SubgroupView made;
  made.name = subgroup.name;
  made.mode = subgroup.mode;
  made.profile = subgroup.profile;
  if (subgroup.name.empty()) {
    made.dropped = true;
    made.inadequate = "was dropped";
    return made;
  }
  const std::vector<NodeId> here = some_of(members, subgroup.members);
  const auto was_there = [&](NodeId node) { return before != nullptr && before->member_position(node).has_value(); };
  if (before != nullptr) {
    std::ranges::copy_if(before->members, std::back_inserter(made.members),
                         [&](NodeId node) { return std::ranges::find(here, node) != here.end(); });
  }
  std::ranges::copy_if(here, std::back_inserter(made.members), [&](NodeId node) { return !was_there(node); });
  made.senders = some_of(made.members, subgroup.senders);
  if (!made.senders.empty()) return made;
  made.inadequate = made.members.empty() ? lacks("member", subgroup.members) : lacks("sender", subgroup.senders);
  made.members.clear();
  return made;
}

void put(ByteWriter& to, const AddedSubgroup& subgroup) {
  const Profile& profile = subgroup.profile;
  to.put(static_cast<std::uint32_t>(subgroup.name.size())).put_text(subgroup.name, name_bytes_max);
  to.put(std::uint32_t{subgroup.mode == DeliveryMode::unordered}, std::uint32_t{profile.split_rows}, profile.ring_bytes,
         profile.window_messages, profile.message_bytes_max, profile.bulk_ring_bytes, profile.large_message_bytes);
  put_nodes(to, subgroup.members);
  put_nodes(to, subgroup.senders);
}

std::optional<AddedSubgroup> get_added_subgroup(ByteReader& from) {
  AddedSubgroup subgroup;
  Profile& profile = subgroup.profile;
  const auto name_bytes = from.get<std::uint32_t>();
  if (name_bytes > name_bytes_max) return std::nullopt;
  subgroup.name = printable(from.get_bytes(name_bytes));
  const auto mode = from.get<std::uint32_t>();
  const auto split = from.get<std::uint32_t>();
  for (std::uint64_t* field : {&profile.ring_bytes, &profile.window_messages, &profile.message_bytes_max,
                               &profile.bulk_ring_bytes, &profile.large_message_bytes}) {
    *field = from.get<std::uint64_t>();
  }
  if (mode > 1 || split > 1) return std::nullopt;
  subgroup.mode = mode == 1 ? DeliveryMode::unordered : DeliveryMode::ordered;
  profile.split_rows = split == 1;
  if (!get_nodes(from, subgroup.members) || !get_nodes(from, subgroup.senders)) return std::nullopt;
  if (!subgroup.name.empty() && !check(subgroup)) return std::nullopt;
  return subgroup;
}

}  // namespace spindrift
