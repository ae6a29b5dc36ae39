// `spindrift config`: checks, shows and writes configurations.
#include <algorithm>
#include <memory>
#include <span>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "escaped.hpp"
#include "exit_code.hpp"
#include "json_output.hpp"
#include "options.hpp"

namespace spindrift::tools {
namespace {

struct ConfigCommandOptions : CommandOptions {
  bool effective = false;
};

/// The problems that are shown: a file that is no configuration at all may have any number.
constexpr std::size_t problems_shown_max = 100;

std::span<const Error> shown(const std::vector<Error>& problems) {
  return std::span(problems).first(std::min(problems.size(), problems_shown_max));
}

void print_json(const std::vector<Error>& problems, const std::vector<std::string>& notes) {
  constexpr int version = 1;
  auto listed = nlohmann::json::array();
  for (const Error& problem : shown(problems)) listed.push_back(json_of(problem));
  print_document(versioned(
      version, {{"ok", problems.empty()}, {"problem_count", problems.size()}, {"problems", listed}, {"notes", notes}}));
}

void print_text(const std::string& file, const std::vector<Error>& problems, const std::vector<std::string>& notes) {
  for (const Error& problem : shown(problems)) fmt::print(stderr, "{}\n", harmless(problem.to_string()));
  if (problems.size() > problems_shown_max) fmt::print(stderr, "… and {} more\n", problems.size() - problems_shown_max);
  for (const std::string& note : notes) fmt::print("note: {}\n", harmless(note));
  if (problems.empty()) fmt::print("{}: ok\n", harmless(file));
  if (!problems.empty())
    fmt::print(stderr, "{}: {} {}\n", harmless(file), problems.size(), problems.size() == 1 ? "problem" : "problems");
}

int check_config(const ConfigCommandOptions& options) {
  const auto overrides = overrides_of(options);
  const std::vector<Error> problems = Config::check_member(options.config, overrides);
  std::vector<std::string> notes;
  if (problems.empty()) notes = value_or_throw(Config::read(options.config, overrides)).notes();

  options.json ? print_json(problems, notes) : print_text(options.config, problems, notes);
  return number(problems.empty() ? ExitCode::success : ExitCode::usage);
}

void print_values(const std::vector<EffectiveValue>& values) {
  std::string section;
  for (const EffectiveValue& value : values) {
    if (value.section != section) {
      fmt::print("{}[{}]\n", section.empty() ? "" : "\n", value.section);
      section = value.section;
    }
    fmt::print("# {}{}\n{} = {}\n", value.origin, value.used ? "" : "; without effect in this version", value.key,
               value.value.find('\n') == std::string::npos ? value.value : "'" + value.value + "'");
  }
}

void print_json(const std::string& digest, const std::vector<EffectiveValue>& values) {
  constexpr int version = 1;
  auto listed = nlohmann::json::array();
  for (const EffectiveValue& value : values) {
    listed.push_back({{"section", value.section},
                      {"key", value.key},
                      {"value", value.value},
                      {"origin", value.origin},
                      {"documentation", value.documentation},
                      {"environment", value.environment},
                      {"group_wide", value.group_wide},
                      {"used", value.used}});
  }
  print_document(versioned(version, {{"digest", digest}, {"values", listed}}));
}

int show_config(const ConfigCommandOptions& options) {
  const Config config = load_config(options);
  std::vector<EffectiveValue> values;
  for (EffectiveValue& value : config.effective()) {
    const bool set = value.origin.rfind("default", 0) != 0;  // "default", or "default, derived from …"
    if (options.effective || set) values.push_back(std::move(value));
  }
  options.json ? print_json(config.digest().to_string(), values) : print_values(values);
  return number(ExitCode::success);
}

int print_page(const std::string& text) {
  fmt::print("{}", text);
  return number(ExitCode::success);
}

CLI::App* add_file_command(CLI::App& parent, Work& chosen, const CommandText& text,
                           const std::shared_ptr<ConfigCommandOptions>& options, int (*run)(const ConfigCommandOptions&)) {
  CLI::App* command = add_command(parent, chosen, text, options, run);
  command->add_option("file,--config", options->config, "Configuration file; may be given as --config FILE, too")
      ->type_name("FILE")
      ->check(named_file, "")
      ->required();
  add_set_option(*command, *options);
  add_json_option(*command, *options);
  return command;
}

}  // namespace

void add_config_command(CLI::App& app, Work& chosen) {
  auto options = std::make_shared<ConfigCommandOptions>();
  CLI::App* config = app.add_subcommand("config", "Check, show or write a configuration");
  config->require_subcommand(1);

  add_file_command(*config, chosen,
                   {"check", "Report every problem of a configuration",
                    "Examples:\n  spindrift config check derecho.cfg\n  spindrift config check derecho.cfg --json"},
                   options, check_config);
  CLI::App* show = add_file_command(
      *config, chosen,
      {"show", "Print the values that are set and where each comes from",
       "A value comes from a flag, else the environment, else the file, else the default.\n\n"
       "Examples:\n  spindrift config show derecho.cfg\n  spindrift config show --effective --json derecho.cfg"},
      options, show_config);
  show->add_flag("--effective", options->effective, "Print every value in force, defaults included");

  CLI::App* example = config->add_subcommand("example", "Print an example that sets and explains every key");
  example->footer("Example:\n  spindrift config example > derecho.cfg\n");
  example->callback([&chosen] { chosen = [] { return print_page(Config::example()); }; });

  CLI::App* keys = config->add_subcommand("keys", "Print a page that explains every key, in Markdown");
  keys->footer("Example:\n  spindrift config keys > config.md\n");
  keys->callback([&chosen] { chosen = [] { return print_page(Config::reference()); }; });
}

}  // namespace spindrift::tools
