// Following objects among the messages of a subgroup: whole, withdrawn, without a sender, met midway, and malformed.
#include <catch2/catch.hpp>

#include <cstring>

#include <spindrift/views/object_tracker.hpp>

using namespace spindrift;
using Kind = ObjectTracker::Kind;
using Why = ObjectEnd::Why;

namespace {

struct Message {
  Message(Kind kind, std::uint64_t object, std::uint64_t offset, std::uint64_t total, std::size_t length) {
    const ObjectTracker::Head head{static_cast<std::uint64_t>(kind), object, offset, total};
    bytes.resize(ObjectTracker::head_bytes + length);
    std::memcpy(bytes.data(), &head, sizeof head);
  }
  [[nodiscard]] Delivery from(std::uint32_t sender) const {
    return {NodeId(sender), SenderRank(0), MessageIndex(0), SequenceNumber(7), bytes, ViewId(3)};
  }
  std::vector<std::byte> bytes;
};

ObjectTracker::Step step(ObjectTracker& tracker, std::uint32_t sender, const Message& message) {
  auto taken = tracker.take(message.from(sender));
  REQUIRE(std::holds_alternative<ObjectTracker::Step>(taken));
  return std::get<ObjectTracker::Step>(taken);
}

bool refuses(ObjectTracker& tracker, const Message& message) {
  return std::holds_alternative<ObjectTracker::Fault>(tracker.take(message.from(0)));
}

std::vector<NodeId> nodes(std::initializer_list<std::uint32_t> ids) {
  std::vector<NodeId> list;
  for (const std::uint32_t id : ids) list.emplace_back(id);
  return list;
}

/// Members 0 to 3 in the view, those in the subgroup; without any it is inadequate.
View view_of(std::uint64_t id, const std::vector<NodeId>& members, const std::vector<NodeId>& senders) {
  View view;
  view.id = ViewId(id);
  view.members = nodes({0, 1, 2, 3});
  view.subgroups.resize(1);
  view.subgroups[0].members = members;
  view.subgroups[0].senders = senders;
  if (members.empty()) view.subgroups[0].inadequate = "too few members";
  return view;
}

/// As member 3 sees it.
ObjectBoundary boundary(const View& view, const std::vector<NodeId>& joined = {}) {
  return ObjectBoundary::of(view, SubgroupId(0), NodeId(3), joined);
}

}  // namespace

TEST_CASE("pieces come in order, and with the last one the object is complete") {
  ObjectTracker tracker;
  const auto first = step(tracker, 0, {Kind::piece, 1, 0, 150, 100});
  REQUIRE(first.piece);
  CHECK(first.piece->offset == 0);
  CHECK(first.piece->bytes.size() == 100);
  CHECK(first.piece->total == 150);
  CHECK(first.piece->view == ViewId(3));
  CHECK_FALSE(first.end);
  const auto last = step(tracker, 0, {Kind::piece, 1, 100, 150, 50});
  REQUIRE(last.piece);
  REQUIRE(last.end);
  CHECK(last.end->why == Why::complete);
  CHECK(last.end->bytes == 150);
}

TEST_CASE("objects of several senders, and of one, go on side by side") {
  ObjectTracker tracker;
  CHECK(step(tracker, 0, {Kind::piece, 1, 0, 20, 10}).piece);
  CHECK(step(tracker, 0, {Kind::piece, 2, 0, 20, 10}).piece);
  CHECK(step(tracker, 1, {Kind::piece, 1, 0, 20, 10}).piece);
  CHECK(step(tracker, 0, {Kind::piece, 2, 10, 20, 10}).end);
  CHECK(step(tracker, 1, {Kind::piece, 1, 10, 20, 10}).end);
  CHECK(step(tracker, 0, {Kind::piece, 1, 10, 20, 10}).end);
}

TEST_CASE("an object of no bytes is one piece of none") {
  ObjectTracker tracker;
  const auto only = step(tracker, 0, {Kind::piece, 1, 0, 0, 0});
  CHECK(only.piece);
  CHECK(only.end);
}

TEST_CASE("a withdrawn object ends where it is") {
  ObjectTracker tracker;
  static_cast<void>(step(tracker, 0, {Kind::piece, 1, 0, 20, 10}));
  const auto end = step(tracker, 0, {Kind::withdrawn, 1, 10, 20, 0});
  CHECK_FALSE(end.piece);
  REQUIRE(end.end);
  CHECK(end.end->why == Why::withdrawn);
  CHECK(end.end->bytes == 10);
  CHECK_FALSE(step(tracker, 0, {Kind::withdrawn, 1, 10, 20, 0}).end);
}

TEST_CASE("when a sender is out of the view, or anew in it, its objects end") {
  ObjectTracker tracker;
  for (std::uint32_t sender = 0; sender < 3; ++sender) {
    static_cast<void>(step(tracker, sender, {Kind::piece, 1, 0, 20, 10}));
  }
  const auto ended = tracker.on_view(boundary(view_of(4, nodes({0, 2, 3}), nodes({0, 2})), nodes({2, 9})));
  REQUIRE(ended.size() == 2);
  CHECK(ended[0].sender == NodeId(1));
  CHECK(ended[1].sender == NodeId(2));
  CHECK(ended[0].why == Why::sender_gone);
  CHECK(ended[0].bytes == 10);
  CHECK(step(tracker, 0, {Kind::piece, 1, 10, 20, 10}).end->why == Why::complete);
  CHECK(step(tracker, 2, {Kind::piece, 1, 0, 5, 5}).end->why == Why::complete);
}

