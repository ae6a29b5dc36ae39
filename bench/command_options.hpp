// What the subcommands of `spindrift bench` have in common: options, settings of the user, repeated measurements.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <spindrift/bench/matrix.hpp>
#include <spindrift/bench/report.hpp>
#include <spindrift/core/clock.hpp>
#include <spindrift/core/config/config.hpp>
#include <spindrift/core/result.hpp>

#include "commands.hpp"

namespace spindrift::bench {

struct CommonOptions {
  std::string json;
  std::uint32_t repeats = 3;
  double seconds = 0;
  std::vector<std::string> settings;

  [[nodiscard]] Duration duration() const {
    return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
  }
};

void add_common_options(CLI::App& command, CommonOptions& options);
/// --seconds with its meaning for this command; `options.seconds` holds the default.
void add_seconds_option(CLI::App& command, CommonOptions& options, const std::string& meaning);
/// --senders, one or several of them by name.
void add_senders_option(CLI::App& command, std::vector<Senders>& senders);
/// --set, for commands that run a group.
void add_settings_option(CLI::App& command, CommonOptions& options);

/// Errors: bad_argument.
[[nodiscard]] Result<std::vector<ConfigOverride>> parse_settings(const std::vector<std::string>& settings);

/// Fills the figure with `repeats` measurements and reports it.
[[nodiscard]] Result<void> report_repeated(Report& report, std::uint32_t repeats, Figure figure,
                                           const std::function<Result<double>()>& measure);

/// Chooses `run` as the work of the command line; its error becomes main's.
void choose(tools::Work& chosen, std::function<Result<void>()> run);

// One per file command_<name>.cpp.
void add_multicast_command(CLI::App& bench, tools::Work& chosen);
void add_limits_command(CLI::App& bench, tools::Work& chosen);
void add_model_command(CLI::App& bench, tools::Work& chosen);
void add_ring_command(CLI::App& bench, tools::Work& chosen);
void add_idle_command(CLI::App& bench, tools::Work& chosen);
void add_view_change_command(CLI::App& bench, tools::Work& chosen);
void add_start_command(CLI::App& bench, tools::Work& chosen);
void add_subgroups_command(CLI::App& bench, tools::Work& chosen);
void add_delay_command(CLI::App& bench, tools::Work& chosen);
void add_upcall_command(CLI::App& bench, tools::Work& chosen);
void add_batching_command(CLI::App& bench, tools::Work& chosen);
void add_threads_command(CLI::App& bench, tools::Work& chosen);
void add_object_command(CLI::App& bench, tools::Work& chosen);
void add_connect_command(CLI::App& bench, tools::Work& chosen);
void add_wire_command(CLI::App& bench, tools::Work& chosen);
/// One member of idle and start, in a process of its own; hidden from help.
void add_resident_member_command(CLI::App& bench, tools::Work& chosen);

}  // namespace spindrift::bench
