// Declares the commands of benches: their options, the report that it fills, and the error that becomes main's.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include <spindrift/bench/group_network.hpp>
#include <spindrift/bench/matrix.hpp>
#include <spindrift/bench/report.hpp>
#include <spindrift/core/clock.hpp>
#include <spindrift/core/config/config.hpp>

#include "commands.hpp"
#include "number_option.hpp"

namespace spindrift::bench {

/// The options that all commands have; each adds its own by inheritance, with its defaults.
struct BenchOptions {
  std::string json;
  std::uint32_t repeats = 3;  ///< 0: the command has no --repeat
  double seconds = 0;
  std::vector<std::string> settings;
  std::string fabric;    ///< of the group; empty: not set
  std::string security;  ///< the same
  std::string beside;    ///< the fabric of a second group, which takes turns with it; empty: there is none

  [[nodiscard]] Duration duration() const {
    return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
  }
  /// The `--set` of the command line. Throws Exception: bad_argument.
  [[nodiscard]] std::vector<ConfigOverride> overrides() const;
  /// The settings that reach that network, and the `--set` of the command line, which wins. Throws Exception: bad_argument.
  [[nodiscard]] std::vector<ConfigOverride> settings_for(const GroupNetwork& network) const;
  /// The networks of --fabric and --security, for nodes 0 … members − 1. Throws Exception: bad_argument, resource.
  [[nodiscard]] GroupNetwork network(std::uint32_t members) const { return GroupNetwork::make(fabric, security, members); }
  /// The network of --beside; nothing: there is none. Throws Exception: as above.
  [[nodiscard]] std::optional<GroupNetwork> network_beside(std::uint32_t members) const;
  /// A figure's words for the networks, if the command line names any.
  void describe_networks(Parameters& parameters) const;
};

/// The program's commands, and where the one that was chosen is kept.
struct Commands {
  CLI::App& app;
  tools::Work& chosen;
};

class Command {
 public:
  /// `run` measures and reports; what it throws goes to main. Adds --json, and --repeat if there are repeats.
  template <class Options>
  Command(const Commands& to, const char* name, const char* question, const std::string& examples,
          const std::shared_ptr<Options>& options, void (*run)(const Options&, FigureReport&))
      : app_(*to.app.add_subcommand(name, question)), options_(*options) {
    app_.footer("Examples:\n" + examples);
    app_.callback([options, run, &chosen = to.chosen] {
      chosen = [options, run] {
        FigureReport report(options->json);
        run(*options, report);
        return 0;
      };
    });
    add_common();
  }

  /// --seconds with its meaning for this command; the options hold the default.
  Command& seconds(const std::string& meaning);
  /// --set, for commands that run a group.
  Command& settings();
  /// --fabric and --security, for commands that run a group.
  Command& network();
  /// --beside as well, for those that run a second group beside it, by turns.
  Command& networks();
  /// --senders, one or several of them by name.
  Command& senders(std::vector<Senders>& senders);

  template <class T>
  CLI::Option* number(const char* name, T& value, const char* meaning, std::type_identity_t<T> least,
                      std::type_identity_t<T> most) {
    return app_.add_option(name, value, meaning)->check(tools::number_from(least, most))->capture_default_str();
  }
  template <class T>
  CLI::Option* list(const char* name, std::vector<T>& values, const char* meaning, std::type_identity_t<T> least,
                    std::type_identity_t<T> most) {
    return app_.add_option(name, values, meaning)
        ->delimiter(',')
        ->check(tools::number_from(least, most))
        ->capture_default_str();
  }
  CLI::App* operator->() noexcept { return &app_; }

 private:
  void add_common();

  CLI::App& app_;
  BenchOptions& options_;
};

/// --provider, of benches of connectionless queue pairs.
void add_provider_option(Command& command, std::string& provider);

/// The CLI's spelling of settings. Throws Exception: bad_argument.
[[nodiscard]] std::vector<ConfigOverride> parse_settings(const std::vector<std::string>& settings);

/// Fills the figure with `repeats` measurements and reports it.
void report_repeated(FigureReport& report, std::uint32_t repeats, Figure figure, const std::function<double()>& measure);

// One per question; each is in the file command_<name>.cpp, or in that of the question nearest to it.
void add_multicast_command(const Commands& to);
void add_latency_command(const Commands& to);
void add_limits_command(const Commands& to);
void add_idle_command(const Commands& to);
void add_start_command(const Commands& to);
/// One member of idle and start, in a process of its own; hidden from help.
void add_resident_member_command(const Commands& to);
void add_view_change_command(const Commands& to);
void add_roster_command(const Commands& to);
void add_subgroups_command(const Commands& to);
void add_observers_command(const Commands& to);
void add_connect_command(const Commands& to);
void add_wire_command(const Commands& to);
void add_rpc_command(const Commands& to);
void add_clients_command(const Commands& to);
void add_journal_command(const Commands& to);
void add_durable_command(const Commands& to);
void add_dds_command(const Commands& to);
void add_state_command(const Commands& to);

}  // namespace spindrift::bench
