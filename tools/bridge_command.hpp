// `spindrift bridge` as the command line has it. The work is done by a program of its own, which alone needs Cyclone DDS.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "topic_session.hpp"

namespace spindrift::tools {

struct BridgeOptions : TopicOptions {
  std::vector<std::string> topics;
  std::uint32_t cyclone_domain = 0;
  std::string direction = "both";

  [[nodiscard]] bool to_cyclone() const { return direction != "from-cyclone"; }
  [[nodiscard]] bool from_cyclone() const { return direction != "to-cyclone"; }
};

/// Adds the command with `run` as its work.
void add_bridge_command(CLI::App& app, Work& chosen, int (*run)(const BridgeOptions&));
/// Becomes the program that does the work. Throws unsupported: it is not there.
int become_bridge(const BridgeOptions& options);
/// Its name, beside this program.
inline constexpr const char* bridge_program = "spindrift-bridge";

}  // namespace spindrift::tools
