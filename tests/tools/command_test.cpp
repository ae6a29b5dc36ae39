// The command line: help, exit codes, configurations. No groups here.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "command.hpp"
#include "exit_code.hpp"

using namespace spindrift::test;
using namespace spindrift::tools;
using Catch::Matchers::Contains;
using nlohmann::json;

namespace {

constexpr char good[] = "[SPINDRIFT]\nmembers = 0, 1\n[LAYOUT]\njson_layout = '[{\"name\": \"orders\"}]'\n";

}  // namespace

TEST_CASE("every command explains itself with examples and exit codes") {
  for (const char* command :
       {"node", "send", "tail", "counters", "metrics", "top", "log", "topic", "idl", "doctor", "demo"}) {
    const CommandResult help = run({command, "--help"});
    CHECK(help.code == 0);
    CHECK_THAT(help.output, Contains("Example") && Contains("Exit codes:") && Contains("spindrift " + std::string(command)));
  }
  CHECK_THAT(run({"--help"}).output, Contains("demo") && !Contains("demo-member"));
  CHECK_THAT(run({"--version"}).output, Contains("spindrift "));
}

TEST_CASE("the table of exit codes is ascending and the help holds all of it") {
  int last = -1;
  for (const auto& [code, meaning] : exit_codes()) {
    CHECK(number(code) > last);
    last = number(code);
    CHECK_THAT(run({"--help"}).output, Contains(std::string(meaning)));
  }
}

TEST_CASE("the doctor finds this machine fit, with and without a configuration") {
  const Directory directory;
  const std::string config = directory.file("good.cfg", good);
  CHECK(run({"doctor"}).code == 0);
  const CommandResult judged = run({"doctor", "--config", config, "--json"});
  CHECK(judged.code == 0);
  const json verdict = json::parse(judged.output);
  CHECK(verdict["ok"] == true);
  CHECK(verdict["findings"].size() >= 10);
  const CommandResult unfit = run({"doctor", "--config", config, "--set", "SPINDRIFT/runtime_directory=/proc/nowhere/here"});
  CHECK(unfit.code == number(ExitCode::resource));
  CHECK_THAT(unfit.output, Contains("\nbad ") && Contains(" runtime directory  /proc/nowhere: ") &&
                               Contains("fix: mkdir -m 700 -p /proc/nowhere, "));
  const CommandResult stranger = run({"doctor", "--config", config, "--id", "9"});
  CHECK(stranger.code == number(ExitCode::resource));
  CHECK_THAT(stranger.output, Contains("\nbad ") && Contains(" node ") && Contains("this process is node 9"));
  const CommandResult mute = run({"doctor", "--config", config, "--set", "SPINDRIFT/log_file=/proc/nowhere/log"});
  CHECK(mute.code == number(ExitCode::resource));
  CHECK_THAT(mute.output, Contains(" log file ") && Contains("/proc/nowhere/log: "));
}

TEST_CASE("a mistaken command line exits with 2 and says what is wrong") {
  CHECK(run({}).code == 2);
  CHECK(run({"nonsense"}).code == 2);
  const CommandResult missing = run({"node"});
  CHECK(missing.code == 2);
  CHECK_THAT(missing.errors, Contains("--config"));
  CHECK(run({"demo", "--members", "0"}).code == 2);
  CHECK(run({"demo", "--rate", "twice"}).code == 2);
}

TEST_CASE("an option that does not exist is named before what is missing, and words that are left over in their order") {
  const auto refused = [](std::vector<std::string> words, const std::string& says) {
    const CommandResult result = run(std::move(words));
    CHECK(result.code == 2);
    CHECK(result.errors == "spindrift: " + says + " --help`\n");
  };
  refused({"--hlep"}, "spindrift has no option --hlep; fix: did you mean `--help`? otherwise see `spindrift");
  refused({"node", "--confg", "x"},
          "spindrift node has no option --confg; fix: did you mean `--config`? otherwise see `spindrift node");
  refused({"node", "--zzzzzz", "x"}, "spindrift node has no option --zzzzzz; fix: see `spindrift node");
  refused({"tial"}, "there is no command \"spindrift tial\"; fix: did you mean `tail`? otherwise see `spindrift");
  refused({"group", "statsu"},
          "there is no command \"spindrift group statsu\"; fix: did you mean `status`? otherwise see `spindrift group");
  refused({"config", "zzzz"},
          "there is no command \"spindrift config zzzz\"; fix: give one of check, show, example, keys; see `spindrift "
          "config");
  refused({"node", "--config", "x", "a", "b"}, "spindrift node does not take: a b; fix: see `spindrift node");
  CHECK_THAT(run({"demo-membr"}).errors, Contains("fix: give one of node, ") && !Contains("demo-member"));  // a hidden one
}

