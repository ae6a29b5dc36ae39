// The layout as JSON says it: which subgroups there shall be, before members are assigned. Derecho's form and the plain form
// come out the same. Any text is allowed as input.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <spindrift/core/ids.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/core/view.hpp>

namespace spindrift::config {

/// One subgroup (in Derecho's words: one shard of one subgroup), not yet provided with members.
struct SubgroupPlan {
  std::string name;                            ///< unique in the layout
  std::string path;                            ///< where the JSON says it: "[0].layout[1] shard 0"
  std::optional<std::vector<NodeId>> members;  ///< the plain form names them; nothing: all members of the group
  bool assigned = false;    ///< members are reserved and filled up from a pool, see allocate.hpp
  std::uint32_t pool = 0;   ///< assigned: which pool; 0 is that of all plans of Derecho's form, each sharded plain one has
                            ///< another, of the members that it names
  std::uint32_t minimum = 1;                   ///< least members
  std::uint32_t maximum = 0;                   ///< assigned: up to how many it grows; reserved ones may exceed it
  std::vector<NodeId> reserved;                ///< assigned: members in any case
  std::vector<NodeId> senders;                 ///< empty: all members of the subgroup
  DeliveryMode mode = DeliveryMode::ordered;
  SubgroupStorage storage = SubgroupStorage::memory;
  HistoryBounds history{};  ///< as it is written, so that it may lack what completes it
  std::string profile = "DEFAULT";
  std::vector<std::string> topics;
};

struct Layout {
  std::vector<SubgroupPlan> subgroups;
};

/// The pool of the plans that are added to this layout next: no other has it.
[[nodiscard]] std::uint32_t next_pool(const Layout& layout);

/// The text of a layout, and the place where it stands.
struct LayoutSource {
  std::string_view text;
  std::string file;
  unsigned line = 1;  ///< of the text's first character
};

/// "file:line" or "file:line, layout[0].members".
[[nodiscard]] std::string place_in(const LayoutSource& source, std::string_view path = {});

/// Appends to `problems` what is wrong, each with its place. The layout is complete only if nothing was appended; else it
/// has what could be read, and a field that could not be has the value of one that is not there.
[[nodiscard]] Layout parse_layout(const LayoutSource& source, std::vector<Error>& problems);

inline constexpr std::size_t subgroup_count_max = 1024;

}  // namespace spindrift::config
