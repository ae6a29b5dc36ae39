// The additions of a fabric of two: peers of both kinds at one endpoint, the way to each, and ends that do not agree about
// it.
#include "harness.hpp"

#include <array>
#include <atomic>
#include <fstream>
#include <sstream>
#include <thread>

#include <spindrift/fabric/mixed/mixed.hpp>
#include <spindrift/fabric/ofi/ofi.hpp>
#include <spindrift/core/log.hpp>
#include <spindrift/core/untrusted.hpp>

using namespace spindrift;
using namespace spindrift::fabric;
using namespace spindrift::fabric::test;

namespace {

/// Two hosts as loopback addresses of this process and group; a node's port is its own.
std::string on_host(unsigned host, NodeId node) {
  const std::string elsewhere = address_of(NodeId(100 + host)).endpoint;
  const std::size_t colon = elsewhere.rfind(':');
  const unsigned port = 1024 + static_cast<unsigned>(std::stoul(elsewhere.substr(colon + 1))) % 8000 * 4 + node.value() % 4;
  return elsewhere.substr(0, colon + 1) + std::to_string(port);
}

struct Node {
  Node(std::uint32_t id, unsigned host, const std::string& directory)
      : node(id), endpoint(on_host(host, node)), fabric(make(node, directory)) {
    value_or_throw(fabric->listen({node, endpoint}));
  }
  static std::unique_ptr<Fabric> make(NodeId node, const std::string& directory) {
    return make_mixed_or_throw(node, directory,
                               value_or_throw(make_ofi_part({.self = node, .runtime_directory = {}, .group_name = {}})));
  }
  void pump() {
    std::array<Event, 16> events;
    const std::size_t count = fabric->poll(events);
    std::move(events.begin(), events.begin() + static_cast<std::ptrdiff_t>(count), std::back_inserter(inbox));
  }
  [[nodiscard]] const Event* find(Event::Kind kind, NodeId from) const {
    const auto at = std::find_if(inbox.begin(), inbox.end(),
                                 [&](const Event& event) { return event.kind == kind && event.node == from; });
    return at == inbox.end() ? nullptr : &*at;
  }

  NodeId node;
  std::string endpoint;
  std::unique_ptr<Fabric> fabric;
  std::deque<Event> inbox;
};

void drive(std::initializer_list<Node*> all, const std::function<bool()>& until) {
  const Time limit = now() + hang;
  while (!until()) {
    for (Node* node : all) node->pump();
    if (now() > limit) throw std::runtime_error("the condition never held");
  }
}

/// Node 1 with a neighbor, 2, and somebody on another host, 3; all linked.
struct Three {
  TemporaryDirectory directory;
  Node self{1, 0, directory.path()};
  Node neighbor{2, 0, directory.path()};
  Node stranger{3, 1, directory.path()};

  Three() {
    for (Node* from : {&self, &neighbor, &stranger}) {
      for (Node* to : {&self, &neighbor, &stranger}) {
        if (from != to) value_or_throw(from->fabric->connect({to->node, to->endpoint}));
      }
    }
    drive_all([&] { return self.inbox.size() == 2 && neighbor.inbox.size() == 2 && stranger.inbox.size() == 2; });
  }
  void drive_all(const std::function<bool()>& until) { drive({&self, &neighbor, &stranger}, until); }
  [[nodiscard]] static PeerId peer(const Node& at, const Node& of) { return at.find(Event::Kind::connected, of.node)->peer; }
  /// Lets `to` use the region; its key there.
  RegionKey expose(Node& from, Node& to, const Region& region, Access access) {
    value_or_throw(from.fabric->expose(peer(from, to), region.key, access));
    drive_all([&] { return to.find(Event::Kind::exposed, from.node) != nullptr; });
    return to.find(Event::Kind::exposed, from.node)->region;
  }
};

Operation write_of(PeerId peer, RegionKey region, std::span<std::byte> local) {
  Operation write;
  write.peer = peer;
  write.region = region;
  write.local = local.data();
  write.bytes = local.size();
  return write;
}

}  // namespace

