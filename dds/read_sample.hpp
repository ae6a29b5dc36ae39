// A sample as a reader hands it out, and the choice of those that are asked for.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include <spindrift/core/digest.hpp>
#include <spindrift/dds/endpoint.hpp>

namespace spindrift::topics {

// The bits of states, by OMG's numbers.
inline constexpr std::uint32_t sample_read = 1, sample_not_read = 2;
inline constexpr std::uint32_t view_new = 1, view_not_new = 2;
inline constexpr std::uint32_t instance_alive = 1, instance_disposed = 2, instance_no_writers = 4;

/// A sample as it is handed out, with what is known of it then.
struct ReadSample {
  std::shared_ptr<const void> data;  ///< null: only its instance's state changed
  Digest instance;
  EndpointId writer;
  std::int64_t source_timestamp = 0;
  std::uint32_t sample_state = sample_not_read;
  std::uint32_t view_state = view_new;
  std::uint32_t instance_state = instance_alive;
  std::uint32_t disposed_generation = 0;
  std::uint32_t no_writers_generation = 0;
  std::uint32_t sample_rank = 0;               ///< so many of its instance are behind it in what is handed out
  std::uint32_t generation_rank = 0;           ///< generations between it and the last of its instance in what is handed out
  std::uint32_t absolute_generation_rank = 0;  ///< and the last that came
};

/// The samples that a call asks for.
struct SampleSelection {
  std::uint32_t sample_states = 3;
  std::uint32_t view_states = 3;
  std::uint32_t instance_states = 7;
  std::size_t most = SIZE_MAX;
  std::optional<Digest> instance{};
  bool from_first = false;                     ///< the first instance of which there are such samples
  std::optional<Digest> behind{};              ///< the first instance behind that one of which there are such samples
  std::function<bool(const void*)> matches{};  ///< empty: all; not asked of samples without data
};

}  // namespace spindrift::topics