TEST_CASE("a command or a word that is missing is named with what it is, and with the line as it would be") {
  const auto refused = [](const std::vector<std::string>& words, const std::string& says) {
    CAPTURE(words);
    const CommandResult result = run(words);
    CHECK(result.code == number(ExitCode::usage));
    CHECK_THAT(result.errors, Catch::StartsWith("spindrift: " + says));
  };
  refused({"config"},
          "spindrift config is given no command; fix: give one of check, show, example, keys; see `spindrift config "
          "--help`\n");
  refused({}, "spindrift is given no command; fix: give one of node, send, tail, ");
  refused({"node"}, "spindrift node is given no --config FILE (configuration file, the same for all members); fix: write "
                    "spindrift node --config FILE; see `spindrift node --help`\n");
  const std::string line = "; fix: write spindrift group replace OLD NEW; see `spindrift group replace --help`\n";
  refused({"group", "replace"}, "spindrift group replace is given no OLD (ID of the node that goes; a member leaves first, "
                                "in order)" + line);
  refused({"group", "replace", "1"}, "spindrift group replace is given no NEW (ID@HOST:PORT of the one that then may "
                                     "start; over shared memory ID)" + line);
  refused({"group", "move"}, "spindrift group move is given no NODE (ID@HOST:PORT of each); fix: write spindrift group move "
                             "NODE…; see");
  refused({"group", "forget"}, "spindrift group forget is given no NODE (ID of the node); fix: write");
  refused({"tail"}, "spindrift tail is given no NAME (the subgroup to print); fix: write spindrift tail NAME; see");
}

TEST_CASE("a number of another form, or out of its range, is refused") {
  const Directory directory;
  const std::string config = directory.file("good.cfg", good);
  for (const char* count : {"-1", "0", "18446744073709551616", "0x10", "010", "1e3", "", "1 "}) {
    CAPTURE(count);
    const CommandResult result = run({"tail", "--config", config, "--subgroup", "orders", "--count", count});
    CHECK(result.code == 2);
    CHECK_THAT(result.errors, Contains(" is no whole number from 1"));
  }
  for (const char* id : {"0x1", "01", "-1", "4294967295"}) {
    CHECK_THAT(run({"node", "--config", config, "--id", id}).errors, Contains("is no whole number from 0 to 4294967294"));
  }
  const CommandResult patience = run({"demo", "--patience", "0"});
  CHECK(patience.code == 2);
  CHECK_THAT(patience.errors, Contains("0 is no number from 0.001 to 1000000"));
  CHECK(run({"demo", "--patience", "nan"}).code == 2);
}

TEST_CASE("an option that would say nothing is refused") {
  const Directory directory;
  CHECK_THAT(run({"doctor", "--id", "1"}).errors, Contains("--id requires --config"));
  CHECK_THAT(run({"doctor", "--set", "SPINDRIFT/poll=spin"}).errors, Contains("--set requires --config"));
  const CommandResult group = run({"group", "status", "--group-dir", directory.path(), "--set", "SPINDRIFT/poll=spin"});
  CHECK(group.code == 2);
  CHECK_THAT(group.errors, Contains("--set requires --config"));
}