TEST_CASE("a neighbor is mapped and a stranger is not, as both ends say") {
  Three three;
  CHECK(three.self.find(Event::Kind::connected, NodeId(2))->mappable);
  CHECK(three.neighbor.find(Event::Kind::connected, NodeId(1))->mappable);
  CHECK_FALSE(three.self.find(Event::Kind::connected, NodeId(3))->mappable);
  CHECK_FALSE(three.stranger.find(Event::Kind::connected, NodeId(1))->mappable);
  CHECK_FALSE(three.stranger.find(Event::Kind::connected, NodeId(2))->mappable);
  CHECK(three.self.fabric->traits().name == "shm+ofi:tcp");
  CHECK(three.self.fabric->traits().ordered_writes);
  CHECK_FALSE(three.self.fabric->traits().visible_on_completion);
  CHECK(three.self.fabric->traits().buffered_bytes == three.stranger.fabric->traits().buffered_bytes);
  CHECK(three.stranger.fabric->traits().buffered_bytes > 0);
}

TEST_CASE("one region is read in place by a neighbor and written from to a stranger") {
  Three three;
  const Region row = value_or_throw(three.self.fabric->allocate(1 << 20, "row"));
  const RegionKey at_neighbor = three.expose(three.self, three.neighbor, row, Access::read);
  const auto seen = value_or_throw(three.neighbor.fabric->map(Three::peer(three.neighbor, three.self), at_neighbor));
  const Region mirror = value_or_throw(three.stranger.fabric->allocate(1 << 20, "mirror"));
  const RegionKey at_stranger = three.expose(three.stranger, three.self, mirror, Access::write);
  CHECK_FALSE(three.self.fabric->map(Three::peer(three.self, three.stranger), at_stranger).ok());

  std::fill(row.memory.begin(), row.memory.end(), std::byte{5});
  Operation write = write_of(Three::peer(three.self, three.stranger), at_stranger, row.memory);
  write.signaled = true;
  value_or_throw(three.self.fabric->post({&write, 1}));
  CHECK(seen[(1 << 20) - 1] == std::byte{5});
  three.drive_all([&] { return three.self.find(Event::Kind::completed, NodeId(3)) != nullptr; });
  three.drive_all([&] { return mirror.memory.front() == std::byte{5} && mirror.memory.back() == std::byte{5}; });
  CHECK(three.self.fabric->unsent_bytes(Three::peer(three.self, three.neighbor)) == 0);
}

TEST_CASE("one list reaches peers of both kinds, each in its order, or nobody") {
  Three three;
  const Region near = value_or_throw(three.neighbor.fabric->allocate(4096, "near"));
  const Region far = value_or_throw(three.stranger.fabric->allocate(4096, "far"));
  const PeerId neighbor = Three::peer(three.self, three.neighbor);
  const PeerId stranger = Three::peer(three.self, three.stranger);
  const RegionKey near_key = three.expose(three.neighbor, three.self, near, Access::write);
  const RegionKey far_key = three.expose(three.stranger, three.self, far, Access::write);
  std::array<std::uint64_t, 3> words{1, 2, 3};
  const auto word = [&](std::size_t i) { return std::as_writable_bytes(std::span(words).subspan(i, 1)); };

  std::array list{write_of(neighbor, near_key, word(0)), write_of(stranger, far_key, word(1))};
  list[1].offset = 4096;
  CHECK_FALSE(three.self.fabric->post(list).ok());
  CHECK(load_acquire(near.memory.data()) == 0);
  list[1].offset = 0;
  list[0].offset = 4096;
  CHECK_FALSE(three.self.fabric->post(list).ok());
  Operation last = write_of(stranger, far_key, word(2));
  last.offset = 8;
  value_or_throw(three.self.fabric->post({&last, 1}));
  three.drive_all([&] { return load_acquire(far.memory.data() + 8) == 3; });
  CHECK(load_acquire(far.memory.data()) == 0);  // of the lists before it, nothing

  const std::array good{write_of(stranger, far_key, word(0)), write_of(neighbor, near_key, word(0)),
                        write_of(stranger, far_key, word(1)), write_of(neighbor, near_key, word(2))};
  value_or_throw(three.self.fabric->post(good));
  CHECK(load_acquire(near.memory.data()) == 3);
  three.drive_all([&] { return load_acquire(far.memory.data()) == 2; });
}

