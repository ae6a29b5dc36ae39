// The choice of a way to a node, step by step: who is waited for and until when, and what each answer is good for.
#include "directory_fixture.hpp"

#include <spindrift/kernel/provider/routes.hpp>

using namespace spindrift;
using namespace spindrift::kernel;
using namespace spindrift::kernel::sim;
using spindrift::kernel::vq::Route;
using spindrift::kernel::vq::Routes;
using std::chrono::milliseconds;
using Way = Route::Way;

namespace {

/// A node that asks nodes 1, 2 and 3, in that order, in a group of nodes 0 to 6.
struct Seeker {
  explicit Seeker(SimNetwork& network, std::vector<MetaServer> servers = {})
      : client(network, 0, std::move(servers), {.answer_max = milliseconds(20)}),
        routes(client.directory, {NodeId(1), NodeId(2), NodeId(3)},
               {NodeId(1), NodeId(2), NodeId(3), NodeId(4), NodeId(5), NodeId(6)}, milliseconds(50)) {
    client.clock.time = start;
    routes.begin(start);
  }
  Route route(std::uint32_t node) { return routes.route_to(NodeId(node), client.clock.time); }
  std::vector<NodeId> ready() { return routes.take_ready(client.clock.time); }

  static constexpr Time start{std::chrono::seconds(1000)};
  Client client;
  Routes routes;
};

}  // namespace

TEST_CASE("nothing is looked for while nobody waits") {
  SimNetwork network(1);
  Seeker seeker(network);
  CHECK(seeker.routes.deadline() == never);
  CHECK(seeker.ready().empty());
}

TEST_CASE("the first server is called at once, the others wait for each one's time, and everybody else for all of them") {
  SimNetwork network(2);
  Seeker seeker(network);
  CHECK(seeker.route(1).way == Way::by_address);
  CHECK(seeker.route(1).reason == "no meta server is known");
  CHECK(seeker.route(3).way == Way::wait);
  CHECK(seeker.routes.deadline() == Seeker::start + milliseconds(100));
  CHECK(seeker.route(2).way == Way::wait);
  CHECK(seeker.route(4).way == Way::wait);
  CHECK(seeker.routes.deadline() == Seeker::start + milliseconds(50));  // the earliest of theirs
  seeker.client.clock.time += milliseconds(49);
  CHECK(seeker.ready().empty());
  seeker.client.clock.time += milliseconds(1);
  CHECK(seeker.ready() == std::vector{NodeId(2)});
  CHECK(seeker.ready().empty());
  CHECK(seeker.routes.deadline() == Seeker::start + milliseconds(100));  // 2 has been told, though it was not called yet
  seeker.client.clock.time += milliseconds(100);
  CHECK(seeker.ready() == std::vector{NodeId(3), NodeId(4)});
  CHECK(seeker.routes.deadline() == never);
  for (const std::uint32_t node : {2U, 3U, 4U, 5U}) CHECK(seeker.route(node).way == Way::by_address);
}

TEST_CASE("who is not of the roster waits for nobody") {
  SimNetwork network(3);
  Seeker seeker(network);
  const Route route = seeker.route(7);
  CHECK(route.way == Way::by_address);
  CHECK(route.reason == "it is not of the roster");
  CHECK(seeker.routes.deadline() == never);
}

TEST_CASE("a server that becomes known ends the wait for one, and is asked once for each who waits") {
  SimNetwork network(4);
  Server server(network, 1);
  server.tell(4, server.node, 400);
  Seeker seeker(network);
  CHECK(seeker.route(4).way == Way::wait);
  seeker.client.directory.admit(server.address(1));
  CHECK(seeker.ready() == std::vector{NodeId(4)});
  CHECK(seeker.route(4).way == Way::wait);
  CHECK(seeker.routes.deadline() == never);  // nothing was read yet
  CHECK(seeker.client.directory.progress());
  CHECK(seeker.routes.deadline() == Seeker::start + milliseconds(20));  // until then the server may answer
  CHECK(seeker.route(4).way == Way::wait);
  CHECK(seeker.ready().empty());
  drive(network, seeker.client, server.node);
  CHECK(seeker.client.directory.reads() == 2);
  CHECK(seeker.ready() == std::vector{NodeId(4)});
  CHECK(seeker.ready().empty());
}

TEST_CASE("an answer is good for one call") {
  SimNetwork network(5);
  Server server(network, 1);
  server.tell(4, server.node, 400);
  Seeker seeker(network, {server.address(1)});
  for (const std::uint32_t node : {4U, 5U}) CHECK(seeker.route(node).way == Way::wait);
  drive(network, seeker.client, server.node);
  CHECK(seeker.ready() == std::vector{NodeId(4), NodeId(5)});
  const Route found = seeker.route(4);
  CHECK(found.way == Way::looked_up);
  CHECK(found.record.incarnation == 400);
  CHECK(seeker.route(4).way == Way::cached);
  const Route absent = seeker.route(5);
  CHECK(absent.way == Way::by_address);
  CHECK(absent.reason == "no meta server has heard of it");
  CHECK(seeker.route(5).way == Way::wait);  // by now somebody may have
}

TEST_CASE("a node that the only server says nothing of is called at its address when the time to answer is over") {
  SimNetwork network(6);
  Server server(network, 1);
  Seeker seeker(network, {server.address(1)});
  CHECK(seeker.route(4).way == Way::wait);
  CHECK(seeker.client.directory.progress());
  network.kill(*server.node.device);
  seeker.client.clock.time = seeker.routes.deadline();
  drive(network, seeker.client);
  CHECK(seeker.ready() == std::vector{NodeId(4)});
  const Route route = seeker.route(4);
  CHECK(route.way == Way::by_address);
  CHECK(route.reason == "no meta server that answers knows it");
}

TEST_CASE("what led nowhere is forgotten, and the next call is at the address, once") {
  SimNetwork network(7);
  Server server(network, 1);
  server.tell(4, server.node, 400);
  Seeker seeker(network, {server.address(1)});
  CHECK(seeker.route(4).way == Way::wait);
  drive(network, seeker.client, server.node);
  CHECK(seeker.ready() == std::vector{NodeId(4)});
  CHECK(seeker.route(4).way == Way::looked_up);
  seeker.routes.on_misled(NodeId(4));
  CHECK(seeker.client.directory.find(NodeId(4)) == nullptr);
  const Route route = seeker.route(4);
  CHECK(route.way == Way::by_address);
  CHECK(route.reason == "what was known of it led nowhere");
  CHECK(seeker.route(4).way == Way::wait);  // looked up anew
}

TEST_CASE("who is linked with is waited for no more, and what was said of it before counts no more") {
  SimNetwork network(8);
  Seeker seeker(network);
  CHECK(seeker.route(4).way == Way::wait);
  seeker.routes.on_linked(NodeId(4));
  CHECK(seeker.routes.deadline() == never);
  seeker.client.clock.time += milliseconds(150);
  CHECK(seeker.ready().empty());
  seeker.routes.on_misled(NodeId(4));
  seeker.routes.on_linked(NodeId(4));
  CHECK(seeker.route(4).reason == "no meta server is known");
}
