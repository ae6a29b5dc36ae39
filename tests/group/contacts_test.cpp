// Nodes that know only where members of their group may be: what they make of the answers, and groups that grow so.
#include <catch2/catch.hpp>

#include <string>
#include <vector>

#include <spindrift/core/config/contacts.hpp>
#include <spindrift/fabric/tcp/discovery_answer.hpp>
#include <spindrift/fabric/tcp/socket.hpp>
#include <spindrift/fabric/tcp/tcp.hpp>
#include <spindrift/group/contacts.hpp>
#include <spindrift/group/roster_messages.hpp>

#include "group_fixture.hpp"

namespace spindrift {
namespace {

using namespace std::chrono_literals;

/// An address of the loopback network that is this process's alone.
std::string endpoint_of(unsigned node) {
  const auto pid = static_cast<unsigned>(::getpid());
  const std::string host = "127.96." + std::to_string(pid / 250 % 250) + "." + std::to_string(pid % 250 + 1);
  return host + ":" + std::to_string(7700 + node);
}

std::string contacts(const std::vector<unsigned>& nodes) {
  std::string text = "contacts = ";
  for (const unsigned node : nodes) text += (node == nodes.front() ? "" : ", ") + endpoint_of(node);
  return text + "\n";
}

Config config_of(const GroupFixture& fixture, unsigned node, const std::string& more,
                 const std::string& join_timeout_ms = "20000") {
  return value_or_throw(Config::parse("[DERECHO]\nlocal_id = " + std::to_string(node) +
                                          "\n[SPINDRIFT]\ngroup_name = test\nsecurity = none\nruntime_directory = " +
                                          fixture.directory() + "\njoin_timeout_ms = " + join_timeout_ms + "\n" + more +
                                          "\n[LAYOUT]\njson_layout = '[{\"name\": \"orders\"}]'\n",
                                      "test.cfg"));
}

/// Listens as that node, and tells of a group what it is told to.
class Teller {
 public:
  Teller(const GroupFixture& fixture, unsigned node, const Result<Roster>& tells, const std::string& group = "test") {
    auto answer = std::make_shared<fabric::tcp::DiscoveryAnswer>();
    answer->set(group::encode(group, tells));
    fabric_ = value_or_throw(fabric::make_tcp({.self = NodeId(node),
                                               .runtime_directory = fixture.directory(),
                                               .group_name = "tellers",
                                               .discovery = answer}));
    value_or_throw(fabric_->listen({NodeId(node), endpoint_of(node)}));
  }