TEST_CASE("a released region's memory stays for writes that are under way, and its key is dead for both kinds") {
  Three three;
  const Region mirror = value_or_throw(three.stranger.fabric->allocate(1 << 20, "mirror"));
  const RegionKey key = three.expose(three.stranger, three.self, mirror, Access::write);
  for (int round = 1; round <= 20; ++round) {
    const Region row = value_or_throw(three.self.fabric->allocate(1 << 20, "row"));
    std::fill(row.memory.begin(), row.memory.end(), static_cast<std::byte>(round));
    Operation write = write_of(Three::peer(three.self, three.stranger), key, row.memory);
    value_or_throw(three.self.fabric->post({&write, 1}));
    three.self.fabric->release(row.key);
    CHECK_FALSE(three.self.fabric->expose(Three::peer(three.self, three.neighbor), row.key, Access::read).ok());
    CHECK_FALSE(three.self.fabric->expose(Three::peer(three.self, three.stranger), row.key, Access::read).ok());
    three.drive_all([&] { return mirror.memory.back() == static_cast<std::byte>(round); });
  }
}

TEST_CASE("one sleeper is woken by a neighbor's news and by a stranger's write") {
  Three three;
  const Region news = value_or_throw(three.neighbor.fabric->allocate(4096, "news"));
  const RegionKey news_key = three.expose(three.neighbor, three.self, news, Access::read);
  const auto seen = value_or_throw(three.self.fabric->map(Three::peer(three.self, three.neighbor), news_key));
  const Region mirror = value_or_throw(three.self.fabric->allocate(4096, "mirror"));
  const RegionKey key = three.expose(three.self, three.stranger, mirror, Access::write);
  three.self.inbox.clear();

  constexpr std::uint64_t rounds = 500;
  std::atomic<std::uint64_t> reached = 0;
  const Time limit = now() + hang;
  std::thread sleeper([&] {
    const auto look = [&] { return load_acquire(seen.data()) + load_acquire(mirror.memory.data()); };
    for (std::uint64_t sum = 0; sum < 2 * rounds && now() < limit; reached.store(sum = look())) {
      if (reached.load() > sum) continue;
      three.self.fabric->prepare_sleep();
      three.self.pump();
      if (look() > sum) {
        three.self.fabric->cancel_sleep();
      } else {
        three.self.fabric->sleep(limit);
        three.self.pump();
      }
    }
  });
  const auto wait_for = [&](std::uint64_t sum) {
    while (reached.load() < sum && now() < limit) {
      three.neighbor.pump();
      three.stranger.pump();
    }
  };
  for (std::uint64_t i = 1; i <= rounds; ++i) {
    store_release(news.memory.data(), i);
    three.neighbor.fabric->notify();
    wait_for(2 * i - 1);
    Operation write = write_of(Three::peer(three.stranger, three.self), key, std::as_writable_bytes(std::span(&i, 1)));
    write.copied = true;
    value_or_throw(three.stranger.fabric->post({&write, 1}));
    wait_for(2 * i);
  }
  sleeper.join();
  CHECK(reached.load() == 2 * rounds);
}

TEST_CASE("who was disconnected writes nothing, and the other kind of peers does not notice") {
  Three three;
  const PeerId stranger = Three::peer(three.self, three.stranger);
  const PeerId neighbor = Three::peer(three.self, three.neighbor);
  three.self.fabric->disconnect(stranger);
  three.drive_all([&] { return three.stranger.find(Event::Kind::lost, NodeId(1)) != nullptr; });
  std::string text = "still here";
  const Operation operation = send_of(neighbor, text);
  value_or_throw(three.self.fabric->post({&operation, 1}));
  three.drive_all([&] { return three.neighbor.find(Event::Kind::message, NodeId(1)) != nullptr; });
  three.self.fabric->disconnect(neighbor);
  three.drive_all([&] { return three.neighbor.find(Event::Kind::lost, NodeId(1)) != nullptr; });
  CHECK(three.self.find(Event::Kind::lost, NodeId(2)) == nullptr);
  CHECK(three.self.find(Event::Kind::lost, NodeId(3)) == nullptr);
}

