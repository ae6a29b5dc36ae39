// Messages between processes: agreement, every kind of difference, and bytes that are no message at all.
#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>

#include <spindrift/views/messages.hpp>

using namespace spindrift;
using namespace spindrift::views;

namespace {

const GroupIdentity ours{"flight", {11, 22}};

SubgroupView shape(std::string name) {
  SubgroupView subgroup;
  subgroup.name = std::move(name);
  return subgroup;
}

const std::vector<SubgroupView> shapes{shape("a"), shape("b")};

std::optional<Message> read(const std::vector<std::byte>& bytes) { return decode(bytes, ours, shapes); }

Hello hello() { return {NodeId(7), 99, false, ViewId(5)}; }

Roster roster() {
  return {2, {{NodeId(4), "10.0.0.4:7400"}, {NodeId(1), ""}, {NodeId(9), "b:2"}, {NodeId(11), "[fd00::1]:7"}}, {NodeId(11)}};
}

ViewNotice notice() {
  ViewNotice notice;
  notice.view.id = ViewId(3);
  notice.view.members = {NodeId(4), NodeId(1), NodeId(9)};
  notice.view.incarnations = {10, 11, 12};
  notice.view.subgroups = shapes;
  notice.view.subgroups[0].members = {NodeId(1), NodeId(9)};
  notice.view.subgroups[0].senders = {NodeId(9)};
  notice.view.subgroups[1].inadequate = "needs 4 members";
  notice.loaded = {RankSet(2, 0), RankSet()};
  notice.state_lost = {SubgroupId(1)};
  notice.view.roster = roster();
  notice.newcomers = RankSet(4, 0);
  return notice;
}

}  // namespace

TEST_CASE("a hello of the same group agrees and carries node, incarnation and view") {
  const auto message = read(encode(ours, hello(), NodeId(), {}));
  REQUIRE((message && std::holds_alternative<Hello>(*message)));
  const Hello& got = std::get<Hello>(*message);
  CHECK(got.node == NodeId(7));
  CHECK(got.incarnation == 99);
  CHECK_FALSE(got.fresh);
  CHECK(got.view == ViewId(5));
}

TEST_CASE("a difference is named, with what to do about it") {
  const auto difference = [](const std::vector<std::byte>& bytes) {
    const auto message = read(bytes);
    REQUIRE((message && std::holds_alternative<Mismatch>(*message)));
    return std::get<Mismatch>(*message).error;
  };
  CHECK(difference(encode({"other", {11, 22}}, hello(), NodeId(), {})).message().find("\"other\"") != std::string::npos);
  const Error digest = difference(encode({"flight", {11, 23}}, hello(), NodeId(), {}));
  CHECK(digest.message().find("configurations differ") != std::string::npos);
  CHECK_FALSE(digest.fix().empty());
  auto other_form = encode(ours, hello(), NodeId(), {});
  other_form[4] = std::byte{200};
  CHECK(difference(other_form).message() ==
        "no version of the protocol is spoken by both: version 17 here, and version 200 there");
}

TEST_CASE("a hello is taken from its sender alone, by whom it is for, on the connection that it was said on") {
  const ConnectionWords at_sender{3, 4};
  const auto bytes = encode(ours, hello(), NodeId(1), at_sender);
  const auto agrees = [&](const std::vector<std::byte>& said, NodeId self, const ConnectionWords& words) {
    const auto message = decode(said, ours, shapes, self, words);
    REQUIRE(message);
    return std::holds_alternative<Hello>(*message);
  };
  CHECK(agrees(bytes, NodeId(1), {4, 3}));
  CHECK_FALSE(agrees(bytes, NodeId(2), {4, 3}));  // handed on to somebody else
  CHECK_FALSE(agrees(bytes, NodeId(1), {5, 3}));  // said again on a later connection: this end's word is new
  CHECK_FALSE(agrees(bytes, NodeId(1), {4, 5}));
  CHECK_FALSE(agrees(bytes, NodeId(1), {3, 4}));  // sent back
  auto changed = bytes;
  changed[28] ^= std::byte{1};  // of the incarnation
  CHECK_FALSE(agrees(changed, NodeId(1), {4, 3}));
  const std::array<std::uint64_t, 2> digest = ours.config_digest;
  const auto key = std::as_bytes(std::span(digest));
  CHECK(std::search(bytes.begin(), bytes.end(), key.begin(), key.begin() + 8) == bytes.end());
}

