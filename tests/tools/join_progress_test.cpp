// When a command that waits for its group says so, and what.
#include <catch2/catch.hpp>

#include <thread>

#include "join_progress.hpp"

namespace spindrift::tools {

using namespace std::chrono_literals;

namespace {

std::optional<std::string> no_names(NodeId) { return std::nullopt; }

}  // namespace

TEST_CASE("whom a command waits for is said at once on a terminal, after two seconds elsewhere, and again every few") {
  const Time begun{};
  for (const bool terminal : {true, false}) {
    JoinProgress progress(begun, 30s, terminal, no_names);
    progress.set({NodeId(0), NodeId(2)});
    const Time first = begun + (terminal ? 100ms : 2000ms);
    CHECK(progress.next() == first);
    CHECK_FALSE(progress.line(first - 1ms));
    CHECK(progress.line(first) == (terminal ? "waiting for nodes 0, 2: 30 s left" : "waiting for nodes 0, 2: 28 s left"));
    CHECK_FALSE(progress.line(first + 2999ms));
    progress.set({NodeId(2)});
    CHECK(progress.line(first + 3s) == (terminal ? "waiting for node 2: 27 s left" : "waiting for node 2: 25 s left"));
    progress.set({});
    CHECK(progress.line(begun + 40s) == "waiting for a view: 0 s left");
  }
}

TEST_CASE("nothing is said before it is known who is missing") {
  JoinProgress progress(Time{}, 30s, true, no_names);
  CHECK_FALSE(progress.line(Time{} + 1s));
  CHECK(progress.next() == Time{} + 4s);
}

TEST_CASE("a line names the nodes whose names have no address, as soon as that is known") {
  JoinProgress progress(Time{}, 3600s, true, [](NodeId node) -> std::optional<std::string> {
    if (node == NodeId(1)) return "no-such-host.invalid:7400";
    return node == NodeId(2) ? std::optional<std::string>("127.0.0.1:7400") : std::nullopt;
  });
  progress.set({NodeId(0), NodeId(1), NodeId(2)});
  std::string line;
  for (Time now = Time{} + 1s; line.find(';') == std::string::npos; now += JoinProgress::interval) {
    REQUIRE(now < Time{} + 3600s);
    line = progress.line(now).value_or("");
    std::this_thread::sleep_for(10ms);  // until a resolver of another thread is done, which tells nobody
  }
  CHECK_THAT(line, Catch::StartsWith("waiting for nodes 0, 1, 2: ") &&
                       Catch::EndsWith(" s left; node 1 (no-such-host.invalid): its name does not resolve yet"));
  progress.set({NodeId(0)});
  CHECK_THAT(progress.line(Time{} + 3600s).value_or(""), Catch::EndsWith(" s left"));
}

}  // namespace spindrift::tools
