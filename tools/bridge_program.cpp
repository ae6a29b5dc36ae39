// The step from `spindrift bridge` to the program that has Cyclone DDS, which no other command is to wait for.
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "bridge_command.hpp"

namespace spindrift::tools {
namespace {

/// This process's arguments, as the kernel has them.
std::vector<std::string> own_arguments() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> arguments;
  for (std::string each; std::getline(file, each, '\0');) arguments.push_back(each);
  return arguments;
}

}  // namespace

int become_bridge(const BridgeOptions&) {
  const auto program = std::filesystem::read_symlink("/proc/self/exe").parent_path() / bridge_program;
  std::vector<std::string> arguments = own_arguments();
  std::vector<char*> values;
  for (std::string& each : arguments) values.push_back(each.data());
  values.push_back(nullptr);
  ::execv(program.c_str(), values.data());
  if (errno == ENOENT) {
    throw Exception(Error(ErrorKind::unsupported,
                          "spindrift was built or installed without Cyclone DDS: there is no " + program.string())
                        .at("spindrift bridge")
                        .fix("install the package spindrift-bridge; or, to build it, install cyclonedds-dev, configure and "
                             "build again"));
  }
  throw Exception(system_error("exec " + program.string(), errno));
}

}  // namespace spindrift::tools
