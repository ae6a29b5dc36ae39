// `spindrift completion`: prints what a shell reads to complete this command's words.
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "commands.hpp"
#include "completion.hpp"
#include "exit_code.hpp"

namespace spindrift::tools {

void add_completion_command(CLI::App& app, Work& chosen) {
  CLI::App* completion = app.add_subcommand("completion", "Print what completes these words in a shell");
  completion->require_subcommand(1);
  completion->footer(
      "An installation has them in the directories where shells look. Otherwise, for example:\n"
      "  source <(spindrift completion bash)\n"
      "  spindrift completion zsh > ~/.zfunc/_spindrift\n"
      "  spindrift completion fish > ~/.config/fish/completions/spindrift.fish\n");
  using Writer = std::string (*)(const std::vector<CompletedCommand>&);
  const auto add = [&](const char* shell, Writer write) {
    completion->add_subcommand(shell, fmt::format("For {}", shell))->callback([&app, &chosen, write] {
      chosen = [&app, write] {
        fmt::print("{}", write(completed_commands(app)));
        return number(ExitCode::success);
      };
    });
  };
  add("bash", bash_completion);
  add("zsh", zsh_completion);
  add("fish", fish_completion);
}

}  // namespace spindrift::tools
