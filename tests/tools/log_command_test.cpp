// `spindrift log` over journals that are written here, whole, damaged, and while it reads.
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "../skip.hpp"
#include "../store/checkpoint_fixture.hpp"
#include "command.hpp"
#include "exit_code.hpp"
#include "log_fixture.hpp"

using namespace spindrift;
using namespace spindrift::test;
using namespace spindrift::tools;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;
using nlohmann::json;

TEST_CASE_METHOD(LogFixture, "logs are listed with their versions, times, bytes and links, by the names of the layout") {
  CHECK_THAT(log({"ls"}).errors, Contains("node 1 has no journal here"));
  std::filesystem::create_directories(place.of(NodeId(1)));
  std::filesystem::permissions(place.above, std::filesystem::perms::owner_all);
  CHECK(log({"verify"}).code == number(ExitCode::resource));
  const auto journal = open(1);
  CHECK(log({"ls"}).output == "node 1 keeps no log yet\n");
  CHECK(log({"verify"}).code == 0);
  append(*journal, "one");
  append(*journal, "four");
  append(*journal, "x", SubgroupId(9));
  value_or_throw(journal->close());
  const CommandResult listed = log({"ls"});
  CHECK(listed.code == 0);
  CHECK_THAT(listed.output,
             Contains("\norders    [0, 2)    [7.1]  2023-11-14T22:13:20.123456Z  2023-11-14T22:13:21.123456Z      7  ") &&
                 Contains("\nplace 9   [0, 1)    [7.2]  "));
  const json document = json::parse(log({"ls", "--json"}).output);
  REQUIRE(document["logs"].size() == 2);
  CHECK(document["logs"][0]["subgroup"] == "orders");
  CHECK(document["logs"][0]["end"] == 2);
  CHECK(document["logs"][1]["subgroup"].is_null());
  CHECK(document["logs"][1]["id"] == 9);
  CHECK_THAT(listed.output, Contains(std::string(document["logs"][0]["link"])));
}

TEST_CASE_METHOD(LogFixture, "under a changed layout logs have the names that their node has recorded") {
  const auto journal = open(1);
  record(*journal, {"audit", "orders", "gone"});
  append(*journal, "of audit", SubgroupId(0));
  append(*journal, "of orders", SubgroupId(1));
  append(*journal, "of gone", SubgroupId(2));
  value_or_throw(journal->close());
  CHECK_THAT(log({"ls"}).output, Contains("\naudit     [0, 1)    [7.0]") && Contains("\norders    [0, 1)    [7.1]") &&
                                     Contains("\nplace 2   [0, 1)    [7.2]"));
  const json listed = json::parse(log({"ls", "--json"}).output)["logs"];
  CHECK(listed[0]["subgroup"] == "audit");
  CHECK(listed[2]["subgroup"].is_null());
  CHECK_THAT(log({"verify"}).output,
             Contains("log of audit: ends at version 1") && Contains("log of place 2 of the layout: ends"));
  CHECK_THAT(log({"dump", "orders"}).output, Contains(": of orders\n"));
  CHECK_THAT(log({"replay", "audit"}).output, Contains(": of audit\n"));
  CHECK_THAT(log({"dump", "gone"}).output, Contains(": of gone\n"));
}

TEST_CASE_METHOD(LogFixture, "a log at a subgroup's place that is recorded as another's is not shown for that subgroup's") {
  const auto journal = open(1);
  SECTION("of one that the layout has elsewhere") {
    record(*journal, {"audit"});
    append(*journal, "of audit", SubgroupId(0));
    const CommandResult refused = log({"dump", "orders"});
    CHECK(refused.code == number(ExitCode::usage));
    CHECK(refused.output.empty());
    CHECK_THAT(refused.errors, Contains("--subgroup orders: the log of node 1 at its place of the layout, 0 counted from 0, "
                                        "is that of audit") &&
                                   Contains("fix: the layout has changed since the node ran") &&
                                   Contains("--subgroup audit"));
  }
  SECTION("of one that the layout lacks") {
    record(*journal, {"gone"});
    append(*journal, "of gone", SubgroupId(0));
    const CommandResult refused = log({"replay", "orders"});
    CHECK(refused.code == number(ExitCode::usage));
    CHECK_THAT(refused.errors, Contains("is that of a subgroup that the layout does not have"));
  }
  value_or_throw(journal->close());
}

