// Two endpoints of a connection-based fabric, over a transport in memory and at a time that the test says: which of
// two calls stands, however long the processes were away.
#include "harness.hpp"

#include <map>

#include <spindrift/fabric/connected/endpoint.hpp>

using namespace spindrift;
using namespace spindrift::fabric;
using namespace spindrift::fabric::test;

namespace {

using std::chrono::milliseconds;

class ManualClock final : public Clock {
 public:
  [[nodiscard]] Time now() const noexcept override { return now_; }
  void advance(Duration by) { now_ += by; }

 private:
  Time now_ = Time(std::chrono::hours(1));
};

class MemoryTransport;
class MemoryConnection;

/// One connection from its call on: of each side, its process while that may hear of it, and its connection while it has
/// one.
struct Wire {
  connected::GreetingBytes greeting{};
  std::array<MemoryTransport*, 2> sides{};  ///< who called, who was called
  std::array<MemoryConnection*, 2> connections{};
};

/// A transport's finding when it looks, in the order in which things happened.
struct Report {
  enum class Kind : std::uint8_t { request, established, message, ended };
  Kind kind = Kind::request;
  std::shared_ptr<Wire> wire;
  std::size_t to = 0;  ///< which side
  std::vector<std::byte> bytes{};
};

/// The transports that listen, by address.
using Network = std::map<std::string, MemoryTransport*>;

class MemoryConnection final : public connected::Connection {
 public:
  MemoryConnection(const connected::PeerCall& call, std::shared_ptr<Wire> wire, std::size_t side)
      : Connection(call), wire_(std::move(wire)), side_(side) {
    wire_->connections[side_] = this;
  }
  ~MemoryConnection() override { close(); }

  void send(std::span<const std::byte> message, bool, std::uint64_t) override { report(Report::Kind::message, message); }
  void transfer(const connected::Transfer&) override { throw std::logic_error("nothing is written or read here"); }
  void flush() override {}
  [[nodiscard]] bool idle() const noexcept override { return true; }
  void close() override {
    if (wire_->connections[side_] != this) return;
    revoke_all();
    if (says_goodbye && call().state != connected::PeerCall::State::closing && !goodbye)
      say(connected::encode(connected::Kind::goodbye, 0), false);
    wire_->connections[side_] = nullptr;
    wire_->sides[side_] = nullptr;
    report(Report::Kind::ended, {});
  }

  /// When it is closed, as of connectionless providers.
  bool says_goodbye = false;

  void report(Report::Kind kind, std::span<const std::byte> bytes);

 private:
  [[nodiscard]] Result<Right> give_right(connected::OwnRegion&, Access) override {
    return Right{++newest_key_, 0, std::make_unique<connected::Registration>()};
  }

  const std::shared_ptr<Wire> wire_;
  const std::size_t side_;
  std::uint64_t newest_key_ = 0;
};

/// How memory came back.
enum class Return : std::uint8_t { plain, fenced };

class WatchedMemory final : public connected::MemorySource {
 public:
  explicit WatchedMemory(std::vector<Return>& returns) : returns_(returns) {}
  [[nodiscard]] Result<std::span<std::byte>> take(std::size_t bytes) override { return source_->take(bytes); }
  void give_back(std::span<std::byte> memory, bool fenced) noexcept override {
    source_->give_back(memory, fenced);
    returns_.push_back(fenced ? Return::fenced : Return::plain);
  }

 private:
  std::vector<Return>& returns_;
  const std::unique_ptr<connected::MemorySource> source_ = connected::private_mappings();
};

std::string port_of(NodeId node) { return std::to_string(7400 + node.value()); }

class MemoryTransport final : public connected::Transport {
 public:
  explicit MemoryTransport(Network& network) : network_(network) {}

  /// Whether who was called knows that the link stands only when the caller says so, as of connectionless providers.
  bool speaks_first = false;
  /// Calls that it has made so far.
  int calls = 0;
  std::deque<Report> inbox;

