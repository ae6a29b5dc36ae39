// The topic of both programs: what IDL would say.
#pragma once

#include <cstdint>
#include <vector>

namespace ThroughputModule {

struct DataType {
  std::uint64_t count;
  std::vector<std::uint8_t> payload;
};

}  // namespace ThroughputModule