 private:
  std::unique_ptr<fabric::Fabric> fabric_;
};

Roster roster(std::uint64_t edition, const std::vector<unsigned>& nodes) {
  Roster of_these;
  of_these.edition = edition;
  for (const unsigned node : nodes) of_these.nodes.push_back({NodeId(node), endpoint_of(node)});
  return of_these;
}

/// The error of a node that could not go on.
Error refusal_of(const Config& config) {
  try {
    static_cast<void>(group::as_contacts_say(config, SystemClock()));
  } catch (const Exception& failure) {
    return failure.error();
  }
  FAIL("it goes on");
  return Error(ErrorKind::resource, "");
}

const Error in_no_group(group::looks_for_group, "node 5 looks for the group itself");

}  // namespace

TEST_CASE("of several contacts the newest roster counts, and those that are in no group are passed over") {
  const GroupFixture fixture;
  const Teller old(fixture, 0, roster(1, {0, 1, 2})), none(fixture, 5, in_no_group);
  const Teller newest(fixture, 1, roster(3, {1, 2, 3}));
  for (const auto& order : {std::vector<unsigned>{0, 5, 1, 9}, std::vector<unsigned>{9, 1, 5, 0}}) {
    const Config told = group::as_contacts_say(config_of(fixture, 2, contacts(order)), SystemClock());
    CHECK(told.view().value().members == std::vector{NodeId(1), NodeId(2), NodeId(3)});
    CHECK(told.address_of(NodeId(2)) == endpoint_of(2));
    CHECK(told.founders().empty());
  }
}

TEST_CASE("a node that the roster does not admit is told what to do, and so is one whose contacts are in no group") {
  const GroupFixture fixture;
  Roster drained = roster(2, {0, 1, 2});
  drained.drained = {NodeId(2)};
  const Teller teller(fixture, 0, drained), none(fixture, 5, in_no_group);
  const Error stranger = refusal_of(config_of(fixture, 7, contacts({0})));
  CHECK(stranger.kind() == ErrorKind::refused);
  CHECK(stranger.message() == "node 7 is not in the roster of group test, which has 0, 1, 2");
  CHECK(stranger.fix().find("spindrift group add 7@HOST:PORT") != std::string::npos);
  const Error struck = refusal_of(config_of(fixture, 2, contacts({0})));
  CHECK(struck.kind() == ErrorKind::refused);
  CHECK(struck.fix().find("spindrift group drain 2 --undo") != std::string::npos);
  const Error late = refusal_of(config_of(fixture, 7, contacts({5, 9}), "1"));
  CHECK(late.kind() == ErrorKind::timed_out);
  CHECK(late.message().find(in_no_group.message()) != std::string::npos);
  CHECK(late.message().find("nobody listens there") != std::string::npos);
}

TEST_CASE("answers that are no roster, or one that none is, are passed over, and a long one is cut") {
  const GroupFixture fixture;
  Roster twice = roster(9, {0, 1, 1});
  Roster nowhere = roster(9, {0, 1});
  nowhere.nodes[1].endpoint = "no address";
  Roster strange = roster(9, {0, 1});
  strange.drained = {NodeId(4)};
  const Teller two(fixture, 0, twice), three(fixture, 1, nowhere), four(fixture, 2, strange), empty(fixture, 3, Roster());
  const Teller talker(fixture, 4, Error(ErrorKind::refused, std::string(20'000, 'x')));
  const Teller right(fixture, 5, roster(1, {1, 5}));
  const std::vector<unsigned> all{0, 1, 2, 3, 4, 5};
  CHECK(group::as_contacts_say(config_of(fixture, 1, contacts(all)), SystemClock()).view().value().members ==
        std::vector{NodeId(1), NodeId(5)});
  const Error late = refusal_of(config_of(fixture, 1, contacts({0, 1, 2, 3, 4}), "1"));
  CHECK(late.kind() == ErrorKind::timed_out);
  CHECK(late.message().size() < 4'000);
}

TEST_CASE("who founds alone waits until every contact is known to be in no group, and joins if one is in it") {
  const GroupFixture fixture;
  const Teller none(fixture, 5, in_no_group), left(fixture, 6, Error(ErrorKind::group_closed, "node 6 has left the group"));
  const Teller garbage(fixture, 7, Roster()), other(fixture, 8, roster(2, {0, 1}), "another");
  const auto founder = [&](const std::string& asks) {
    return config_of(fixture, 0, asks + "bootstrap = true\naddresses = 0@" + endpoint_of(0) + "\n", "1");
  };
  const auto listens = value_or_throw(fabric::tcp::listen_at(
      value_or_throw(fabric::connected::resolve(endpoint_of(3), true))));  // and says nothing
  CHECK(group::as_contacts_say(founder(contacts({0, 5, 9})), SystemClock()).founders() == std::vector{NodeId(0)});
  for (const std::string& hidden : {contacts({5, 6}), contacts({5, 7}), contacts({5, 3}), contacts({8}),
                                    std::string("contacts = no-such-host.invalid:7400\n")}) {
    const Error waits = refusal_of(founder(hidden));
    INFO(hidden);
    CHECK(waits.kind() == ErrorKind::timed_out);
    CHECK(waits.fix().find("would found a second one") != std::string::npos);
  }
  const Teller group_there(fixture, 1, roster(1, {0, 1}));
  CHECK(group::as_contacts_say(founder(contacts({5, 6, 7, 1})), SystemClock()).founders().empty());
}

TEST_CASE("who names founders asks once, for these have to be there") {
  const GroupFixture fixture;
  const Teller garbage(fixture, 7, Roster());
  const Config config = config_of(fixture, 0, contacts({7, 9}) + "members = 0, 1\naddresses = 0@" + endpoint_of(0) + ", 1@" +
                                                  endpoint_of(1) + "\n");
  CHECK(group::as_contacts_say(config, SystemClock()).founders().size() == 2);
}

TEST_CASE("a roster that admits a node goes before a newer one that does not, and one of another group is none") {
  const GroupFixture fixture;
  const Teller newer(fixture, 0, roster(9, {0, 1})), admits(fixture, 1, roster(2, {1, 2}));
  const Teller other(fixture, 3, roster(12, {2, 3}), "another");
  CHECK(group::as_contacts_say(config_of(fixture, 2, contacts({0, 1, 3})), SystemClock()).view().value().members ==
        std::vector{NodeId(1), NodeId(2)});
  const Error late = refusal_of(config_of(fixture, 2, contacts({3}), "1"));
  CHECK(late.message().find("it is of another group: another") != std::string::npos);
}

TEST_CASE("a group that one node bootstraps grows by nodes that know a contact and nothing else") {
  const GroupFixture fixture;
  Group first(config_of(fixture, 0, contacts({0, 1}) + "bootstrap = true\naddresses = 0@" + endpoint_of(0) + "\n"));
  CHECK_THROWS_AS(Group(config_of(fixture, 1, contacts({0, 1}))), Exception);
  static_cast<void>(first.change_roster({{RosterChange::Kind::add, NodeId(1), endpoint_of(1)},
                                         {RosterChange::Kind::add, NodeId(2), endpoint_of(2)}}));
  Group second(config_of(fixture, 1, contacts({0, 1})));
  Group third(config_of(fixture, 2, contacts({1})));  // the other one tells as well
  CHECK(third.view().members.size() == 3);
  CHECK(third.view().roster.edition == 1);
  first.leave();
  static_cast<void>(second.change_roster({{RosterChange::Kind::remove, NodeId(0), ""}}));
  while (third.view().roster.edition < 2) std::this_thread::sleep_for(1ms);
  // A member that has left is in no group, and the others know the roster of today.
  const Error gone = refusal_of(config_of(fixture, 0, contacts({0, 1, 2})));
  CHECK(gone.message() == "node 0 is not in the roster of group test, which has 1, 2");
}

}  // namespace spindrift