TEST_CASE_METHOD(LogFixture, "the messages of a log come out in order, as tail prints them, or as JSON without a loss") {
  const auto journal = open(1);
  append(*journal, "one");
  append(*journal, "not of it", audit);
  append(*journal, "\xfftwo\n\\");
  append(*journal, "");
  value_or_throw(journal->close());
  CHECK(log({"dump", "orders"}).output ==
        "0 2023-11-14T22:13:20.123456Z [7.0] 2: one\n"
        "1 2023-11-14T22:13:22.123456Z [7.2] 2: \\xfftwo\\x0a\\\\\n"
        "2 2023-11-14T22:13:23.123456Z [7.3] 2: \n");
  const auto lines = lines_of(log({"dump", "--subgroup", "orders", "--json"}).output);
  REQUIRE(lines.size() == 3);
  CHECK(lines[0]["text"] == "one");
  CHECK(lines[0]["base64"].is_null());
  CHECK(lines[1]["text"].is_null());
  CHECK(lines[1]["base64"] == "/3R3bwpc");
  CHECK(lines[1]["log_version"] == 1);
  CHECK(lines[2]["bytes"] == 0);
}

TEST_CASE_METHOD(LogFixture, "a message commands no terminal and turns no line, as text or as JSON") {
  const auto journal = open(1);
  append(*journal, "\u0085\x7f\u202e.");
  value_or_throw(journal->close());
  CHECK_THAT(log({"dump", "orders"}).output, Contains(R"( \xc2\x85\x7f\xe2\x80\xae.)"));
  const std::string line = log({"dump", "orders", "--json"}).output;
  CHECK_THAT(line, Contains(R"("\u0085\u007f\u202e.")"));
  CHECK(lines_of(line)[0]["text"] == "\u0085\x7f\u202e.");
}

TEST_CASE_METHOD(LogFixture, "a part of a log over many segments is printed, and one that is not there is refused") {
  fill(1, 300);
  REQUIRE(segments().size() > 3);
  const auto versions = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"dump", "orders", "--json"});
    std::vector<std::uint64_t> all;
    for (const json& line : lines_of(log(words).output)) {
      all.push_back(line["log_version"]);
      CHECK_THAT(std::string(line["text"]), StartsWith(std::to_string(all.back()) + "."));
    }
    return all;
  };
  CHECK(versions({}).size() == 300);
  CHECK(versions({"--from", "200", "--to", "203"}) == std::vector<std::uint64_t>{200, 201, 202});
  CHECK(versions({"--from", "298"}) == std::vector<std::uint64_t>{298, 299});
  CHECK(versions({"--to", "2"}) == std::vector<std::uint64_t>{0, 1});
  CHECK(versions({"--from", "300"}).empty());
  const CommandResult behind = log({"dump", "orders", "--from", "301"});
  CHECK(behind.code == number(ExitCode::usage));
  CHECK_THAT(behind.errors, Contains("--from 301: ") && Contains("[0, 300)") && Contains("fix: give --from 300 or less"));
  const CommandResult reversed = log({"dump", "orders", "--from", "5", "--to", "4"});
  CHECK(reversed.code == number(ExitCode::usage));
  CHECK_THAT(reversed.errors, Contains("--from 5: it is more than --to 4"));
}

