// Strangers without the configuration file, at the ports of a group that runs: whatever they echo or replay, nobody gets in.
#include <catch2/catch.hpp>

#include <array>
#include <chrono>
#include <cstring>
#include <vector>

#include "group_fixture.hpp"

#include <spindrift/core/clock.hpp>
#include <spindrift/fabric/ofi/ofi.hpp>
#include <spindrift/views/messages.hpp>

using namespace spindrift;
using fabric::Event;

namespace {

constexpr unsigned members = 3;
constexpr std::uint32_t victim = 2;        // of the roster, and not there
constexpr std::uint32_t fresh = 1;         // in no view yet: it may be taken in
constexpr std::size_t node_in_hello = 16;  // behind the message's header
const std::string extra = "founders = 0, 1\njoin_timeout_ms = 20000\n";

/// A process that speaks the fabric, in the name of a node that is not there.
class Stranger {
 public:
  Stranger(const Config& config, const std::string& directory)
      : fabric_(value_or_throw(fabric::make_ofi(
            {.self = NodeId(victim), .provider = "tcp", .runtime_directory = directory, .group_name = "elsewhere"}))) {
    value_or_throw(fabric_->listen({NodeId(victim), config.address_of(NodeId(victim))}));
    value_or_throw(fabric_->connect({NodeId(0), config.address_of(NodeId(0))}));
    peer_ = await(Event::Kind::connected).peer;
  }

  Event await(Event::Kind kind) {
    const Time limit = SystemClock().now() + std::chrono::seconds(30);
    while (SystemClock().now() < limit) {
      std::array<Event, 1> events;
      // A message of node 1 matters as little as its connection: all is said to node 0.
      if (fabric_->poll(events) > 0 && events[0].kind == kind && events[0].node == NodeId(0)) return std::move(events[0]);
    }
    throw std::runtime_error("no such event came: kind " + std::to_string(static_cast<int>(kind)));
  }
  void say(std::vector<std::byte> bytes) {
    fabric::Operation operation;
    operation.kind = fabric::Operation::Kind::send;
    operation.peer = peer_;
    operation.local = bytes.data();
    operation.bytes = bytes.size();
    value_or_throw(fabric_->post({&operation, 1}));
  }

 private:
  std::unique_ptr<fabric::Fabric> fabric_;
  fabric::PeerId peer_;
};

/// Messages of views begin with a magic, the version, and what they are.
std::size_t kind_of(const std::vector<std::byte>& message) {
  std::uint32_t kind = 0;
  REQUIRE(message.size() >= 12);
  std::memcpy(&kind, message.data() + 8, sizeof kind);
  return kind;
}

}  // namespace

TEST_CASE(
    "a stranger who echoes a member's hello under a free id, at once and on a later connection, is refused each time") {
  const GroupFixture fixture("ofi:tcp");
  std::vector<std::unique_ptr<Group>> groups(2);
  std::vector<std::thread> joining;
  for (unsigned node = 0; node < 2; ++node)
    joining.emplace_back([&, node] { groups[node] = std::make_unique<Group>(fixture.config(node, members, extra)); });
  for (std::thread& thread : joining) thread.join();
  std::vector<std::byte> recorded;
  for (int attempt = 0; attempt < 2; ++attempt) {
    Stranger stranger(fixture.config(0, members, extra), fixture.directory() + "/strangers");
    const Event hello = stranger.await(Event::Kind::message);
    REQUIRE(kind_of(hello.bytes) == views::Message(views::Hello{}).index());
    if (recorded.empty()) {
      recorded = hello.bytes;
      std::memcpy(recorded.data() + node_in_hello, &victim, sizeof victim);
      std::memcpy(recorded.data() + node_in_hello + sizeof victim, &fresh, sizeof fresh);
    }
    stranger.say(recorded);
    CHECK(kind_of(stranger.await(Event::Kind::message).bytes) == views::Message(views::Refusal{}).index());
  }
  const std::vector<NodeId> both{NodeId(0), NodeId(1)};
  CHECK(groups[0]->view().members == both);
  CHECK(groups[1]->view().members == both);
}