TEST_CASE("a value that is empty, too long or given twice is refused by what is wrong with it") {
  const Directory directory;
  const auto refused = [](const std::vector<std::string>& words, const std::string& text) {
    CAPTURE(words, text);
    const CommandResult result = run(words);
    CHECK(result.code == number(ExitCode::usage));
    CHECK_THAT(result.errors, Contains(text));
  };
  using Words = std::vector<std::string>;
  for (const Words& words : {Words{"config", "check", ""}, Words{"node", "--config", ""}, Words{"doctor", "--config", ""},
                             Words{"group", "why", "--config", ""}})
    refused(words, "the file's name is empty");
  refused({"group", "why", "--group-dir", ""}, "the directory's name is empty");
  const std::string name(65, 'a');
  refused({"group", "create-subgroup", "jobs", "--members", ""}, "--members: no node is named; give ids");
  refused({"group", "create-subgroup", "jobs", "--senders", "-1"}, "--senders: -1 is no node's id");
  refused({"group", "create-subgroup", name}, "the name has 65 characters; fix: give 1 to 64 of");
  refused({"send", name}, "the name has 65 characters; fix: give 1 to 64 of");
  refused({"tail", "a b"}, "\"a b\" has a character that no name has");
  const std::string config = directory.file("good.cfg", good);
  const std::string too_long = "--subgroup " + name + ": " + config + " has no subgroup of that name, and none can be "
                               "created by it: the name has 65 characters; fix: use one of: orders";
  refused({"tail", name, "--config", config}, too_long);
  refused({"send", "--subgroup", name, "--config", config, "--id", "0"}, too_long);
  const std::string empty = directory.file("empty.cfg", "[SPINDRIFT]\nmembers = 0\nruntime_directory = " +
                                                            directory.path() + "\n[LAYOUT]\njson_layout = '[]'\n");
  refused({"tail", name, "--config", empty}, "the name has 65 characters; fix: give 1 to 64 of");
  refused({"send", "--subgroup", "orders", "--subgroup", "jobs"}, "--subgroup is given more than once; fix:");
  refused({"send", "orders", "--id", "1", "--id", "2"}, "--id is given more than once; fix:");
}

TEST_CASE("rings are as large by a command as by a file, and the error says how large") {
  const Directory directory;
  const std::string nowhere = directory.path();
  for (const char* command : {"create-subgroup", "change-subgroup"}) {
    const auto with = [&](const char* bytes) {
      return run({"group", command, "orders", "--ring-bytes", bytes, "--group-dir", nowhere});
    };
    CHECK(with("4096").code == number(ExitCode::member_lost));  // there is nobody whom it could ask
    CHECK(with("1073741824").code == number(ExitCode::member_lost));
    CHECK_THAT(with("1073741825").errors, Contains("--ring-bytes: 1073741825 is no whole number from 4096 to 1073741824"));
    CHECK_THAT(with("4095").errors, Contains("--ring-bytes: 4095 is no whole number from 4096 to 1073741824"));
  }
  const auto in_file = [&](const std::string& bytes) {
    const std::string profile = "[SUBGROUP/DEFAULT]\nring_size = " + bytes + "\n";
    return run({"config", "check", directory.file("ring.cfg", good + profile)});
  };
  CHECK(in_file("1073741824").code == 0);
  CHECK_THAT(in_file("2147483648").errors, Contains("1073741824"));
}

TEST_CASE("output that cannot be written is an error of one form, also for those who have no output") {
  const Directory directory;
  const auto through = [&](const std::string& words) {
    return Command({"-c", std::string(SPINDRIFT_COMMAND) + " " + words}, "/bin/sh").finish();
  };
  const std::string init = "keys init g --nodes 0 --dir " + directory.path();
  for (const std::string& words : std::vector<std::string>{"--version", "--help", "config example", init + "/a"}) {
    CAPTURE(words);
    const CommandResult full = through(words + " >/dev/full");
    CHECK(full.code == number(ExitCode::resource));
    CHECK_THAT(full.errors, Contains("spindrift: standard output could not be written: No space left on device; fix: see"));
  }
  for (const std::string& words : std::vector<std::string>{"--version", "config example", init + "/b"}) {
    CAPTURE(words);
    const CommandResult none = through(words + " >&-");
    CHECK(none.code == number(ExitCode::resource));
    CHECK_THAT(none.errors, Contains("standard output could not be written: Bad file descriptor"));
  }
}

