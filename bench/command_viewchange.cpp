// `spindrift bench viewchange`: how long a death and a join hold up a group under load.
#include <algorithm>

#include <spindrift/bench/command_options.hpp>
#include <spindrift/bench/viewchange.hpp>

namespace spindrift::bench {

namespace {

constexpr std::uint32_t rounds_of_a_turn = 5;

struct ViewChangeOptions : BenchOptions {
  ViewChangeOptions() { repeats = 0; }  // rounds take their place
  std::uint32_t members = 4;
  std::uint32_t senders = 0;  ///< 0: all
  std::uint32_t rounds = 30;
  std::uint64_t message_bytes = 1024;
  std::vector<std::uint64_t> state_bytes{0, 1 << 20};
};

void append(std::vector<double>& to, const std::vector<double>& more) { to.insert(to.end(), more.begin(), more.end()); }

/// All rounds of one group so far.
struct SeenGaps {
  std::vector<double> kill_ms, join_ms, steady_ms, catch_up_ms;
  void add(const ViewChangeResult& rounds) {
    append(kill_ms, rounds.kill_gaps_ms);
    append(join_ms, rounds.join_gaps_ms);
    append(steady_ms, rounds.steady_gaps_ms);
    append(catch_up_ms, rounds.catch_up_ms);
  }
};

void measure_kind(const ViewChangeOptions& options, const std::vector<GroupShape>& shapes, std::uint64_t state_bytes,
                  bool leader, FigureReport& report) {
  std::vector<SeenGaps> seen(shapes.size());
  // With two groups they take turns, some rounds each: whatever else the machine does falls on both.
  const std::uint32_t turn = shapes.size() > 1 ? rounds_of_a_turn : options.rounds;
  for (std::uint32_t done = 0; done < options.rounds; done += turn) {
    const std::uint32_t rounds = std::min(turn, options.rounds - done);
    for (std::size_t i = 0; i < shapes.size(); ++i)
      seen[i].add(run_view_changes({shapes[i], options.message_bytes, state_bytes, rounds, leader}));
  }
  Parameters parameters{{"members", std::uint64_t{options.members}},
                        {"bytes", options.message_bytes},
                        {"state", state_bytes},
                        {"killed", std::string(leader ? "leader" : "follower")}};
  options.describe_networks(parameters);
  const SeenGaps& group = seen.front();
  const bool beside = seen.size() > 1;
  const SeenGaps& other = seen.back();
  report_times(report, "deliveries stand still after a death", parameters, group.kill_ms,
               beside ? other.kill_ms : group.steady_ms);
  report_times(report, "deliveries stand still at a join", parameters, group.join_ms,
               beside ? other.join_ms : group.steady_ms);
  report_times(report, "newcomer's start to its first delivery", parameters, group.catch_up_ms,
               beside ? other.catch_up_ms : std::vector<double>());
}

void run_view_change_bench(const ViewChangeOptions& options, FigureReport& report) {
  const std::uint32_t senders = options.senders > 0 ? std::min(options.senders, options.members) : options.members;
  const GroupNetwork network = options.network(options.members);
  const auto beside = options.network_beside(options.members);
  const Profile profile = tight_profile(options.message_bytes, 100);
  std::vector<GroupShape> shapes{{options.members, senders, profile, options.settings_for(network)}};
  if (beside) shapes.push_back({options.members, senders, profile, options.settings_for(*beside)});
  for (const std::uint64_t state_bytes : options.state_bytes) {
    for (const bool leader : {false, true}) measure_kind(options, shapes, state_bytes, leader, report);
  }
}

}  // namespace

void add_view_change_command(const Commands& to) {
  auto options = std::make_shared<ViewChangeOptions>();
  Command command(to, "viewchange", "How long deliveries stand still when a member is killed, and when it comes back",
                  "  spindrift bench viewchange\n  spindrift bench viewchange --rounds 100 --state 0 --json -\n"
                  "  spindrift bench viewchange --fabric tcp --beside shm",
                  options, run_view_change_bench);
  command.settings().networks();
  command.number("--members", options->members, "Number of members", 3, 16);
  command.number("--senders", options->senders, "How many of the members send (0: all)", 0, 16);
  command.number("--rounds", options->rounds, "Deaths and joins of each kind", 1, 500);
  command.number("--size", options->message_bytes, "Payload bytes", 1, 1 << 20);
  command.list("--state", options->state_bytes, "Bytes of the state that a newcomer is given", 0, 1 << 28);
}

}  // namespace spindrift::bench
