// A view: the agreed, numbered list of members with their subgroups. Plain data; everything that members must agree on
// without talking (row layout, ranks, order) is a pure function of it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <spindrift/core/ids.hpp>

namespace spindrift {

/// How a subgroup hands messages to the application.
enum class DeliveryMode : std::uint8_t {
  ordered,    ///< atomic: same total order at all members, nothing before everybody holds it
  unordered,  ///< on receipt, first in first out per sender
};

/// The sizes of a subgroup's rings. Equal at all members.
struct Profile {
  std::uint64_t ring_bytes = 0;         ///< power of two, 4 KiB … 1 GiB
  std::uint64_t window_messages = 0;    ///< most records of one sender in flight, 1 … 2^20
  std::uint64_t message_bytes_max = 0;  ///< largest payload, at most ring_bytes / 2 − 8
};

struct SubgroupView {
  std::string name;               ///< unique in the view
  std::vector<NodeId> members;    ///< in rank order; at least one
  std::vector<NodeId> senders;    ///< subset of members, in sender rank order; at least one
  DeliveryMode mode = DeliveryMode::ordered;
  Profile profile;
  std::vector<std::string> topics;  ///< topics that travel through this subgroup; unique in the view
  std::string inadequate{};  ///< why this subgroup has no members in this view; empty: it is adequate

  [[nodiscard]] std::optional<std::uint32_t> member_position(NodeId node) const;
  [[nodiscard]] std::optional<SenderRank> sender_rank(NodeId node) const;
};

struct View {
  ViewId id;
  std::vector<NodeId> members;       ///< in rank order, no duplicates
  std::vector<SubgroupView> subgroups;   ///< SubgroupId is the position
  std::vector<std::uint64_t> incarnations{};  ///< by rank; empty where it does not matter (tests of one view)

  [[nodiscard]] std::optional<Rank> rank_of(NodeId node) const;
  [[nodiscard]] const SubgroupView& subgroup(SubgroupId which) const { return subgroups.at(which.value()); }
};

/// Most members of a view.
inline constexpr std::size_t member_count_max = 128;

/// Which of `members` (in rank order) are in which subgroup, given the view before, or null for the first. Pure: all members
/// call it with the same arguments and must get the same. Always the same subgroups in the same order.
using LayoutFunction = std::function<std::vector<SubgroupView>(const std::vector<NodeId>& members, const View* previous)>;

}  // namespace spindrift
