// Two endpoints of the base of connection-based fabrics, over a network in memory and at a time that the test says: which of
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

class MemoryEndpoint;

/// One connection from its call on: of each side, its process while that may hear of it, and its lane while it has one.
struct Connection {
  connected::GreetingBytes greeting{};
  std::array<MemoryEndpoint*, 2> sides{};  ///< who called, who was called
  std::array<connected::Lane*, 2> lanes{};
};

/// What an endpoint finds when it looks, in the order in which it happened.
struct Report {
  enum class Kind : std::uint8_t { request, established, message, ended };
  Kind kind = Kind::request;
  std::shared_ptr<Connection> connection;
  std::size_t to = 0;  ///< which side
  std::vector<std::byte> bytes{};
};

/// Who listens where.
using Network = std::map<std::string, MemoryEndpoint*>;

class MemoryLane final : public connected::Lane {
 public:
  MemoryLane(State first, NodeId of, std::shared_ptr<Connection> connection, std::size_t side)
      : Lane(first, of), connection_(std::move(connection)), side_(side) {
    connection_->lanes[side_] = this;
  }
  ~MemoryLane() override { close(); }

  void say(std::span<const std::byte> message, bool) override { report(Report::Kind::message, message); }
  void flush() override {}
  [[nodiscard]] bool idle() const noexcept override { return true; }
  void close() override {
    if (connection_->lanes[side_] != this) return;
    revoke_all();
    if (says_goodbye && state != State::closing && !goodbye) say(connected::encode(connected::Kind::goodbye, 0), false);
    connection_->lanes[side_] = nullptr;
    connection_->sides[side_] = nullptr;
    report(Report::Kind::ended, {});
  }
  void resume() override {}

  /// When it is closed, as of connectionless providers.
  bool says_goodbye = false;

  void report(Report::Kind kind, std::span<const std::byte> bytes);

 private:
  [[nodiscard]] Result<Right> give_right(connected::OwnRegion&, Access) override {
    return Right{++newest_key_, 0, std::make_unique<connected::Registration>()};
  }

  const std::shared_ptr<Connection> connection_;
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

connected::Beginning watched_beginning(const std::string& directory, std::vector<Return>& returns) {
  auto beginning = value_or_throw(connected::make_beginning(directory, "group"));
  beginning.memory = std::make_unique<WatchedMemory>(returns);
  return beginning;
}

class MemoryEndpoint final : public connected::Endpoint {
 public:
  MemoryEndpoint(NodeId self, const std::string& directory, const Clock& clock, Network& network,
                 std::vector<Return>& returns)
      : Endpoint(self, std::chrono::seconds(10), {.name = "memory"}, watched_beginning(directory, returns), clock),
        self_(self),
        network_(network) {
    value_or_throw(listen({self_, address_of(self_)}));
    network_[port_of(self_)] = this;
  }
  ~MemoryEndpoint() override {
    network_.erase(port_of(self_));
    end();
    for (const Report& report : inbox) report.connection->sides[report.to] = nullptr;
  }

  static std::string port_of(NodeId node) { return std::to_string(7400 + node.value()); }
  static std::string address_of(NodeId node) { return "127.0.0.1:" + port_of(node); }
  void call(NodeId node) { value_or_throw(connect({node, address_of(node)})); }
  /// Whether who was called knows that the link stands only when the caller says so, as of connectionless providers.
  bool speaks_first = false;
  /// That it has made so far.
  [[nodiscard]] int calls() const noexcept { return calls_; }

  [[nodiscard]] Result<void> post(std::span<const Operation>) override {
    return Error(ErrorKind::unsupported, "nothing is posted here");
  }

  std::deque<Report> inbox;

 private:
  [[nodiscard]] Result<Descriptors> open(const connected::SocketAddress&) override { return Descriptors{}; }
  [[nodiscard]] Result<std::unique_ptr<connected::Lane>> start_call(NodeId node, const connected::SocketAddress&) override {
    ++calls_;
    auto connection = std::make_shared<Connection>();
    connection->greeting = greeting_to(node);
    connection->sides[0] = this;
    // A call to an address where nobody listens goes on until it is given up, like one to a host that is off.
    if (const auto callee = network_.find(port_of(node)); callee != network_.end()) {
      connection->sides[1] = callee->second;
      callee->second->inbox.push_back({Report::Kind::request, connection, 1});
    }
    auto lane = std::make_unique<MemoryLane>(connected::Lane::State::calling, node, connection, 0);
    lane->says_goodbye = speaks_first;
    return std::unique_ptr<connected::Lane>(std::move(lane));
  }
  void take_reports() override {
    while (!inbox.empty()) {
      const Report report = std::move(inbox.front());
      inbox.pop_front();
      if (report.kind == Report::Kind::request) {
        on_request(report.connection);
        continue;
      }
      connected::Lane* const lane = report.connection->lanes[report.to];
      if (lane == nullptr) continue;  // given up meanwhile
      if (report.kind == Report::Kind::established) stands(*lane, report.bytes);
      if (report.kind == Report::Kind::message) {
        if (lane->state == connected::Lane::State::answering) confirmed(*lane, report.bytes);
        message_came(*lane, report.bytes);
      }
      if (report.kind == Report::Kind::ended) lane->break_down("the connection broke");
    }
  }
  bool take_completions() override { return false; }
  void on_writes(connected::Lane& lane, std::span<const std::byte>) override { lane.break_down("nothing is written here"); }
  [[nodiscard]] bool may_block() noexcept override { return inbox.empty(); }

