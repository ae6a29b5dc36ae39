// `spindrift bench viewchange`: how long a death and a join hold up a group under load, and how much of that is connecting.
#include <algorithm>
#include <array>
#include <memory>

#include <CLI/CLI.hpp>

#include <spindrift/bench/command_options.hpp>
#include <spindrift/bench/viewchange.hpp>

namespace spindrift::bench {

namespace {

struct ViewChangeOptions {
  CommonOptions common;
  std::uint32_t members = 4;
  std::uint32_t senders = 0;  // all; two where shares are asked for
  bool share = false;
  std::vector<std::string> fabrics{"vq:tcp", "vq:net"};
  std::uint32_t rounds = 30;
  std::uint64_t message_bytes = 1024;
  std::vector<std::uint64_t> state_bytes{0, 1 << 20};
};

/// The value at or below which `fraction` of the sorted values lie.
double at_fraction(const std::vector<double>& sorted, double fraction) {
  return sorted[static_cast<std::size_t>(fraction * static_cast<double>(sorted.size() - 1) + 0.5)];
}

void report_percentiles(Report& report, const std::string& bench, std::vector<std::pair<std::string, Parameter>> parameters,
                        std::vector<double> values, std::vector<double> limits) {
  std::sort(values.begin(), values.end());
  std::sort(limits.begin(), limits.end());
  parameters.emplace_back("samples", std::uint64_t{values.size()});
  for (const auto& [name, fraction] : {std::pair{"p50", 0.5}, {"p99", 0.99}, {"max", 1.0}}) {
    Figure figure{bench, parameters, "ms", {at_fraction(values, fraction)}, {}};
    figure.parameters.emplace_back("percentile", std::string(name));
    if (!limits.empty()) figure.limits = {at_fraction(limits, fraction)};
    report.add(figure);
  }
}

std::uint32_t senders_of(const ViewChangeOptions& options) {
  if (options.senders > 0) return std::min(options.senders, options.members);
  return options.share ? 2 : options.members;
}

using Parameters = std::vector<std::pair<std::string, Parameter>>;

struct ShareQuestion {
  const char* bench;
  const char* of_newcomer;  ///< how it is called there; null: it is not asked of a newcomer
  const char* unit;
  double (*value)(const ChangeShare& share);
};
constexpr std::array share_questions{
    ShareQuestion{"first word of a change to first delivery", "start to first delivery", "ms",
                  [](const ChangeShare& share) { return share.change_ms; }},
    ShareQuestion{"of that, until the view is agreed", "of that, until all are connected", "ms",
                  [](const ChangeShare& share) { return share.agree_ms; }},
    ShareQuestion{"of that, until all have shown their memory", "of that, until all have shown their memory", "ms",
                  [](const ChangeShare& share) { return share.exchange_ms; }},
    ShareQuestion{nullptr, "of that, opening the fabric", "ms", [](const ChangeShare& share) { return share.open_ms; }},
    ShareQuestion{"of that, connecting", "of that, connecting", "ms",
                  [](const ChangeShare& share) { return share.connecting_ms; }},
    ShareQuestion{"of that, links", "of that, links", "ms", [](const ChangeShare& share) { return share.links_ms; }},
    ShareQuestion{"connecting, CPU time", "connecting, CPU time", "ms",
                  [](const ChangeShare& share) { return share.connecting_cpu_ms; }},
    ShareQuestion{"connecting, how often it waited", "connecting, how often it waited", "times",
                  [](const ChangeShare& share) { return share.connecting_waits; }},
    ShareQuestion{"share of connecting in the time", "share of connecting in the time", "percent",
                  [](const ChangeShare& share) { return 100 * share.connecting_ms / share.change_ms; }},
    ShareQuestion{"share of connecting's CPU time in the time", "share of connecting's CPU time in the time", "percent",
                  [](const ChangeShare& share) { return 100 * share.connecting_cpu_ms / share.change_ms; }},
    ShareQuestion{"share of connecting in the CPU time", "share of connecting in the CPU time", "percent",
                  [](const ChangeShare& share) { return 100 * share.connecting_cpu_ms / share.cpu_ms; }}};

void report_shares(Report& report, Parameters parameters, const char* change, const std::vector<ChangeShare>& shares,
                   bool newcomers = false) {
  parameters.emplace_back("change", std::string(change));
  parameters.emplace_back("samples", std::uint64_t{shares.size()});
  for (const ShareQuestion& question : share_questions) {
    const char* const name = newcomers ? question.of_newcomer : question.bench;
    if (name == nullptr) continue;
    Figure figure{std::string(name), parameters, question.unit, {}, {}};
    for (const ChangeShare& share : shares) figure.values.push_back(question.value(share));
    report.add(figure);
  }
}

// A window of a few messages, so that the group is not at the machine's limit when the view changes.
Result<void> run_share_bench(const ViewChangeOptions& options) {
  auto settings = parse_settings(options.common.settings);
  if (!settings) return Error(settings.error());
  auto report = Report::open(options.common.json);
  if (!report) return Error(report.error());
  for (const std::string& fabric : options.fabrics) {
    std::vector<ConfigOverride> all{{"SPINDRIFT/fabric", fabric, "--fabric"},
                                    {"SPINDRIFT/addresses", loopback_addresses(options.members), "the bench"}};
    all.insert(all.end(), settings->begin(), settings->end());
    const GroupShape shape{options.members, senders_of(options), tight_profile(options.message_bytes, 8), std::move(all)};
    std::vector<ChangeShare> joins;
    std::vector<ChangeShare> newcomers;
    const Parameters parameters{{"fabric", fabric}, {"members", std::uint64_t{options.members}}};
    for (const bool leader : {false, true}) {
      const auto result = run_view_changes({shape, options.message_bytes, 0, options.rounds, leader, true});
      if (!result) return Error(result.error());
      joins.insert(joins.end(), result->join_shares.begin(), result->join_shares.end());
      newcomers.insert(newcomers.end(), result->newcomer_shares.begin(), result->newcomer_shares.end());
      report_shares(*report, parameters, leader ? "death of the leader" : "death of a follower", result->kill_shares);
    }
    report_shares(*report, parameters, "join", joins);
    report_shares(*report, parameters, "newcomer", newcomers, true);
  }
  return {};
}

Result<void> run_view_change_bench(const ViewChangeOptions& options) {
  auto settings = parse_settings(options.common.settings);
  if (!settings) return Error(settings.error());
  auto report = Report::open(options.common.json);
  if (!report) return Error(report.error());
  const GroupShape shape{options.members, senders_of(options), tight_profile(options.message_bytes, 100),
                         std::move(settings).value()};
  for (const std::uint64_t state_bytes : options.state_bytes) {
    for (const bool leader : {false, true}) {
      const auto result = run_view_changes({shape, options.message_bytes, state_bytes, options.rounds, leader});
      if (!result) return Error(result.error());
      const std::vector<std::pair<std::string, Parameter>> parameters{
          {"members", std::uint64_t{options.members}},
          {"bytes", options.message_bytes},
          {"state", state_bytes},
          {"killed", std::string(leader ? "leader" : "follower")}};
      report_percentiles(*report, "deliveries stand still after a death", parameters, result->kill_gaps_ms,
                         result->steady_gaps_ms);
      report_percentiles(*report, "deliveries stand still at a join", parameters, result->join_gaps_ms,
                         result->steady_gaps_ms);
      report_percentiles(*report, "newcomer's start to its first delivery", parameters, result->catch_up_ms, {});
    }
  }
  return {};
}

}  // namespace

void add_view_change_command(CLI::App& bench, tools::Work& chosen) {
  auto options = std::make_shared<ViewChangeOptions>();
  CLI::App* command =
      bench.add_subcommand("viewchange", "How long deliveries stand still when a member is killed, and when it comes back");
  command
      ->add_option("--json", options->common.json,
                   "Write one JSON object per figure to this file; -: to standard output, without the table")
      ->type_name("FILE|-");
  command->add_option("--members", options->members, "Number of members")->check(CLI::Range(3, 16))->capture_default_str();
  command->add_option("--rounds", options->rounds, "Deaths and joins of each kind")
      ->check(CLI::Range(1, 500))
      ->capture_default_str();
  command->add_option("--size", options->message_bytes, "Payload bytes")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command->add_option("--state", options->state_bytes, "Bytes of the state that a newcomer is given")
      ->delimiter(',')
      ->check(CLI::Range(0, 1 << 28));
  command->add_option("--senders", options->senders, "How many of the members send; all, or 2 with --share")
      ->check(CLI::Range(1, 16));
  command->add_flag("--share", options->share, "Instead, how much of a view change is connecting, over --fabric");
  command->add_option("--fabric", options->fabrics, "With --share: fabrics between hosts, all members on loopback")
      ->delimiter(',')
      ->capture_default_str();
  add_settings_option(*command, options->common);
  command->footer(
      "Examples:\n  spindrift bench viewchange\n  spindrift bench viewchange --rounds 100 --state 0 --json -\n"
      "  spindrift bench viewchange --share --members 16 --rounds 5");
  command->callback([options, &chosen] {
    choose(chosen, [options] { return options->share ? run_share_bench(*options) : run_view_change_bench(*options); });
  });
}

}  // namespace spindrift::bench
