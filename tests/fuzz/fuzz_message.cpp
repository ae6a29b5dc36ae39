// A message of a peer, of any bytes: nothing, or one thing that keeps what messages.hpp promises of it.
#include <spindrift/views/messages.hpp>

#include "fuzz.hpp"

namespace {

using spindrift::fuzz::expect;
using namespace spindrift;
using namespace spindrift::views;

const GroupIdentity ours{.group_name = "fuzz", .config_digest = {1, 2}};

std::vector<SubgroupView> two_shapes() {
  std::vector<SubgroupView> shapes(2);
  shapes[0].name = "first";
  shapes[1].name = "second";
  return shapes;
}

/// Those of the layout, and as many as rosters may add.
constexpr std::size_t subgroups_max = 2 + added_place_count_max;

void check(const Hello& hello) {
  const auto again = decode(encode(ours, hello, NodeId(), {}), ours, two_shapes());
  expect(again && std::holds_alternative<Hello>(*again) && std::get<Hello>(*again).incarnation == hello.incarnation,
         "a hello survives its own encoding");
}
void check(const Mismatch& mismatch) { expect(!mismatch.error.fix().empty(), "a mismatch says what to do"); }
void check_words(const std::string& reason) {
  for (const char character : reason) expect(character >= ' ' && character <= '~', "a peer's words are printable");
}
void check(const Refusal& refusal) { check_words(refusal.reason); }
void check(const Removed& removed) { check_words(removed.reason); }
void check(const Stopped& stopped) { check_words(stopped.reason); }
void check(const ViewNotice& notice) {
  const View& view = notice.view;
  expect(view.members.size() == view.incarnations.size() && !view.members.empty(), "members have incarnations");
  expect(view.layout_count() == 2 && notice.loaded.size() == view.subgroups.size(), "a view has the group's subgroups");
  for (const SubgroupView& subgroup : view.subgroups) {
    check_words(subgroup.inadequate);
    for (const NodeId node : subgroup.members) expect(view.rank_of(node).has_value(), "a subgroup's members are the view's");
    for (const NodeId node : subgroup.senders) expect(subgroup.member_position(node).has_value(), "senders are members");
  }
  for (const NodeId node : view.members) expect(view.roster.admits(node), "a view's roster admits its members");
  const auto again = decode(encode(notice), ours, two_shapes());
  expect(again && std::holds_alternative<ViewNotice>(*again) && std::get<ViewNotice>(*again).view.members == view.members,
         "a view survives its own encoding");
}
void check(const RowNotice&) {}
void check(const BulkNotice& notice) { expect(notice.subgroup.value() < subgroups_max, "a subgroup that exists"); }
void check(const RingNotice& notice) { expect(notice.subgroup.value() < subgroups_max, "a subgroup that exists"); }
void check(const Settled&) {}
void check(const Concluding& word) { expect(word.subgroup.value() < subgroups_max, "a subgroup that exists"); }
void check(const Roster& roster) {
  expect(!roster.nodes.empty() && roster.nodes.size() <= roster_count_max, "a roster has some nodes");
  for (const NodeAddress& each : roster.nodes) {
    check_words(each.endpoint);
    expect(roster.find(each.node) == &each, "a node is in a roster once");
  }
  expect(std::ranges::is_sorted(roster.drained) && roster.drained.size() < roster.nodes.size(), "a roster admits some");
  for (const NodeId node : roster.drained) expect(roster.contains(node), "who is drained is in the roster");
  expect(possible(roster.added), "a roster adds subgroups that can be");
}
void check(const RosterNotice& notice) {
  check(notice.roster);
  const auto again = decode(encode(notice), ours, two_shapes());
  expect(again && std::get<RosterNotice>(*again).roster == notice.roster, "a roster survives its own encoding");
}
void check(const RosterProposal& proposal) { check(proposal.roster); }
void check(const RosterHeld&) {}
void check(const FileSizes& file) {
  const auto again = decode(encode(file), ours, two_shapes());
  expect(again && std::get<FileSizes>(*again).sizes == file.sizes, "sizes of rings survive their own encoding");
}
void check(const Drained&) {}
void check(const RosterRequest& request) {
  const auto again = decode(encode(request), ours, two_shapes());
  expect(again && std::get<RosterRequest>(*again).changes == request.changes, "wishes survive their own encoding");
}
void check(const Remembered& remembered) {
  expect(remembered.own.accepted.size() <= ViewRecord::accepted_max, "a record has a bound");
  const auto again = decode(encode(remembered), ours, two_shapes());
  expect(again && std::get<Remembered>(*again) == remembered, "what is remembered survives its own encoding");
}
void check(const LinkedCandidates& word) {
  const auto again = decode(encode(word), ours, two_shapes());
  expect(again && std::get<LinkedCandidates>(*again).candidates == word.candidates, "candidates survive their own encoding");
}
void check(const StatePiece& piece) {
  expect(piece.subgroup.value() < subgroups_max && piece.offset + piece.bytes.size() <= piece.total_bytes,
         "a piece lies in its stream");
}
void check(const StateAck& ack) { expect(ack.subgroup.value() < subgroups_max, "a subgroup that exists"); }
void check(const ReviveRequest& request) {
  expect(request.revival.attempt > 0 && request.revival.attempt <= revivals_max, "attempts have a bound");
  const auto again = decode(encode(request), ours, two_shapes());
  expect(again && std::get<ReviveRequest>(*again).revival == request.revival, "a revival survives its own encoding");
}
void check(const LogRequest& request) {
  expect(request.subgroup.value() < subgroups_max, "a log of a subgroup that exists");
  const auto again = decode(encode(request), ours, two_shapes());
  expect(again && std::get<LogRequest>(*again).end == request.end, "the end of a log survives its own encoding");
}
void check(const OwnLogs& said) {
  expect(said.since != 0, "a disk has had its logs since some time");
  const auto again = decode(encode(said), ours, two_shapes());
  expect(again && std::get<OwnLogs>(*again).logs == said.logs, "the ends of logs survive their own encoding");
}
void check(const PrivateMessage&) {}
void check(const MessagePart& part) {
  expect(!part.bytes.empty() && part.left <= parted_message_bytes_max, "a part has an end");
}
void check(const PromiseRequest& request) {
  const auto again = decode(encode(request), ours, two_shapes());
  expect(again && std::holds_alternative<PromiseRequest>(*again) && std::get<PromiseRequest>(*again) == request,
         "a request survives its own encoding");
}
void check(const Promise& promise) { expect(promise.ballot + 1 > 1 && promise.founder != 0, "there is a higher ballot"); }

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto message = decode(std::as_bytes(std::span(data, size)), ours, two_shapes());
  if (message) std::visit([](const auto& one) { check(one); }, *message);
  return 0;
}
