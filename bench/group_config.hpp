// The configuration of a group under measurement: a subgroup called "bench" of all members, or several alike, in a runtime
// directory of its own, so that a bench never meets a group that does real work.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <spindrift/core/config/config.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/core/view.hpp>
#include <spindrift/core/work_directory.hpp>

namespace spindrift::bench {

inline constexpr std::string_view subgroup_name = "bench";
/// The first is `subgroup_name`, its like are numbered: "bench1", "bench2", …
[[nodiscard]] std::string numbered_subgroup(std::uint32_t number);

/// The sizes for messages of one length. A `window` or `ring_bytes` of 0 is what a user gets who leaves the key out.
[[nodiscard]] Profile profile_for(std::uint64_t message_bytes, std::uint64_t window = 0, std::uint64_t ring_bytes = 0);
/// The same with the smallest ring that holds the whole window.
[[nodiscard]] Profile tight_profile(std::uint64_t message_bytes, std::uint64_t window) noexcept;
/// The messages of one sender that can be on their way: a window, or what the ring holds.
[[nodiscard]] std::uint64_t most_on_their_way(const Profile& profile, std::uint64_t message_bytes) noexcept;

struct GroupShape {
  std::uint32_t members = 3;  ///< node ids 0 … members − 1
  std::uint32_t senders = 3;  ///< the first of them, at least one
  Profile profile;
  std::vector<ConfigOverride> settings;  ///< for all members, over what the bench sets
  std::uint32_t subgroups = 1;           ///< all with the same members, senders and profile
  std::uint32_t logged_subgroups = 0;    ///< the last so many of these; `settings` say where the journals are
};

/// The value of [SPINDRIFT] addresses for members on fabrics between hosts that are all on this one: each has an address of
/// its own on loopback, so that no two meet at a port.
[[nodiscard]] std::string loopback_addresses(std::uint32_t members);

/// The INI text that all members of the group share.
[[nodiscard]] std::string group_config_text(const GroupShape& shape, const std::string& runtime_directory);

/// The configuration of one member. Errors: bad_config, if a setting of the user is wrong.
[[nodiscard]] Config member_config(const GroupShape& shape, const std::string& runtime_directory, NodeId node);

/// Members of a bench say nothing but errors: what they do to each other is meant. Call in each before it joins.
void log_errors_only();

/// A fresh directory in memory that is removed, with what is in it, by the process that made it; or, where a signal ended
/// that one, by the next bench, when its members have ended, too.
class PrivateDirectory {
 public:
  /// Errors: resource.
  [[nodiscard]] static PrivateDirectory make();

  [[nodiscard]] const std::string& path() const noexcept { return directory_->path(); }

 private:
  explicit PrivateDirectory(std::unique_ptr<WorkDirectory> directory) noexcept : directory_(std::move(directory)) {}
  std::unique_ptr<WorkDirectory> directory_;
};

}  // namespace spindrift::bench
