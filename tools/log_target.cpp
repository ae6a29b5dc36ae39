// A node is named, or is the only one that has a journal here.
#include "log_target.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <spindrift/core/config/contacts.hpp>
#include <spindrift/core/ids_text.hpp>

#include "privileges.hpp"

namespace spindrift::tools {
namespace {

group::JournalPlace place_of(const Config& config) {
  if (auto place = group::journal_place(config)) return *std::move(place);
  throw Exception(Error(ErrorKind::bad_config, "[PERS] file_path is empty: no node of this group keeps a journal")
                      .at(config.name())
                      .fix("name the directory of the members' journals there, or by --set PERS/file_path=DIRECTORY"));
}

/// The nodes that have one on this host, ascending.
std::vector<NodeId> nodes_in(const group::JournalPlace& place) {
  std::vector<NodeId> nodes;
  std::error_code failure;
  std::filesystem::directory_iterator at(place.of_group(), failure);
  for (; !failure && at != std::filesystem::directory_iterator(); at.increment(failure)) {
    const std::string name = at->path().filename();
    std::uint32_t node = 0;
    const auto [end, bad] = std::from_chars(name.data(), name.data() + name.size(), node);
    if (bad == std::errc() && end == name.data() + name.size()) nodes.emplace_back(node);
  }
  if (failure && failure != std::errc::no_such_file_or_directory) {
    throw Exception(system_error("open", failure.value())
                        .at(place.of_group())
                        .fix(fix_for_unreadable()));
  }
  std::ranges::sort(nodes);
  return nodes;
}

NodeId node_of(const Config& config, const group::JournalPlace& place) {
  const std::vector<NodeId> nodes = nodes_in(place);
  const bool said = has_local_id(config);
  if (!said && nodes.size() == 1) return nodes.front();
  if (!said && nodes.size() > 1)
    throw Exception(Error(ErrorKind::bad_argument, "several nodes have a journal here")
                        .at(place.of_group())
                        .fix("give --id one of: " + listed(nodes)));
  const NodeId node = config.local_id();
  if (std::ranges::find(nodes, node) != nodes.end()) return node;
  throw Exception(Error(ErrorKind::resource, fmt::format("node {} has no journal here", node))
                      .at(place.of(node))
                      .fix(nodes.empty() ? "run the command on the node's host; a node makes its journal when it starts"
                                         : "give --id one of: " + listed(nodes)));
}

}  // namespace

LogTarget log_target_of(const CommandOptions& options) {
  const Config config = load_config_with_warnings(options);
  group::JournalPlace place = place_of(config);
  View layout = value_or_throw(config.view());
  const NodeId node = node_of(config, place);
  return {options.config, std::move(layout), place.of(node), place.owner(node), node};
}

}  // namespace spindrift::tools
