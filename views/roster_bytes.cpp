// Each field within what it can be, or nothing is taken.
#include <spindrift/views/roster_bytes.hpp>

#include <algorithm>

namespace spindrift::views {

void put_address(ByteWriter& writer, NodeId node, const std::string& endpoint) {
  writer.put(node, static_cast<std::uint32_t>(std::min(endpoint.size(), endpoint_bytes_max)));
  writer.put_text(endpoint, endpoint_bytes_max);
}

bool get_address(ByteReader& reader, NodeId& node, std::string& endpoint) {
  node = reader.get<NodeId>();
  const auto bytes = reader.get<std::uint32_t>();
  if (!reader.ok() || bytes > endpoint_bytes_max) return false;
  const auto text = reader.get_bytes(bytes);
  endpoint = printable(text);
  return reader.ok() && std::ranges::equal(std::as_bytes(std::span(endpoint)), text);
}

void put_roster(ByteWriter& writer, const Roster& roster) {
  writer.put(roster.edition, roster.version, std::uint32_t{0}, std::uint64_t{roster.nodes.size()});
  for (const NodeAddress& each : roster.nodes) put_address(writer, each.node, each.endpoint);
  writer.put(std::uint64_t{roster.drained.size()});
  for (const NodeId node : roster.drained) writer.put(node);
  writer.put(std::uint64_t{roster.added.size()});
  for (const AddedSubgroup& subgroup : roster.added) put(writer, subgroup);
  put_sizes(writer, roster.sizes);
  writer.put(roster.filed.words);
}

bool get_roster(ByteReader& reader, Roster& roster) {
  roster.edition = reader.get<std::uint64_t>();
  roster.version = reader.get<std::uint32_t>();
  if (reader.get<std::uint32_t>() != 0) return false;
  const auto count = reader.get<std::uint64_t>();
  if (!reader.ok() || count > roster_count_max_in(roster.version)) return false;
  for (std::uint64_t i = 0; i < count; ++i) {
    NodeAddress next;
    if (!get_address(reader, next.node, next.endpoint) || roster.contains(next.node)) return false;
    roster.nodes.push_back(std::move(next));
  }
  const auto drained = reader.get<std::uint64_t>();
  if (drained != 0 && drained >= roster.nodes.size()) return false;
  for (std::uint64_t i = 0; i < drained; ++i) {
    const auto node = reader.get<NodeId>();
    if (!roster.contains(node) || (!roster.drained.empty() && !(roster.drained.back() < node))) return false;
    roster.drained.push_back(node);
  }
  const auto places = reader.get<std::uint64_t>();
  if (!reader.ok() || places > added_place_count_max) return false;
  for (std::uint64_t i = 0; i < places; ++i) {
    auto subgroup = get_added_subgroup(reader);
    if (!subgroup) return false;
    roster.added.push_back(*std::move(subgroup));
  }
  if (!get_sizes(reader, roster.sizes)) return false;
  roster.filed.words = reader.get<decltype(Digest::words)>();
  return reader.ok() && possible(roster.added);
}

}  // namespace spindrift::views
