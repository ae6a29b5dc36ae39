// `spindrift log replay`, and the bounds that it shares with `dump`.
#include <unistd.h>

#include <chrono>
#include <csignal>

#include <catch2/catch.hpp>

#include "exit_code.hpp"
#include "log_fixture.hpp"

using namespace spindrift;
using namespace spindrift::test;
using namespace spindrift::tools;
using Catch::Matchers::Contains;
using nlohmann::json;

namespace {

/// Messages "0" to "9", one a second from 22:13:20.123456789 on.
struct ReplayFixture : LogFixture {
  ReplayFixture() {
    const auto journal = open(1);
    for (int i = 0; i < 10; ++i) append(*journal, std::to_string(i));
    value_or_throw(journal->close());
  }
  /// The texts that are printed of a part.
  std::string texts(std::vector<std::string> words) const {
    words.insert(words.begin(), {"replay", "orders"});
    const CommandResult replayed = log(words);
    INFO(replayed.errors);
    CHECK(replayed.code == 0);
    std::string all;
    std::istringstream lines(replayed.output);
    for (std::string line; std::getline(lines, line);) all += line.substr(line.find(": ") + 2);
    return all;
  }
};

std::string at(const char* time) { return std::string("2023-11-14T22:13:") + time; }

}  // namespace

TEST_CASE_METHOD(LogFixture, "a log is replayed as tail prints deliveries, as text and as JSON") {
  const auto journal = open(1);
  append(*journal, "one");
  append(*journal, "not of it", audit);
  append(*journal, "\xfftwo\n\\");
  value_or_throw(journal->close());
  CHECK(log({"replay", "orders"}).output == "[7.0] 2: one\n[7.2] 2: \\xfftwo\\x0a\\\\\n");
  const auto lines = lines_of(log({"replay", "--subgroup", "orders", "--json"}).output);
  REQUIRE(lines.size() == 2);
  CHECK(lines[1] == json{{"version", 1}, {"view", 7}, {"sequence", 2}, {"node", 2}, {"index", 0}, {"log_version", 1},
                         {"bytes", 6}, {"text", "\ufffdtwo\n\\"}});
}

TEST_CASE_METHOD(ReplayFixture, "a part of a log is bounded by versions and by times, which both commands take") {
  CHECK(texts({}) == "0123456789");
  CHECK(texts({"--from", "3", "--to", "5"}) == "34");
  CHECK(texts({"--from", at("23.123456789Z"), "--to", at("25.123456789Z")}) == "34");
  CHECK(texts({"--from", at("23.12345679Z"), "--to", at("25.12345679Z")}) == "45");
  CHECK(texts({"--from", "2023-11-14T23:13:27+01:00"}) == "789");
  CHECK(texts({"--to", at("22Z")}) == "01");
  CHECK(texts({"--from", "2", "--to", at("25Z")}) == "234");
  CHECK(texts({"--from", at("25Z"), "--to", "7"}) == "56");
  CHECK(texts({"--from", "2023-01-01T00:00:00Z", "--to", "2023-02-01T00:00:00Z"}).empty());
  CHECK(texts({"--from", "2030-01-01T00:00:00Z"}).empty());
  CHECK(texts({"--from", "8", "--to", at("22Z")}).empty());
  CHECK(texts({"--from", "10"}).empty());
  CHECK(lines_of(log({"dump", "orders", "--json", "--from", at("23Z"), "--to", at("25Z")}).output).size() == 2);
}