TEST_CASE_METHOD(LogFixture, "logs are listed with their checkpoints, which are no messages, and damage to one is damage") {
  const auto journal = open(1, 1 << 16U, store::SegmentFormat::third);
  const std::string state = "a state of some bytes" + std::string(50'000, '.');
  for (int i = 0; i < 3; ++i) append(*journal, "message");
  append(*journal, "of another log", audit);
  for (const auto& piece : store::pieces_of(orders, 2, state, 20'000)) journal->append(store::piece_head(), piece);
  for (const auto& piece : store::pieces_of(audit, 5, "of no log yet", 20'000)) journal->append(store::piece_head(), piece);
  append(*journal, "behind");
  value_or_throw(journal->close());
  CHECK_THAT(log({"ls"}).output, Contains(" bytes  checkpoint      link\n") && Contains("     27  2: 50021 bytes  ") &&
                                     Contains("     14  -               "));
  const json listed = json::parse(log({"ls", "--json"}).output)["logs"];
  CHECK(listed[0]["checkpoint"] ==
        json{{"log_version", 2}, {"bytes", state.size()}, {"link", digest_of("2").to_string()}});
  CHECK(listed[1]["checkpoint"].is_null());
  CHECK(lines_of(log({"dump", "orders", "--json"}).output).size() == 4);
  CHECK_THAT(log({"verify"}).output, Contains(" and 9 entries in ") && Contains("log of orders: ends at version 4"));
  flip(segments(), "a state of some bytes");
  const CommandResult verified = log({"verify"});
  CHECK(verified.code == 1);
  CHECK_THAT(verified.output, Contains("entries that were durable cannot be read: entry 4\n"));
  CHECK(json::parse(log({"ls", "--json"}).output)["logs"][0]["checkpoint"].is_null());
}

TEST_CASE_METHOD(LogFixture, "a log that began anew is told of from there on") {
  const auto journal = open(1, 1 << 16U);
  for (int i = 0; i < 100; ++i) append(*journal, "before" + std::string(1000, '.'));
  journal->append_base({orders, {}, {}, {}, {}}, begin_ns + sequence * 1'000'000'000);
  append(*journal, "after");
  value_or_throw(journal->close());
  CHECK_THAT(log({"ls"}).output, Contains("orders    [0, 1)"));
  CHECK(log({"dump", "orders"}).output == "0 2023-11-14T22:15:00.123456Z [7.100] 2: after\n");
  CHECK(log({"verify"}).code == 0);
}

TEST_CASE_METHOD(LogFixture, "a byte that flips is found, with its file, the messages that are lost, and no other") {
  fill(1, 100);
  const CommandResult whole = log({"verify"});
  CHECK(whole.code == 0);
  CHECK_THAT(whole.output, Contains("100 entries in " + place.of(NodeId(1))) &&
                               Contains("log of orders: ends at version 100") && Contains("\nnothing is damaged\n"));
  const std::string file = flip(segments(), "31....");
  const CommandResult judged = log({"verify"});
  CHECK(judged.code == number(ExitCode::failure));
  CHECK_THAT(judged.output, Contains("damaged: " + file + ":") && Contains(": entry 31\n") && Contains("99 entries") &&
                                Contains("log of orders: messages [31, 32) cannot be read") &&
                                Contains("\nentries that were durable are lost: see whether other nodes have them"));
  const CommandResult told = log({"verify", "--json"});
  CHECK(told.code == number(ExitCode::failure));
  const json document = json::parse(told.output);
  CHECK(document["ok"] == false);
  REQUIRE(document["damages"].size() == 1);
  CHECK(document["damages"][0]["kind"] == "entries");
  CHECK(document["damages"][0]["first"] == 31);
  CHECK(document["logs"][0]["lost"][0]["first"] == 31);

  const CommandResult rest = log({"dump", "orders", "--json"});
  CHECK(rest.code == number(ExitCode::failure));
  CHECK(lines_of(rest.output).size() == 99);
  CHECK_THAT(rest.errors, Contains("messages [31, 32) of the log of orders cannot be read"));
  const CommandResult behind = log({"dump", "orders", "--from", "32", "--json"});
  CHECK(behind.code == number(ExitCode::failure));
  CHECK(lines_of(behind.output).size() == 68);
  CHECK_THAT(behind.errors, Contains(file + ":") && Contains("entries that were durable cannot be read"));
  const CommandResult listed = log({"ls"});
  CHECK(listed.code == number(ExitCode::failure));
  CHECK_THAT(listed.output, Contains("[0, 100)"));
  CHECK_THAT(listed.errors, Contains(file));
}

TEST_CASE_METHOD(LogFixture, "a segment that is gone is found") {
  fill(1, 100);
  REQUIRE(segments().size() > 3);
  std::filesystem::remove(segments()[1]);
  const CommandResult judged = log({"verify"});
  CHECK(judged.code == number(ExitCode::failure));
  CHECK_THAT(judged.output, Contains("damaged: ") && Contains("a segment is missing") && Contains(" cannot be read"));
}

TEST_CASE_METHOD(LogFixture, "lost entries of nobody knows which log are told with what can be printed of one") {
  const auto check = [&](std::size_t printed, const std::string& where) {
    const CommandResult rest = log({"dump", "orders", "--json"});
    CHECK(rest.code == number(ExitCode::failure));
    CHECK(lines_of(rest.output).size() == printed);
    CHECK_THAT(rest.errors, Contains(where) && Contains("the log of orders may have had messages there"));
    CHECK(log({"verify"}).code == number(ExitCode::failure));
    CHECK(log({"ls"}).code == number(ExitCode::failure));
  };
  const auto bound = [&](const char* name) -> std::size_t {
    return json::parse(log({"ls", "--json"}).output)["logs"][0][name];
  };
  fill(1, 100);
  const auto files = segments();
  REQUIRE(lines_of(log({"dump", "orders", "--json"}).output).size() == 100);
  SECTION("the newest segment's heads") {
    for (const std::size_t at : {0U, 3U * 4096U}) put(files.back(), at, "XXXXXXXX");
    REQUIRE(bound("end") < 100);
    check(bound("end"), files.back());
    const CommandResult behind = log({"dump", "orders", "--from", "100"});
    CHECK(behind.code == number(ExitCode::failure));
    CHECK_THAT(behind.errors, Contains(files.back()));
  }
  SECTION("a newest segment that is shorter") {
    std::filesystem::resize_file(files.back(), 4 * 4096);
    REQUIRE(bound("end") < 100);
    check(bound("end"), files.back());
  }
  SECTION("the first segment") {
    std::filesystem::remove(files.front());
    REQUIRE(bound("first") > 0);
    check(100 - bound("first"), files.front());
    CHECK(log({"dump", "orders", "--from", "0"}).code == number(ExitCode::failure));
  }
  SECTION("an entry of another log") {
    const auto journal = open(1);
    for (const auto& [text, to] : {std::pair{"hers....", audit}, {"last", orders}}) {
      append(*journal, text, to);
      value_or_throw(journal->await_durable(journal->end(), {}));
    }
    value_or_throw(journal->close());
    check(101, flip(segments(), "hers...."));
  }
}

TEST_CASE_METHOD(LogFixture, "a damaged head, of which there are two, costs nothing, and is told") {
  fill(1, 3);
  put(segments()[0], 40, "x");
  const CommandResult judged = log({"verify"});
  CHECK(judged.code == 0);
  CHECK_THAT(judged.output, Contains("damaged: " + segments()[0] + ":0: ") && Contains("\nno entry is lost\n"));
  CHECK(log({"dump", "orders"}).code == 0);
}

TEST_CASE_METHOD(LogFixture, "a torn tail is told, and is no damage") {
  fill(1, 3);
  const std::size_t size = content_of(segments()[0]).size();
  put(segments()[0], size - 4096, "what a write left");
  const CommandResult judged = log({"verify"});
  CHECK(judged.code == 0);
  CHECK_THAT(judged.output, Contains("torn: " + segments()[0] + ":") && Contains("\nnothing is damaged\n"));
  CHECK(json::parse(log({"verify", "--json"}).output)["torn"].size() == 1);
}

TEST_CASE_METHOD(LogFixture, "a journal is read while its node writes, and looks whole") {
  const auto journal = open(1);
  append(*journal, "first");
  value_or_throw(journal->await_durable(journal->end(), {}));
  std::atomic<bool> enough = false;
  std::thread writer([&] {
    while (!enough) {
      if (journal->has_room()) append(*journal, std::string(sequence % 5000, 'x'));
    }
  });
  std::vector<CommandResult> results;
  for (int i = 0; i < 8; ++i) results.push_back(log({i % 2 == 0 ? "verify" : "ls"}));
  results.push_back(log({"dump", "orders", "--to", "1"}));
  enough = true;
  writer.join();
  for (const CommandResult& each : results) {
    INFO(each.output.substr(0, 2000) << each.errors);
    CHECK(each.code == 0);
  }
  value_or_throw(journal->close());
}

TEST_CASE_METHOD(LogFixture, "what cannot be looked at is refused, with the reason and what to do") {
  const auto refused = [&](std::vector<std::string> words, std::uint32_t node, ExitCode code) {
    const CommandResult result = log(std::move(words), node);
    CHECK(result.code == number(code));
    CHECK_THAT(result.errors, Contains("; fix: "));
    return result.errors;
  };
  CHECK_THAT(refused({"ls"}, 1, ExitCode::resource), Contains("a node makes its journal when it starts"));
  fill(0, 1);
  fill(1, 1);
  CHECK_THAT(refused({"verify"}, 2, ExitCode::resource),
             Contains(place.of(NodeId(2))) && Contains("give --id one of: 0, 1"));
  CHECK_THAT(refused({"dump", "nothing"}, 1, ExitCode::usage),
             Contains("--subgroup nothing") && Contains("use one of: orders, audit"));
  CHECK_THAT(refused({"dump", "plain"}, 1, ExitCode::usage), Contains("--subgroup plain: the subgroup is not logged"));
  CHECK(log({"dump", "audit"}).code == 0);
  CHECK_THAT(refused({"dump", "audit", "--from", "1"}, 1, ExitCode::usage), Contains("[0, 0)"));
  CHECK(run({"log", "ls", "--config", config}).code == number(ExitCode::usage));
  std::filesystem::copy(place.of(NodeId(1)), place.of(NodeId(2)));
  CHECK_THAT(refused({"verify"}, 2, ExitCode::refused), Contains("it is of the journal of node 1"));

  const std::string none =
      directory.file("none.cfg", "[SPINDRIFT]\nmembers = 0\n[LAYOUT]\njson_layout = '[{\"name\": \"plain\"}]'\n");
  const CommandResult nowhere = run({"log", "ls", "--config", none});
  CHECK(nowhere.code == number(ExitCode::usage));
  CHECK_THAT(nowhere.errors, Contains(none) && Contains("[PERS] file_path is empty") && Contains("fix: "));
}

TEST_CASE_METHOD(LogFixture, "the only node that has a journal here needs no id") {
  fill(2, 1);
  CHECK(run({"log", "dump", "orders", "--config", config}).code == 0);
}

TEST_CASE_METHOD(LogFixture, "root reads the journal of the user that runs the node") {
  if (::geteuid() != 0) return skip("this is not root");
  fill(1, 2);
  constexpr uid_t nobody = 65534;
  REQUIRE(::chown(directory.path().c_str(), nobody, nobody) == 0);
  for (const auto& each : std::filesystem::recursive_directory_iterator(directory.path()))
    REQUIRE(::chown(each.path().c_str(), nobody, nobody) == 0);
  CHECK(log({"verify"}).code == 0);
  CHECK(log({"ls"}).code == 0);
}
