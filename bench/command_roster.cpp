// `spindrift bench roster`: what adding and removing nodes costs a group under load, and that it loses nothing.
#include <tuple>

#include <spindrift/bench/command_options.hpp>
#include <spindrift/bench/delivered_record.hpp>
#include <spindrift/bench/roster_changes.hpp>

namespace spindrift::bench {

namespace {

struct RosterBenchOptions : BenchOptions {
  RosterBenchOptions() {
    repeats = 0;  // rounds take their place
    seconds = 0.1;
  }
  std::vector<std::string> fabrics{"shm", "tcp"};
  std::uint32_t members = 3;
  std::uint32_t most = 9;
  std::uint32_t rounds = 3;
  std::uint64_t message_bytes = 1024;
  std::uint64_t window = 100;
};

/// All rounds of one fabric so far.
struct SeenRounds {
  RosterChangeTimes added, removed;
  std::vector<double> sent, delivered, views;
};

void append(std::vector<double>& to, const std::vector<double>& more) { to.insert(to.end(), more.begin(), more.end()); }

void append(RosterChangeTimes& to, const RosterChangeTimes& more) {
  append(to.gaps_ms, more.gaps_ms);
  append(to.quiet_gaps_ms, more.quiet_gaps_ms);
  append(to.view_gaps_ms, more.view_gaps_ms);
  append(to.changes_ms, more.changes_ms);
}

void append(SeenRounds& to, const RosterResult& round) {
  append(to.added, round.added);
  append(to.removed, round.removed);
  to.sent.push_back(static_cast<double>(round.sent));
  to.delivered.push_back(static_cast<double>(round.delivered));
  to.views.push_back(static_cast<double>(round.views));
}

/// One fabric's rounds, and the words of its figures.
struct RosterFigures {
  Parameters parameters;
  SeenRounds seen;
};

using Times = std::vector<double> RosterChangeTimes::*;

/// Figures of each fabric and kind of change.
void report_changes(const char* bench, Times times, Times limits, const std::vector<RosterFigures>& figures,
                    FigureReport& report) {
  for (const RosterFigures& each : figures) {
    for (const auto& [change, which] : {std::pair("add", &SeenRounds::added), {"remove", &SeenRounds::removed}}) {
      const RosterChangeTimes& all = each.seen.*which;
      Parameters parameters = each.parameters;
      parameters.emplace_back("change", std::string(change));
      report_times(report, bench, parameters, all.*times, limits ? all.*limits : std::vector<double>());
    }
  }
}

void report_all(const std::vector<RosterFigures>& figures, FigureReport& report) {
  report_changes("deliveries stand still around a change", &RosterChangeTimes::gaps_ms, &RosterChangeTimes::quiet_gaps_ms,
                 figures, report);
  report_changes("deliveries stand still between two views", &RosterChangeTimes::view_gaps_ms, nullptr, figures, report);
  report_changes("a change, until all deliver in its view", &RosterChangeTimes::changes_ms, nullptr, figures, report);
  for (const auto& [bench, counts, unit] : {std::tuple("sent by all members", &SeenRounds::sent, "messages"),
                                            {"delivered at all members", &SeenRounds::delivered, "messages"},
                                            {"sequences compared", &SeenRounds::views, "views"}}) {
    for (const RosterFigures& each : figures) report.add({bench, each.parameters, unit, each.seen.*counts, {}});
  }
}

void run_roster_bench(const RosterBenchOptions& options, FigureReport& report) {
  if (options.members >= options.most)
    throw Exception(Error(ErrorKind::bad_argument, "no node would be added").fix("give --most more than --members"));
  std::vector<GroupNetwork> networks;
  std::vector<RosterFigures> figures;
  for (const std::string& fabric : options.fabrics) {
    networks.push_back(GroupNetwork::make(fabric, fabric == "tcp" ? options.security : "", options.most));
    figures.push_back({{{"fabric", networks.back().name()},
                        {"members", std::uint64_t{options.members}},
                        {"most", std::uint64_t{options.most}},
                        {"bytes", options.message_bytes},
                        {"window", options.window}},
                       {}});
  }
  const Profile profile =
      options.window > 0 ? tight_profile(options.message_bytes, options.window) : profile_for(options.message_bytes);
  // Fabrics take turns: whatever else the machine does falls on all of them.
  for (std::uint32_t round = 0; round < options.rounds; ++round) {
    for (std::size_t i = 0; i < networks.size(); ++i) {
      append(figures[i].seen, run_roster_changes({options.members, options.most, options.message_bytes, profile,
                                                  options.duration(), options.settings_for(networks[i])}));
    }
  }
  report_all(figures, report);
}

}  // namespace

void add_roster_command(const Commands& to) {
  auto options = std::make_shared<RosterBenchOptions>();
  Command command(to, "roster", "How long deliveries stand still when nodes are added and removed, and that nothing is lost",
                  "  spindrift bench roster\n  spindrift bench roster --fabric tcp --security none --rounds 10 --json -\n"
                  "  spindrift bench roster --members 3 --most 5 --seconds 1",
                  options, run_roster_bench);
  command.seconds("Load without any change after each of them, at least").settings();
  command.number("--members", options->members, "Members at first, and others in the end", 2, roster_nodes_max - 1);
  command.number("--most", options->most, "Members between, when the last one is added", 3, roster_nodes_max);
  command.number("--rounds", options->rounds, "Groups of each fabric that go there and back", 1, 500);
  command.number("--size", options->message_bytes, "Payload bytes", stamped_bytes_min, 1 << 20);
  command.number("--window", options->window, "Messages of a sender on their way, in a ring for just these; 0: defaults", 0,
                 1 << 16);
  command->add_option("--fabric", options->fabrics, "Fabrics, which take turns")
      ->type_name("NAME,…")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--security", options->security, "Of the fabric tcp; keys are made for the run where it is tls")
      ->check(CLI::IsMember({"tls", "none"}));
}

}  // namespace spindrift::bench
