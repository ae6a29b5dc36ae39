// Walks the parser's tree. Descriptions become one line each, in single quotes.
#include "completion.hpp"

#include <algorithm>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace spindrift::tools {
namespace {

using Takes = CompletedOption::Takes;

/// The words that stand between braces in the name of an option's type: "TEXT:{real,max}".
std::vector<std::string> choices_in(const std::string& type) {
  const auto open = type.find('{');
  const auto close = type.find('}', open == std::string::npos ? 0 : open);
  if (open == std::string::npos || close == std::string::npos) return {};
  return CLI::detail::split(type.substr(open + 1, close - open - 1), ',');
}

Takes taken_by(const CLI::Option& option, const std::string& type) {
  if (option.get_items_expected_max() == 0) return Takes::nothing;
  if (type.starts_with("FILE")) return Takes::file;
  if (type.starts_with("DIRECTORY")) return Takes::directory;
  return choices_in(type).empty() ? Takes::text : Takes::choice;
}

CompletedCommand completed(const CLI::App& app, const std::string& path) {
  CompletedCommand command;
  command.path = path;
  for (const CLI::App* below : app.get_subcommands([](const CLI::App* each) { return !each->get_group().empty(); }))
    command.commands.push_back({below->get_name(), below->get_description()});
  for (const CLI::Option* option : app.get_options()) {
    const std::string type = option->get_type_name();
    const Takes takes = taken_by(*option, type);
    for (const std::string& name : option->get_lnames())
      command.options.push_back({{"--" + name, option->get_description()}, takes, choices_in(type)});
    command.takes_files |= option->get_positional() && (takes == Takes::file || takes == Takes::directory);
  }
  return command;
}

void add_below(const CLI::App& app, const std::string& path, std::vector<CompletedCommand>& to) {
  to.push_back(completed(app, path));
  for (const CompletedWord& below : std::vector(to.back().commands))
    add_below(*app.get_subcommand(below.word), path + " " + below.word, to);
}

std::string in_quotes(std::string_view text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : c == '\n' ? " " : std::string(1, c);
  return result + "'";
}

std::string words_of(const CompletedCommand& command) {
  std::string words;
  for (const CompletedWord& each : command.commands) words += each.word + " ";
  for (const CompletedOption& each : command.options) words += each.word + " ";
  return words.empty() ? words : words.substr(0, words.size() - 1);
}

/// An arm of `case` over "path word" for each command below another: the path grows by the word.
std::string paths_pattern(const std::vector<CompletedCommand>& commands) {
  std::string pattern;
  for (std::size_t i = 1; i < commands.size(); ++i) pattern += (i == 1 ? "" : "|") + in_quotes(commands[i].path);
  return pattern;
}

/// How a shell of the family of Bourne's completes what an option takes; `shell` has the calls for files and words.
struct Calls {
  const char* files;
  const char* directories;
  const char* words;  ///< before a list in quotes
};

std::string values_cases(const std::vector<CompletedCommand>& commands, const Calls& calls) {
  std::string cases;
  for (const CompletedCommand& command : commands) {
    for (const CompletedOption& option : command.options) {
      if (option.takes == Takes::nothing) continue;
      std::string call = ":";  // nobody knows the value
      if (option.takes == Takes::file) call = calls.files;
      if (option.takes == Takes::directory) call = calls.directories;
      if (option.takes == Takes::choice)
        call = fmt::format("{} {}", calls.words, in_quotes(fmt::format("{}", fmt::join(option.choices, " "))));
      cases += fmt::format("    {}) {}; return ;;\n", in_quotes(command.path + " " + option.word), call);
    }
  }
  return cases;
}

std::string words_cases(const std::vector<CompletedCommand>& commands, const Calls& calls) {
  std::string cases;
  for (const CompletedCommand& command : commands) {
    cases += fmt::format("    {}) {} {}{} ;;\n", in_quotes(command.path), calls.words, in_quotes(words_of(command)),
                         command.takes_files ? std::string("; ") + calls.files : "");
  }
  return cases;
}

const char* fish_value(Takes takes) {
  switch (takes) {
    case Takes::nothing: return "-f";
    case Takes::file: return "-r -F";
    case Takes::directory: return "-x -a '(__fish_complete_directories)'";
    case Takes::text:
    case Takes::choice: return "-x";
  }
  return "";
}

}  // namespace

std::vector<CompletedCommand> completed_commands(const CLI::App& app) {
  std::vector<CompletedCommand> commands;
  add_below(app, app.get_name(), commands);
  return commands;
}

std::string bash_completion(const std::vector<CompletedCommand>& commands) {
  const Calls calls{"_spindrift_add -f", "_spindrift_add -d", "_spindrift_add -W"};
  return fmt::format(R"(# Completion of spindrift for bash, by `spindrift completion bash`.
_spindrift_add() {{ local line; while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen "$@" -- "$word"); }}
_spindrift() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} path=spindrift i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$path ${{COMP_WORDS[i]}}" in {}) path+=" ${{COMP_WORDS[i]}}" ;; esac
  done
  case "$path ${{COMP_WORDS[COMP_CWORD - 1]}}" in
{}  esac
  case "$path" in
{}  esac
}}
complete -o filenames -F _spindrift spindrift
)",
                     paths_pattern(commands), values_cases(commands, calls), words_cases(commands, calls));
}

std::string zsh_completion(const std::vector<CompletedCommand>& commands) {
  const Calls calls{"_files", "_files -/", "_spindrift_words"};
  return fmt::format(R"(#compdef spindrift
# Completion of spindrift for zsh, by `spindrift completion zsh`.
_spindrift_words() {{ compadd -- ${{=1}} }}
_spindrift() {{
  local at=spindrift i
  for ((i = 2; i < CURRENT; i++)); do
    case "$at ${{words[i]}}" in ({}) at+=" ${{words[i]}}" ;; esac
  done
  case "$at ${{words[CURRENT - 1]}}" in
{}  esac
  case "$at" in
{}  esac
}}
_spindrift "$@"
)",
                     paths_pattern(commands), values_cases(commands, calls), words_cases(commands, calls));
}

std::string fish_completion(const std::vector<CompletedCommand>& commands) {
  std::string known;
  for (const CompletedCommand& command : commands) known += " " + in_quotes(command.path);
  std::string text = fmt::format(R"(# Completion of spindrift for fish, by `spindrift completion fish`.
function __spindrift_at
  set -l path spindrift
  for word in (commandline -opc)[2..-1]
    contains -- "$path $word"{}; and set path "$path $word"
  end
  test "$path" = "$argv[1]"
end
)",
                                 known);
  for (const CompletedCommand& command : commands) {
    const std::string at = fmt::format("complete -c spindrift -n {}", in_quotes("__spindrift_at \"" + command.path + "\""));
    if (!command.takes_files) text += at + " -f\n";
    for (const CompletedWord& below : command.commands)
      text += fmt::format("{} -f -a {} -d {}\n", at, below.word, in_quotes(below.description));
    for (const CompletedOption& option : command.options) {
      const std::string choices =
          option.choices.empty() ? "" : " -a " + in_quotes(fmt::format("{}", fmt::join(option.choices, " ")));
      text += fmt::format("{} -l {} {}{} -d {}\n", at, option.word.substr(2), fish_value(option.takes), choices,
                          in_quotes(option.description));
    }
  }
  return text;
}

}  // namespace spindrift::tools
