// The demo end to end: processes, the shipped recording, digests and counts; and how it fails.
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "command.hpp"
#include "exit_code.hpp"
#include "ulog_builder.hpp"

using namespace spindrift::test;
using namespace spindrift::tools;
using Catch::Matchers::Contains;
using nlohmann::json;

namespace {

std::string text_of(UlogBuilder file) { return {reinterpret_cast<const char*>(file.bytes().data()), file.size()}; }

/// Everything equal: digests at all members, counts with the file.
void check_equal(const json& report, std::size_t members, std::size_t samples) {
  REQUIRE(report.at("members").size() == members);
  for (const json& member : report.at("members")) {
    CHECK(member.at("messages") == samples);
    CHECK(member.at("digests") == report.at("members")[0].at("digests"));
    CHECK(member.at("messages_per_second").get<double>() > 0);
  }
  for (const json& topic : report.at("topics")) {
    CHECK(topic.at("ok") == true);
    for (const json& count : topic.at("delivered")) CHECK(count == topic.at("recorded"));
  }
}

/// The process that the demo started for a member, as it says.
pid_t process_of(const std::string& errors, int member) {
  const std::string label = "member " + std::to_string(member) + ": process ";
  const auto at = errors.find(label);
  return at == std::string::npos ? -1 : static_cast<pid_t>(std::stol(errors.substr(at + label.size())));
}

}  // namespace

/// The last member was killed, another sent what it had left, and it came back.
void check_killed(const json& report, int victim, std::size_t samples) {
  const json& views = report.at("views");
  REQUIRE(views.size() == 3);
  CHECK(views[1].at("failed").size() == 1);
  CHECK_THAT(views[1].at("failed")[0].get<std::string>(), Contains(std::to_string(victim) + " ("));
  CHECK(views[2].at("joined") == json::array({victim}));
  std::size_t taken_over = 0;
  for (const json& topic : report.at("topics")) taken_over += topic.at("sender") != topic.at("last_sender") ? 1 : 0;
  CHECK(taken_over > 0);
  for (const json& topic : report.at("topics")) CHECK(topic.at("last_sender") != victim);
  for (const json& member : report.at("members")) {
    CHECK(member.at("restarted") == (member.at("node") == victim));
    if (member.at("node") != victim) CHECK(member.at("delivered") == samples);
    if (member.at("node") == victim) CHECK(member.at("delivered") < samples);
  }
}

TEST_CASE("three members deliver the shipped flight equally, although one is killed on the way and comes back") {
  const CommandResult result = run({"demo", "--json"});
  INFO(result.errors);
  CHECK(result.code == 0);
  const json report = json::parse(result.output);
  CHECK(report.at("ok") == true);
  CHECK(report.at("topics").size() == 55);
  CHECK(report.at("subgroups").size() == 4);
  check_equal(report, 3, 14604);
  check_killed(report, 2, 14604);
}

TEST_CASE("in a flight at its own pace any member may be killed, and delivers the rest after it came back") {
  const CommandResult result = run({"demo", "--json", "--rate", "real", "--members", "4", "--kill", "0"});
  INFO(result.errors);
  CHECK(result.code == 0);
  const json report = json::parse(result.output);
  check_equal(report, 4, 14604);
  check_killed(report, 0, 14604);
  for (const json& member : report.at("members")) CHECK(member.at("delivered") > 4000);
  CHECK(report.at("views")[1].at("gap_ms").size() == 3);
}

