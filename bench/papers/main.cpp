// `spindrift_papers`: runs one experiment of a paper.
#include <spindrift/bench/papers/commands.hpp>

#include "run_program.hpp"

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

}  // namespace
}  // namespace spindrift::bench

int main(int argument_count, char** arguments) {
  using namespace spindrift;
  CLI::App app("The experiments of the papers that Spindrift follows. What each figure means: docs/bench/papers.md",
               "spindrift_papers");
  app.require_subcommand(1);
  tools::Work chosen;
  bench::add_commands({app, chosen});
  return tools::run_program(app, chosen, argument_count, arguments);
}