TEST_CASE("reasons travel, cut to size and made printable") {
  const auto refusal = read(encode(Refusal{"no\x1b[2Jway"}));
  REQUIRE((refusal && std::holds_alternative<Refusal>(*refusal)));
  CHECK(std::get<Refusal>(*refusal).reason == "no?[2Jway");
  const auto removed = read(encode(Removed{std::string(9999, 'x')}));
  REQUIRE((removed && std::holds_alternative<Removed>(*removed)));
  CHECK(std::get<Removed>(*removed).reason.size() == 512);
}

TEST_CASE("candidates travel, or none, each node once, as some incarnation") {
  const auto travels = [](std::vector<Join> candidates) {
    const auto message = read(encode(LinkedCandidates{candidates}));
    return message && std::get<LinkedCandidates>(*message).candidates == candidates;
  };
  CHECK(travels({}));
  CHECK(travels({{NodeId(3), 103}, {NodeId(1), 7}}));
  CHECK_FALSE(read(encode(LinkedCandidates{{{NodeId(3), 103}, {NodeId(3), 104}}})));
  CHECK_FALSE(read(encode(LinkedCandidates{{{NodeId(3), 0}}})));
  auto cut = encode(LinkedCandidates{{{NodeId(3), 103}}});
  cut.pop_back();
  CHECK_FALSE(read(cut));
  std::vector<Join> crowd;
  for (std::uint32_t i = 0; i <= member_count_max; ++i) crowd.push_back({NodeId(i), 1});
  CHECK_FALSE(read(encode(LinkedCandidates{crowd})));
}

TEST_CASE("a roster travels with its edition, in a proposal, a notice and a view, and each node is in it once") {
  const auto proposal = read(encode(RosterProposal{ViewId(3), roster()}));
  REQUIRE((proposal && std::holds_alternative<RosterProposal>(*proposal)));
  CHECK(std::get<RosterProposal>(*proposal).view == ViewId(3));
  CHECK(std::get<RosterProposal>(*proposal).roster == roster());
  const auto told = read(encode(RosterNotice{roster()}));
  REQUIRE((told && std::holds_alternative<RosterNotice>(*told)));
  CHECK(std::get<RosterNotice>(*told).roster == roster());
  Roster twice = roster();
  twice.nodes.push_back(twice.nodes.front());
  CHECK_FALSE(read(encode(RosterNotice{twice})));
  CHECK_FALSE(read(encode(RosterNotice{})));
  CHECK_FALSE(read(encode(RosterProposal{ViewId(3), {}})));
  Roster ugly = roster();
  ugly.nodes[2].endpoint = "b\n:2";
  CHECK_FALSE(read(encode(RosterNotice{ugly})));
  Roster crowd;
  for (std::uint32_t i = 0; i <= roster_count_max; ++i) crowd.nodes.push_back({NodeId(i), ""});
  CHECK_FALSE(read(encode(RosterNotice{crowd})));
  crowd.nodes.pop_back();
  CHECK(read(encode(RosterNotice{crowd})));
}

TEST_CASE("drained are nodes of the roster, ascending, each once, and not all") {
  const auto with = [](std::vector<NodeId> drained) {
    Roster tampered = roster();
    tampered.drained = std::move(drained);
    return read(encode(RosterNotice{tampered}));
  };
  const auto told = with({NodeId(1), NodeId(4), NodeId(9)});
  REQUIRE(told);
  CHECK(std::get<RosterNotice>(*told).roster.drained == std::vector{NodeId(1), NodeId(4), NodeId(9)});
  CHECK(with({}));
  CHECK_FALSE(with({NodeId(2)}));
  CHECK_FALSE(with({NodeId(4), NodeId(1)}));
  CHECK_FALSE(with({NodeId(4), NodeId(4)}));
  CHECK_FALSE(with({NodeId(1), NodeId(4), NodeId(9), NodeId(11)}));
}

