// The topic of ping and pong: what IDL would say.
#pragma once

#include <cstdint>
#include <vector>

namespace RoundTripModule {

struct DataType {
  std::vector<std::uint8_t> payload;
};

}  // namespace RoundTripModule
