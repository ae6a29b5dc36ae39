// Asking, and reading one line.
#include "confirmation.hpp"

#include <unistd.h>

#include <cstdio>

#include <fmt/format.h>

namespace spindrift::tools {

bool says_yes(const std::string& question, const Error& nobody) {
  if (::isatty(STDIN_FILENO) != 1) throw Exception(nobody);
  fmt::print(stderr, "{} Type yes: ", question);
  std::string answer;
  for (int next = std::getchar(); next != EOF && next != '\n'; next = std::getchar()) answer += static_cast<char>(next);
  return answer == "yes";
}

}  // namespace spindrift::tools