AddedSubgroup orders() {
  AddedSubgroup orders;
  orders.name = "orders";
  orders.mode = DeliveryMode::unordered;
  orders.profile = {.ring_bytes = 4096, .window_messages = 7, .message_bytes_max = 100, .split_rows = true};
  orders.members = {NodeId(1), NodeId(9)};
  orders.senders = {NodeId(9)};
  return orders;
}

TEST_CASE("a roster travels with the subgroups that it adds and the places of those that were dropped") {
  Roster adds = roster();
  adds.added = {AddedSubgroup(), orders()};
  const auto told = read(encode(RosterNotice{adds}));
  REQUIRE((told && std::holds_alternative<RosterNotice>(*told)));
  CHECK(std::get<RosterNotice>(*told).roster == adds);
  CHECK(adds.digest() != roster().digest());
  const auto refused = [&](auto change) {
    Roster wrong = adds;
    change(wrong.added);
    return !read(encode(RosterNotice{wrong}));
  };
  CHECK(refused([](auto& added) { added[0] = added[1]; }));  // one name twice
  CHECK(refused([](auto& added) { added[0].profile.ring_bytes = 4096; }));
  CHECK(refused([](auto& added) { added[1].name = "no name"; }));
  CHECK(refused([](auto& added) { added[1].profile.ring_bytes = 5000; }));
  CHECK(refused([](auto& added) { added[1].senders = {NodeId(4)}; }));
  CHECK(refused([](auto& added) { added.resize(added_place_count_max + 1); }));
  CHECK(refused([](auto& added) {
    added.clear();
    for (int i = 0; i < 3; ++i) {
      added.push_back(orders());
      added.back().name += std::to_string(i);
      added.back().profile.ring_bytes = added_ring_bytes_max / 2;
    }
  }));
}

TEST_CASE("wishes for subgroups travel, with all that one is to be, or with its name") {
  RosterRequest wishes;
  wishes.changes = {{.kind = RosterChange::Kind::create, .subgroup = orders()},
                    {.kind = RosterChange::Kind::drop, .subgroup = {.name = "orders"}},
                    {.kind = RosterChange::Kind::change, .subgroup = orders()}};
  const auto message = read(encode(wishes));
  REQUIRE((message && std::holds_alternative<RosterRequest>(*message)));
  CHECK(std::get<RosterRequest>(*message).changes == wishes.changes);
  wishes.changes[1].node = NodeId(3);
  CHECK_FALSE(read(encode(wishes)));
  wishes.changes[1] = {.kind = RosterChange::Kind::drop, .subgroup = {}};
  CHECK_FALSE(read(encode(wishes)));
}

TEST_CASE("a view's subgroups are the layout's, and behind them those of its roster") {
  ViewNotice added = notice();
  added.view.roster.added = {AddedSubgroup(), orders()};
  for (const AddedSubgroup& each : added.view.roster.added)
    added.view.subgroups.push_back(in_view(each, added.view.members, nullptr));
  added.loaded.resize(4);
  added.loaded[3] = RankSet(6, 0);
  const auto message = read(encode(added));
  REQUIRE((message && std::holds_alternative<ViewNotice>(*message)));
  const std::vector<SubgroupView>& got = std::get<ViewNotice>(*message).view.subgroups;
  REQUIRE(got.size() == 4);
  CHECK((got[2].dropped && got[2].name.empty() && got[2].members.empty()));
  CHECK((got[3].name == "orders" && got[3].mode == DeliveryMode::unordered && got[3].profile == orders().profile));
  CHECK(got[3].members == std::vector{NodeId(1), NodeId(9)});
  CHECK(got[3].senders == std::vector{NodeId(9)});
  added.loaded[2] = RankSet(1, 0);  // a state of what is not there
  CHECK_FALSE(read(encode(added)));
}