  [[nodiscard]] Result<Descriptors> open(const connected::SocketAddress&, NodeId, std::uint64_t) override {
    return Descriptors{};
  }
  [[nodiscard]] Result<connected::ConnectionPointer> call(const connected::Opening& opening,
                                                          const connected::SocketAddress*) override {
    const auto& [call, greeting] = opening;
    ++calls;
    auto wire = std::make_shared<Wire>();
    wire->greeting = greeting;
    wire->sides[0] = this;
    // A call to an address where nobody listens goes on until it is given up, like one to a host that is off.
    if (const auto callee = network_.find(port_of(call.node)); callee != network_.end()) {
      wire->sides[1] = callee->second;
      callee->second->inbox.push_back({Report::Kind::request, wire, 1});
    }
    auto connection = std::make_unique<MemoryConnection>(call, wire, 0);
    connection->says_goodbye = speaks_first;
    return connected::ConnectionPointer(std::move(connection));
  }
  [[nodiscard]] std::optional<std::span<const std::byte>> waiting_call() override {
    if (waiting_.empty()) return std::nullopt;
    return waiting_.front()->greeting;
  }
  // As an operating system does it: a request that was given up meanwhile still looks like one, and its end comes after it.
  [[nodiscard]] Result<connected::ConnectionPointer> answer(const connected::Opening& opening) override {
    const std::shared_ptr<Wire> wire = waiting_.front();
    waiting_.pop_front();
    auto connection = std::make_unique<MemoryConnection>(opening.call, wire, 1);
    connection->report(Report::Kind::established, opening.greeting);
    if (!speaks_first) inbox.push_back({Report::Kind::established, wire, 1});
    if (wire->connections[0] == nullptr) inbox.push_back({Report::Kind::ended, wire, 1});
    return connected::ConnectionPointer(std::move(connection));
  }
  void turn_away() override {
    const std::shared_ptr<Wire> wire = waiting_.front();
    waiting_.pop_front();
    if (wire->sides[0] != nullptr) wire->sides[0]->inbox.push_back({Report::Kind::ended, wire, 0});
    wire->sides[1] = nullptr;
  }
  void take_reports(connected::TransportEvents& to) override {
    while (!inbox.empty()) {
      const Report report = std::move(inbox.front());
      inbox.pop_front();
      if (report.kind == Report::Kind::request) {
        waiting_.push_back(report.wire);
        continue;
      }
      MemoryConnection* const connection = report.wire->connections[report.to];
      if (connection != nullptr) tell(to, *connection, report);  // else it was given up meanwhile
    }
  }
  bool take_completions(connected::TransportEvents&, Time) override { return false; }
  [[nodiscard]] bool may_block(connected::TransportEvents&) noexcept override { return inbox.empty(); }
  [[nodiscard]] std::uint64_t address_of(const connected::OwnRegion&) const noexcept override { return 0; }
  void shut() noexcept override {
    for (const Report& report : inbox) report.wire->sides[report.to] = nullptr;
  }

 private:
  void tell(connected::TransportEvents& to, MemoryConnection& connection, const Report& report) const {
    switch (report.kind) {
      case Report::Kind::request: break;
      case Report::Kind::established:
        to.on_established(connection, report.bytes);
        if (speaks_first && !connection.broken()) connection.say(connected::encode(connected::Kind::alive, 0), false);
        break;
      case Report::Kind::message:
        if (connection.call().state == connected::PeerCall::State::answering) to.on_first_word(connection, report.bytes);
        to.on_message(connection, report.bytes);
        break;
      case Report::Kind::ended: connection.break_down("the connection broke"); break;
    }
  }

  Network& network_;
  std::deque<std::shared_ptr<Wire>> waiting_;
};

/// An endpoint over such a transport.
class MemoryEndpoint {
 public:
  MemoryEndpoint(NodeId self, const Clock& clock, Network& network, std::vector<Return>& returns)
      : port_(port_of(self)), network_(network) {
    auto transport = std::make_unique<MemoryTransport>(network);
    transport_ = transport.get();
    endpoint_ =
        value_or_throw(connected::Endpoint::make({self, std::chrono::seconds(10)}, {.name = "memory"}, std::move(transport),
                                                 std::make_unique<WatchedMemory>(returns), clock));
    value_or_throw(endpoint_->listen({self, "127.0.0.1:" + port_}));
    network_[port_] = transport_;
  }
  ~MemoryEndpoint() { network_.erase(port_); }
  MemoryEndpoint(const MemoryEndpoint&) = delete;
  MemoryEndpoint& operator=(const MemoryEndpoint&) = delete;

