// The words of qualities in files, of profiles and of recordings, each in the order of its policy's numbers.
#pragma once

#include <array>
#include <string_view>

namespace spindrift::topics::qos_words {

inline constexpr std::array<std::string_view, 4> durabilities{"volatile", "transient_local", "transient", "persistent"};
inline constexpr std::array<std::string_view, 2> histories{"keep_last", "keep_all"};
inline constexpr std::array<std::string_view, 2> reliabilities{"best_effort", "reliable"};
inline constexpr std::array<std::string_view, 2> ownerships{"shared", "exclusive"};
inline constexpr std::array<std::string_view, 3> livelinesses{"automatic", "manual_by_participant", "manual_by_topic"};
inline constexpr std::array<std::string_view, 2> orders{"by_reception_timestamp", "by_source_timestamp"};
inline constexpr std::array<std::string_view, 3> scopes{"instance", "topic", "group"};

}  // namespace spindrift::topics::qos_words
