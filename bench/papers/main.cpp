// `spindrift_papers`: runs one paper's experiment, and turns what it throws into a message and an exit code.
#include <csignal>
#include <cstdio>
#include <exception>

#include <spindrift/bench/papers/commands.hpp>

#include "exit_code.hpp"

namespace spindrift::bench {
namespace {

void add_commands(const Commands& to) {
  add_model_command(to);
  add_batching_command(to);
  add_delay_command(to);
  add_upcall_command(to);
  add_threads_command(to);
  add_object_command(to);
  add_mesh_command(to);
  add_lookups_command(to);
  add_pool_command(to);
  add_memory_command(to);
  add_verbs_command(to);
  add_share_command(to);
}

int parse_and_run(int argument_count, char** arguments) {
  std::signal(SIGPIPE, SIG_IGN);
  CLI::App app("The experiments of the papers that Spindrift follows. What each figure means: docs/bench.md",
               "spindrift_papers");
  app.require_subcommand(1);
  tools::Work chosen;
  add_commands({app, chosen});
  try {
    app.parse(argument_count, arguments);
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& mistake) {
    app.exit(mistake);
    return number(tools::ExitCode::usage);
  }
  return chosen();
}

}  // namespace
}  // namespace spindrift::bench

int main(int argument_count, char** arguments) {
  using namespace spindrift;
  try {
    return bench::parse_and_run(argument_count, arguments);
  } catch (const Exception& failure) {
    std::fprintf(stderr, "spindrift_papers: %s\n", failure.what());
    return number(tools::exit_code_of(failure.error().kind()));
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "spindrift_papers: %s\n", failure.what());
    return number(tools::ExitCode::failure);
  }
}