  void stands(connected::Lane& lane, std::span<const std::byte> greeting) {
    established(lane, greeting);
    if (speaks_first && !lane.broken()) lane.say(connected::encode(connected::Kind::alive, 0), false);
  }

  // As an operating system does it: a request that was given up meanwhile still looks like one, and its end comes after it.
  void on_request(const std::shared_ptr<Connection>& connection) {
    const auto greeting = welcome(connection->greeting);
    if (!greeting) {
      if (connection->sides[0] != nullptr) connection->sides[0]->inbox.push_back({Report::Kind::ended, connection, 0});
      connection->sides[1] = nullptr;
      return;
    }
    auto lane = std::make_unique<MemoryLane>(connected::Lane::State::answering, greeting->node, connection, 1);
    const auto ours = greeting_to(greeting->node);
    lane->report(Report::Kind::established, ours);
    if (!speaks_first) inbox.push_back({Report::Kind::established, connection, 1});
    if (connection->lanes[0] == nullptr) inbox.push_back({Report::Kind::ended, connection, 1});
    answered(std::move(lane), *greeting);
  }

  const NodeId self_;
  Network& network_;
  int calls_ = 0;
};

void MemoryLane::report(Report::Kind kind, std::span<const std::byte> bytes) {
  MemoryEndpoint* const other = connection_->sides[1 - side_];
  if (other != nullptr) other->inbox.push_back({kind, connection_, 1 - side_, {bytes.begin(), bytes.end()}});
}

/// Nodes 1 and 2, and what each was told so far.
struct Nodes {
  TemporaryDirectory directory;
  ManualClock clock;
  Network network;
  std::vector<Return> returns;  ///< of either side's memory
  MemoryEndpoint lower{NodeId(1), directory.path(), clock, network, returns};
  MemoryEndpoint higher{NodeId(2), directory.path(), clock, network, returns};
  std::vector<Event::Kind> at_lower;
  std::vector<Event::Kind> at_higher;
  PeerId higher_at_lower;

  void poll(MemoryEndpoint& endpoint) {
    std::array<Event, 16> events;
    const std::size_t count = endpoint.poll(events);
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
  nodes.lower.speaks_first = nodes.higher.speaks_first = true;
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
  nodes.network.erase(MemoryEndpoint::port_of(NodeId(2)));
  nodes.clock.advance(GENERATE(milliseconds(0), milliseconds(60000)));  // before it, which is none of it
  nodes.lower.call(NodeId(2));
  nodes.run(milliseconds(2900));
  CHECK(nodes.lower.calls() == 1);
  nodes.run(milliseconds(200));
  CHECK(nodes.lower.calls() == 2);
}

TEST_CASE("a call that reached nobody gives way once the other side was turned away and calls again") {
  Nodes nodes;
  nodes.network.erase(MemoryEndpoint::port_of(NodeId(2)));
  nodes.lower.call(NodeId(2));
  nodes.poll(nodes.lower);
  nodes.network[MemoryEndpoint::port_of(NodeId(2))] = &nodes.higher;
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
  nodes.lower.speaks_first = nodes.higher.speaks_first = true;
  nodes.lower.call(NodeId(2));
  nodes.higher.call(NodeId(1));
  nodes.look(nodes.higher);  // answers the lower one's call, which its own gave way to
  REQUIRE(nodes.higher.calls() == 1);
  nodes.lower.turn_away(NodeId(2), Error(ErrorKind::refused, "not now"));
  nodes.run(milliseconds(100));
  CHECK(nodes.at_higher.empty());
  CHECK(nodes.higher.calls() > 1);
  nodes.lower.turn_away(NodeId(2), std::nullopt);
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
  const Region region = value_or_throw(nodes.lower.allocate(4096, "mirror"));
  value_or_throw(nodes.lower.expose(nodes.higher_at_lower, region.key, access));
  nodes.lower.disconnect(nodes.higher_at_lower);
  nodes.lower.release(region.key);
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
  const Region region = value_or_throw(nodes.lower.allocate(4096, "mirror"));
  value_or_throw(nodes.lower.expose(nodes.higher_at_lower, region.key, Access::write));
  nodes.run(milliseconds(100));
  REQUIRE(nodes.at_higher == std::vector{Event::Kind::connected, Event::Kind::exposed});
  nodes.lower.release(region.key);
  CHECK(nodes.returns.empty());
  if (gives_back) {
    nodes.higher.unmap(PeerId(1), region.key);
  } else {
    nodes.higher.disconnect(PeerId(1));
  }
  nodes.run(milliseconds(100));
  CHECK(nodes.returns == std::vector{gives_back ? Return::plain : Return::fenced});
}