  void call(NodeId node) { value_or_throw(endpoint_->connect({node, "127.0.0.1:" + port_of(node)})); }
  [[nodiscard]] MemoryTransport& transport() { return *transport_; }
  [[nodiscard]] connected::Endpoint* operator->() { return endpoint_.get(); }

 private:
  const std::string port_;
  Network& network_;
  MemoryTransport* transport_ = nullptr;
  std::unique_ptr<connected::Endpoint> endpoint_;
};

void MemoryConnection::report(Report::Kind kind, std::span<const std::byte> bytes) {
  MemoryTransport* const other = wire_->sides[1 - side_];
  if (other != nullptr) other->inbox.push_back({kind, wire_, 1 - side_, {bytes.begin(), bytes.end()}});
}

/// Nodes 1 and 2, and what each was told so far.
struct Nodes {
  ManualClock clock;
  Network network;
  std::vector<Return> returns;  ///< of either side's memory
  MemoryEndpoint lower{NodeId(1), clock, network, returns};
  MemoryEndpoint higher{NodeId(2), clock, network, returns};
  std::vector<Event::Kind> at_lower;
  std::vector<Event::Kind> at_higher;
  PeerId higher_at_lower;

  void poll(MemoryEndpoint& endpoint) {
    std::array<Event, 16> events;
    const std::size_t count = endpoint->poll(events);
    auto& told = &endpoint == &lower ? at_lower : at_higher;
    for (std::size_t i = 0; i < count; ++i) {
      told.push_back(events[i].kind);
      if (&endpoint == &lower && events[i].kind == Event::Kind::connected) higher_at_lower = events[i].peer;
    }
  }
  /// So often that it looks at everything, all at one time.
  void look(MemoryEndpoint& endpoint) {
    for (int i = 0; i < 200; ++i) poll(endpoint);
  }
  /// Both look again and again, for so long: longer than an attempt's pause, shorter than anybody is taken for silent.
  void run(Duration how_long = std::chrono::seconds(5)) {
    for (Duration done{}; done < how_long; done += milliseconds(1)) {
      clock.advance(milliseconds(1));
      poll(lower);
      poll(higher);
    }
  }
};

const std::vector once{Event::Kind::connected};

}  // namespace

TEST_CASE("two that call each other are linked once, however long both were away and whoever looks first") {
  Nodes nodes;
  const auto away = GENERATE(milliseconds(0), milliseconds(99), milliseconds(150), milliseconds(2900), milliseconds(4000),
                             milliseconds(60000));
  const bool lower_first = GENERATE(true, false);
  CAPTURE(away.count(), lower_first);
  nodes.lower.call(NodeId(2));
  nodes.higher.call(NodeId(1));
  nodes.clock.advance(away);
  nodes.poll(lower_first ? nodes.lower : nodes.higher);
  nodes.run();
  CHECK(nodes.at_lower == once);
  CHECK(nodes.at_higher == once);
}

TEST_CASE("time in which a process does not look is none in which the other fails to answer") {
  Nodes nodes;
  nodes.lower.transport().speaks_first = nodes.higher.transport().speaks_first = true;
  nodes.lower.call(NodeId(2));
  nodes.look(nodes.higher);  // finds the call and answers it
  nodes.clock.advance(GENERATE(milliseconds(2000), milliseconds(4000), milliseconds(60000)));
  nodes.look(nodes.higher);
  nodes.run();
  CHECK(nodes.at_lower == once);
  CHECK(nodes.at_higher == once);
}

TEST_CASE("a call that nobody answers is made again after three seconds of looking for it") {
  Nodes nodes;
  nodes.network.erase(port_of(NodeId(2)));
  nodes.clock.advance(GENERATE(milliseconds(0), milliseconds(60000)));  // before it, which is none of it
  nodes.lower.call(NodeId(2));
  nodes.run(milliseconds(2900));
  CHECK(nodes.lower.transport().calls == 1);
  nodes.run(milliseconds(200));
  CHECK(nodes.lower.transport().calls == 2);
}

