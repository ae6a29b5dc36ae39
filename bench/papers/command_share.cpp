// `spindrift_papers share`: how much of a view change is connecting, which KRCore promises to be little.
#include <algorithm>
#include <array>

#include <spindrift/bench/papers/commands.hpp>
#include <spindrift/bench/viewchange.hpp>

namespace spindrift::bench {

namespace {

struct ShareOptions : BenchOptions {
  ShareOptions() { repeats = 0; }  // rounds take their place
  std::uint32_t members = 16;
  std::uint32_t senders = 2;
  std::uint32_t rounds = 5;
  std::uint64_t message_bytes = 1024;
  std::vector<std::string> fabrics{"vq:tcp", "vq:net"};
};

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

void report_shares(FigureReport& report, Parameters parameters, const char* change, const std::vector<ChangeShare>& shares,
                   bool newcomers = false) {
  parameters.emplace_back("change", std::string(change));
  parameters.emplace_back("samples", std::uint64_t{shares.size()});
  for (const ShareQuestion& question : share_questions) {
    const char* const name = newcomers ? question.of_newcomer : question.bench;
    if (name == nullptr) continue;
    Figure figure{std::string(name), parameters, question.unit};
    for (const ChangeShare& share : shares) figure.values.push_back(question.value(share));
    report.add(figure);
  }
}

// A window of a few messages, so that the group is not at the machine's limit when the view changes.
void run_share(const ShareOptions& options, FigureReport& report) {
  for (const std::string& fabric : options.fabrics) {
    std::vector<ConfigOverride> settings{{"SPINDRIFT/fabric", fabric, "--fabric"},
                                         {"SPINDRIFT/addresses", loopback_addresses(options.members), "the bench"}};
    for (const ConfigOverride& setting : options.overrides()) settings.push_back(setting);
    const GroupShape shape{options.members, std::min(options.senders, options.members),
                           tight_profile(options.message_bytes, 8), std::move(settings)};
    std::vector<ChangeShare> joins;
    std::vector<ChangeShare> newcomers;
    const Parameters parameters{{"fabric", fabric}, {"members", std::uint64_t{options.members}}};
    for (const bool leader : {false, true}) {
      const auto result = run_view_changes({shape, options.message_bytes, 0, options.rounds, leader, true});
      joins.insert(joins.end(), result.join_shares.begin(), result.join_shares.end());
      newcomers.insert(newcomers.end(), result.newcomer_shares.begin(), result.newcomer_shares.end());
      report_shares(report, parameters, leader ? "death of the leader" : "death of a follower", result.kill_shares);
    }
    report_shares(report, parameters, "join", joins);
    report_shares(report, parameters, "newcomer", newcomers, true);
  }
}

}  // namespace

void add_share_command(const Commands& to) {
  auto options = std::make_shared<ShareOptions>();
  Command command(to, "share", "How much of a view change is connecting, over fabrics between hosts",
                  "  spindrift_papers share\n  spindrift_papers share --members 4 --fabric ofi:tcp --json -", options,
                  run_share);
  command.settings();
  command.number("--members", options->members, "Number of members, all on loopback", 3, 16);
  command.number("--senders", options->senders, "How many of the members send", 1, 16);
  command.number("--rounds", options->rounds, "Deaths and joins of each kind", 1, 500);
  command.number("--size", options->message_bytes, "Payload bytes", 1, 1 << 20);
  command->add_option("--fabric", options->fabrics, "Fabrics between hosts")->delimiter(',')->capture_default_str();
}

}  // namespace spindrift::bench
