// JSON as the bytes of a sample: each value is held against its field, and the first that does not fit is named by its
// path.
#pragma once

#include <cstddef>
#include <vector>

#include <spindrift/dds/dynamic_sample.hpp>

namespace spindrift::topics {

/// Errors: bad_input, as DynamicSample::from_json says.
[[nodiscard]] Result<std::vector<std::byte>> bytes_of_json(const DynamicType& type, const SampleJson& json);

}  // namespace spindrift::topics
