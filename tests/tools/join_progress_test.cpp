// When a command that waits for its group says so, and what.
#include <catch2/catch.hpp>

#include "join_progress.hpp"

namespace spindrift::tools {

using namespace std::chrono_literals;

TEST_CASE("whom a command waits for is said at once on a terminal, after two seconds elsewhere, and again every few") {
  const Time begun{};
  for (const bool terminal : {true, false}) {
    JoinProgress progress(begun, 30s, terminal);
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
  JoinProgress progress(Time{}, 30s, true);
  CHECK_FALSE(progress.line(Time{} + 1s));
  CHECK(progress.next() == Time{} + 4s);
}

}  // namespace spindrift::tools
