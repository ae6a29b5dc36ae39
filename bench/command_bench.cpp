// `spindrift bench`: one command per question that a user has about a machine and a group.
#include <spindrift/bench/command_options.hpp>

namespace spindrift::tools {

void add_bench_command(CLI::App& app, Work& chosen) {
  CLI::App* command = app.add_subcommand("bench", "Measure this machine's groups beside what the machine allows");
  command->require_subcommand(1);
  command->footer(
      "Examples:\n  spindrift bench multicast --quick\n  spindrift bench idle --json -\n\n"
      "What each figure means: docs/bench.md");
  const bench::Commands to{*command, chosen};
  bench::add_multicast_command(to);
  bench::add_latency_command(to);
  bench::add_limits_command(to);
  bench::add_view_change_command(to);
  bench::add_roster_command(to);
  bench::add_subgroups_command(to);
  bench::add_observers_command(to);
  bench::add_wire_command(to);
  bench::add_rpc_command(to);
  bench::add_clients_command(to);
  bench::add_journal_command(to);
  bench::add_durable_command(to);
  bench::add_dds_command(to);
  bench::add_state_command(to);
  bench::add_connect_command(to);
  bench::add_idle_command(to);
  bench::add_start_command(to);
  bench::add_resident_member_command(to);
}

}  // namespace spindrift::tools
