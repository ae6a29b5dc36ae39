// The keys by which other processes of this host differ from this one, as far as their status files say.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <spindrift/core/guarded_directory.hpp>
#include <spindrift/core/ids.hpp>

namespace spindrift::group {

/// The things that members must agree on, by name; see agreed_values.
using Agreed = std::map<std::string, std::string>;

/// "[SPINDRIFT] suspect_after_ms is 2000 here and 700 there"; empty: they are the same.
[[nodiscard]] std::string differences(const Agreed& here, const Agreed& there);

/// "of node 1, [SPINDRIFT] suspect_after_ms is 2000 here and 700 there", for each of these nodes that runs in this directory
/// and differs; empty: none does, as far as is known. Reads files.
[[nodiscard]] std::string differing_nodes(const GuardedDirectory& directory, const Agreed& here,
                                          const std::vector<NodeId>& nodes);

}  // namespace spindrift::group