TEST_CASE("a call that reached nobody gives way once the other side was turned away and calls again") {
  Nodes nodes;
  nodes.network.erase(port_of(NodeId(2)));
  nodes.lower.call(NodeId(2));
  nodes.poll(nodes.lower);
  nodes.network[port_of(NodeId(2))] = &nodes.higher.transport();
  const bool at_once = GENERATE(true, false);
  CAPTURE(at_once);
  if (!at_once) nodes.clock.advance(milliseconds(200));
  nodes.higher.call(NodeId(1));
  nodes.run(milliseconds(1));
  CHECK(nodes.at_higher.empty());  // turned away, however old the other's call is
  nodes.run(milliseconds(90));
  CHECK(nodes.at_higher == (at_once ? std::vector<Event::Kind>{} : once));
  nodes.run(milliseconds(500));  // shorter than a call waits for its answer
  CHECK(nodes.at_lower == once);
  CHECK(nodes.at_higher == once);
}

TEST_CASE("of two calls that cross, the lower node's stands at both sides, and the higher node's is turned away") {
  Nodes nodes;
  nodes.lower.call(NodeId(2));
  nodes.higher.call(NodeId(1));
  nodes.poll(nodes.lower);  // finds the higher one's call, and keeps its own
  REQUIRE(nodes.at_lower.empty());
  nodes.poll(nodes.higher);
  nodes.poll(nodes.higher);
  CHECK(nodes.at_higher == once);  // by the lower one's call, which its own gave way to
  nodes.poll(nodes.lower);
  CHECK(nodes.at_lower == once);
}

TEST_CASE("a call that is given up before its answer was heard is no link to who answered it, and that one calls again") {
  Nodes nodes;
  nodes.lower.transport().speaks_first = nodes.higher.transport().speaks_first = true;
  nodes.lower.call(NodeId(2));
  nodes.higher.call(NodeId(1));
  nodes.look(nodes.higher);  // answers the lower one's call, which its own gave way to
  REQUIRE(nodes.higher.transport().calls == 1);
  nodes.lower->turn_away(NodeId(2), Error(ErrorKind::refused, "not now"));
  nodes.run(milliseconds(100));
  CHECK(nodes.at_higher.empty());
  CHECK(nodes.higher.transport().calls > 1);
  nodes.lower->turn_away(NodeId(2), std::nullopt);
  nodes.run();
  CHECK(nodes.at_lower == once);
  CHECK(nodes.at_higher == once);
}

TEST_CASE("memory that a disconnected peer could write to is nobody else's before its connection is closed (V11)") {
  Nodes nodes;
  const auto access = GENERATE(Access::write, Access::read);
  nodes.lower.call(NodeId(2));
  nodes.run(milliseconds(100));
  REQUIRE(nodes.at_lower == once);
  const Region region = value_or_throw(nodes.lower->allocate(4096, "mirror"));
  value_or_throw(nodes.lower->expose(nodes.higher_at_lower, region.key, access));
  nodes.lower->disconnect(nodes.higher_at_lower);
  nodes.lower->release(region.key);
  // The goodbye is on its way, and before it may be half of a write.
  CHECK(nodes.returns == (access == Access::write ? std::vector<Return>{} : std::vector{Return::plain}));
  if (access == Access::write) region.memory[0] = std::byte{1};  // which is mapped
  nodes.run(milliseconds(100));
  CHECK(nodes.returns == std::vector{access == Access::write ? Return::fenced : Return::plain});
}

TEST_CASE("memory that a lost peer could write to comes back fenced, and what it gave back itself does not (V11)") {
  Nodes nodes;
  const bool gives_back = GENERATE(true, false);
  nodes.lower.call(NodeId(2));
  nodes.run(milliseconds(100));
  const Region region = value_or_throw(nodes.lower->allocate(4096, "mirror"));
  value_or_throw(nodes.lower->expose(nodes.higher_at_lower, region.key, Access::write));
  nodes.run(milliseconds(100));
  REQUIRE(nodes.at_higher == std::vector{Event::Kind::connected, Event::Kind::exposed});
  nodes.lower->release(region.key);
  CHECK(nodes.returns.empty());
  if (gives_back) {
    nodes.higher->unmap(PeerId(1), region.key);
  } else {
    nodes.higher->disconnect(PeerId(1));
  }
  nodes.run(milliseconds(100));
  CHECK(nodes.returns == std::vector{gives_back ? Return::plain : Return::fenced});
}
