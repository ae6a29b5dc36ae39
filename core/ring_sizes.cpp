// Sizes beside the subgroups that have them.
#include <spindrift/core/ring_sizes.hpp>

#include <algorithm>

#include <spindrift/core/added_subgroup.hpp>
#include <spindrift/core/check.hpp>
#include <spindrift/core/view.hpp>

namespace spindrift {
namespace {

Profile with_sizes(Profile profile, const RingSizes& sizes) {
  profile.ring_bytes = sizes.ring_bytes;
  profile.window_messages = sizes.window_messages;
  return profile;
}

}  // namespace

bool valid_layout_name(std::string_view name) {
  return !name.empty() && name.size() <= layout_name_bytes_max && printable(std::as_bytes(std::span(name))) == name;
}

std::vector<RingSizes> ring_sizes_of(std::span<const SubgroupView> layout) {
  std::vector<RingSizes> sizes;
  for (const SubgroupView& each : layout)
    sizes.push_back({each.name, each.profile.ring_bytes, each.profile.window_messages});
  return sizes;
}

bool fit(std::span<const RingSizes> sizes, std::span<const SubgroupView> layout) {
  return std::ranges::equal(sizes, layout, [](const RingSizes& of, const SubgroupView& subgroup) {
    return of.subgroup == subgroup.name && check_ring(subgroup.name, with_sizes(subgroup.profile, of)).ok();
  });
}

void set_ring_sizes(std::span<SubgroupView> layout, std::span<const RingSizes> sizes) {
  CHECK(sizes.empty() || sizes.size() == layout.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) layout[i].profile = with_sizes(layout[i].profile, sizes[i]);
}

std::vector<RingSizes> kept_ring_sizes(std::span<const SubgroupView> layout, std::span<const RingSizes> before) {
  std::vector<RingSizes> sizes = ring_sizes_of(layout);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto was = std::ranges::find(before, sizes[i].subgroup, &RingSizes::subgroup);
    if (was != before.end() && fit({&*was, 1}, layout.subspan(i, 1))) sizes[i] = *was;
  }
  return sizes;
}

Digest digest_of(std::span<const RingSizes> sizes) {
  ByteWriter writer;
  put_sizes(writer, sizes);
  return digest_of(std::span<const std::byte>(writer.take()));
}

void put_sizes(ByteWriter& to, std::span<const RingSizes> sizes) {
  to.put(std::uint64_t{sizes.size()});
  for (const RingSizes& each : sizes) {
    to.put(static_cast<std::uint32_t>(std::min(each.subgroup.size(), layout_name_bytes_max)));
    to.put_text(each.subgroup, layout_name_bytes_max).put(each.ring_bytes, each.window_messages);
  }
}

bool get_sizes(ByteReader& from, std::vector<RingSizes>& sizes) {
  const auto count = from.get<std::uint64_t>();
  if (count > ring_sizes_count_max) return false;
  for (std::uint64_t i = 0; i < count && from.ok(); ++i) {
    const auto name = from.get_bytes(from.get<std::uint32_t>());
    RingSizes& next = sizes.emplace_back();
    next.subgroup.assign(reinterpret_cast<const char*>(name.data()), name.size());
    if (!valid_layout_name(next.subgroup)) return false;
    next.ring_bytes = from.get<std::uint64_t>();
    next.window_messages = from.get<std::uint64_t>();
  }
  return from.ok();
}

}  // namespace spindrift
