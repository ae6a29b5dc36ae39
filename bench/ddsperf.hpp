// ddsperf, the tool by which CycloneDDS measures itself, as a peer of the bench of topics: processes of its own, which meet
// over UDP on loopback in a domain of their own, and whose words are read.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace spindrift::bench {

struct PeerTrips {
  double p50_us = 0;
  double p99_us = 0;
};

/// The rates, in samples per second, that a subscriber says of its whole seconds: the first two, in which the others come,
/// and the last one are left out.
[[nodiscard]] std::vector<double> subscriber_rates(std::string_view said);
/// The medians of the percentiles that a pinger says of its seconds but the first. Nothing: it says none.
[[nodiscard]] std::optional<PeerTrips> pinger_trips(std::string_view said);

/// The way to have it, where it is not installed.
inline constexpr const char* ddsperf_missing = "ddsperf is not installed; apt install cyclonedds-tools";
/// Whether the program is there.
[[nodiscard]] bool ddsperf_installed();
/// One publisher that writes samples of that size as fast as it can, reliably, and so many subscribers: the median second
/// of the one that got the fewest. Takes eight seconds. Throws Exception: resource, bad_input (it says something else).
[[nodiscard]] double ddsperf_samples_per_second(std::uint32_t subscribers, std::uint64_t bytes);
/// Samples to another process and back. Takes five seconds. Throws likewise.
[[nodiscard]] PeerTrips ddsperf_round_trips(std::uint64_t bytes);

}  // namespace spindrift::bench
