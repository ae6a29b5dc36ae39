// A view: the agreed, numbered list of members with their subgroups. Plain data; everything that members must agree on
// without talking (row layout, ranks, order) is a pure function of it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <spindrift/core/ids.hpp>
#include <spindrift/core/roster.hpp>

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
  std::uint64_t message_bytes_max = 0;  ///< largest payload, at most half of the ring that it lies in, less 8 bytes in the
                                        ///< row's ring
  std::uint64_t bulk_ring_bytes = 0;    ///< of a sender's ring for large messages: 0 (none are large) or a power of two
  std::uint64_t large_message_bytes = 0;  ///< with a bulk ring: a payload of more bytes than this lies there; at least 16
  bool split_rows = false;  ///< a sender's ring lies in memory of its own, which members of the subgroup alone are shown

  /// Largest payload that lies in the row's ring.
  [[nodiscard]] constexpr std::uint64_t ring_payload_max() const noexcept {
    return bulk_ring_bytes == 0 || message_bytes_max < large_message_bytes ? message_bytes_max : large_message_bytes;
  }
};
/// A subgroup as one view has it.
struct SubgroupView {
  std::string name;             ///< unique in the view
  std::vector<NodeId> members;  ///< members of the previous view's in that order, then newcomers in rank order; at least
                                ///< one, unless inadequate
  std::vector<NodeId> senders;  ///< those of the members that may send, in the same order; at least one, unless inadequate
  DeliveryMode mode = DeliveryMode::ordered;  ///< the same in all views
  Profile profile;                            ///< the same in all views
  std::vector<std::string> topics;  ///< topics that travel through this subgroup; unique in the view
  std::string inadequate{};         ///< why it has no members in this view, in words for people; empty: it is adequate

  [[nodiscard]] std::optional<std::uint32_t> member_position(NodeId node) const;  ///< none: no member
  [[nodiscard]] std::optional<SenderRank> sender_rank(NodeId node) const;  ///< none: it may not send
};
/// An agreed list of members, and what it makes of the subgroups.
struct View {
  ViewId id;                                ///< grows by one from view to view
  std::vector<NodeId> members;              ///< in rank order, no duplicates
  std::vector<SubgroupView> subgroups;      ///< SubgroupId is the position, the same in every view of a group
  std::vector<std::uint64_t> incarnations{};  ///< by rank; empty where it does not matter (tests of one view)
  std::uint64_t table_bytes = 0;  ///< of each row, for the program's own tables; the same in all views
  Roster roster{};  ///< the nodes that may be in the group, all members among them; empty where it does not matter, likewise

  [[nodiscard]] std::optional<Rank> rank_of(NodeId node) const;  ///< none: no member
  [[nodiscard]] const SubgroupView& subgroup(SubgroupId which) const { return subgroups.at(which.value()); }  ///< in range
};

/// Most members of a view.
inline constexpr std::size_t member_count_max = 128;

/// The subgroups of the view of `members` (in rank order, at least one) that follows `previous` (null: the first view). Pure
/// and the same at all members of a group, so that they need not agree on more than the members. A member that is in both
/// views stays in its subgroups, also a node that was restarted in between; a caller to whom that matters takes it out of
/// the subgroups of the `previous` that it passes. Any thread.
using LayoutFunction = std::function<std::vector<SubgroupView>(const std::vector<NodeId>& members, const View* previous)>;

}  // namespace spindrift
