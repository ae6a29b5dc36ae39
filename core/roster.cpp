// Changes of a roster, one behind the other.
#include <spindrift/core/roster.hpp>

#include <algorithm>

#include <spindrift/core/bytes.hpp>
#include <spindrift/core/view.hpp>

namespace spindrift {
namespace {

// A place that this edition vacates is filled by none before the next one: in between every member sees it empty, and
// forgets what was there.
void create(Roster& roster, const AddedSubgroup& subgroup, const Roster& before) {
  std::size_t place = 0;
  const auto is_empty = [&](const Roster& in) { return place >= in.added.size() || in.added[place].name.empty(); };
  while (!is_empty(before) || !is_empty(roster)) ++place;
  if (place == roster.added.size()) roster.added.emplace_back();
  roster.added[place] = subgroup;
}

/// `before`: the present edition, of which the roster is to be the next one.
void apply(Roster& roster, const RosterChange& change, const Roster& before) {
  const auto at = std::ranges::find(roster.nodes, change.node, &NodeAddress::node);
  std::vector<NodeId>& drained = roster.drained;
  switch (change.kind) {
    case RosterChange::Kind::add: roster.nodes.push_back({change.node, change.endpoint}); break;
    case RosterChange::Kind::remove:
      roster.nodes.erase(at);
      std::erase(drained, change.node);
      break;
    case RosterChange::Kind::move: at->endpoint = change.endpoint; break;
    case RosterChange::Kind::drain: drained.insert(std::ranges::lower_bound(drained, change.node), change.node); break;
    case RosterChange::Kind::undrain: std::erase(drained, change.node); break;
    case RosterChange::Kind::create: create(roster, change.subgroup, before); break;
    case RosterChange::Kind::resize:
      *std::ranges::find(roster.sizes, change.sizes.subgroup, &RingSizes::subgroup) = change.sizes;
      roster.filed = {};
      break;
    case RosterChange::Kind::drop:
    case RosterChange::Kind::change:
      std::ranges::replace_if(
          roster.added, [&](const AddedSubgroup& each) { return each.name == change.subgroup.name; },
          change.kind == RosterChange::Kind::drop ? AddedSubgroup() : change.subgroup);
      break;
  }
}

Error impossible(std::string what) { return Error(ErrorKind::bad_argument, std::move(what)); }

Result<void> check_endpoint(const std::string& endpoint) {
  const bool is_printable = printable(std::as_bytes(std::span(endpoint))) == endpoint;
  if (endpoint.size() <= endpoint_bytes_max && is_printable) return {};
  return impossible("an address has at most " + std::to_string(endpoint_bytes_max) + " printable characters")
      .fix("give it as host:port");
}

std::string name_of(NodeId node) { return "node " + std::to_string(node.value()); }

/// Two nodes at one address could not both be reached.
Result<void> check_free(const Roster& roster, const RosterChange& change) {
  const auto taken = [&](const NodeAddress& each) {
    return !change.endpoint.empty() && each.endpoint == change.endpoint && each.node != change.node;
  };
  const auto other = std::ranges::find_if(roster.nodes, taken);
  if (other == roster.nodes.end()) return check_endpoint(change.endpoint);
  return impossible(name_of(change.node) + " cannot be at " + change.endpoint + ", the address of " + name_of(other->node))
      .fix("give it a host or a port of its own, or move the other one first");
}

Result<void> check_addition(const Roster& roster, const RosterChange& change) {
  const NodeAddress* const there = roster.find(change.node);
  if (there != nullptr && roster.is_drained(change.node)) {
    return impossible(name_of(change.node) + " is in the roster already, and drained")
        .fix("let it in again: spindrift group drain " + std::to_string(change.node.value()) + " --undo");
  }
  if (there != nullptr && there->endpoint == change.endpoint) return {};
  if (there != nullptr) {
    return impossible(name_of(change.node) + " is in the roster already, at " +
                      (there->endpoint.empty() ? "no address" : there->endpoint))
        .fix("move it to another address, or add a node with another id");
  }
  if (const std::size_t most = roster_count_max_in(roster.version); roster.nodes.size() >= most) {
    const bool later = most < roster_count_max;
    return impossible("the roster has " + std::to_string(most) + " nodes, as many as it may" +
                      (later ? " while a member is of an earlier release" : ""))
        .fix(later ? "upgrade all members, or remove nodes that are not needed any more"
                   : "remove nodes that are not needed any more");
  }
  return check_free(roster, change);
}

/// A group is one of nodes that may be in it; and if all members that are there go, it is none, for those that may be in it
/// find nobody.
Result<void> check_rest(const Roster& roster, NodeId without, const std::vector<NodeId>& members) {
  const auto stays = [&](NodeId node) { return node != without && roster.admits(node); };
  if (std::ranges::none_of(roster.nodes, stays, &NodeAddress::node)) {
    return impossible(name_of(without) + " is the only one in the roster" +
                      (roster.drained.empty() ? "" : " that is not drained"))
        .fix("add another one first, or end the group by stopping it");
  }
  if (std::ranges::find(members, without) == members.end() || std::ranges::any_of(members, stays)) return {};
  return impossible(name_of(without) +
                    " cannot be taken out: no member of the view would stay, and the group would end with it")
      .fix("start another node of the roster first, or end the group by stopping its members");
}

/// Members that are drained leave while the view lasts, and may be gone before they have: the others have to be able to end
/// it alone.
Result<void> check_drain(const Roster& roster, NodeId node, const std::vector<NodeId>& members) {
  SPINDRIFT_TRY(check_rest(roster, node, members));
  if (std::ranges::find(members, node) == members.end()) return {};
  const auto stays = [&](NodeId member) { return member != node && roster.admits(member); };
  const auto left = static_cast<std::size_t>(std::ranges::count_if(members, stays));
  const std::size_t majority = members.size() / 2 + 1;
  if (left >= majority) return {};
  return impossible(name_of(node) + " cannot be drained: of the view's " + std::to_string(members.size()) +
                    (members.size() == 1 ? " member " : " members ") + std::to_string(left) +
                    " would stay, and a majority is " + std::to_string(majority))
      .fix("let other nodes in first (spindrift group add, or spindrift group drain with --undo), or drain fewer at once; "
           "who is not to come back is removed (spindrift group remove)");
}

/// `instead`: bytes of rings that it has now.
Result<void> check_rings(const Roster& roster, const AddedSubgroup& subgroup, std::uint64_t instead) {
  const std::uint64_t bytes = subgroup.profile.ring_bytes + subgroup.profile.bulk_ring_bytes;
  const std::uint64_t taken = added_ring_bytes(roster.added) - instead;
  if (taken + bytes <= added_ring_bytes_max) return {};
  return impossible("subgroup " + subgroup.name + " has rings of " + std::to_string(bytes) + " bytes, and of the " +
                    std::to_string(added_ring_bytes_max) + " that created subgroups may have together " +
                    std::to_string(taken) + " are taken")
      .fix("give it smaller rings, or drop some subgroups");
}

/// The whole of the roster has to go into every row, and into messages.
Result<void> check_creation(const Roster& roster, const AddedSubgroup& subgroup, const View& view) {
  SPINDRIFT_TRY(check(subgroup));
  const std::string name = "subgroup " + subgroup.name;
  if (view.in_layout(subgroup.name) != nullptr)
    return impossible(name + " is one of the configuration's").fix("use it, or give the new one another name");
  if (const AddedSubgroup* const there = roster.find_added(subgroup.name)) {
    if (*there == subgroup) return {};
    return impossible(name + " is there already, with another mode, profile, members or senders")
        .fix("use it as it is, or change it: spindrift group change-subgroup " + subgroup.name);
  }
  if (added_count(roster.added) >= added_subgroup_count_max) {
    return impossible(name + " would be one too many: " + std::to_string(added_subgroup_count_max) + " were created")
        .fix("drop some that are not needed any more");
  }
  return check_rings(roster, subgroup, 0);
}

/// A member's own rings change with the view; what programs have seen of a subgroup does not.
Result<void> check_new_values(const Roster& roster, const AddedSubgroup& now, const AddedSubgroup& next) {
  SPINDRIFT_TRY(check(next));
  if (now == next) return {};
  if (!may_become(now, next)) {
    return impossible("subgroup " + now.name + " keeps its members, its mode and the sizes of its messages")
        .fix("change window, ring or senders alone; or drop it, and create it anew");
  }
  return check_rings(roster, next, now.profile.ring_bytes + now.profile.bulk_ring_bytes);
}

Result<void> check_resize(const Roster& roster, const RosterChange& change, const View& view) {
  const SubgroupView* const of_layout = view.in_layout(change.sizes.subgroup);
  if (of_layout == nullptr || roster.find_sizes(change.sizes.subgroup) == nullptr) {
    return impossible("the configuration has no subgroup named \"" + change.sizes.subgroup + "\"")
        .fix("see which there are: spindrift group status");
  }
  Profile profile = of_layout->profile;
  profile.ring_bytes = change.sizes.ring_bytes;
  profile.window_messages = change.sizes.window_messages;
  return check_ring(of_layout->name, profile);
}

Result<void> check_of_subgroup(const Roster& roster, const RosterChange& change, const View& view) {
  if (change.node != NodeId() || !change.endpoint.empty()) {
    return impossible("a change of a subgroup is for a node, or at an address").fix("leave node and address out");
  }
  if (change.kind == RosterChange::Kind::resize) return check_resize(roster, change, view);
  if (change.kind == RosterChange::Kind::create) return check_creation(roster, change.subgroup, view);
  const std::string& name = change.subgroup.name;
  if (view.in_layout(name) != nullptr) {
    return impossible("subgroup " + name + " is one of the configuration's, and is there as long as the group")
        .fix("change the files of all members, and start the group again");
  }
  const AddedSubgroup* const there = roster.find_added(name);
  if (there != nullptr && change.kind == RosterChange::Kind::change)
    return check_new_values(roster, *there, change.subgroup);
  if (there != nullptr) return {};
  return impossible("no subgroup is named \"" + name + "\"").fix("see which there are: spindrift group subgroups");
}

/// A change that is about a node, and adds none.
Result<void> check_of_node(const Roster& roster, const RosterChange& change, const View& view) {
  if (!change.has_endpoint() && !change.endpoint.empty()) {
    return impossible(name_of(change.node) + " is given an address, and does not change it").fix("leave the address out");
  }
  if (!roster.contains(change.node)) {
    return impossible(name_of(change.node) + " is not in the roster").fix("see the roster: spindrift group roster");
  }
  switch (change.kind) {
    case RosterChange::Kind::move: return check_free(roster, change);
    case RosterChange::Kind::remove: return check_rest(roster, change.node, view.members);
    case RosterChange::Kind::drain:
      return in_effect(roster, change) ? Result<void>() : check_drain(roster, change.node, view.members);
    default: return {};
  }
}

}  // namespace

const AddedSubgroup* Roster::find_added(std::string_view name) const noexcept {
  const auto at = std::ranges::find_if(added, [&](const auto& each) { return !name.empty() && each.name == name; });
  return at == added.end() ? nullptr : &*at;
}

const RingSizes* Roster::find_sizes(std::string_view name) const noexcept {
  const auto at = std::ranges::find(sizes, name, &RingSizes::subgroup);
  return at == sizes.end() ? nullptr : &*at;
}

bool Roster::is_drained(NodeId node) const noexcept { return std::ranges::binary_search(drained, node); }

const NodeAddress* Roster::find(NodeId node) const noexcept {
  const auto at = std::ranges::find(nodes, node, &NodeAddress::node);
  return at == nodes.end() ? nullptr : &*at;
}

std::string Roster::endpoint_of(NodeId node) const {
  const NodeAddress* const there = find(node);
  return there == nullptr ? std::string() : there->endpoint;
}

Digest Roster::digest() const {
  ByteWriter writer;
  writer.put(edition, std::uint64_t{version}, std::uint64_t{nodes.size()});
  for (const NodeAddress& each : nodes) {
    writer.put(each.node, std::uint64_t{each.endpoint.size()});
    writer.put_text(each.endpoint, each.endpoint.size());
  }
  for (const NodeId node : drained) writer.put(node);
  writer.put(std::uint64_t{added.size()});
  for (const AddedSubgroup& each : added) put(writer, each);
  put_sizes(writer, sizes);
  writer.put(filed.words);
  return digest_of(writer.take());
}

bool in_effect(const Roster& roster, const RosterChange& change) {
  const NodeAddress* const there = roster.find(change.node);
  switch (change.kind) {
    case RosterChange::Kind::add:
      return there != nullptr && there->endpoint == change.endpoint && !roster.is_drained(change.node);
    case RosterChange::Kind::remove: return there == nullptr;
    case RosterChange::Kind::move: return there != nullptr && there->endpoint == change.endpoint;
    case RosterChange::Kind::drain: return roster.is_drained(change.node);
    case RosterChange::Kind::undrain: return roster.admits(change.node);
    case RosterChange::Kind::resize: {
      const RingSizes* const now = roster.find_sizes(change.sizes.subgroup);
      return now != nullptr && *now == change.sizes && roster.filed == Digest();
    }
    case RosterChange::Kind::create:
    case RosterChange::Kind::change: {
      const AddedSubgroup* const same = roster.find_added(change.subgroup.name);
      return same != nullptr && *same == change.subgroup;
    }
    case RosterChange::Kind::drop: return roster.find_added(change.subgroup.name) == nullptr;
  }
  return false;
}

Result<void> check(const Roster& roster, const RosterChange& change, const View& view) {
  if (change.is_of_subgroup()) return check_of_subgroup(roster, change, view);
  return change.kind == RosterChange::Kind::add ? check_addition(roster, change) : check_of_node(roster, change, view);
}

Result<void> check_count(std::span<const RosterChange> changes) {
  if (changes.size() <= roster_changes_max) return {};
  return impossible("more changes of the roster at once than one call may make")
      .fix("make at most " + std::to_string(roster_changes_max) + " in one call");
}

Result<void> check(const Roster& roster, std::span<const RosterChange> changes, const View& view) {
  Roster next = roster;
  for (const RosterChange& change : changes) {
    if (in_effect(next, change)) continue;
    SPINDRIFT_TRY(check(next, change, view));
    apply(next, change, roster);
  }
  return {};
}

Roster next_edition(const Roster& roster, std::span<const RosterChange> changes, const View& view) {
  Roster next = roster;
  for (const RosterChange& change : changes) {
    if (check(next, change, view) && !in_effect(next, change)) apply(next, change, roster);
  }
  if (next != roster) ++next.edition;
  return next;
}

}  // namespace spindrift
