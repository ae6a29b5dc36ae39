// The first byte of a message about endpoints.
#pragma once

#include <cstdint>

namespace spindrift::topics {

enum class EndpointWord : std::uint8_t { here = 1, gone = 2, alive = 4 };

}  // namespace spindrift::topics
