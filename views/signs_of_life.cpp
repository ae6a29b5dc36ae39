// One message for all whom it concerns: `Concluding`.
#include <spindrift/views/signs_of_life.hpp>

namespace spindrift::views {
namespace {

/// The same word to all of these but the own node.
std::vector<Addressed> told_to(std::span<const NodeId> nodes, NodeId self, const Concluding& said) {
  std::vector<Addressed> all;
  const std::vector<std::byte> word = encode(said);
  for (const NodeId node : nodes) {
    if (node != self) all.push_back({node, word});
  }
  return all;
}

}  // namespace

// The others go on without waiting for this member's application, and look for it in the next view's rows, which it has not
// yet; newcomers have no other. So all that will be in that view are told by messages.
std::vector<Addressed> signs_of_life(const Epoch& old, std::optional<SubgroupId> at_work) {
  if (!at_work) return {};
  const Decree& decree = old.change().decree();
  std::vector<NodeId> nodes;
  for (std::uint32_t i = 0; i < old.view().members.size(); ++i) {
    if (decree.stays(Rank(i))) nodes.push_back(old.view().members[i]);
  }
  for (const Join& join : decree.joins) nodes.push_back(join.node);
  return told_to(nodes, old.view().members[old.self().value()], {old.id(), *at_work});
}

// The others wait for this member wherever they are: in this view, where its heartbeat tells them; or in one in which they
// do not read its row yet, the next one or this, where the message does. The member's own state may be that of the view
// before.
std::vector<Addressed> signs_amid_pass(const Epoch& present, std::span<const Candidate> candidates, SubgroupId at_work) {
  const ViewChange::State change = present.change().state();
  if (change == ViewChange::State::decided) return signs_of_life(present, at_work);
  const bool steady = change == ViewChange::State::steady;
  std::vector<NodeId> nodes = present.view().members;
  // They may have been taken in by now, without a word of it having come here.
  for (const Candidate& each : candidates) {
    if (!steady) nodes.push_back(each.who.node);
  }
  const ViewId ended(present.id().value() - (steady ? 1 : 0));
  return told_to(nodes, present.view().members[present.self().value()], {ended, at_work});
}

std::vector<Addressed> signs_before_the_first(const View& first, NodeId self, SubgroupId at_work) {
  return told_to(first.members, self, {ViewId(first.id.value() - 1), at_work});
}

}  // namespace spindrift::views