TEST_CASE("a view whose roster lacks one of its members, or has it drained, is none") {
  ViewNotice without = notice();
  without.view.roster.nodes.erase(without.view.roster.nodes.begin() + 1);
  CHECK_FALSE(read(encode(without)));
  without.view.roster = roster();
  without.view.roster.drained = {NodeId(9)};
  CHECK_FALSE(read(encode(without)));
  without.view.roster = {};
  CHECK_FALSE(read(encode(without)));
}

TEST_CASE("wishes for another roster travel, each of a kind that there is") {
  const RosterRequest wishes{{{RosterChange::Kind::add, NodeId(7), "c:70"},
                              {RosterChange::Kind::remove, NodeId(1), ""},
                              {RosterChange::Kind::move, NodeId(4), "d:9"},
                              {RosterChange::Kind::drain, NodeId(4), ""},
                              {RosterChange::Kind::undrain, NodeId(9), ""}}};
  const auto message = read(encode(wishes));
  REQUIRE((message && std::holds_alternative<RosterRequest>(*message)));
  CHECK(std::get<RosterRequest>(*message).changes == wishes.changes);
  auto other_kind = encode(wishes);
  other_kind[24] = std::byte{7};
  CHECK_FALSE(read(other_kind));
  CHECK_FALSE(read(encode(RosterRequest{})));
  CHECK_FALSE(read(encode(RosterRequest{{{RosterChange::Kind::drain, NodeId(4), "d:9"}}})));
}

TEST_CASE("a member that concludes a view says which, and in which of the group's subgroups it is at work") {
  const auto message = read(encode(Concluding{ViewId(3), SubgroupId(1)}));
  REQUIRE((message && std::holds_alternative<Concluding>(*message)));
  CHECK(std::get<Concluding>(*message).view == ViewId(3));
  CHECK(std::get<Concluding>(*message).subgroup == SubgroupId(1));
  const SubgroupId last(2 + added_place_count_max - 1);  // one that there may be in another view than this one's present
  CHECK(read(encode(Concluding{ViewId(3), last})));
  CHECK_FALSE(read(encode(Concluding{ViewId(3), SubgroupId(last.value() + 1)})));
}

TEST_CASE("a view travels with members, incarnations, subgroups and who has their state") {
  const auto message = read(encode(notice()));
  REQUIRE((message && std::holds_alternative<ViewNotice>(*message)));
  const ViewNotice& got = std::get<ViewNotice>(*message);
  CHECK(got.view.id == ViewId(3));
  CHECK(got.view.members == notice().view.members);
  CHECK(got.view.incarnations == notice().view.incarnations);
  CHECK(got.view.subgroups[0].members == notice().view.subgroups[0].members);
  CHECK(got.view.subgroups[0].senders == notice().view.subgroups[0].senders);
  CHECK(got.view.subgroups[1].inadequate == "needs 4 members");
  CHECK(got.loaded == notice().loaded);
  CHECK(got.state_lost == notice().state_lost);
  CHECK(got.newcomers == notice().newcomers);
  CHECK(got.view.roster == roster());
}

TEST_CASE("an impossible view is none") {
  const auto refused = [](auto&& change) {
    ViewNotice wrong = notice();
    change(wrong);
    return !read(encode(wrong)).has_value();
  };
  CHECK(refused([](ViewNotice& wrong) { wrong.view.members[1] = wrong.view.members[0]; }));
  CHECK(refused([](ViewNotice& wrong) { wrong.view.incarnations[1] = 0; }));
  CHECK(refused([](ViewNotice& wrong) { wrong.loaded[0] = RankSet(8, 0); }));
  CHECK(refused([](ViewNotice& wrong) { wrong.loaded[0] = RankSet(); }));
  CHECK(refused([](ViewNotice& wrong) { wrong.newcomers = RankSet(8, 0); }));
  CHECK(refused([](ViewNotice& wrong) { wrong.view.subgroups[0].senders = {NodeId(4)}; }));
  CHECK(refused([](ViewNotice& wrong) { wrong.view.subgroups[0].senders.clear(); }));
}

