// `spindrift demo`: a recorded flight through a group of processes on this machine, and the proof that all of them delivered
// the same. Also the hidden command that each of those processes runs.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <spindrift/core/ids_text.hpp>
#include <spindrift/core/work_directory.hpp>

#include "commands.hpp"
#include "escaped.hpp"
#include "exit_code.hpp"
#include "flight/member.hpp"
#include "flight/plan.hpp"
#include "flight/replay.hpp"
#include "flight/schedule.hpp"
#include "flight/verdict.hpp"
#include "number_option.hpp"

namespace spindrift::tools {
namespace {

namespace files = std::filesystem;

constexpr std::uint32_t members_max = 32;

struct DemoOptions : CommandOptions {
  std::string recording;
  Rate rate = Rate::max;
  std::uint32_t members = 3;
  double patience_seconds = 0;
  std::string kill;  ///< "none", a node id, or empty: the last one if the others are a majority
  bool keep = false;
};

/// The recording that comes with this program: beside it in an installation and in a build alike.
std::string own_recording() {
  std::error_code error;
  const files::path program = files::read_symlink("/proc/self/exe", error);
  const files::path path =
      program.parent_path().parent_path() / SPINDRIFT_DATA_DIRECTORY / "flight" / "sample_log_small.ulg";
  if (error || !files::exists(path)) {
    throw Exception(Error(ErrorKind::bad_argument, "the recording that comes with this program is not at " + path.string())
                        .fix("name a ULog file: spindrift demo FILE.ulg"));
  }
  return path.string();
}

std::string counted(std::size_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string write_config(const std::string& directory, const ulog::Recording& recording, std::uint32_t members) {
  const std::string path = directory + "/flight.cfg";
  std::ofstream file(path);
  file << flight_config(recording, members, "flight", directory);
  file.close();
  if (!file) throw Exception(Error(ErrorKind::resource, "cannot write " + path));
  return path;
}

/// Generous: only a member that hangs is meant to meet it.
Duration patience_for(const ulog::Recording& recording, const DemoOptions& options) {
  if (options.patience_seconds > 0)
    return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(options.patience_seconds));
  constexpr std::uint64_t samples_per_second = 1000;
  Duration patience = std::chrono::seconds(120 + recording.samples().size() / samples_per_second);
  if (options.rate == Rate::real) {
    const std::vector<Duration> due = due_times(recording);
    patience += *std::max_element(due.begin(), due.end());
  }
  return patience;
}

/// The member that is to be killed on the way, if any. Throws bad_argument.
std::optional<NodeId> victim_of(const DemoOptions& options, const View& view) {
  const bool majority_left = 2 * (view.members.size() - 1) > view.members.size();
  if (options.kill == "none" || (options.kill.empty() && !majority_left)) return std::nullopt;
  if (options.kill.empty()) return *std::max_element(view.members.begin(), view.members.end());
  for (const NodeId node : view.members) {
    if (std::to_string(node.value()) != options.kill) continue;
    if (majority_left) return node;
    throw Exception(Error(ErrorKind::bad_argument, "--kill " + options.kill + ": the others would be no majority, and stop")
                        .fix("take three members or more, or --kill none"));
  }
  throw Exception(Error(ErrorKind::bad_argument, "--kill " + options.kill + ": no member has this id")
                      .fix("give none or one of: " + listed(view.members)));
}

int run_demo(const DemoOptions& options) {
  const std::string path = options.recording.empty() ? own_recording() : options.recording;
  const ulog::Recording recording = value_or_throw(ulog::Recording::read(path));
  if (recording.damage() && !options.json) fmt::print(stderr, "spindrift: {}\n", harmless(recording.damage()->to_string()));
  if (recording.samples().empty()) {
    throw Exception(Error(ErrorKind::bad_input, "the recording holds no samples to replay").at(path));
  }
  const WorkDirectory directory("spindrift-demo-", options.keep);
  CommandOptions member = options;
  if (member.config.empty()) member.config = write_config(directory.path(), recording, options.members);
  const Config config = load_config(member);
  const View view = value_or_throw(config.view());
  const FlightPlan plan = value_or_throw(plan_flight(recording, view));
  const std::optional<NodeId> victim = victim_of(options, view);
  if (!options.json) {
    fmt::print("{}: {}, {}\n{}, {}, configured by {}\n", harmless(path), counted(recording.topics().size(), "topic"),
               counted(recording.samples().size(), "sample"), counted(view.members.size(), "member"),
               counted(view.subgroups.size(), "subgroup"), harmless(member.config));
    std::fflush(stdout);
  }
  const std::vector<MemberOutcome> outcomes = replay({.config = member.config,
                                                      .settings = options.settings,
                                                      .recording = path,
                                                      .rate = options.rate,
                                                      .patience = patience_for(recording, options),
                                                      .quiet = options.json,
                                                      .victim = victim},
                                                     recording, view);
  const Verdict verdict = judge(recording, view, outcomes);
  const FlightReport report{
      .recording = recording, .view = view, .plan = plan, .outcomes = outcomes, .verdict = verdict, .config = member.config};
  options.json ? print_json(report) : print_text(report);
  return number(verdict.code);
}

void add_rate_option(CLI::App& command, Rate& rate) {
  const auto take = [&rate](const std::string& name) { rate = name == "real" ? Rate::real : Rate::max; };
  command
      .add_option_function<std::string>("--rate", take, "real: at the flight's own pace; max: as fast as possible (default)")
      ->check(CLI::IsMember({"real", "max"}));
}

/// The texts of the help of `spindrift demo`.
const CommandText demo_text{
    "demo", "Replay a recorded flight through a group of processes, and compare what they deliver",
    "Every topic of the recording goes through an ordered subgroup and is sent by one member; all members deliver "
    "everything.\n"
    "In the middle one member is killed: the others go on in the next view, and the one next in line sends its samples "
    "from "
    "the\n"
    "first that was not delivered. It is started again, joins, gets the state and catches up.\n"
    "Succeeds only if every member delivered the same sequence in each subgroup, and of each topic exactly what the file "
    "holds.\n"
    "Of a broken recording the samples before the damage are replayed and compared; the exit code is 1 all the same.\n\n"
    "Examples:\n"
    "  spindrift demo\n"
    "  spindrift demo flight.ulg --rate real --members 5\n"
    "  spindrift demo --keep --json"};

}  // namespace

void add_demo_command(CLI::App& app, Work& chosen) {
  auto options = std::make_shared<DemoOptions>();
  CLI::App* command = add_command(app, chosen, demo_text, options, run_demo);
  command->add_option("recording", options->recording, "ULog file; default: the one that comes with this program")
      ->type_name("FILE.ulg");
  add_rate_option(*command, options->rate);
  CLI::Option* members = command->add_option("--members", options->members, "Processes of the group (default 3)")
                             ->type_name("N")
                             ->check(number_from(1U, members_max));
  command
      ->add_option("--config", options->config,
                   "Use this configuration, members and subgroups included, instead of a generated one")
      ->type_name("FILE")
      ->excludes(members);
  add_set_option(*command, *options);
  command
      ->add_option("--kill", options->kill,
                   "Kill this member in the middle and start it again (default: the last one, if the others are a majority)")
      ->type_name("none|ID");
  command->add_option("--patience", options->patience_seconds, "Kill members that have not finished after this time")
      ->type_name("SECONDS")
      ->check(number_from(0.001, 1e6));
  command->add_flag("--keep", options->keep, "Keep the generated configuration and its directory");
  add_json_option(*command, *options, "Print one JSON object, no progress");
}

void add_demo_member_command(CLI::App& app, Work& chosen) {
  auto options = std::make_shared<FlightMemberOptions>();
  CLI::App* command =
      add_command(app, chosen, {"demo-member", "One member of the demo"}, options, run_flight_member)->group("");
  add_member_options(*command, *options);
  command->add_option("--recording", options->recording, "ULog file")->required();
  add_rate_option(*command, options->rate);
  command->add_flag("--victim", options->victim, "Will be killed");
  command->add_option("--report", options->report, "Descriptor to report to")->required();
}

}  // namespace spindrift::tools
