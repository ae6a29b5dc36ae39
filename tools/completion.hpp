// Scripts by which shells complete the command's words, made from the parser that takes the words itself, so that the two
// cannot differ.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace spindrift::tools {

/// A word and what help says of it.
struct CompletedWord {
  std::string word;
  std::string description;
};

struct CompletedOption : CompletedWord {
  enum class Takes { nothing, text, file, directory, choice };
  Takes takes = Takes::nothing;
  std::vector<std::string> choices{};  ///< if it takes one of them
};

/// One command; hidden ones have none.
struct CompletedCommand {
  std::string path;  ///< "spindrift config check"
  std::vector<CompletedWord> commands;
  std::vector<CompletedOption> options;
  bool takes_files = false;  ///< as words without an option
};

/// The app's own, then all below it.
[[nodiscard]] std::vector<CompletedCommand> completed_commands(const CLI::App& app);

/// Scripts that the shells read.
[[nodiscard]] std::string bash_completion(const std::vector<CompletedCommand>& commands);
[[nodiscard]] std::string zsh_completion(const std::vector<CompletedCommand>& commands);
[[nodiscard]] std::string fish_completion(const std::vector<CompletedCommand>& commands);

}  // namespace spindrift::tools
