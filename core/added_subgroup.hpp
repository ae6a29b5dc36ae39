// Subgroups that a group has beyond those of its configuration: created and dropped while it runs, as members agree.
// A roster lists them by place; the place of one that was dropped is empty, and another may be created there later. Plain
// data.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <spindrift/core/bytes.hpp>
#include <spindrift/core/ids.hpp>
#include <spindrift/core/profile.hpp>
#include <spindrift/core/result.hpp>

namespace spindrift {

struct SubgroupView;

struct AddedSubgroup {
  std::string name{};  ///< as valid_subgroup_name has it; empty: nothing is at this place
  DeliveryMode mode = DeliveryMode::ordered;
  Profile profile{};  ///< as `check` has it
  std::vector<NodeId> members{};  ///< those of them that are in the view; ascending, each once; empty: all of the view
  std::vector<NodeId> senders{};  ///< likewise, some of its members; empty: all of them
  bool operator==(const AddedSubgroup&) const noexcept = default;
};

/// Most added subgroups of a group: a change of the view goes through all, and every row has words for each.
inline constexpr std::size_t added_subgroup_count_max = 256;
/// Most places: as many may be vacated by one roster as filled, and none of these is filled again by the same.
inline constexpr std::size_t added_place_count_max = 2 * added_subgroup_count_max;
/// Most bytes of one member's rings in all of them together. A member has its own, and over fabrics that map no memory a
/// copy of every other's.
inline constexpr std::uint64_t added_ring_bytes_max = std::uint64_t{256} << 20;
/// Most nodes that one of them lists as its members, or as its senders.
inline constexpr std::size_t added_node_count_max = 128;

/// 1 to 64 of A-Z, a-z, 0-9, _, . and -.
[[nodiscard]] bool valid_subgroup_name(std::string_view name) noexcept;
/// The least ring that holds messages of this size well, as configurations have it where they name none.
[[nodiscard]] std::uint64_t derived_ring_bytes(std::uint64_t ring_payload_max) noexcept;

/// Errors: bad_argument: a subgroup of that name cannot have this window, or a ring of this size for messages that are not
/// large.
[[nodiscard]] Result<void> check_ring(const std::string& subgroup, const Profile& profile);
/// Errors: bad_argument: its name, profile, members or senders are impossible.
[[nodiscard]] Result<void> check(const AddedSubgroup& subgroup);
/// Whether one may become the other while the group runs: window, ring and senders change. The members stay, for they have
/// what was delivered; and the mode and the sizes of messages, by which programs build them, and what is sent again was
/// built.
[[nodiscard]] bool may_become(const AddedSubgroup& now, const AddedSubgroup& next);
/// The number and the bytes of rings of those that are there; empty places are none.
[[nodiscard]] std::size_t added_count(std::span<const AddedSubgroup> places) noexcept;
[[nodiscard]] std::uint64_t added_ring_bytes(std::span<const AddedSubgroup> places) noexcept;
/// Whether a roster may have these places: each is empty or possible, no name is there twice, and they keep to the limits.
[[nodiscard]] bool possible(std::span<const AddedSubgroup> places);

/// That subgroup in a view of `members`, in rank order; `before`: as the view before had it, null: it had it not.
[[nodiscard]] SubgroupView in_view(const AddedSubgroup& subgroup, const std::vector<NodeId>& members,
                                   const SubgroupView* before);

/// The same bytes at all members; and back: nothing, if some field is impossible by itself.
void put(ByteWriter& to, const AddedSubgroup& subgroup);
[[nodiscard]] std::optional<AddedSubgroup> get_added_subgroup(ByteReader& from);

}  // namespace spindrift
