// The topic of both programs: what IDL would say.
#pragma once

#include <cstdint>
#include <string>

struct Greeting {
  std::int32_t number;
  std::string text;
};
