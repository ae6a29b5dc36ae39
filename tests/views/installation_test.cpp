// The memory that a member shows and takes up when a view begins, and that it gives back.
#include <catch2/catch.hpp>

#include <cstring>
#include <span>
#include <vector>

#include <spindrift/core/log.hpp>
#include <spindrift/views/installation.hpp>
#include <spindrift/views/messages.hpp>

#include "application.hpp"
#include "paper_fabric.hpp"

namespace spindrift::views {
namespace {

/// Nodes 0 and 1, who both send; `bulk`: large messages, too.
View view_of(std::uint64_t number, bool bulk = false) {
  View view;
  view.id = ViewId(number);
  view.members = {NodeId(0), NodeId(1)};
  view.incarnations = {100, 101};
  view.subgroups.resize(1);
  view.subgroups[0].members = view.subgroups[0].senders = view.members;
  view.subgroups[0].profile = {.ring_bytes = 4096, .window_messages = 8, .message_bytes_max = 64};
  if (bulk) {
    view.subgroups[0].profile.message_bytes_max = 1024;
    view.subgroups[0].profile.bulk_ring_bytes = 4096;
    view.subgroups[0].profile.large_message_bytes = 64;
  }
  return view;
}

/// Nodes 0, 1 and 2 on one host, with split rows: all are in the first subgroup, 0, 1 in the second, 1, 2 in the third.
View split_view(std::uint64_t number) {
  View view = view_of(number, true);
  view.members.push_back(NodeId(2));
  view.incarnations.push_back(102);
  view.subgroups[0].profile.split_rows = true;
  view.subgroups.resize(3, view.subgroups[0]);
  view.subgroups[0].members = view.subgroups[0].senders = view.members;
  view.subgroups[2].members = view.subgroups[2].senders = {NodeId(1), NodeId(2)};
  return view;
}

/// The subject of a notice: a subgroup's ring or bulk ring, or the row.
std::string said_by(const Message& notice) {
  if (const auto* ring = std::get_if<RingNotice>(&notice)) return "ring " + std::to_string(ring->subgroup.value());
  if (const auto* bulk = std::get_if<BulkNotice>(&notice)) return "bulk " + std::to_string(bulk->subgroup.value());
  return std::holds_alternative<RowNotice>(notice) ? "row" : "?";
}

struct Stage {
  Stage() { REQUIRE(log::set_levels("off").ok()); }
  void begin(View view) {
    std::vector<RankSet> loaded(view.subgroups.size(), RankSet::first(view.members.size()));
    REQUIRE(installation.begin(std::move(view), std::move(loaded), {Mandate::Rule::all_left}));
  }
  std::vector<std::string> shown_to(std::uint32_t node, bool mappable) {
    std::vector<std::string> parts;
    for (const Showing& showing : offer({{NodeId(node), 100 + node}, fabric::PeerId(10 + node), mappable}))
      parts.push_back(said_by(showing.notice));
    return parts;
  }
  /// Node 1, a neighbor, shows a part of the view.
  bool show_part(Installation::Part part, std::uint32_t subgroup, std::uint64_t bytes) {
    other.mappable = true;
    installation.on_notice(other, {ViewId(3), part, SubgroupId(subgroup)});
    return installation.on_exposed(other, {fabric::RegionKey(next_shown++), bytes, fabric::Access::read});
  }
  std::vector<Showing> offer(const PeerConnection& to) {
    std::vector<Showing> showings;
    for (;;) {
      auto showing = installation.next_offer(to);
      REQUIRE(showing.ok());
      if (!*showing) return showings;
      showings.push_back(std::move(**showing));
    }
  }
  [[nodiscard]] std::uint64_t row_bytes(std::uint32_t rank) {
    return installation.present()->table().layout(Rank(rank)).bytes();
  }
  bool show(std::uint64_t view, std::uint64_t bytes) {
    installation.on_notice(other, {ViewId(view)});
    return installation.on_exposed(other, {fabric::RegionKey(70 + view), bytes, fabric::Access::write});
  }
  RankSet attach() { return installation.attach(std::span(&other, 1)); }

