// Names of subgroups, compared with those of a view of all.
#include <spindrift/group/steady_layout.hpp>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include <spindrift/core/ids_text.hpp>

namespace spindrift::group {
namespace {

std::vector<std::string> names_of(const std::vector<SubgroupView>& subgroups) {
  std::vector<std::string> names;
  for (const SubgroupView& each : subgroups) names.push_back(each.name);
  return names;
}

std::string words_of(const std::vector<std::string>& names, const std::vector<NodeId>& members) {
  const std::string what = names.empty() ? "no subgroup" : (names.size() == 1 ? "subgroup " : "subgroups ") + listed(names);
  return what + " for " + (members.size() == 1 ? "node " : "nodes ") + listed(members);
}

/// The layout, the nodes for which it was asked first, and what it gave for them.
struct Steady {
  LayoutFunction layout;
  std::vector<NodeId> nodes;
  std::vector<std::string> names;

  void require(const std::vector<SubgroupView>& subgroups, const std::vector<NodeId>& members) const {
    const std::vector<std::string> given = names_of(subgroups);
    if (given == names) return;
    throw LayoutVaries(Error(ErrorKind::bad_argument,
                             "the program's layout has " + words_of(names, nodes) + ", and " + words_of(given, members))
                           .at("GroupOptions::layout")
                           .fix("give the same subgroups in the same order in every view: one that lacks members is there "
                                "without them, and inadequate"));
  }
  std::vector<SubgroupView> operator()(const std::vector<NodeId>& members, const View* previous) const {
    std::vector<SubgroupView> subgroups = layout(members, previous);
    require(subgroups, members);
    return subgroups;
  }
};

void try_without(NodeId node, const Steady& made, const View& all) {
  std::vector<NodeId> rest;
  std::ranges::copy_if(all.members, std::back_inserter(rest), [&](NodeId each) { return each != node; });
  if (rest.empty()) return;
  std::vector<SubgroupView> subgroups;
  try {
    subgroups = made.layout(rest, &all);
  } catch (...) {
    return;  // there is no such view, and need be none
  }
  made.require(subgroups, rest);
}

}  // namespace

LayoutFunction steady(LayoutFunction layout, const std::vector<NodeId>& nodes) {
  View all;
  all.members = nodes;
  all.incarnations.assign(nodes.size(), 1);
  all.subgroups = layout(nodes, nullptr);
  const Steady made{std::move(layout), nodes, names_of(all.subgroups)};
  for (const NodeId node : nodes) try_without(node, made, all);
  return made;
}

}  // namespace spindrift::group
