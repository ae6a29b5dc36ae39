// The words between a member and a process of its host that wants the roster changed, a view revived, or a log trimmed or
// adopted: JSON, one packet each way.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/core/roster.hpp>
#include <spindrift/group/adopt_calls.hpp>
#include <spindrift/group/revive_calls.hpp>

namespace spindrift::group {

inline constexpr std::size_t roster_packet_bytes_max = 160U << 10U;
inline constexpr Duration roster_patience_max = std::chrono::minutes(10);

/// The word of those who run a node; see Subgroup::trim_log.
struct LogTrim {
  std::string subgroup;     ///< its name
  std::uint64_t below = 0;  ///< a version
  bool operator==(const LogTrim&) const noexcept = default;
};

struct RosterCall {
  std::vector<RosterChange> changes;  ///< at most `roster_changes_max`; none: it asks for the roster as it is
  Duration patience{};                ///< whole milliseconds, up to `roster_patience_max`
  std::optional<Revive> revive{};     ///< in place of changes; also for who is in no view yet
  std::optional<LogTrim> trim{};      ///< likewise: of the log of the member that is called, alone
  std::optional<LogAdoption> adopt{}; ///< likewise: told to the member that leads the view
};

[[nodiscard]] std::string encode(const RosterCall& call);
/// Errors: bad_input: no call, and why.
[[nodiscard]] Result<RosterCall> decode_roster_call(std::string_view text);

/// The roster, or why there is none.
[[nodiscard]] std::string encode(const Result<Roster>& outcome);
/// The same for who has come over the network, and may mean another group.
[[nodiscard]] std::string encode(const std::string& group, const Result<Roster>& outcome);
/// Errors: refused (it is another group); that one's; bad_input (no member's words).
[[nodiscard]] Result<Roster> decode_roster_outcome(std::string_view text, const std::string& group);

/// The outcome that a member told. Errors: that one's, or bad_input (no member's words).
[[nodiscard]] Result<Roster> decode_roster_outcome(std::string_view text);

}  // namespace spindrift::group
