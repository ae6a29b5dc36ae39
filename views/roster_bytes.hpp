// Rosters and addresses as bytes: the same on their way to others and in a file.
#pragma once

#include <spindrift/core/bytes.hpp>
#include <spindrift/core/roster.hpp>

namespace spindrift::views {

void put_address(ByteWriter& writer, NodeId node, const std::string& endpoint);
/// False: it is none.
[[nodiscard]] bool get_address(ByteReader& reader, NodeId& node, std::string& endpoint);

void put_roster(ByteWriter& writer, const Roster& roster);
/// Any number of nodes, or none; each once. Drained are some of them, ascending, and never all. Added subgroups as
/// `possible` has it. False: it is none.
[[nodiscard]] bool get_roster(ByteReader& reader, Roster& roster);

}  // namespace spindrift::views
