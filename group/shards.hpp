// The shards of a subgroup: disjoint parts of its members, each a subgroup of its own with its own order. A key belongs to
// one of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <spindrift/core/ids.hpp>

namespace spindrift {

class GroupCore;
class Subgroup;

/// The shards of one subgroup of a group's layout; a subgroup that is not cut has one. Made by Group::shards, and must not
/// be used after its Group. All functions are thread-safe.
class Shards {
 public:
  /// How many: at least 1, the same in all views.
  [[nodiscard]] std::uint32_t count() const noexcept { return static_cast<std::uint32_t>(ids_.size()); }
  /// The shard that this process is in, in the present view. Nothing: it is in none. It stays in its shard from view to
  /// view while that has its minimum of members.
  [[nodiscard]] std::optional<std::uint32_t> mine() const;

  /// The shard of a key: text or any bytes, or a number, which is its 8 bytes, the lowest first. The same at all members, on
  /// all machines and in all versions: FNV-1a of 64 bits over the bytes, mixed by the last step of MurmurHash3, and then
  /// jump consistent hashing (Lamping and Veach, 2014), so that one shard more takes only keys that are its own then.
  [[nodiscard]] std::uint32_t of(std::string_view key) const;
  [[nodiscard]] std::uint32_t of(std::span<const std::byte> key) const;
  [[nodiscard]] std::uint32_t of(std::uint64_t key) const;

  /// The name of that shard's subgroup, for Group::subgroup, replicated and objects. Throws bad_argument: there is no such
  /// shard.
  [[nodiscard]] std::string name(std::uint32_t shard) const;
  /// That shard's subgroup. Throws as `name`.
  [[nodiscard]] Subgroup& subgroup(std::uint32_t shard) const;

 private:
  friend class Group;
  Shards(GroupCore& core, std::string_view subgroup);
  void check(std::uint32_t shard) const;

  GroupCore& core_;
  std::string name_;
  std::vector<SubgroupId> ids_;  // by shard
};

}  // namespace spindrift