TEST_CASE_METHOD(ReplayFixture, "bounds and paces that mean nothing are refused, with what is wrong") {
  const auto refused = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"replay", "orders"});
    const CommandResult result = log(words);
    CHECK(result.code == number(ExitCode::usage));
    CHECK(result.output.empty());
    return result.errors;
  };
  for (const char* const option : {"--from", "--to"}) {
    for (const char* const bound :
         {"", "-1", "+1", "007", "0x10", "1.5", "1e3", "18446744073709551616", "first", "last:3", "1 "})
      CHECK_THAT(refused({option, bound}), Contains(std::string(option) + ": ") && Contains("is no version, a whole"));
    CHECK_THAT(refused({option, at("20")}), Contains("it does not end with Z"));
    CHECK_THAT(refused({option, "2023-02-30T00:00:00Z"}), Contains("no calendar has that day"));
  }
  CHECK_THAT(refused({"--from", "11"}), Contains("--from 11: the log ends before that: the log has versions [0, 10)"));
  CHECK_THAT(refused({"--from", "5", "--to", "4"}), Contains("--from 5: it is more than --to 4"));
  CHECK_THAT(refused({"--from", at("22Z"), "--to", at("21Z")}), Contains("it is later than --to " + at("21Z")));
  for (const char* const pace : {"0", "-1", "fast", "inf", "nan", "1e7", "0x1", ""})
    CHECK_THAT(refused({"--pace", pace}), Contains("--pace: "));
  CHECK(log({"replay"}).code == number(ExitCode::usage));
  CHECK_THAT(log({"replay", "nothing"}).errors, Contains("use one of: orders, audit"));
  CHECK_THAT(log({"replay", "plain"}).errors, Contains("the subgroup is not logged"));
  CHECK(log({"replay", "orders", "more"}).code == number(ExitCode::usage));
}

TEST_CASE_METHOD(LogFixture, "messages that cannot be read are told behind those that can") {
  fill(1, 10);
  flip(segments(), "4....");
  const auto versions = [](const CommandResult& replayed) {
    CHECK(replayed.code == number(ExitCode::failure));
    std::vector<std::uint64_t> all;
    for (const json& line : lines_of(replayed.output)) all.push_back(line["log_version"]);
    return all;
  };
  const CommandResult around = log({"replay", "orders", "--json", "--from", at("23Z"), "--to", at("26Z")});
  CHECK(versions(around) == std::vector<std::uint64_t>{3, 5});
  CHECK_THAT(around.errors, Contains("messages [4, 5) of the log of orders cannot be read"));
  const CommandResult beside = log({"replay", "orders", "--json", "--from", at("25.2Z")});
  CHECK(versions(beside) == std::vector<std::uint64_t>{6, 7, 8, 9});
  CHECK_THAT(beside.errors, !Contains("messages [4, 5)") && Contains("may have had messages there"));
}

TEST_CASE_METHOD(LogFixture, "a log that has lost its beginning says where it begins to who asks by time") {
  fill(1, 100);
  REQUIRE(segments().size() > 3);
  std::filesystem::remove(segments().front());
  const std::uint64_t first = json::parse(log({"ls", "--json"}).output)["logs"][0]["first"];
  REQUIRE(first > 0);
  const CommandResult early = log({"replay", "orders", "--from", "2023-01-01T00:00:00Z"});
  CHECK_THAT(early.errors, Contains("the log of orders begins at version " + std::to_string(first) + ": what it had"));
  CHECK_THAT(log({"replay", "orders"}).errors, !Contains("what it had"));
}

TEST_CASE_METHOD(ReplayFixture, "messages come at their pace, or so many times as fast") {
  const auto begin = std::chrono::steady_clock::now();
  CHECK(texts({"--pace", "10"}) == "0123456789");
  const auto took = std::chrono::steady_clock::now() - begin;
  CHECK(took >= std::chrono::milliseconds(900));  // nine seconds lie between the first and the last
}

TEST_CASE_METHOD(ReplayFixture, "a signal or a reader that goes ends a replay that waits for a message's time") {
  const std::vector<std::string> words{"log", "replay", "orders", "--config", config, "--id", "1", "--pace", "0.001"};
  SECTION("a signal") {
    Command replay(words);
    REQUIRE(replay.wait_for("[7.0] 2: 0\n"));
    replay.send_signal(SIGINT);
    const CommandResult ended = replay.finish();
    CHECK(ended.code == number(ExitCode::interrupted));
    CHECK(ended.output == "[7.0] 2: 0\n");
  }
  SECTION("its reader") {
    std::string shell = "'" + std::string(SPINDRIFT_COMMAND) + "'";
    for (const std::string& word : words) shell += " '" + word + "'";
    Command pipe({"-c", "set -o pipefail; " + shell + " | head -n 1"}, "/bin/bash");
    CHECK(pipe.finish().code == 0);
  }
}

TEST_CASE_METHOD(ReplayFixture, "a replay whose output cannot be written says so") {
  Command full({"-c", "exec '" + std::string(SPINDRIFT_COMMAND) + "' log replay orders --config '" + config +
                          "' --id 1 >/dev/full"},
               "/bin/bash");
  CHECK(full.finish().code == number(ExitCode::resource));
}