TEST_CASE("when this member is moved out of the subgroup, no object goes on here") {
  ObjectTracker tracker;
  static_cast<void>(step(tracker, 0, {Kind::piece, 1, 0, 20, 10}));
  static_cast<void>(step(tracker, 1, {Kind::piece, 1, 0, 20, 10}));
  const auto ended = tracker.on_view(boundary(view_of(4, nodes({0, 2}), nodes({0, 2}))));
  REQUIRE(ended.size() == 2);
  CHECK(ended[0].why == Why::moved_out);
  CHECK(ended[1].why == Why::sender_gone);
  CHECK(tracker.under_way() == 0);
}

TEST_CASE("a subgroup with too few members loses nothing, so objects of senders that are in the view go on after it") {
  ObjectTracker tracker;
  static_cast<void>(step(tracker, 0, {Kind::piece, 1, 0, 20, 10}));
  static_cast<void>(step(tracker, 1, {Kind::piece, 1, 0, 20, 10}));
  const auto ended = tracker.on_view(boundary(view_of(4, {}, {}), nodes({1})));
  REQUIRE(ended.size() == 1);
  CHECK(ended[0].sender == NodeId(1));
  CHECK(tracker.on_view(boundary(view_of(5, nodes({0, 3}), nodes({0})))).empty());
  CHECK(step(tracker, 0, {Kind::piece, 1, 10, 20, 10}).end->why == Why::complete);
}

TEST_CASE("nothing is remembered of objects that ended, were met midway or belong to those who are gone") {
  ObjectTracker tracker;
  static_cast<void>(step(tracker, 0, {Kind::piece, 1, 0, 10, 10}));   // complete
  static_cast<void>(step(tracker, 0, {Kind::piece, 2, 0, 20, 10}));   // withdrawn
  static_cast<void>(step(tracker, 0, {Kind::withdrawn, 2, 10, 20, 0}));
  static_cast<void>(step(tracker, 0, {Kind::piece, 3, 10, 20, 10}));  // met at its last piece
  static_cast<void>(step(tracker, 0, {Kind::piece, 4, 10, 30, 10}));  // met midway, and then whole
  CHECK(tracker.under_way() == 1);
  static_cast<void>(step(tracker, 0, {Kind::piece, 4, 20, 30, 10}));
  CHECK(tracker.under_way() == 0);
  static_cast<void>(step(tracker, 1, {Kind::piece, 1, 0, 20, 10}));
  static_cast<void>(step(tracker, 2, {Kind::piece, 1, 10, 30, 10}));  // met midway; its sender goes
  CHECK(tracker.under_way() == 2);
  CHECK(tracker.on_view(boundary(view_of(4, nodes({0, 3}), nodes({0, 3})))).size() == 1);
  CHECK(tracker.under_way() == 0);
}

TEST_CASE("who meets an object midway hears so once, and nothing more of it") {
  ObjectTracker tracker;
  const auto met = step(tracker, 0, {Kind::piece, 1, 10, 40, 10});
  CHECK_FALSE(met.piece);
  REQUIRE(met.end);
  CHECK(met.end->why == Why::met_midway);
  const auto more = step(tracker, 0, {Kind::piece, 1, 20, 40, 10});
  CHECK((!more.piece && !more.end));
  const auto last = step(tracker, 0, {Kind::piece, 1, 30, 40, 10});
  CHECK((!last.piece && !last.end));
  CHECK(step(tracker, 0, {Kind::piece, 2, 0, 5, 5}).piece);
}

TEST_CASE("an object with a gap ends there, and what follows is nobody's") {
  ObjectTracker tracker;
  static_cast<void>(step(tracker, 0, {Kind::piece, 1, 0, 40, 10}));
  const auto gap = step(tracker, 0, {Kind::piece, 1, 20, 40, 10});
  CHECK_FALSE(gap.piece);
  REQUIRE(gap.end);
  CHECK(gap.end->why == Why::pieces_lost);
  CHECK(gap.end->bytes == 10);
  const auto last = step(tracker, 0, {Kind::piece, 1, 30, 40, 10});
  CHECK((!last.piece && !last.end));
}

TEST_CASE("messages go among the pieces") {
  ObjectTracker tracker;
  const Message message{Kind::message, 0, 0, 0, 12};
  const auto taken = tracker.take(message.from(0));
  REQUIRE(std::holds_alternative<ObjectTracker::Plain>(taken));
  CHECK(std::get<ObjectTracker::Plain>(taken).bytes.size() == 12);
}

TEST_CASE("what no member sends is refused") {
  ObjectTracker tracker;
  Message cut{Kind::message, 0, 0, 0, 0};
  cut.bytes.resize(31);
  CHECK(refuses(tracker, cut));
  CHECK(refuses(tracker, {static_cast<Kind>(0), 1, 0, 10, 10}));
  CHECK(refuses(tracker, {static_cast<Kind>(4), 1, 0, 10, 10}));
  CHECK(refuses(tracker, {Kind::piece, 1, 0, 10, 11}));
  CHECK(refuses(tracker, {Kind::piece, 1, 11, 10, 0}));
  CHECK(refuses(tracker, {Kind::piece, 1, 5, 10, 6}));
  CHECK(refuses(tracker, {Kind::piece, 1, ~std::uint64_t{0}, 10, 5}));
  CHECK(refuses(tracker, {Kind::piece, 1, 0, 10, 0}));
  static_cast<void>(step(tracker, 0, {Kind::piece, 1, 0, 10, 5}));
  CHECK(refuses(tracker, {Kind::piece, 1, 5, 11, 6}));
  for (std::uint64_t object = 2; object <= ObjectTracker::open_max; ++object) {
    static_cast<void>(step(tracker, 0, {Kind::piece, object, 0, 10, 5}));
  }
  CHECK(refuses(tracker, {Kind::piece, 5000, 0, 10, 5}));
}
