// The words for a roster, which come from any process of the host's user and, of contacts, over the network: what is taken
// for a roster is one, and the same when it is written and read again; so is a call.
#include "fuzz.hpp"

#include <algorithm>
#include <set>

#include <spindrift/core/config/addresses.hpp>
#include <spindrift/group/roster_messages.hpp>

using namespace spindrift;
using spindrift::fuzz::as_text;
using spindrift::fuzz::expect;

namespace {

void check_roster(const Roster& roster) {
  std::set<NodeId> nodes;
  for (const NodeAddress& each : roster.nodes) {
    expect(nodes.insert(each.node).second, "no node is twice in a roster");
    expect(each.endpoint.empty() || config::parse_host_port(each.endpoint).ok(), "an address is one");
    expect(each.endpoint.size() <= endpoint_bytes_max, "an address has a bound");
  }
  expect(!nodes.empty() && nodes.size() <= roster_count_max, "a roster has some nodes and not too many");
  for (const NodeId node : roster.drained) expect(nodes.contains(node), "what is drained is in the roster");
  const auto again = group::decode_roster_outcome(group::encode(Result<Roster>(roster)));
  expect(again && *again == roster, "a roster survives its own text");
}

void check_outcome(std::string_view text) {
  const auto outcome = group::decode_roster_outcome(text);
  if (outcome) return check_roster(*outcome);
  static_cast<void>(outcome.error().to_string());
  const auto again = group::decode_roster_outcome(group::encode(outcome));
  expect(!again && again.error().kind() == outcome.error().kind(), "an error survives its own text");
}

void check_call(std::string_view text) {
  const auto call = group::decode_roster_call(text);
  if (!call) return;
  expect(call->changes.size() <= roster_changes_max, "a call has a bound");
  const auto again = group::decode_roster_call(group::encode(*call));
  expect(again && again->changes == call->changes && again->patience == call->patience, "a call survives its own text");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  check_outcome(as_text(data, size));
  check_call(as_text(data, size));
  if (const auto named = group::decode_roster_outcome(as_text(data, size), "orders")) check_roster(*named);
  return 0;
}
