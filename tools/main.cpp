// The `spindrift` command: parses the command line, runs the chosen subcommand, turns errors into messages and exit codes.
#include <csignal>
#include <cstdio>
#include <exception>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <spindrift/core/result.hpp>

#include "commands.hpp"
#include "exit_code.hpp"

namespace spindrift::tools {
namespace {

void add_commands(CLI::App& app, Work& chosen) {
  add_node_command(app, chosen);
  add_send_command(app, chosen);
  add_tail_command(app, chosen);
  add_config_command(app, chosen);
  add_counters_command(app, chosen);
  add_group_command(app, chosen);
  add_doctor_command(app, chosen);
  add_demo_command(app, chosen);
  add_demo_member_command(app, chosen);
#ifdef SPINDRIFT_WITH_BENCH
  add_bench_command(app, chosen);
#endif
}

int run(const Work& work) {
  try {
    return work();
  } catch (const Exception& failure) {
    fmt::print(stderr, "spindrift: {}\n", failure.what());
    return number(exit_code_of(failure.error().kind()));
  } catch (const std::exception& failure) {
    fmt::print(stderr, "spindrift: {}\n", failure.what());
    return number(ExitCode::failure);
  }
}

int parse_and_run(int argument_count, char** arguments) {
  std::signal(SIGPIPE, SIG_IGN);  // a reader that goes away is an error of a write, not this member's death
  CLI::App app("Spindrift: groups of processes that deliver the same messages in the same order.", "spindrift");
  app.set_version_flag("--version", "spindrift " SPINDRIFT_VERSION);
  app.require_subcommand(1);
  app.footer("Start with:\n  spindrift demo\n  spindrift COMMAND --help\n\n" + exit_codes_text());
  Work chosen;
  add_commands(app, chosen);
  try {
    app.parse(argument_count, arguments);
  } catch (const CLI::Success& help) {  // --help and --version
    return app.exit(help);
  } catch (const CLI::ParseError& mistake) {
    app.exit(mistake);
    return number(ExitCode::usage);
  }
  return run(chosen);
}

}  // namespace
}  // namespace spindrift::tools

int main(int argument_count, char** arguments) {
  try {
    return spindrift::tools::parse_and_run(argument_count, arguments);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "spindrift: %s\n", failure.what());
    return spindrift::tools::number(spindrift::tools::ExitCode::failure);
  }
}
