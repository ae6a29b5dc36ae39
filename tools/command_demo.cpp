// `spindrift demo`: a recorded flight through a group of processes on this machine, and the proof that all of them delivered
// the same. Also the hidden command that each of those processes runs.
#include <algorithm>
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
#include "flight/typed_flight.hpp"
#include "flight/verdict.hpp"
#include "listening_socket.hpp"
#include "number_option.hpp"
#include "web/flight_page.hpp"

namespace spindrift::tools {
namespace {

namespace files = std::filesystem;

constexpr std::uint32_t members_max = 32;

constexpr double speed_min = 0.01;
constexpr double speed_max = 1000;
constexpr std::uint32_t rounds_max = 10000;
constexpr std::uint64_t samples_max = 4'000'000;  ///< of all rounds
constexpr Duration shown_for = std::chrono::minutes(5);

struct DemoOptions : CommandOptions {
  std::string recording;
  double speed = 0;          ///< of the flight's own pace; 0: as fast as possible
  std::uint32_t rounds = 0;  ///< 0: one, or with a page as many as people need to look at it
  std::optional<std::string> web;
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

std::string write_config(const std::string& directory, const ulog::Recording& recording, const TypedFlight& flight,
                         std::uint32_t members) {
  const std::string path = directory + "/flight.cfg";
  std::ofstream file(path);
  file << flight_config(recording, flight, members, "flight", directory);
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
  if (options.speed > 0) {
    const std::vector<Duration> due = due_times(recording, options.speed);
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

/// How often the flight is flown.
std::uint32_t rounds_of(const DemoOptions& options, const ulog::Recording& recording) {
  const std::uint64_t samples = std::max<std::uint64_t>(1, recording.samples().size());
  if (options.rounds * samples > samples_max) {
    throw Exception(Error(ErrorKind::bad_argument, fmt::format("--rounds {}: that is more than {} samples",
                                                                 options.rounds, samples_max))
                        .fix(fmt::format("give {} rounds at most", std::max<std::uint64_t>(1, samples_max / samples))));
  }
  if (options.rounds > 0 || !options.web || recording.samples().empty()) return std::max(1U, options.rounds);
  const std::vector<Duration> due = due_times(recording, options.speed);
  const Duration once = std::max<Duration>(std::chrono::seconds(1), *std::max_element(due.begin(), due.end()));
  const std::uint64_t most = std::max<std::uint64_t>(1, samples_max / samples);
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(static_cast<std::uint64_t>(shown_for / once), 1, most));
}

/// The first of the configuration's nodes that replay nothing: programs that look on take their ids. Nothing: there is none.
std::optional<NodeId> spare_node(const Config& config, const View& flight) {
  const View all = value_or_throw(config.view());
  const auto spare = std::ranges::find_if(all.members, [&](NodeId node) { return !flight.rank_of(node); });
  return spare == all.members.end() ? std::nullopt : std::optional(*spare);
}

NodeId page_node(const Config& config, const std::optional<NodeId>& spare) {
  if (spare) return *spare;
  constexpr const char* why = "--web: the page is a participant of its own, and all nodes replay the flight";
  throw Exception(Error(ErrorKind::bad_config, why)
                      .at(config.name())
                      .fix("give [SPINDRIFT] members one more, and name the others in founders"));
}

/// The demo's own configuration has a runtime directory of its own. In the one that a variable names there may be what an
/// earlier flight has left, and its members would be waited for. Returns what commands begin with that are to look on.
std::string stay_in_own_directory() {
  if (std::getenv("SPINDRIFT_RUNTIME_DIRECTORY") == nullptr) return {};
  ::unsetenv("SPINDRIFT_RUNTIME_DIRECTORY");
  return "env -u SPINDRIFT_RUNTIME_DIRECTORY ";
}

/// Tells people of the flight before it begins. `before`: what commands begin with that are to look on.
void print_beginning(const DemoOptions& options, const ulog::Recording& recording, const View& view,
                     const std::string& config, const std::optional<NodeId>& spare, const std::string& before) {
  const auto subgroups = std::ranges::count_if(view.subgroups, may_carry);
  fmt::print("{}: {}, {}\n{}, {}, configured by {}\n", harmless(recording.name()),
             counted(recording.topics().size(), "topic"), counted(recording.samples().size(), "sample"),
             counted(view.members.size(), "member"),
             counted(static_cast<std::size_t>(subgroups), "subgroup"), harmless(config));
  if (spare) {
    const std::uint32_t free = spare->value() + (options.web ? 1 : 0);
    fmt::print("look on: {}spindrift topic ls --config {} --id {}\n", before, harmless(config), free);
  }
}

/// Opens the socket of the page, if there is to be one, and says who serves it.
void open_page(const DemoOptions& options, const Config& config, const std::optional<NodeId>& spare,
               ReplayOptions& replayed) {
  if (!options.web) return;
  replayed.page = page_node(config, spare);
  ListeningSocket socket = value_or_throw(listen_at(*options.web));
  replayed.page_socket = std::move(socket.descriptor);
  fmt::print(options.json ? stderr : stdout, "the flight is shown at http://{}/\n", socket.address);
}

/// The recording, with so many rounds as are flown, which the options say then. Throws what the command fails with.
ulog::Recording read_flight(DemoOptions& options, const std::string& path) {
  ulog::Recording recording = value_or_throw(ulog::Recording::read(path));
  if (recording.damage() && !options.json) fmt::print(stderr, "spindrift: {}\n", harmless(recording.damage()->to_string()));
  if (recording.samples().empty()) {
    throw Exception(Error(ErrorKind::bad_input, "the recording holds no samples to replay").at(path));
  }
  options.rounds = rounds_of(options, recording);
  repeat(recording, options.rounds);
  return recording;
}

int run_demo(const DemoOptions& given) {
  DemoOptions options = given;
  if (options.web && options.speed == 0) options.speed = 1;
  const std::string path = options.recording.empty() ? own_recording() : options.recording;
  const ulog::Recording recording = read_flight(options, path);
  const TypedFlight flight = value_or_throw(TypedFlight::of(recording));
  const WorkDirectory directory("spindrift-demo-", options.keep);
  CommandOptions member = options;
  std::string before;
  if (member.config.empty()) {
    member.config = write_config(directory.path(), recording, flight, options.members);
    before = stay_in_own_directory();
  }
  const Config config = load_config(member);
  const View view = value_or_throw(flight_view(config));
  const FlightPlan plan = value_or_throw(plan_flight(recording, flight, view));
  const std::optional<NodeId> victim = victim_of(options, view);
  const std::optional<NodeId> spare = spare_node(config, view);
  ReplayOptions replayed{.config = member.config,
                         .settings = options.settings,
                         .recording = path,
                         .speed = options.speed,
                         .rounds = options.rounds,
                         .patience = patience_for(recording, options),
                         .quiet = options.json,
                         .victim = victim};
  if (!options.json) print_beginning(options, recording, view, member.config, spare, before);
  open_page(options, config, spare, replayed);
  std::fflush(stdout);
  const std::vector<MemberOutcome> outcomes = replay(std::move(replayed), recording, view);
  const FlightParts parts{recording, flight, plan, view};
  const Verdict verdict = judge(parts, outcomes);
  const FlightReport report{
      .recording = recording, .view = view, .plan = plan, .outcomes = outcomes, .verdict = verdict, .config = member.config};
  options.json ? print_json(report) : print_text(report);
  return number(verdict.code);
}

void add_pace_options(CLI::App& command, DemoOptions& options) {
  const auto take = [&options](const std::string& name) { options.speed = name == "real" ? 1 : 0; };
  CLI::Option* rate = command
                          .add_option_function<std::string>(
                              "--rate", take, "real: at the flight's own pace; max: as fast as possible (default)")
                          ->check(CLI::IsMember({"real", "max"}));
  command.add_option("--speed", options.speed, "So many times the flight's own pace (default with --web: 1)")
      ->type_name("X")
      ->check(number_from(speed_min, speed_max))
      ->excludes(rate);
  command.add_option("--rounds", options.rounds, "Fly it so often (default: once; with --web for about five minutes)")
      ->type_name("N")
      ->check(number_from(1U, rounds_max));
}

void add_web_option(CLI::App& command, DemoOptions& options) {
  const auto take = [&options](const std::string& address) { options.web = address.empty() ? "127.0.0.1:0" : address; };
  command
      .add_option_function<std::string>("--web", take,
                                        "Show the flight to browsers at this address (default 127.0.0.1:0), at the pace of "
                                        "--speed")
      ->type_name("HOST:PORT")
      ->expected(0, 1)
      ->excludes("--rate");
}

/// The texts of the help of `spindrift demo`.
const CommandText demo_text{
    "demo", "Replay a recorded flight through a group of processes, and compare what they deliver",
    "Every topic of the recording is a typed topic of a domain, goes through an ordered subgroup and is written by\n"
    "one member; all members deliver everything. `spindrift topic` reads them meanwhile, and a browser with --web.\n"
    "In the middle one member is killed: the others go on in the next view, and the one next in line sends its\n"
    "samples from the first that was not delivered. It is started again, joins, gets the state and catches up.\n"
    "Succeeds only if every member delivered the same sequence in each subgroup, and of each topic exactly what the\n"
    "file holds. Of a broken recording the samples before the damage are replayed and compared; the exit code is 1\n"
    "all the same.\n\n"
    "Examples:\n"
    "  spindrift demo\n"
    "  spindrift demo --web\n"
    "  spindrift demo flight.ulg --rate real --members 5\n"
    "  spindrift demo --keep --json"};

}  // namespace

void add_demo_command(CLI::App& app, Work& chosen) {
  auto options = std::make_shared<DemoOptions>();
  CLI::App* command = add_command(app, chosen, demo_text, options, run_demo);
  command->add_option("recording", options->recording, "ULog file; default: the one that comes with this program")
      ->type_name("FILE.ulg");
  add_pace_options(*command, *options);
  add_web_option(*command, *options);
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

void add_demo_page_command(CLI::App& app, Work& chosen) {
  auto options = std::make_shared<FlightPageOptions>();
  CLI::App* command =
      add_command(app, chosen, {"demo-page", "The page of the demo"}, options, run_flight_page)->group("");
  add_member_options(*command, *options);
  command->add_option("--socket", options->socket, "Descriptor that listens")->required();
  command->add_option("--report", options->report, "Descriptor to report to")->required();
}

void add_demo_member_command(CLI::App& app, Work& chosen) {
  auto options = std::make_shared<FlightMemberOptions>();
  CLI::App* command =
      add_command(app, chosen, {"demo-member", "One member of the demo"}, options, run_flight_member)->group("");
  add_member_options(*command, *options);
  command->add_option("--recording", options->recording, "ULog file")->required();
  command->add_option("--speed", options->speed, "Of the flight's own pace; 0: as fast as possible");
  command->add_option("--rounds", options->rounds, "So often");
  command->add_flag("--victim", options->victim, "Will be killed");
  command->add_option("--report", options->report, "Descriptor to report to")->required();
}

}  // namespace spindrift::tools
