// Samples as JSON that people write: each object has each key once.
#pragma once

#include <string>
#include <string_view>

#include <spindrift/dds/dynamic_sample.hpp>

namespace spindrift::tools {

/// `place`: for people, where the text is from. Takes time as the text is long, however many keys an object has. Throws
/// bad_input, with the place in the text: no JSON, a key that an object has twice, a number that no field could have.
[[nodiscard]] topics::SampleJson parse_sample_json(std::string_view text, const std::string& place);

}  // namespace spindrift::tools
