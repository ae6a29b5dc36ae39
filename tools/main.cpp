// The `spindrift` command: parses the command line, runs the chosen subcommand, turns errors into messages and exit codes.
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <new>
#include <string_view>

#include <CLI/CLI.hpp>

#include <spindrift/views/versions.hpp>

#include "bridge_command.hpp"
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
  add_log_command(app, chosen);
  add_topic_command(app, chosen);
  add_bridge_command(app, chosen, become_bridge);
  add_idl_command(app, chosen);
  add_doctor_command(app, chosen);
  add_keys_command(app, chosen);
  add_completion_command(app, chosen);
  add_demo_command(app, chosen);
  add_demo_member_command(app, chosen);
  add_demo_page_command(app, chosen);
#ifdef SPINDRIFT_WITH_BENCH
  add_bench_command(app, chosen);
#endif
}

constexpr std::string_view no_memory =
    "spindrift: this process gets no more memory, not even for its commands; fix: raise the limit of its address space "
    "(ulimit -v)\n";

/// Objects of libraries that are made before `main` throw to nobody.
[[noreturn]] void end_before_main() {
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, no_memory.data(), no_memory.size());
  ::_exit(number(ExitCode::resource));
}

[[gnu::constructor(101)]] void watch_until_main() { std::set_new_handler(end_before_main); }

int parse_and_run(int argument_count, char** arguments) {
  CLI::App app("Spindrift: groups of processes that deliver the same messages in the same order.", "spindrift");
  app.set_version_flag("--version",
                       "spindrift " SPINDRIFT_VERSION ", protocol " + views::to_string(views::spoken_versions()));
  app.require_subcommand(1);
  app.footer("Start with:\n  spindrift demo\n  spindrift COMMAND --help\n\n" + exit_codes_text());
  Work chosen;
  add_commands(app, chosen);
  return run_program(app, chosen, argument_count, arguments);
}

}  // namespace
}  // namespace spindrift::tools

int main(int argument_count, char** arguments) {
  std::set_new_handler(nullptr);
  try {
    return spindrift::tools::parse_and_run(argument_count, arguments);
  } catch (const std::bad_alloc&) {  // before the commands are known; nothing is allocated any more
    std::fputs(spindrift::tools::no_memory.data(), stderr);
    return spindrift::tools::number(spindrift::tools::ExitCode::resource);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "spindrift: %s\n", failure.what());
    return spindrift::tools::number(spindrift::tools::ExitCode::failure);
  }
}
