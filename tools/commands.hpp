// The subcommands of `spindrift`. Each file command_<name>.cpp adds one; parsing only chooses the work, main runs it.
#pragma once

#include <functional>

namespace CLI {
class App;
class Option;
}

namespace spindrift::tools {

/// A chosen subcommand's work, options included. Returns the exit code; may throw Exception, which main reports.
using Work = std::function<int()>;

void add_node_command(CLI::App& app, Work& chosen);
void add_send_command(CLI::App& app, Work& chosen);
void add_tail_command(CLI::App& app, Work& chosen);
void add_config_command(CLI::App& app, Work& chosen);
void add_counters_command(CLI::App& app, Work& chosen);
void add_metrics_command(CLI::App& app, Work& chosen);
void add_group_command(CLI::App& app, Work& chosen);
void add_log_command(CLI::App& app, Work& chosen);
void add_keys_command(CLI::App& app, Work& chosen);
void add_demo_command(CLI::App& app, Work& chosen);
/// One member of the demo, in a process of its own; hidden from help.
void add_demo_member_command(CLI::App& app, Work& chosen);
void add_demo_page_command(CLI::App& app, Work& chosen);
void add_doctor_command(CLI::App& app, Work& chosen);
void add_topic_command(CLI::App& app, Work& chosen);
void add_idl_command(CLI::App& app, Work& chosen);
void add_top_command(CLI::App& app, Work& chosen);
/// It completes what the app has when it runs.
void add_completion_command(CLI::App& app, Work& chosen);
void add_bench_command(CLI::App& app, Work& chosen);

}  // namespace spindrift::tools
