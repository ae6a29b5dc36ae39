// The `spindrift` command: parses the command line, runs the chosen subcommand, turns errors into messages and exit codes.
#include <cstdio>
#include <exception>
#include <new>

#include <CLI/CLI.hpp>

#include "commands.hpp"
#include "exit_code.hpp"
#include "run_program.hpp"

namespace spindrift::tools {
namespace {

void add_commands(CLI::App& app, Work& chosen) {
  add_node_command(app, chosen);
  add_send_command(app, chosen);
  add_tail_command(app, chosen);
  add_config_command(app, chosen);
  add_counters_command(app, chosen);
  add_metrics_command(app, chosen);
  add_top_command(app, chosen);
  add_group_command(app, chosen);
  add_doctor_command(app, chosen);
  add_keys_command(app, chosen);
  add_completion_command(app, chosen);
  add_demo_command(app, chosen);
  add_demo_member_command(app, chosen);
#ifdef SPINDRIFT_WITH_BENCH
  add_bench_command(app, chosen);
#endif
}

int parse_and_run(int argument_count, char** arguments) {
  CLI::App app("Spindrift: groups of processes that deliver the same messages in the same order.", "spindrift");
  app.set_version_flag("--version", "spindrift " SPINDRIFT_VERSION);
  app.require_subcommand(1);
  app.footer("Start with:\n  spindrift demo\n  spindrift COMMAND --help\n\n" + exit_codes_text());
  Work chosen;
  add_commands(app, chosen);
  return run_program(app, chosen, argument_count, arguments);
}

}  // namespace
}  // namespace spindrift::tools

int main(int argument_count, char** arguments) {
  try {
    return spindrift::tools::parse_and_run(argument_count, arguments);
  } catch (const std::bad_alloc&) {  // before the commands are known; nothing is allocated any more
    std::fputs("spindrift: this process gets no more memory, not even for its commands; fix: raise the limit of its address "
               "space (ulimit -v)\n", stderr);
    return spindrift::tools::number(spindrift::tools::ExitCode::resource);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "spindrift: %s\n", failure.what());
    return spindrift::tools::number(spindrift::tools::ExitCode::failure);
  }
}