TEST_CASE("a part of a message says how much follows, and is not empty") {
  const std::vector<std::byte> bytes(100, std::byte{42});
  const auto encoded = encode(MessagePart{7, bytes});
  const auto message = read(encoded);
  REQUIRE((message && std::holds_alternative<MessagePart>(*message)));
  CHECK(std::get<MessagePart>(*message).left == 7);
  CHECK(std::get<MessagePart>(*message).bytes.size() == 100);
  CHECK_FALSE(read(encode(MessagePart{7, {}})));
  CHECK_FALSE(read(encode(MessagePart{parted_message_bytes_max + 1, bytes})));
}

TEST_CASE("a founding and the promise for it travel, of some, each once, with a ballot that can be topped") {
  const PromiseRequest founding{3, {NodeId(4), NodeId(2)}, {7, 9}};
  const auto asked = read(encode(founding));
  REQUIRE((asked && std::holds_alternative<PromiseRequest>(*asked)));
  CHECK(std::get<PromiseRequest>(*asked) == founding);
  constexpr std::uint64_t largest = ~std::uint64_t{0};
  CHECK_FALSE(read(encode(PromiseRequest{0, {NodeId(4)}, {7}})));
  CHECK_FALSE(read(encode(PromiseRequest{largest, {NodeId(4)}, {7}})));
  CHECK_FALSE(read(encode(PromiseRequest{1, {}, {}})));
  CHECK_FALSE(read(encode(PromiseRequest{1, {NodeId(4)}, {0}})));
  CHECK_FALSE(read(encode(PromiseRequest{1, {NodeId(4), NodeId(4)}, {7, 8}})));

  const auto promised = read(encode(Promise{largest - 1, 7}));
  REQUIRE((promised && std::holds_alternative<Promise>(*promised)));
  CHECK(std::get<Promise>(*promised).ballot == largest - 1);
  CHECK(std::get<Promise>(*promised).founder == 7);
  CHECK_FALSE(read(encode(Promise{0, 7})));
  CHECK_FALSE(read(encode(Promise{largest, 7})));
  CHECK_FALSE(read(encode(Promise{1, 0})));
  const auto settled = read(encode(Settled{ViewId(5)}));
  REQUIRE((settled && std::holds_alternative<Settled>(*settled)));
  CHECK(std::get<Settled>(*settled).view == ViewId(5));
}

TEST_CASE("what a holder's node has of its logs travels, or that it has none, and since when, which is not 0") {
  for (const bool some : {true, false}) {
    OwnLogs said{ViewId(7), 50, {}};
    if (some) said.logs = {{SubgroupId(0), {8, {{1, 2}}}}, {SubgroupId(3), {1, {{3, 4}}}}};
    const auto message = read(encode(said));
    REQUIRE(message);
    const OwnLogs& taken = std::get<OwnLogs>(*message);
    CHECK((taken.view == said.view && taken.since == said.since && taken.logs == said.logs));
  }
  CHECK_FALSE(read(encode(OwnLogs{ViewId(7), 0, {}})));
}

TEST_CASE("a piece of a state travels with a digest and within its bounds") {
  const std::vector<std::byte> bytes(100, std::byte{42});
  const StatePiece piece{ViewId(3), SubgroupId(1), 50, 120, 200, bytes};
  const auto encoded = encode(piece);
  const auto message = read(encoded);
  REQUIRE((message && std::holds_alternative<StatePiece>(*message)));
  CHECK(std::get<StatePiece>(*message).bytes.size() == 100);
  auto damaged = encoded;
  damaged.back() ^= std::byte{1};
  CHECK_FALSE(read(damaged));
  CHECK_FALSE(read(encode(StatePiece{ViewId(3), SubgroupId(2 + added_place_count_max), 50, 120, 200, bytes})));
  CHECK_FALSE(read(encode(StatePiece{ViewId(3), SubgroupId(1), 101, 120, 200, bytes})));
  CHECK_FALSE(read(encode(StatePiece{ViewId(3), SubgroupId(1), 50, 201, 200, bytes})));
}