TEST_CASE("config check accepts a good file and reports every problem of a bad one") {
  const Directory directory;
  const std::string fine = directory.file("good.cfg", good);
  const CommandResult ok = run({"config", "check", fine});
  CHECK(ok.code == 0);
  CHECK_THAT(ok.output, Contains("ok"));
  const CommandResult ok_json = run({"config", "check", fine, "--json"});
  CHECK(json::parse(ok_json.output).at("ok") == true);

  const std::string wrong =
      directory.file("bad.cfg", "[SPINDRIFT]\nmembres = 0\nspin_us = fast\n" + std::string(good).substr(12));
  const CommandResult bad = run({"config", "check", wrong});
  CHECK(bad.code == 2);
  CHECK_THAT(bad.errors, Contains("bad.cfg:2") && Contains("bad.cfg:3") && Contains("fix:"));
  const json problems = json::parse(run({"config", "check", wrong, "--json"}).output);
  CHECK(problems.at("ok") == false);
  REQUIRE(problems.at("problems").size() >= 2);
  for (const json& problem : problems.at("problems")) CHECK_FALSE(problem.at("fix").get<std::string>().empty());
}

TEST_CASE("config check takes its file as the other commands do, too") {
  const Directory directory;
  const std::string fine = directory.file("good.cfg", good);
  CHECK(run({"config", "check", "--config", fine}).code == 0);
  CHECK(run({"config", "show", "--config", fine}).output == run({"config", "show", fine}).output);
}

TEST_CASE("of any number of problems a hundred are shown, and all are counted") {
  const Directory directory;
  std::string text = "[SPINDRIFT]\n";
  for (int i = 0; i < 20000; ++i) text += "unknown" + std::to_string(i) + " = 1\n";
  const std::string wrong = directory.file("wrong.cfg", text);
  const CommandResult bad = run({"config", "check", wrong});
  CHECK(std::count(bad.errors.begin(), bad.errors.end(), '\n') == 102);
  CHECK_THAT(bad.errors, Contains("… and 19901 more\n") && Contains("wrong.cfg: 20001 problems\n"));
  const json problems = json::parse(run({"config", "check", wrong, "--json"}).output);
  CHECK(problems.at("problem_count") == 20001);
  CHECK(problems.at("problems").size() == 100);
}

TEST_CASE("no name that a user gives commands the terminal by a message") {
  const Directory directory;
  const std::string name = directory.path() + "/a\x1b[31m";
  const std::vector<std::vector<std::string>> lines{{"config", "check", name},
                                                    {"node", "--config", name},
                                                    {"demo", name},
                                                    {"group", "status", "--group-dir", name},
                                                    {"keys", "show", name},
                                                    {"node", "--a\x1b[31m"},
                                                    {"a\x1b[31m"}};
  for (const auto& words : lines) {
    const CommandResult result = run(words);
    CHECK(result.code != 0);
    CHECK_THAT(result.errors, Contains("a\\x1b[31m") && !Contains("\x1b"));
  }
}

TEST_CASE("the name of a file in a group's directory gives the terminal no command") {
  const Directory directory;
  const std::string place = directory.path() + "/g";
  std::filesystem::create_directories(place + "/status");
  std::filesystem::permissions(place, std::filesystem::perms::owner_all);
  std::ofstream(place + "/status/\x1b[31mX.status") << "x";
  std::ofstream(place + "/\x1b[31mX.counters") << "x";
  const std::vector<std::vector<std::string>> lines{
      {"group", "status"}, {"group", "why"}, {"counters"}, {"counters", "--format", "prometheus"}};
  for (std::vector<std::string> words : lines) {
    words.insert(words.end(), {"--group-dir", place});
    const CommandResult result = run(words);
    CHECK_THAT(result.errors, Contains("\\x1b[31mX") && !Contains("\x1b"));
    CHECK_THAT(result.output, !Contains("\x1b"));
  }
}

