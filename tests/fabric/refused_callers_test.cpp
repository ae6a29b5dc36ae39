// The log's lines on callers that are turned away: the first is told of at once, and a flood of them fills no log.
#include "harness.hpp"

#include <spindrift/fabric/connected/node_refusals.hpp>
#include <spindrift/fabric/refused_callers.hpp>
#include <spindrift/fabric/tcp/admission.hpp>

using namespace spindrift;
using namespace spindrift::fabric;
using namespace spindrift::fabric::test;

namespace {

using Refused = RefusedCallers<tcp::Source>;

constexpr Time start = Time{} + std::chrono::hours(1);

/// A stranger can give one after the other.
Error reason(int number) { return Error(ErrorKind::refused, "its certificate is of node " + std::to_string(number)); }

}  // namespace

TEST_CASE(
    "a refused caller is told of at once, and again every ten seconds with how often it was so, or for another reason") {
  Refused refused;
  const tcp::Source source{0, 1}, other{0, 2};
  CHECK(refused.due(source, "no key", start) == 1);
  for (int i = 0; i < 100; ++i) CHECK(refused.due(source, "no key", start + Refused::between_lines / 2) == 0);
  CHECK(refused.due(other, "no key", start + Refused::between_lines / 2) == 1);
  CHECK(refused.due(source, "no key", start + Refused::between_lines) == 101);
  CHECK(refused.due(source, "too slow", start + Refused::between_lines) == 1);
  for (int i = 0; i < 100; ++i) {  // nor does it help to be refused for two reasons by turns
    CHECK(refused.due(source, "no key", start + Refused::between_lines) == 0);
    CHECK(refused.due(source, "too slow", start + Refused::between_lines) == 0);
  }
}

TEST_CASE(
    "of refused callers there are twenty lines in ten seconds, however many addresses they call from, and then twenty "
    "more") {
  Refused refused;
  const auto lines = [&](std::uint64_t first, Time at) {
    std::size_t count = 0;
    for (std::uint64_t i = first; i < first + 5000; ++i) count += refused.due(tcp::Source{0, i}, "no key", at) > 0 ? 1 : 0;
    return count;
  };
  CHECK(lines(0, start) == Refused::lines_max);
  CHECK(lines(10'000, start + Refused::between_lines / 2) == 0);
  CHECK(lines(20'000, start + Refused::between_lines) == Refused::lines_max);
}

TEST_CASE("a node with which there is no connection is told of once in an hour for each reason") {
  const TemporaryDirectory directory;
  const Log log(directory);
  connected::NodeRefusals refusals(std::make_shared<AuditTrail>());
  for (int second = 0; second < 3600; ++second) refusals.tell(NodeId(1), reason(2), start + std::chrono::seconds(second));
  CHECK(count_of(log.text(), "room=audit event=refused") == 1);
  refusals.tell(NodeId(1), reason(2), start + connected::NodeRefusals::until_repeated);
  CHECK(count_of(log.text(), "room=audit event=refused") == 2);
  CHECK_THAT(log.text(), Catch::Contains("times=3600"));
  refusals.tell(NodeId(1), reason(3), start + connected::NodeRefusals::until_repeated);
  CHECK(count_of(log.text(), "room=audit event=refused") == 3);
}

TEST_CASE("a stranger who is refused in the names of many nodes, for one reason after the other, fills no log") {
  const TemporaryDirectory directory;
  const Log log(directory);
  connected::NodeRefusals refusals(std::make_shared<AuditTrail>());
  for (int call = 0; call < 1000; ++call) {
    refusals.tell(NodeId(1), reason(call % 2), start);
    refusals.tell(NodeId(static_cast<std::uint32_t>(call)), reason(0), start);
  }
  CHECK(count_of(log.text(), "room=audit event=refused") == Refused::lines_max);
}