TEST_CASE("nobody is killed if the demo is told so, or the others would be no majority") {
  for (const auto& more : {std::vector<std::string>{"--kill", "none"}, {"--members", "2"}}) {
    std::vector<std::string> arguments{"demo", "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const CommandResult result = run(arguments);
    CHECK(result.code == 0);
    CHECK(json::parse(result.output).at("views").size() == 1);
  }
  CHECK(run({"demo", "--members", "2", "--kill", "1"}).code == number(ExitCode::usage));
  CHECK(run({"demo", "--kill", "7"}).code == number(ExitCode::usage));
}

TEST_CASE("one member, and more members than cores, replay the flight too") {
  for (const std::size_t members : {std::size_t{1}, std::size_t{6}}) {
    const CommandResult result = run({"demo", "--json", "--members", std::to_string(members)});
    INFO(result.errors);
    CHECK(result.code == 0);
    check_equal(json::parse(result.output), members, 14604);
  }
}

TEST_CASE("the demo for people shows counts, digests and the configuration, which it keeps if asked to") {
  const CommandResult result = run({"demo", "--keep"});
  CHECK(result.code == 0);
  CHECK_THAT(result.output,
             Contains("sensor_combined") && Contains("equal at all members") && Contains("ok: 55 topics, 14604 samples"));
  CHECK_THAT(result.errors, Contains("100 %"));
  const auto from = result.output.find("configured by ") + 14;
  const std::filesystem::path config = result.output.substr(from, result.output.find('\n', from) - from);
  CHECK(std::filesystem::exists(config));
  CHECK(run({"config", "check", config.string()}).code == 0);
  std::filesystem::remove_all(config.parent_path());
}

TEST_CASE("the demo takes a user's own configuration, and refuses one that lacks a topic") {
  const Directory directory;
  const std::string recording = directory.file("small.ulg", text_of(small_recording()));
  const std::string head =
      "[SPINDRIFT]\nmembers = 3, 5\nruntime_directory = " + directory.path() + "\n[LAYOUT]\njson_layout = ";
  const std::string layout = R"('[{"name": "all", "topics": ["speed", "pose"]}, {"name": "dds-endpoints"}]')";
  const std::string own = directory.file("own.cfg", head + layout + "\n");
  const CommandResult result = run({"demo", recording, "--config", own, "--json"});
  INFO(result.errors);
  CHECK(result.code == 0);
  check_equal(json::parse(result.output), 2, 6);

  const std::string lacking = directory.file("lacking.cfg", head + "'[{\"name\": \"all\", \"topics\": [\"speed\"]}]'\n");
  const CommandResult refused = run({"demo", recording, "--config", lacking});
  CHECK(refused.code == number(ExitCode::usage));
  CHECK_THAT(refused.errors, Contains("pose"));
  const CommandResult page = run({"demo", recording, "--config", own, "--web"});
  CHECK(page.code == number(ExitCode::usage));
  CHECK_THAT(page.errors, Contains("own.cfg: --web: the page is a participant of its own") && Contains("fix: give"));
}

TEST_CASE("a flight that is flown several times is compared as a whole") {
  const CommandResult result = run({"demo", "--json", "--rounds", "3"});
  INFO(result.errors);
  CHECK(result.code == 0);
  const json report = json::parse(result.output);
  CHECK(report.at("samples") == 3 * 14604);
  check_equal(report, 3, 3 * 14604);
  check_killed(report, 2, 3 * 14604);
  CHECK(run({"demo", "--rounds", "5000"}).code == number(ExitCode::usage));
}

TEST_CASE("an address that the page cannot have is said before anything starts") {
  Command first({"demo", "--web", "127.0.0.1:0"});
  REQUIRE(first.wait_for("the flight is shown at http://127.0.0.1:"));
  REQUIRE(first.wait_for("member 2: process"));
  const std::string& said = first.output();
  const auto from = said.find("http://") + 7;
  const CommandResult second = run({"demo", "--web", said.substr(from, said.find('/', from) - from)});
  CHECK(second.code == number(ExitCode::resource));
  CHECK_THAT(second.errors, Contains("listen: ") && !Contains("member 0"));
  CHECK(run({"demo", "--web", "nowhere"}).code == number(ExitCode::usage));
  first.send_signal(SIGINT);
  CHECK(first.finish().code == number(ExitCode::interrupted));
}

TEST_CASE("a recording whose format is no type is refused with the format") {
  const Directory directory;
  UlogBuilder file;
  file.format("t:uint64_t timestamp;uint8_t x;uint8_t x;").subscribe(0, "t").sample(0, 1, "ab");
  const CommandResult refused = run({"demo", directory.file("twice.ulg", text_of(file))});
  CHECK(refused.code == number(ExitCode::failure));
  CHECK_THAT(refused.errors, Contains("twice.ulg: format of t: two fields are called x; fix: "));
}

TEST_CASE("of a truncated file what was valid is replayed and compared, and the exit code is 1") {
  const Directory directory;
  std::ifstream file(FLIGHT_DIRECTORY "/sample_log_small.ulg", std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  REQUIRE(bytes.size() > 500000);
  bytes.resize(500000);
  const CommandResult result = run({"demo", directory.file("cut.ulg", bytes), "--json"});
  CHECK(result.code == number(ExitCode::failure));
  CHECK(result.errors.empty());
  const json report = json::parse(result.output);
  CHECK_THAT(report.at("damage").at("place").get<std::string>() + report.at("damage").at("message").get<std::string>(),
             Contains("cut.ulg") && Contains("the file ends within"));
  CHECK(report.at("ok") == false);
  check_equal(report, 3, 7399);
}

TEST_CASE("files that hold nothing to replay are refused with the reason") {
  const Directory directory;
  const CommandResult no_ulog = run({"demo", directory.file("text.ulg", "this is a poem, not a flight")});
  CHECK(no_ulog.code == number(ExitCode::failure));
  CHECK_THAT(no_ulog.errors, Contains("no ULog file") && Contains("fix:"));
  const CommandResult empty = run({"demo", directory.file("empty.ulg", text_of(UlogBuilder()))});
  CHECK(empty.code == number(ExitCode::failure));
  CHECK_THAT(empty.errors, Contains("no samples"));
  CHECK(run({"demo", "/nonexistent.ulg"}).code == number(ExitCode::resource));
}

TEST_CASE("a member killed by somebody else fails the demo loudly, although the others finish") {
  Command demo({"demo", "--rate", "real", "--kill", "none"});
  REQUIRE(demo.wait_for("replaying: 25 %"));
  const pid_t victim = process_of(demo.errors(), 1);
  REQUIRE(victim > 0);
  ::kill(victim, SIGKILL);
  const CommandResult result = demo.finish();
  CHECK(result.code == number(ExitCode::member_lost));
  CHECK_THAT(result.errors, Contains("member 1: FAILED: killed by signal 9") && !Contains("member 0: FAILED"));
  CHECK_THAT(result.output, Contains("view 1: members 0, 2; failed 1 (") && Contains("member 0: delivered 14604 messages"));
}

TEST_CASE("a member that hangs fails the demo when its patience ends") {
  Command demo({"demo", "--rate", "real", "--kill", "none", "--patience", "9"});  // the flight takes seven seconds
  REQUIRE(demo.wait_for("member 2: process"));
  REQUIRE(demo.wait_for("\n"));
  const pid_t victim = process_of(demo.errors(), 2);
  REQUIRE(victim > 0);
  ::kill(victim, SIGSTOP);
  const CommandResult result = demo.finish();
  CHECK(result.code == number(ExitCode::timed_out));
  CHECK_THAT(result.errors, Contains("did not finish in time"));
}

TEST_CASE("an interrupted demo ends its members and leaves nothing behind") {
  Command demo({"demo", "--rate", "real"});
  REQUIRE(demo.wait_for("replaying: 25 %"));
  const pid_t member = process_of(demo.errors(), 0);
  REQUIRE(member > 0);
  demo.send_signal(SIGINT);
  const CommandResult result = demo.finish();
  CHECK(result.code == number(ExitCode::interrupted));
  CHECK(::kill(member, 0) != 0);
  const auto from = result.output.find("configured by ") + 14;
  CHECK_FALSE(std::filesystem::exists(result.output.substr(from, result.output.find('\n', from) - from)));
}

TEST_CASE("what a killed demo left is removed by the next one, and what one of now uses is not") {
  const auto directory_of = [](Command& demo) {
    REQUIRE(demo.wait_for("configured by "));
    REQUIRE(demo.wait_for("replaying: "));
    const std::string path = demo.output().substr(demo.output().find("configured by ") + 14);
    return path.substr(0, path.rfind('/', path.find('\n')));
  };
  Command killed({"demo", "--rate", "real"});
  const std::string left = directory_of(killed);
  Command running({"demo", "--rate", "real"});
  const std::string used = directory_of(running);
  CHECK(std::filesystem::exists(left));
  killed.send_signal(SIGKILL);
  CHECK(killed.finish().code == -SIGKILL);
  CHECK(std::filesystem::exists(left));
  Command next({"demo", "--rate", "real"});
  static_cast<void>(directory_of(next));
  CHECK_FALSE(std::filesystem::exists(left));
  CHECK(std::filesystem::exists(used));
  for (Command* demo : {&running, &next}) {
    demo->send_signal(SIGINT);
    CHECK(demo->finish().code == number(ExitCode::interrupted));
  }
  CHECK_FALSE(std::filesystem::exists(used));
}
