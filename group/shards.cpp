// Finding the shards of a subgroup by their names.
#include <spindrift/group/shards.hpp>

#include <spindrift/core/result.hpp>
#include <spindrift/core/shards.hpp>
#include <spindrift/group/group_core.hpp>

namespace spindrift {

Shards::Shards(GroupCore& core, std::string_view subgroup) : core_(core), name_(subgroup) {
  ids_.push_back(core.channels().find(subgroup).id());
  for (;;) {
    const auto next = core.channels().seek(shard_name(name_, count()));
    if (!next) return;
    ids_.push_back(*next);
  }
}

std::optional<std::uint32_t> Shards::mine() const {
  const View view = core_.environment().state.view();
  for (std::uint32_t shard = 0; shard < count(); ++shard) {
    if (view.subgroup(ids_[shard]).member_position(core_.self())) return shard;
  }
  return std::nullopt;
}

std::uint32_t Shards::of(std::string_view key) const { return shard_of(key, count()); }
std::uint32_t Shards::of(std::span<const std::byte> key) const { return shard_of(key, count()); }
std::uint32_t Shards::of(std::uint64_t key) const { return shard_of(key, count()); }

void Shards::check(std::uint32_t shard) const {
  if (shard < count()) return;
  throw Exception(Error(ErrorKind::bad_argument, "subgroup " + name_ + " has no shard " + std::to_string(shard))
                      .fix("use one of 0 to " + std::to_string(count() - 1)));
}

std::string Shards::name(std::uint32_t shard) const {
  check(shard);
  return shard_name(name_, shard);
}

Subgroup& Shards::subgroup(std::uint32_t shard) const {
  check(shard);
  return core_.channels()[ids_[shard]].handle();
}

}  // namespace spindrift