TEST_CASE("ends that do not agree who is a neighbor never link, and each call that is turned away is explained") {
  const bool caller_is_right = GENERATE(true, false);
  TemporaryDirectory directory;
  const Log log(directory);
  // Both are on host 0. Node 1 has another address of node 2 in its file, or node 2 of node 1.
  Node a(1, 0, directory.path());
  Node b(2, 0, directory.path());
  Node& wrong = caller_is_right ? b : a;
  Node& right = caller_is_right ? a : b;
  value_or_throw(wrong.fabric->connect({right.node, on_host(7, right.node)}));
  value_or_throw(right.fabric->connect({wrong.node, wrong.endpoint}));
  // The one that is right calls over shm, and is told no; the other finds nobody at an address that is nobody's.
  drive({&a, &b}, [&] { return log.text().find("it takes this node for one of another host") != std::string::npos; });
  const std::string text = log.text();
  CHECK_THAT(text, Catch::Contains("it called over shm"));
  CHECK_THAT(text, Catch::Contains("has another host here than this one, and is to be reached over ofi:tcp"));
  CHECK_THAT(text, Catch::Contains("give all members the same [SPINDRIFT] addresses"));
  CHECK(a.inbox.empty());
  CHECK(b.inbox.empty());
}

TEST_CASE("a call between hosts of somebody who is to be a neighbor is turned away and explained once") {
  TemporaryDirectory directory;
  const Log log(directory);
  Node a(1, 0, directory.path());
  Node b(2, 1, directory.path());
  // b's call is answered when a is driven, and a's by b's watcher at once: so each has decided before it is called.
  value_or_throw(b.fabric->connect({a.node, a.endpoint}));
  value_or_throw(a.fabric->connect({b.node, on_host(0, b.node)}));
  drive({&a, &b}, [&] { return log.text().find("it called over ofi:tcp") != std::string::npos; });
  const Time later = now() + std::chrono::milliseconds(500);  // b calls again several times meanwhile
  drive({&a, &b}, [&] { return now() > later; });
  const std::string text = log.text();
  CHECK_THAT(text, Catch::Contains("is to be reached over shm in " + directory.path() + "/group"));
  CHECK(text.find("it called over ofi:tcp") == text.rfind("it called over ofi:tcp"));
  CHECK(a.inbox.empty());
  CHECK(b.inbox.empty());
  // Once the addresses are right, they link.
  value_or_throw(a.fabric->connect({b.node, b.endpoint}));
  drive({&a, &b}, [&] { return !a.inbox.empty() && !b.inbox.empty(); });
  CHECK(a.find(Event::Kind::connected, NodeId(2)) != nullptr);
}

TEST_CASE("a connection of the wrong kind that came before this end had an address of the node is lost and explained") {
  const bool neighbors = GENERATE(true, false);
  TemporaryDirectory directory;
  const Log log(directory);
  Node a(1, 0, directory.path());
  Node b(2, neighbors ? 0 : 1, directory.path());
  value_or_throw(b.fabric->connect({a.node, a.endpoint}));
  drive({&a, &b}, [&] { return !a.inbox.empty() && !b.inbox.empty(); });
  value_or_throw(a.fabric->connect({b.node, on_host(neighbors ? 1 : 0, b.node)}));
  drive({&a, &b}, [&] { return a.find(Event::Kind::lost, NodeId(2)) && b.find(Event::Kind::lost, NodeId(1)); });
  const std::string called = neighbors ? "it called over shm" : "it called over ofi:tcp";
  CHECK_THAT(a.find(Event::Kind::lost, NodeId(2))->reason->message(), Catch::Contains(called));
  CHECK_THAT(log.text(), Catch::Contains("call turned away") && Catch::Contains("give all members the same"));
}

TEST_CASE("strangers that share a runtime directory are still strangers, and a node id is one process's") {
  TemporaryDirectory directory;
  Node a(1, 0, directory.path());
  const auto again = Node::make(NodeId(1), directory.path());
  const auto refused = again->listen({NodeId(1), on_host(1, NodeId(1))});
  REQUIRE_FALSE(refused.ok());
  CHECK_THAT(refused.error().message(), Catch::Contains("node 1 is already running"));
}

TEST_CASE("more neighbors than shm has place for are refused with what to do") {
  TemporaryDirectory directory;
  Node a(1, 0, directory.path());
  Result<void> connected;
  std::uint32_t id = 2;
  for (; connected && id < 400; ++id) connected = a.fabric->connect({NodeId(id), a.endpoint});
  REQUIRE_FALSE(connected.ok());
  CHECK(id == 2 + 255 + 1);
  CHECK_THAT(connected.error().to_string(), Catch::Contains("more than 255 peers"));
  CHECK_THAT(connected.error().to_string(), Catch::Contains("fewer processes"));
}
