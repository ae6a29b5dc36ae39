// A state on its way, from what its source saves to what a newcomer loads.
#include <catch2/catch.hpp>

#include <deque>
#include <string>
#include <vector>

#include <spindrift/views/transfer.hpp>

#include "application.hpp"

namespace spindrift::views {
namespace {

const GroupIdentity group{"g", {1, 2}};
constexpr SubgroupId id(0);
constexpr std::size_t piece_max = 1 << 20;

RankSet set_of(std::initializer_list<std::uint32_t> ranks) {
  RankSet set;
  for (const std::uint32_t rank : ranks) set.add(Rank(rank));
  return set;
}

/// Nodes 5, 4, 3, 2: ranks and ids have opposite orders.
View view_of(std::uint64_t number) {
  View view;
  view.id = ViewId(number);
  view.subgroups.resize(1);
  for (std::uint32_t i = 0; i < 4; ++i) {
    view.members.emplace_back(5 - i);
    view.incarnations.push_back(100 + i);
  }
  view.subgroups[0].members = view.subgroups[0].senders = view.members;
  return view;
}

/// A member's side of transfers.
struct Side {
  explicit Side(std::uint32_t node) : self(node) {}
  void begin(const View& view, RankSet loaded) {
    deliveries.begin_view(view, {loaded}, {});
    transfers.begin_view(view, {loaded}, deliveries);
    deliveries.pass_boundaries();
  }
  NodeId self;
  Application application;
  Deliveries deliveries{self, 1, 1 << 20, application};
  Transfers transfers{self, application};
};

/// Takes everything that is there; returns the last of it.
std::optional<Transfers::Taken> take_all(Side& side, std::vector<StateAck>* acks = nullptr) {
  std::optional<Transfers::Taken> last;
  while (auto taken = side.transfers.take()) {
    if (acks != nullptr) acks->push_back(taken->ack);
    last = std::move(taken);
  }
  return last;
}

StatePiece piece_of(const Addressed& addressed) {
  const auto message = decode(addressed.message, group, view_of(1).subgroups);
  REQUIRE((message && std::holds_alternative<StatePiece>(*message)));
  return std::get<StatePiece>(*message);
}

TEST_CASE("the lowest rank that has the state is its source, for all members that have not") {
  const View view = view_of(1);
  const TransferPlan plan = transfer_plan(view, id, set_of({1, 3}));
  CHECK(plan.source == NodeId(4));
  CHECK(plan.newcomers == std::vector{NodeId(5), NodeId(3)});
  CHECK(transfer_plan(view, id, RankSet::first(4)).newcomers.empty());
  View without = view;
  without.subgroups[0].members.erase(without.subgroups[0].members.begin() + 1);
  CHECK(transfer_plan(without, id, set_of({1, 3})).source == NodeId(2));
}

TEST_CASE("a state goes out in pieces within a window, and arrives as it was saved, with what waited behind it") {
  const View view = view_of(1);
  const RankSet loaded = set_of({0, 1, 2});
  Side source(5);
  Side newcomer(2);
  source.application.state.resize(3 * Transfers::window_bytes / 2);
  for (std::size_t i = 0; i < source.application.state.size(); ++i)
    source.application.state[i] = static_cast<char>('a' + i % 23);
  source.application.ready = false;
  source.deliveries.begin_view(view_of(0), {loaded}, {});
  deliver([&](std::span<const Delivery> batch) { source.deliveries.on_delivery(id, batch); }, "xy");
  source.begin(view, loaded);
  newcomer.begin(view, loaded);
  CHECK(source.transfers.sending());
  CHECK(newcomer.transfers.receiving());

  CHECK(source.transfers.next_pieces(view, set_of({0, 1, 2}), piece_max).empty());  // it does not know of the view yet
  std::optional<Transfers::Taken> taken;
  for (int round = 0; round < 10 && source.transfers.sending(); ++round) {
    const auto pieces = source.transfers.next_pieces(view, set_of({3}), piece_max);
    std::uint64_t bytes = 0;
    for (const Addressed& each : pieces) {
      CHECK(each.to == NodeId(2));
      CHECK(piece_of(each).bytes.size() <= Transfers::piece_bytes);
      bytes += piece_of(each).bytes.size();
      REQUIRE(newcomer.transfers.on_piece(NodeId(5), piece_of(each)));
    }
    CHECK(bytes <= Transfers::window_bytes);
    std::vector<StateAck> acks;
    if (auto last = take_all(newcomer, &acks)) taken = std::move(last);
    for (const StateAck& ack : acks) source.transfers.on_ack(NodeId(2), ack);
  }
  static_cast<void>(source.transfers.next_pieces(view, set_of({3}), piece_max));
  CHECK_FALSE(source.transfers.sending());
  REQUIRE((taken && taken->complete && taken->writer));
  taken->writer->finish();
  CHECK(newcomer.application.loaded == source.application.state + "!");
  REQUIRE(newcomer.deliveries.end_loading(id, taken->kept));
  CHECK(newcomer.deliveries.flush());
  CHECK(newcomer.application.heard[0] == "1xy1");
  CHECK_FALSE(newcomer.transfers.receiving());
}

TEST_CASE("a state of no bytes is one empty piece, asks nothing of the application, and is over when acknowledged") {
  const View view = view_of(1);
  Side source(5);
  Side newcomer(4);
  source.begin(view, set_of({0, 2, 3}));
  newcomer.begin(view, set_of({0, 2, 3}));
  const auto pieces = source.transfers.next_pieces(view, set_of({1}), piece_max);
  REQUIRE(pieces.size() == 1);
  CHECK_FALSE(newcomer.transfers.take());
  REQUIRE(newcomer.transfers.on_piece(NodeId(5), piece_of(pieces[0])));
  newcomer.application.ready = false;
  const auto taken = newcomer.transfers.take();
  REQUIRE((taken && taken->complete));
  CHECK(source.transfers.sending());
  REQUIRE(source.transfers.receivers().size() == 1);
  CHECK(source.transfers.receivers()[0].node == NodeId(4));
  source.transfers.on_ack(NodeId(4), taken->ack);
  CHECK_FALSE(source.transfers.sending());
  CHECK_FALSE(taken->writer);
  CHECK(taken->kept.empty());
}

TEST_CASE("nothing goes out while the application still saves, and it is asked for nothing else meanwhile") {
  const View view = view_of(1);
  Side source(5);
  source.application.state = "all";
  source.application.saved = false;
  source.begin(view, set_of({0, 2, 3}));
  CHECK(source.transfers.next_pieces(view, set_of({1}), piece_max).empty());
  CHECK(source.transfers.sending());
  CHECK(source.deliveries.accepts(id));    // and keeps what comes
  CHECK(source.deliveries.handed_over());  // the view may end
  CHECK_FALSE(source.deliveries.all_taken());
  CHECK(source.deliveries.drained() == 0);
  source.application.saved = true;
  CHECK(source.transfers.next_pieces(view, set_of({1}), piece_max).size() == 1);
  CHECK(source.deliveries.accepts(id));
  CHECK(source.deliveries.drained() == 1);
}

TEST_CASE("who is to get a state that could not be saved is told of once, and gets nothing") {
  const View view = view_of(1);
  Side source(5);
  source.application.state = "all";
  source.application.saved = false;
  source.begin(view, set_of({0, 2, 3}));
  CHECK(source.transfers.take_unsaved().empty());
  source.application.failure = "no memory";
  CHECK(source.transfers.take_unsaved().empty());  // not over
  source.application.saved = true;
  CHECK(source.transfers.next_pieces(view, set_of({1}), piece_max).empty());  // it failed since it was looked at
  const auto unsaved = source.transfers.take_unsaved();
  REQUIRE(unsaved.size() == 1);
  CHECK(unsaved[0].to == view.members[1]);
  CHECK(unsaved[0].subgroup == id);
  CHECK(unsaved[0].why == "no memory");
  CHECK(source.transfers.take_unsaved().empty());
  CHECK_FALSE(source.transfers.sending());
  CHECK(source.transfers.next_pieces(view, set_of({1}), piece_max).empty());
}

TEST_CASE("nothing is taken for an application that is not ready, and not more than a window waits for it") {
  const View view = view_of(1);
  Side newcomer(2);
  newcomer.begin(view, set_of({0}));
  newcomer.application.ready = false;
  const std::vector<std::byte> bytes(Transfers::piece_bytes);
  const std::uint64_t total = 2 * Transfers::window_bytes;
  std::uint64_t offset = 0;
  for (; offset < Transfers::window_bytes + Transfers::piece_bytes; offset += bytes.size()) {
    REQUIRE(newcomer.transfers.on_piece(NodeId(5), {view.id, id, offset, total, total, bytes}));
  }
  CHECK_FALSE(newcomer.transfers.take());
  CHECK_FALSE(newcomer.transfers.on_piece(NodeId(5), {view.id, id, offset, total, total, bytes}));
  newcomer.application.ready = true;
  const auto taken = newcomer.transfers.take();
  REQUIRE(taken);
  CHECK(taken->ack.offset == offset);
  CHECK_FALSE(taken->complete);
  CHECK(newcomer.application.loaded.size() == offset);
}

TEST_CASE("a piece out of turn is a fault of its source, but one of another view, or of nobody's transfer, is nothing") {
  const View view = view_of(4);
  Side newcomer(2);
  newcomer.begin(view, set_of({0}));
  const std::vector<std::byte> bytes(10);
  CHECK(newcomer.transfers.on_piece(NodeId(5), {ViewId(3), id, 50, 100, 100, bytes}));
  CHECK(newcomer.transfers.on_piece(NodeId(4), {view.id, id, 50, 100, 100, bytes}));
  CHECK_FALSE(newcomer.transfers.take());
  REQUIRE(newcomer.transfers.on_piece(NodeId(5), {view.id, id, 0, 100, 100, bytes}));
  CHECK_FALSE(newcomer.transfers.on_piece(NodeId(5), {view.id, id, 0, 100, 100, bytes}));
  CHECK_FALSE(newcomer.transfers.on_piece(NodeId(5), {view.id, id, 10, 99, 100, bytes}));
  CHECK_FALSE(newcomer.transfers.on_piece(NodeId(5), {view.id, id, 10, 100, 101, bytes}));
  CHECK(newcomer.transfers.on_piece(NodeId(5), {view.id, id, 10, 100, 100, bytes}));
}

TEST_CASE("an acknowledgement of what was not sent, or of another transfer, moves nothing") {
  const View view = view_of(4);
  Side source(5);
  source.application.state.resize(2 * Transfers::window_bytes);
  source.begin(view, set_of({0, 1, 2}));
  const auto window = source.transfers.next_pieces(view, set_of({3}), piece_max);
  CHECK(window.size() == Transfers::window_bytes / Transfers::piece_bytes);
  source.transfers.on_ack(NodeId(2), {view.id, id, Transfers::window_bytes + 1});
  source.transfers.on_ack(NodeId(3), {view.id, id, Transfers::piece_bytes});
  source.transfers.on_ack(NodeId(2), {ViewId(3), id, Transfers::piece_bytes});
  CHECK(source.transfers.next_pieces(view, set_of({3}), piece_max).empty());
  source.transfers.on_ack(NodeId(2), {view.id, id, Transfers::piece_bytes});
  CHECK(source.transfers.next_pieces(view, set_of({3}), piece_max).size() == 1);
}

TEST_CASE("what an earlier view began is void") {
  Side source(5);
  Side newcomer(2);
  source.application.state = "old";
  source.begin(view_of(1), set_of({0, 1, 2}));
  newcomer.begin(view_of(1), set_of({0, 1, 2}));
  const auto late = source.transfers.next_pieces(view_of(1), set_of({3}), piece_max);
  REQUIRE(late.size() == 1);
  source.application.state = "new";
  source.begin(view_of(2), set_of({0, 1, 2}));
  newcomer.begin(view_of(2), set_of({0, 1, 2}));
  CHECK(newcomer.transfers.on_piece(NodeId(5), piece_of(late[0])));
  CHECK_FALSE(newcomer.transfers.take());
  const auto pieces = source.transfers.next_pieces(view_of(2), set_of({3}), piece_max);
  REQUIRE(pieces.size() == 1);
  REQUIRE(newcomer.transfers.on_piece(NodeId(5), piece_of(pieces[0])));
  REQUIRE(newcomer.transfers.take());
  CHECK(newcomer.application.loaded == "new");
}

}  // namespace
}  // namespace spindrift::views
