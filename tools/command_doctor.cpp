// `spindrift doctor`: what this machine has of what members need.
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "doctor.hpp"
#include "exit_code.hpp"
#include "json_output.hpp"
#include "number_option.hpp"
#include "options.hpp"
#include "table.hpp"

namespace spindrift::tools {
namespace {

const char* name_of(Finding::Grade grade) {
  switch (grade) {
    case Finding::Grade::good: return "ok";
    case Finding::Grade::note: return "note";
    case Finding::Grade::bad: return "bad";
  }
  return "";
}

void print_json(const std::vector<Finding>& findings, bool bad) {
  constexpr int version = 1;
  auto listed = nlohmann::json::array();
  for (const Finding& finding : findings) {
    listed.push_back(
        {{"what", finding.what}, {"grade", name_of(finding.grade)}, {"text", finding.text}, {"fix", finding.fix}});
  }
  print_document(versioned(version, {{"ok", !bad}, {"findings", listed}}));
}

int examine_host(const CommandOptions& options) {
  std::optional<Needs> needs;
  if (!options.config.empty()) needs = value_or_throw(needs_of(load_config_with_warnings(options)));
  const std::vector<Finding> findings = examine(look_at_host(needs), needs);
  bool bad = false;
  for (const Finding& finding : findings) bad |= finding.grade == Finding::Grade::bad;
  if (options.json) {
    print_json(findings, bad);
  } else {
    TextTable table({TextTable::Align::left, TextTable::Align::left, TextTable::Align::left});
    for (const Finding& finding : findings) {
      table.add({name_of(finding.grade), finding.what, finding.text});
      if (!finding.fix.empty()) table.add({"", "", "fix: " + finding.fix});
    }
    table.print();
  }
  return number(bad ? ExitCode::resource : ExitCode::success);
}

}  // namespace

void add_doctor_command(CLI::App& app, Work& chosen) {
  auto options = std::make_shared<CommandOptions>();
  const CommandText text{
      "doctor", "Say what this machine lacks for running members, and how to mend it",
      "Changes nothing. Ends with code 7 if members would not start, or not run well.\n\n"
      "Examples:\n  spindrift doctor\n  spindrift doctor --config derecho.cfg --id 1 --json"};
  CLI::App* command = add_command(app, chosen, text, options, examine_host);
  CLI::Option* config =
      command->add_option("--config", options->config, "Configuration whose members are to run here")
          ->type_name("FILE")
          ->check(named_file, "");
  command->add_option("--id", options->id, "The node whose address is tried; short for --set DERECHO/local_id=N")
      ->type_name("N")
      ->check(number_from(0U, node_id_max))
      ->needs(config);
  add_set_option(*command, *options)->needs(config);
  add_json_option(*command, *options);
}

}  // namespace spindrift::tools