  std::uint64_t next_shown = 1000;
  Application application;
  CounterBlock counters = CounterBlock::in_memory(2 * smc::Multicast::counters_max);
  PaperFabric fabric;
  PeerConnection other{{NodeId(1), 101}, fabric::PeerId(11), false};
  Installation installation{{NodeId(0), 1, {}}, fabric, application, counters};
};

TEST_CASE("a remote member is shown a mirror of its row, once, behind a notice that says so") {
  Stage stage;
  stage.begin(view_of(3));
  const auto showings = stage.offer(stage.other);
  REQUIRE(showings.size() == 1);
  CHECK(showings[0].access == fabric::Access::write);
  CHECK(stage.fabric.allocated.at(showings[0].region) == stage.row_bytes(1));
  REQUIRE(std::holds_alternative<RowNotice>(showings[0].notice));
  CHECK(std::get<RowNotice>(showings[0].notice).view == ViewId(3));
  CHECK(stage.offer(stage.other).empty());
}

TEST_CASE("a member of the same host is let at the row itself, to read it") {
  Stage stage;
  stage.begin(view_of(3));
  stage.other.mappable = true;
  const auto showings = stage.offer(stage.other);
  REQUIRE(showings.size() == 1);
  CHECK(showings[0].access == fabric::Access::read);
  CHECK(showings[0].region == stage.installation.present()->row().key);
}

TEST_CASE("mirrors of bulk rings are shown before the row") {
  Stage stage;
  stage.begin(view_of(3, true));
  const auto showings = stage.offer(stage.other);
  REQUIRE(showings.size() == 2);
  CHECK(std::holds_alternative<BulkNotice>(showings[0].notice));
  CHECK(std::holds_alternative<RowNotice>(showings[1].notice));
}

TEST_CASE("a ring that is split off its row is shown to neighbors in its subgroup alone, before the row") {
  using Parts = std::vector<std::string>;
  Stage stage;
  stage.begin(split_view(3));
  CHECK(stage.shown_to(1, true) == Parts{"ring 0", "bulk 0", "ring 1", "bulk 1", "row"});
  CHECK(stage.shown_to(2, true) == Parts{"ring 0", "bulk 0", "row"});
  const Epoch& epoch = *stage.installation.present();
  CHECK(epoch.row().memory.size() == epoch.table().layout(Rank(0)).shared_bytes());
  CHECK(epoch.beside()[1].ring->memory.size() == 4096);
  CHECK_FALSE(epoch.beside()[2].ring);
}

TEST_CASE("between hosts a ring that is split off is in the mirror, and shown to nobody") {
  Stage stage;
  stage.begin(split_view(3));
  CHECK(stage.shown_to(1, false) == std::vector<std::string>{"bulk 0", "bulk 1", "row"});
  CHECK(stage.fabric.allocated.at(stage.installation.present()->line(Rank(1)).mirror->key) ==
        stage.installation.present()->table().layout(Rank(1)).bytes());
}

TEST_CASE("a split row is attached with the rings that are this member's to read, and without one its owner is suspected") {
  using Part = Installation::Part;
  const std::string missing = GENERATE("nothing", "ring", "a page of the ring");
  CAPTURE(missing);
  Stage stage;
  stage.begin(split_view(3));
  static_cast<void>(stage.shown_to(1, true));
  for (const std::uint32_t subgroup : {0U, 1U}) {
    if (missing != "ring" || subgroup == 0)
      CHECK(stage.show_part(Part::ring, subgroup, missing == "a page of the ring" ? 4095 : 4096));
    CHECK(stage.show_part(Part::bulk, subgroup, 4096));
  }
  CHECK(stage.show_part(Part::row, 0, stage.installation.present()->table().layout(Rank(1)).shared_bytes()));
  static_cast<void>(stage.attach());
  CHECK(stage.installation.present()->change().suspected().contains(Rank(1)) == (missing != "nothing"));
  CHECK(stage.installation.present()->table().attached(Rank(1)) == (missing == "nothing"));
}

TEST_CASE("a ring shown by who cannot be mapped is out of turn") {
  Stage stage;
  stage.begin(split_view(3));
  stage.installation.on_notice(stage.other, {ViewId(3), Installation::Part::ring, SubgroupId(0)});
  CHECK_FALSE(stage.installation.on_exposed(stage.other, {fabric::RegionKey(5), 4096, fabric::Access::write}));
}

TEST_CASE("nothing is shown to a suspect") {
  Stage stage;
  stage.begin(view_of(3));
  stage.installation.present()->change().suspect(Rank(1), "it is silent");
  CHECK(stage.offer(stage.other).empty());
}

TEST_CASE("a row is attached when it has come and the own one was shown, in whichever order") {
  Stage stage;
  CHECK(stage.show(3, 1 << 20));  // before this member knows of the view
  stage.begin(view_of(3));
  CHECK(stage.attach().empty());
  static_cast<void>(stage.offer(stage.other));
  CHECK(stage.attach() == RankSet(2, 0));
  CHECK(stage.installation.present()->table().attached(Rank(1)));
  CHECK(stage.attach().empty());
}

TEST_CASE("a row of the wrong size, or one that came before its bulk rings, is a reason for suspicion") {
  Stage small;
  small.begin(view_of(3));
  static_cast<void>(small.offer(small.other));
  CHECK(small.show(3, small.row_bytes(0) - 8));
  CHECK(small.attach() == RankSet(2, 0));
  CHECK(small.installation.present()->change().suspected().contains(Rank(1)));
  Stage bulk;
  bulk.begin(view_of(3, true));
  static_cast<void>(bulk.offer(bulk.other));
  CHECK(bulk.show(3, bulk.row_bytes(0)));
  static_cast<void>(bulk.attach());
  CHECK(bulk.installation.present()->change().suspected().contains(Rank(1)));
}

TEST_CASE("memory that comes unannounced, or for another use, is out of turn, and of an earlier view it is given back") {
  Stage stage;
  stage.begin(view_of(3));
  CHECK_FALSE(stage.installation.on_exposed(stage.other, {fabric::RegionKey(5), 64, fabric::Access::write}));
  stage.installation.on_notice(stage.other, {ViewId(3)});
  CHECK_FALSE(stage.installation.on_exposed(stage.other, {fabric::RegionKey(5), 64, fabric::Access::read}));
  CHECK(stage.fabric.unmapped.empty());
  CHECK(stage.show(2, 64));
  CHECK(stage.fabric.unmapped == std::vector{fabric::RegionKey(72)});
}

TEST_CASE("a peer shows regions of so many views, and no more") {
  Stage stage;
  std::uint64_t taken = 0;
  for (std::uint64_t view = 1; view < 5000; ++view) taken += stage.show(view, 64) ? 1 : 0;
  // Four views, of each a row, and of each subgroup that there may be a ring and a bulk ring.
  CHECK(taken == 4 * (1 + 2 * (1 + added_place_count_max)));
}

TEST_CASE("what was shown for a view that never began here is given back with the next one, or forgotten with its peer") {
  Stage stage;
  CHECK(stage.show(2, 64));
  stage.begin(view_of(3));
  stage.installation.forget_earlier();
  CHECK(stage.fabric.unmapped == std::vector{fabric::RegionKey(72)});
  CHECK(stage.show(3, 1 << 20));
  stage.installation.on_lost(stage.other);
  static_cast<void>(stage.offer(stage.other));
  CHECK(stage.attach().empty());
}

TEST_CASE("who was not in the view before is a newcomer, until a view that has it becomes active") {
  Stage stage;
  stage.begin(view_of(3));
  CHECK(stage.installation.present()->change().newcomers().empty());
  const auto with_next_start = [](std::uint64_t number) {
    View view = view_of(number);
    view.incarnations[1] = 201;
    return view;
  };
  for (const std::uint64_t number : {4U, 5U}) {
    stage.begin(with_next_start(number));
    CHECK(stage.installation.present()->change().newcomers() == RankSet(0b10, 0));
  }
  static_cast<void>(stage.offer(stage.other));
  REQUIRE(stage.show(5, 1 << 20));
  static_cast<void>(stage.attach());
  Epoch& active = *stage.installation.present();
  active.begin();
  const std::span<std::byte> row = active.line(Rank(1)).mirror->memory;
  const auto says = [&](std::uint64_t offset, std::uint64_t value) {
    std::memcpy(row.data() + offset, &value, sizeof value);
  };
  says(active.table().layout(Rank(1)).epoch(), 5);
  says(active.table().layout(Rank(1)).phase(), 1);
  static_cast<void>(active.change().step({}, true));
  REQUIRE(active.change().everybody_ready());
  stage.begin(with_next_start(6));
  CHECK(stage.installation.present()->change().newcomers().empty());
}

TEST_CASE("a process in its first view knows the newcomers from others, and itself as one until all have read each other") {
  Stage stage;
  const RankSet told(0b01, 0);
  std::vector<RankSet> loaded(1, RankSet::first(2));
  REQUIRE(stage.installation.begin(view_of(3), loaded, {}, told));
  CHECK(stage.installation.present()->change().newcomers() == told);
  REQUIRE(stage.installation.begin(view_of(4), loaded, {}, RankSet(0b10, 0)));  // what it knows itself counts now
  CHECK(stage.installation.present()->change().newcomers() == told);
}

TEST_CASE("one that is dead and whose row never came did nothing, to who was there before, and is untold to who was not") {
  Stage stage;
  stage.other.mappable = true;
  const RankSet dead(0b10, 0);
  stage.installation.on_lost(stage.other, true);
  stage.begin(view_of(3));
  const auto testimonies = [&]() -> const Testimonies& { return stage.installation.present()->change().testimonies(); };
  CHECK(testimonies().outlook(dead) == Testimonies::Outlook::awaited);
  stage.installation.on_died(stage.other.id, true);
  CHECK(testimonies().outlook(dead) == Testimonies::Outlook::untold);
  stage.begin(view_of(4));
  CHECK(testimonies().outlook(dead) == Testimonies::Outlook::complete);
  CHECK(testimonies().unseen().empty());
}

TEST_CASE("one that has shown rows of earlier views, and died before all that it said was here, is unseen") {
  Stage stage;
  stage.begin(view_of(3));
  stage.other.mappable = true;
  REQUIRE(stage.show_part(Installation::Part::row, 0, 1 << 20));
  stage.begin(view_of(4));
  const bool complete = GENERATE(false, true);
  stage.installation.on_lost(stage.other, true);
  stage.installation.on_died(stage.other.id, complete);
  CHECK(stage.installation.present()->change().testimonies().outlook(RankSet(0b10, 0)) == Testimonies::Outlook::complete);
  CHECK(stage.installation.present()->change().testimonies().unseen().empty() == complete);
}

TEST_CASE("before its first view a process remembers the latest of the dead") {
  const auto outlook_after = [](std::uint32_t others) {
    Stage stage;
    stage.installation.on_lost(stage.other, true);
    for (std::uint32_t i = 0; i < others; ++i)
      stage.installation.on_lost({{NodeId(5), 500 + i}, fabric::PeerId(500 + i), true}, true);
    stage.begin(view_of(3));
    return stage.installation.present()->change().testimonies().outlook(RankSet(0b10, 0));
  };
  CHECK(outlook_after(2 * member_count_max - 1) == Testimonies::Outlook::awaited);
  CHECK(outlook_after(2 * member_count_max) == Testimonies::Outlook::none);
}

namespace {

struct Users {
  bool all = false;
  [[nodiscard]] bool uses(const Epoch&) const { return all; }
};

}  // namespace

TEST_CASE("an old epoch's memory goes when nobody needs it, and stays while it is used") {
  Stage stage;
  stage.begin(view_of(3));
  static_cast<void>(stage.offer(stage.other));
  REQUIRE(stage.show(3, 1 << 20));
  static_cast<void>(stage.attach());
  Epoch& old = *stage.installation.present();
  old.begin();
  old.change().suspect(Rank(1), "it is silent");
  for (int i = 0; i < 10; ++i) static_cast<void>(old.change().step({}, true));
  REQUIRE(old.change().state() == ViewChange::State::decided);
  old.finish(Time{});
  stage.begin(view_of(4));
  REQUIRE(stage.installation.epochs().size() == 2);
  CHECK(stage.fabric.allocated.size() == 3);  // a row and a mirror, and the next row
  stage.installation.drop_old(Time{}, {}, Users{true});
  CHECK(stage.installation.epochs().size() == 2);
  CHECK(stage.fabric.unmapped.empty());
  stage.installation.drop_old(Time{}, {}, Users{false});
  CHECK(stage.installation.epochs().size() == 1);
  CHECK(stage.fabric.allocated.size() == 1);
  CHECK(stage.fabric.unmapped == std::vector{fabric::RegionKey(73)});
}

}  // namespace
}  // namespace spindrift::views