TEST_CASE("anything else is no message, whatever its length") {
  for (const auto& whole : {encode(ours, hello(), NodeId(), {}), encode(notice()), encode(RowNotice{ViewId(1)}),
                            encode(BulkNotice{ViewId(1), SubgroupId(1)}), encode(RingNotice{ViewId(1), SubgroupId(1)}),
                            encode(Settled{ViewId(1)}), encode(RosterHeld{ViewId(1), {{3, 4}}}), encode(Drained{}),
                            encode(RosterNotice{roster()}), encode(RosterProposal{ViewId(1), roster()}),
                            encode(FileSizes{ViewId(1), {{"orders", 4096, 8}}}),
                            encode(RosterRequest{{{RosterChange::Kind::add, NodeId(7), "c:70"}}}),
                            encode(StateAck{ViewId(1), SubgroupId(0), 9})}) {
    REQUIRE(read(whole));
    for (std::size_t length = 0; length < whole.size(); ++length) {
      CHECK_FALSE(read({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length)}));
    }
    auto longer = whole;
    longer.push_back(std::byte{0});
    CHECK_FALSE(read(longer));
  }
  CHECK_FALSE(read(encode(BulkNotice{ViewId(1), SubgroupId(2 + added_place_count_max)})));
  CHECK_FALSE(read(encode(RingNotice{ViewId(1), SubgroupId(2 + added_place_count_max)})));
  auto unknown_kind = encode(ours, hello(), NodeId(), {});
  unknown_kind[8] = std::byte{99};
  CHECK_FALSE(read(unknown_kind));
  auto other_magic = encode(ours, hello(), NodeId(), {});
  other_magic[0] = std::byte{0};
  CHECK_FALSE(read(other_magic));
}

TEST_CASE("sizes of rings travel with a roster and by themselves, and a view has those that fit its layout") {
  const std::vector<RingSizes> sizes{{"a", 8192, 3}, {"b", 4096, 1}};
  const auto file = read(encode(FileSizes{ViewId(3), sizes}));
  REQUIRE(file);
  CHECK(std::get<FileSizes>(*file).view == ViewId(3));
  CHECK(std::get<FileSizes>(*file).sizes == sizes);
  Roster with_sizes = roster();
  with_sizes.sizes = sizes;
  with_sizes.filed = digest_of(sizes);
  const auto proposal = read(encode(RosterProposal{ViewId(3), with_sizes}));
  REQUIRE(proposal);
  CHECK(std::get<RosterProposal>(*proposal).roster == with_sizes);
  const RosterChange resize{.kind = RosterChange::Kind::resize, .sizes = sizes[0]};
  const auto wish = read(encode(RosterRequest{{resize}}));
  REQUIRE(wish);
  CHECK(std::get<RosterRequest>(*wish).changes == std::vector{resize});
  RosterChange of_a_node = resize;
  of_a_node.node = NodeId(1);
  CHECK_FALSE(read(encode(RosterRequest{{of_a_node}})));

  ViewNotice first = notice();
  first.view.roster = with_sizes;
  const auto view = read(encode(first));
  REQUIRE(view);
  CHECK(ring_sizes_of(std::get<ViewNotice>(*view).view.subgroups) == sizes);
  for (const std::vector<RingSizes>& wrong :
       {std::vector<RingSizes>{sizes[0]}, {sizes[1], sizes[0]}, {sizes[0], {"b", 4096, 0}}, {sizes[0], {"b", 4095, 1}}}) {
    first.view.roster.sizes = wrong;
    CHECK_FALSE(read(encode(first)));
  }
}

TEST_CASE("the fuzzer's corpus speaks this version: its files are read as what they are named after") {
  std::size_t understood = 0;
  for (const auto& entry : std::filesystem::directory_iterator(MESSAGE_CORPUS)) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto message = decode(std::as_bytes(std::span(text)), {"fuzz", {1, 2}}, shapes);
    const std::string name = entry.path().filename();
    INFO(name);
    const bool differs = name == "old_version" || name.starts_with("hello_other");
    REQUIRE(message);
    CHECK(std::holds_alternative<Mismatch>(*message) == differs);
    understood += differs ? 0 : 1;
  }
  CHECK(understood >= 10);
}
