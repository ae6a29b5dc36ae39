// Own messages across views: sent, sent again, given up, sealed.
#include <catch2/catch.hpp>

#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include <spindrift/core/log.hpp>
#include <spindrift/views/sends.hpp>

#include "application.hpp"
#include "paper_fabric.hpp"

namespace spindrift::views {
namespace {

constexpr NodeId self(0);
constexpr SubgroupId id(0);

View view_of(std::uint64_t number, std::vector<NodeId> senders = {self}) {
  View view;
  view.id = ViewId(number);
  view.members = {self};
  view.incarnations = {100};
  view.subgroups.resize(1);
  view.subgroups[0].members = view.subgroups[0].senders = std::move(senders);
  view.subgroups[0].profile = {.ring_bytes = 4096, .window_messages = 8, .message_bytes_max = 64};
  return view;
}

View moved_away(std::uint64_t number) {
  View view = view_of(number, {NodeId(1)});
  view.members.emplace_back(1);
  view.incarnations.push_back(101);
  return view;
}

View inadequate(std::uint64_t number) {
  View view = view_of(number, {});
  view.subgroups[0].inadequate = "it has too few members";
  return view;
}

/// One member of one subgroup, alone in its views, and the views that it goes through.
struct Stage {
  Stage() { REQUIRE(log::set_levels("off").ok()); }

  /// The next view, in which nothing has been done.
  Epoch& next(View view) {
    const sst::RowLayout layout(view, self);
    rows.emplace_back(layout.bytes() / 8 + 1);
    const auto memory = std::as_writable_bytes(std::span(rows.back())).first(layout.bytes());
    epochs.push_back(std::make_unique<Epoch>(std::move(view), std::vector{RankSet::first(1)}, self,
                                             fabric::Region{fabric::RegionKey(1), memory}, std::vector<Epoch::Beside>(1),
                                             smc::Policy{}, Mandate::Terms{},
                                          application, counters));
    sends.begin_view(epochs.back()->view());
    return *epochs.back();
  }
  /// The same, and its gate is open.
  Epoch& next_open(std::uint64_t number) { return next_open(view_of(number)); }
  Epoch& next_open(View view) {
    Epoch& epoch = next(std::move(view));
    epoch.begin();
    static_cast<void>(sends.settle(epoch, false));
    return epoch;
  }
  void send(const std::string& characters) {
    for (const char character : characters) {
      SendGate::Claim claim;
      REQUIRE(sends.gate(id)->reserve(1, claim) == SendGate::Outcome::reserved);
      std::memcpy(claim.reservation.payload.data(), &character, 1);
      sends.gate(id)->commit(claim);
    }
  }
  void run(Epoch& epoch) {
    for (int i = 0; i < 10; ++i) REQUIRE(epoch.running().run(fabric, stepper, Time()).ok());
  }
  void end(Epoch& epoch) {
    sends.close();
    for (int i = 0; i < 10 && epoch.change().state() != ViewChange::State::decided; ++i) {
      static_cast<void>(epoch.change().step({{{NodeId(9), 1}, RankSet::first(2)}}, true));
    }
    REQUIRE(epoch.change().state() == ViewChange::State::decided);
    epoch.finish(Time{});
    sends.keep_leftovers(epoch);
  }

