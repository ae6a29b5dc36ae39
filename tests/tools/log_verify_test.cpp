// `spindrift log verify` of journals that are whole, byte for byte, and that their node's start refuses.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <spindrift/store/format.hpp>
#include <spindrift/store/reserve.hpp>

#include "../store/checkpoint_fixture.hpp"
#include "command.hpp"
#include "exit_code.hpp"
#include "log_fixture.hpp"

using namespace spindrift;
using namespace spindrift::test;
using namespace spindrift::tools;
using Catch::Matchers::Contains;
using nlohmann::json;

namespace {

/// Two messages are in the log of node 1, and a checkpoint behind them with that link.
void write_with_checkpoint(LogFixture& host, const Digest& link) {
  const auto journal = host.open(1, 1 << 16U, store::SegmentFormat::third);
  const std::string_view state = "a state";
  const auto bytes = std::as_bytes(std::span(state));
  host.append(*journal, "behind");
  journal->append(store::piece_head(), store::checkpoint_payload({orders, store::CheckpointOf::present, store::LogVersion(2),
                                                                  link, bytes.size(), 0, bytes}));
  journal->flush();
  value_or_throw(journal->close());
}

Digest link_of(const LogFixture& host) {
  return value_or_throw(group::read_journal(host.place, NodeId(1)))->findings.ends.of(orders).link;
}

}  // namespace

TEST_CASE_METHOD(LogFixture, "a checkpoint of another log is damage, and one of the log is none") {
  {
    const auto journal = open(1, 1 << 16U, store::SegmentFormat::third);
    for (int i = 0; i < 2; ++i) append(*journal, "message");
    value_or_throw(journal->close());
  }
  SECTION("of the log") {
    write_with_checkpoint(*this, link_of(*this));
    const CommandResult verified = log({"verify"});
    CHECK(verified.code == 0);
    CHECK_THAT(verified.output, Contains("nothing is damaged"));
    CHECK(json::parse(log({"verify", "--json"}).output)["ok"] == true);
  }
  SECTION("of another log") {
    write_with_checkpoint(*this, digest_of("another log"));
    const CommandResult verified = log({"verify"});
    CHECK(verified.code == number(ExitCode::failure));
    const std::string what = "the checkpoint of version 2 is of another log than the messages behind it";
    CHECK_THAT(verified.output, Contains("damaged: " + place.of(NodeId(1)) + ": " + what + "; fix: have this node forget") &&
                                    Contains("group forget --config FILE 1\nno entry is lost, but the node cannot go on"));
    const CommandResult told = log({"verify", "--json"});
    CHECK(told.code == number(ExitCode::failure));
    const json document = json::parse(told.output);
    CHECK(document["ok"] == false);
    REQUIRE(document["damages"].size() == 1);
    CHECK(document["damages"][0]["kind"] == "checkpoint");
    CHECK(document["damages"][0]["message"] == what);
    CHECK(run({"log", "verify", "--journal", place.of(NodeId(1))}).code == number(ExitCode::failure));
  }
}

TEST_CASE_METHOD(LogFixture, "a reserve that a start refuses is damage") {
  fill(1, 3);
  CHECK(log({"verify"}).code == 0);
  for (const std::size_t copy : {std::size_t{0}, std::size_t{store::Reserve::file_bytes / 2}})
    put(place.of(NodeId(1)) + "/reserve", copy, "XXXXXXXX");
  const CommandResult verified = log({"verify"});
  CHECK(verified.code == number(ExitCode::failure));
  CHECK_THAT(verified.output, Contains("/reserve: both copies in the reserve of the journal are damaged"));
  CHECK(json::parse(log({"verify", "--json"}).output)["damages"][0]["kind"] == "reserve");
  CHECK_FALSE(group::FoundJournal::take(place, NodeId(1)));
}

TEST_CASE_METHOD(LogFixture, "a segment whose head says another node than those before it is refused, also in a copy") {
  fill(1, 100);
  REQUIRE(segments().size() > 2);
  const std::string file = segments()[1];
  const std::string before = content_of(file);
  store::SegmentHead head = store::read_head(std::as_bytes(std::span(before)).first(store::block_bytes)).head;
  head.owner.node = NodeId(2);
  const store::Blocks forged = store::head_block(head);
  for (const std::uint64_t at : store::head_at)
    put(file, at, {reinterpret_cast<const char*>(forged.data()), forged.size()});
  const CommandResult own = log({"verify"});
  CHECK(own.code == number(ExitCode::refused));
  CHECK_THAT(own.errors, Contains(file) && Contains("it is of the journal of node 2, and this is node 1"));
  const CommandResult copy = run({"log", "verify", "--journal", place.of(NodeId(1))});
  CHECK(copy.code == number(ExitCode::refused));
  CHECK_THAT(copy.errors, Contains(file) && Contains("it is of the journal of node 2, and this is node 1"));
}

TEST_CASE_METHOD(LogFixture, "a log of a journal without a configuration is called by its place in the layout") {
  fill(1, 1);
  CHECK_THAT(run({"log", "verify", "--journal", place.of(NodeId(1))}).output,
             Contains("log of place 0 of the layout: ends at version 1"));
}