TEST_CASE("config check refuses what a member would refuse") {
  const Directory directory;
  const auto problems = [&](const std::string& text, std::vector<std::string> more = {}) {
    std::vector<std::string> words{"config", "check", directory.file("some.cfg", text)};
    words.insert(words.end(), more.begin(), more.end());
    const CommandResult checked = run(words);
    words.assign({"node", "--config", directory.path() + "/some.cfg"});
    words.insert(words.end(), more.begin(), more.end());
    CHECK(run(words).code == number(ExitCode::usage));
    CHECK(checked.code == number(ExitCode::usage));
    return checked.errors;
  };
  CHECK_THAT(problems(""), Contains("the configuration has no layout"));
  CHECK_THAT(problems("[SPINDRIFT]\nmembers = 0, 1\n"), Contains("the configuration has no layout"));
  CHECK_THAT(problems("[DERECHO]\nlocal_id = 5\n" + std::string(good)), Contains("some.cfg:2: this process is node 5"));
  CHECK_THAT(problems(good, {"--set", "DERECHO/local_id=7"}), Contains("flag --set: this process is node 7"));
  CHECK_THAT(problems("[DERECHO]\nlocal_id = 5\n[SPINDRIFT]\nspin_us = fast\nmembers = 0\n"),
             Contains("fast") && Contains("no layout") && Contains("node 5") && Contains("3 problems"));
  std::string many = "0";
  for (int id = 1; id <= 256; ++id) many += ", " + std::to_string(id);
  CHECK_THAT(problems("[SPINDRIFT]\nmembers = " + many + "\n[LAYOUT]\njson_layout = '[{\"name\": \"a\"}]'\n"),
             Contains("some.cfg:2") && Contains("256 nodes"));
}

TEST_CASE("config check of a file that does not exist names it and does not succeed") {
  const CommandResult result = run({"config", "check", "/nonexistent.cfg"});
  CHECK(result.code != 0);
  CHECK_THAT(result.errors, Contains("/nonexistent.cfg"));
}

TEST_CASE("config show tells where each value comes from") {
  const Directory directory;
  const std::string path = directory.file("show.cfg", good);
  const json shown = json::parse(
      run({"config", "show", "--effective", "--json", path, "--set", "SPINDRIFT/spin_us=7", "--set", "SPINDRIFT/poll=spin"})
          .output);
  bool found = false;
  for (const json& value : shown.at("values")) {
    if (value.at("key") == "members") CHECK_THAT(value.at("origin").get<std::string>(), Contains("show.cfg:2"));
    if (value.at("key") == "poll") CHECK(value.at("value") == "spin");
    if (value.at("key") == "group_name") CHECK(value.at("origin") == "default");
    if (value.at("key") != "spin_us") continue;
    found = true;
    CHECK(value.at("value") == "7");
    CHECK_THAT(value.at("origin").get<std::string>(), Contains("--set"));
  }
  CHECK(found);
  const CommandResult set_only = run({"config", "show", path});
  CHECK_THAT(set_only.output, Contains("members") && !Contains("spin_us"));
}

TEST_CASE("the example that config example prints passes config check") {
  const Directory directory;
  const CommandResult example = run({"config", "example"});
  CHECK(example.code == 0);
  CHECK(run({"config", "check", directory.file("example.cfg", example.output)}).code == 0);
}

TEST_CASE("a --set that is not SECTION/key=value, or names no key, is refused with the form it should have") {
  const Directory directory;
  const std::string path = directory.file("set.cfg", good);
  const CommandResult form = run({"config", "check", path, "--set", "spin_us"});
  CHECK(form.code == 2);
  CHECK_THAT(form.errors, Contains("SECTION/key=value"));
  CHECK(run({"config", "check", path, "--set", "SPINDRIFT/spni_us=7"}).code == 2);
}

TEST_CASE("the manual page holds the table of exit codes word for word") {
  std::ifstream file(MANUAL_PAGE);
  const std::string page((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  for (const auto& [code, meaning] : exit_codes()) {
    CHECK_THAT(page, Contains(".It " + std::to_string(number(code)) + "\n" + std::string(meaning) + "\n"));
  }
}