  Application application;
  CounterBlock counters = CounterBlock::in_memory(smc::Multicast::counters_max);
  smc::Stepper stepper;
  PaperFabric fabric;
  std::deque<std::vector<std::uint64_t>> rows;
  std::vector<std::unique_ptr<Epoch>> epochs;
  Sends sends{1, application};
};

TEST_CASE("a gate opens when its view is settled, whoever waits is told, and it closes with the view") {
  Stage stage;
  Epoch& epoch = stage.next(view_of(1));
  epoch.begin();
  CHECK_FALSE(stage.sends.gate(id)->is_open());
  CHECK(stage.sends.settle(epoch, false));
  CHECK(stage.sends.state() == Sends::State::settled);
  CHECK(stage.sends.gate(id)->is_open());
  CHECK(stage.application.spaces[0] == 1);
  CHECK_FALSE(stage.sends.settle(epoch, false));
  stage.sends.close();
  CHECK(stage.sends.state() == Sends::State::unsettled);
  CHECK_FALSE(stage.sends.gate(id)->is_open());
  stage.sends.end();
  CHECK(stage.application.spaces[0] == 2);
}

TEST_CASE("what lies beyond the trim goes first in the next view, in its order, and keeps its epoch until then") {
  Stage stage;
  Epoch& old = stage.next_open(1);
  stage.send("ab");
  stage.run(old);
  CHECK(stage.application.heard[0] == "ab");
  stage.send("cde");
  stage.end(old);
  CHECK(stage.sends.uses(old));
  Epoch& next = stage.next_open(2);
  CHECK_FALSE(stage.sends.uses(old));
  CHECK(stage.sends.gate(id)->is_open());
  stage.send("f");
  stage.run(next);
  CHECK(stage.application.heard[0] == "abcdef");
  CHECK(stage.application.dropped[0] == 0);
}

TEST_CASE("a thread that still builds a message in the old ring keeps what is left over, and the gate shut") {
  Stage stage;
  Epoch& old = stage.next_open(1);
  SendGate::Claim claim;
  REQUIRE(stage.sends.gate(id)->reserve(1, claim) == SendGate::Outcome::reserved);
  stage.end(old);
  Epoch& next = stage.next(view_of(2));
  next.begin();
  CHECK_FALSE(stage.sends.settle(next, false));
  CHECK(stage.sends.state() == Sends::State::unsettled);
  CHECK_FALSE(stage.sends.gate(id)->is_open());
  std::memcpy(claim.reservation.payload.data(), "x", 1);
  stage.sends.gate(id)->commit(claim);
  CHECK(stage.sends.settle(next, false));
  CHECK(stage.sends.gate(id)->is_open());
  stage.run(next);
  CHECK(stage.application.heard[0] == "x");
}

TEST_CASE("until the next view a subgroup is silent when its threads are out, all is sent again, and everybody has it") {
  Stage stage;
  Epoch& first = stage.next_open(1);
  stage.send("ab");
  stage.end(first);
  Epoch& next = stage.next_open(2);
  SendGate::Claim claim;
  REQUIRE(stage.sends.gate(id)->reserve(1, claim) == SendGate::Outcome::reserved);
  CHECK_FALSE(stage.sends.silence(id, next));
  CHECK_FALSE(stage.sends.gate(id)->is_open());
  std::memcpy(claim.reservation.payload.data(), "c", 1);
  stage.sends.gate(id)->commit(claim);
  CHECK_FALSE(stage.sends.silence(id, next));  // it was not delivered yet
  static_cast<void>(stage.sends.settle(next, false));
  CHECK_FALSE(stage.sends.gate(id)->is_open());
  stage.run(next);
  CHECK(stage.application.heard[0] == "abc");
  CHECK(stage.sends.silence(id, next));
  stage.end(next);
  Epoch& third = stage.next_open(3);  // which has it still: the drop was not agreed on
  CHECK(stage.sends.gate(id)->is_open());
  static_cast<void>(third);
}

TEST_CASE("a view that left nothing over to send again is looked through once, which counts as progress") {
  Stage stage;
  Epoch& first = stage.next_open(1);
  stage.end(first);
  Epoch& next = stage.next(view_of(2));
  next.begin();
  CHECK_FALSE(stage.sends.silence(id, next));  // something may be left over
  CHECK(stage.sends.settle(next, false));
  CHECK(stage.sends.silence(id, next));
  CHECK_FALSE(stage.sends.settle(next, false));
}

TEST_CASE("a subgroup without members is silent at once, and what waited for better times is reported") {
  Stage stage;
  Epoch& first = stage.next_open(1);
  stage.send("abc");
  stage.end(first);
  Epoch& next = stage.next(inadequate(2));
  next.begin();
  CHECK(stage.sends.silence(id, next));
  CHECK(stage.application.dropped[0] == 3);
}

TEST_CASE("what is created at the place of a dropped subgroup gets a gate of its own") {
  Stage stage;
  stage.end(stage.next_open(1));
  const auto old = stage.sends.gate(id);
  View without = inadequate(2);
  without.subgroups[0].dropped = true;
  stage.end(stage.next_open(without));
  Epoch& again = stage.next_open(3);
  CHECK(stage.sends.gate(id) != old);
  CHECK(stage.sends.gate(id)->is_open());
  CHECK_FALSE(old->is_open());
  static_cast<void>(again);
}

TEST_CASE("what finds no space in the next view is sent when there is some, and before anything new") {
  Stage stage;
  Epoch& first = stage.next_open(1);
  stage.send("abcdefgh");
  stage.end(first);
  Epoch& second = stage.next_open(2);
  stage.end(second);  // nothing of it has gone out
  Epoch& third = stage.next(view_of(3));
  third.begin();
  CHECK(stage.sends.settle(third, false));
  stage.run(third);
  static_cast<void>(stage.sends.settle(third, false));
  stage.run(third);
  CHECK(stage.application.heard[0] == "abcdefgh");
  CHECK_FALSE(stage.sends.uses(first));
  CHECK_FALSE(stage.sends.uses(second));
}

TEST_CASE("a node that was moved out of the senders gives up what it cannot send, and says how much") {
  Stage stage;
  Epoch& old = stage.next_open(1);
  stage.send("abc");
  stage.end(old);
  Epoch& next = stage.next(moved_away(2));
  CHECK(stage.sends.settle(next, false));
  CHECK(stage.application.dropped[0] == 3);
  CHECK_FALSE(stage.sends.uses(old));
  CHECK_FALSE(stage.sends.gate(id)->is_open());
}

TEST_CASE("in an inadequate subgroup messages wait for better times, unless their node leaves") {
  Stage stage;
  Epoch& old = stage.next_open(1);
  stage.send("ab");
  stage.end(old);
  Epoch& without = stage.next(inadequate(2));
  CHECK_FALSE(stage.sends.settle(without, false));
  CHECK(stage.sends.state() == Sends::State::settled);  // only another view can help
  CHECK(stage.sends.uses(old));
  const Sends::Outlook outlook = stage.sends.wind_up(without, 1);
  CHECK(outlook.sent);
  CHECK(outlook.progress);
  CHECK(stage.application.dropped[0] == 2);
}

TEST_CASE("a node that leaves opens no gate, and is done when its last message is delivered everywhere") {
  Stage stage;
  Epoch& epoch = stage.next_open(1);
  stage.send("ab");
  CHECK_FALSE(stage.sends.wind_up(epoch, 0).sent);  // the application has still to take something
  CHECK_FALSE(stage.sends.gate(id)->is_open());
  CHECK_FALSE(stage.sends.settle(epoch, true));
  CHECK_FALSE(stage.sends.gate(id)->is_open());
  REQUIRE(stage.sends.wind_up(epoch, 1).sent);
  CHECK_FALSE(stage.sends.delivered_everywhere(epoch));
  CHECK(stage.sends.state() == Sends::State::sealed);
  stage.run(epoch);
  CHECK(stage.sends.delivered_everywhere(epoch));
  Epoch& next = stage.next(view_of(2));
  CHECK(stage.sends.state() == Sends::State::unsettled);
  next.begin();
  CHECK(stage.sends.delivered_everywhere(next));  // nothing was sent in it
}

TEST_CASE("a node that leaves waits for a thread that still builds a message") {
  Stage stage;
  Epoch& epoch = stage.next_open(1);
  SendGate::Claim claim;
  REQUIRE(stage.sends.gate(id)->reserve(1, claim) == SendGate::Outcome::reserved);
  CHECK_FALSE(stage.sends.wind_up(epoch, 1).sent);
  stage.sends.gate(id)->abandon(claim);
  CHECK(stage.sends.wind_up(epoch, 1).sent);
}

TEST_CASE("unordered messages under way at the end of a view are reported") {
  Stage stage;
  View view = view_of(1);
  view.subgroups[0].mode = DeliveryMode::unordered;
  Epoch& epoch = stage.next(view);
  epoch.begin();
  static_cast<void>(stage.sends.settle(epoch, false));
  stage.send("ab");
  stage.run(epoch);
  stage.end(epoch);
  stage.sends.report_dropped(epoch);
  CHECK(stage.application.dropped[0] == 0);
  CHECK(stage.application.heard[0] == "ab");
}

}  // namespace
}  // namespace spindrift::views
