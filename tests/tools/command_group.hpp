// A group of commands, each a process of its own.
#pragma once

#include <csignal>
#include <string>
#include <vector>

#include "command.hpp"

namespace spindrift::test {

/// A group of three in a runtime directory of its own.
struct GroupFixture {
  Directory directory;
  std::string config =
      directory.file("group.cfg", "[SPINDRIFT]\nmembers = 0, 1, 2\nruntime_directory = " + directory.path() + "\n" +
                                      "join_timeout_ms = 30000\n[LAYOUT]\njson_layout = '[{\"name\": \"orders\"}, "
                                      "{\"name\": \"audit\", \"senders\": [1]}]'\n");

  [[nodiscard]] std::vector<std::string> arguments(const std::string& command, int id,
                                                   std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {command, "--config", config, "--id", std::to_string(id)});
    return more;
  }
  /// Until `spindrift group` says so: members write down some milliseconds later what they say.
  void await_word(const std::string& what, const std::string& text) const {
    while (run({"group", what, "--config", config}).output.find(text) == std::string::npos) ::usleep(1000);
  }
};

/// Lets a node leave.
inline CommandResult end(Command& node) {
  node.send_signal(SIGTERM);
  return node.finish();
}

inline std::string lines(int from, int to) {
  std::string text;
  for (int i = from; i <= to; ++i) text += "line " + std::to_string(i) + "\n";
  return text;
}

}  // namespace spindrift::test
