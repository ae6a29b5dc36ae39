// The sizes of rings that a group agrees on for the subgroups of its layout, whatever the files of its members say: so they
// change while it runs. Plain data, a part of the roster.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <spindrift/core/bytes.hpp>
#include <spindrift/core/digest.hpp>

namespace spindrift {

struct SubgroupView;

struct RingSizes {
  std::string subgroup;               ///< its name, as valid_layout_name has it
  std::uint64_t ring_bytes = 0;       ///< as Profile has it
  std::uint64_t window_messages = 0;  ///< as Profile has it
  bool operator==(const RingSizes&) const noexcept = default;
};

inline constexpr std::size_t layout_name_bytes_max = 255;
/// 1 to `layout_name_bytes_max` printable characters.
[[nodiscard]] bool valid_layout_name(std::string_view name);
/// Most subgroups of a layout that a group agrees on.
inline constexpr std::size_t ring_sizes_count_max = 1024;

/// The sizes of these subgroups, in their order.
[[nodiscard]] std::vector<RingSizes> ring_sizes_of(std::span<const SubgroupView> layout);
/// Whether these are sizes of those subgroups, in their order, each of which holds its largest message in them.
[[nodiscard]] bool fit(std::span<const RingSizes> sizes, std::span<const SubgroupView> layout);
/// Those subgroups have these sizes from now on. `sizes`: none, and nothing changes, or as they `fit`.
void set_ring_sizes(std::span<SubgroupView> layout, std::span<const RingSizes> sizes);
/// The sizes of the layout; where a subgroup of `before` has the same name, and these hold its largest message, those.
[[nodiscard]] std::vector<RingSizes> kept_ring_sizes(std::span<const SubgroupView> layout,
                                                     std::span<const RingSizes> before);
[[nodiscard]] Digest digest_of(std::span<const RingSizes> sizes);

/// The same bytes at all members; and back: false, if they are none.
void put_sizes(ByteWriter& to, std::span<const RingSizes> sizes);
[[nodiscard]] bool get_sizes(ByteReader& from, std::vector<RingSizes>& sizes);

}  // namespace spindrift
