// A million operations of virtual queue pairs that share their queue pairs with users who do everything wrong, on devices
// that break, with a peer that dies again and again: no innocent one loses, doubles or reorders a completion or a message,
// and what it reads and leaves in its peer's memory is what it wrote.
#include "pool_fixture.hpp"

#include <algorithm>
#include <deque>

using namespace spindrift;
using namespace spindrift::kernel;
using namespace spindrift::kernel::sim;

namespace {

constexpr std::size_t words_per_pair = 16;
constexpr std::size_t under_way_max = 24;
constexpr std::uint64_t innocent_mark = 0x696e6e6f63656e74;

/// A fault, in words; thrown, for a CHECK per operation would cost more than the operation.
struct Violation {
  std::string what;
};

void demand(bool holds, const char* what) {
  if (!holds) throw Violation{what};
}

/// One that does nothing wrong: its own words in its peer's memory, its own numbered messages.
struct Innocent {
  Innocent(Node* whose, Node* peer, std::size_t which) : from(whose), to(peer), number(which), buffer(3 * under_way_max) {}
  Node* from;
  Node* to;
  std::size_t number;  ///< of its area in the peer's memory
  PairId pair{};
  CompletionQueue completions{32};
  std::vector<std::uint64_t> buffer;  ///< three words for each request under way
  MemoryKeys buffer_keys{};
  std::array<std::uint64_t, words_per_pair> written{};
  struct Expected {
    std::uint64_t context;
    bool signaled;
    Request::Kind kind;
    std::size_t slot;
    std::uint64_t value;  ///< that a read must bring
  };
  std::deque<Expected> expected;
  std::uint64_t next_context = 1;
  std::uint64_t next_value = 1;
  std::uint64_t sent = 0;
  std::uint64_t heard = 0;
};

class Abuse {
 public:
  explicit Abuse(std::uint64_t seed)
      : network_(seed),
        ordered_(seed % 2 == 0),
        flushes_(!ordered_ && seed % 16 > 4),
        connected_(seed % 4 > 1),
        proves_(connected_ || seed % 8 > 3) {
    for (std::uint32_t i = 0; i < 3; ++i) {
      nodes_.push_back(std::make_unique<Node>(network_, i, sim(), pool()));
      both_.push_back(nodes_.back()->registered(nodes_.back()->target, fabric::Access::read));
      REQUIRE(nodes_.back()->pool->bind(Port(1), nodes_.back()->completions, 8).ok());
      REQUIRE(nodes_.back()->pool->bind(Port(2), nodes_.back()->completions, 8).ok());  // whose messages nobody takes
    }
    for (auto& from : nodes_) {
      for (auto& to : nodes_) {
        if (from == to) continue;
        innocents_.push_back(std::make_unique<Innocent>(from.get(), to.get(), innocents_.size()));
        Innocent& one = *innocents_.back();
        one.buffer_keys = from->registered(std::as_writable_bytes(std::span(one.buffer)), fabric::Access::read);
        auto made = from->pool->create(one.completions, {});
        REQUIRE(made.ok());
        one.pair = *made;
        REQUIRE(from->pool->connect(one.pair, to->device->metadata(), Port(1)).ok());
      }
    }
    bear_mortal();
  }

  void run(std::uint64_t operations) {
    while (posted_ < operations) {
      for (auto& one : innocents_) {
        if (draw(2) == 0) act(*one);
      }
      for (auto& node : nodes_) {
        if (draw(8) == 0) misbehave(*node);
      }
      if (draw(400) == 0) nodes_[draw(nodes_.size())]->device->break_down();
      if (draw(2000) == 0) bear_mortal();
      for (std::uint64_t steps = draw(30); steps > 0; --steps) network_.step();
      if (draw(2) == 0) look();
    }
    for (bool any = true; any;) {
      any = network_.step();
      any = look() || any;
    }
    check_end();
  }

  [[nodiscard]] std::uint64_t breaks() const {
    std::uint64_t sum = 0;
    for (const auto& node : nodes_) sum += node->pool->counts().breaks;
    return sum;
  }
  [[nodiscard]] std::uint64_t replays() const {
    std::uint64_t sum = 0;
    for (const auto& node : nodes_) sum += node->pool->counts().replays;
    return sum;
  }
  /// Operations, though nothing broke.
  [[nodiscard]] std::uint64_t flushed() const {
    std::uint64_t sum = 0;
    for (const auto& node : nodes_) sum += node->device->flushed();
    return sum;
  }
  [[nodiscard]] std::uint64_t moves() const {
    std::uint64_t sum = 0;
    for (const auto& node : nodes_) sum += node->pool->counts().moves;
    return sum;
  }
  [[nodiscard]] std::uint64_t deaths() const { return deaths_; }

 private:
  [[nodiscard]] PoolOptions pool() const {
    PoolOptions options;
    options.pairs_max = 64;
    options.window = 4;
    options.connected_max = connected_ ? 2 : 0;
    options.promote_posts = 50;
    return options;
  }
  [[nodiscard]] SimOptions sim() const {
    return {.ordered = ordered_,
            .flushes = flushes_,
            .proves = proves_,
            .send_depth = 24,
            .receive_buffers = 4,
            .message_bytes_max = 256};
  }
  std::uint64_t draw(std::uint64_t below) { return network_.draw(below); }

  /// The node that dies: a new start of it takes the place of the old one, of which everybody is told only by failures.
  void bear_mortal() {
    if (mortal_) {
      network_.kill(*mortal_->device);
      graves_.push_back(std::move(mortal_));
      ++deaths_;
    }
    mortal_ = std::make_unique<Node>(network_, 9, sim(),
                                     PoolOptions{.start = static_cast<std::uint32_t>(deaths_), .pairs_max = 16});
  }

  void act(Innocent& one) {
    std::vector<Request> list;
    std::vector<Innocent::Expected> expected;
    auto written = one.written;
    std::uint64_t value = one.next_value;
    std::uint64_t sent = one.sent;
    for (std::uint64_t n = 1 + draw(5); n > 0 && one.expected.size() + list.size() < under_way_max; --n) {
      const std::size_t slot = (one.next_context + list.size()) % under_way_max;
      const std::size_t word = draw(words_per_pair);
      const std::uint64_t address = (one.number * words_per_pair + word) * 8;
      Request request{.signaled = draw(3) > 0,
                      .context = one.next_context + list.size(),
                      .local = std::as_writable_bytes(std::span(one.buffer)).subspan(slot * 24, 8),
                      .local_memory = one.buffer_keys};
      Innocent::Expected result{request.context, request.signaled, Request::Kind::write, slot, 0};
      const std::uint64_t kind = draw(3);
      if (kind == 0) {
        written[word] = one.buffer[slot * 3] = value++;
        request.remote_address = one.to->target_keys.remote_base + address;
        request.remote_key = one.to->target_keys.remote_key;
      } else if (kind == 1) {
        const MemoryKeys& keys = both_[node_of(*one.to)];
        result.value = written[word];
        request.signaled = result.signaled = true;
        request.remote_address = keys.remote_base + address;
        request.remote_key = keys.remote_key;
      } else {
        one.buffer[slot * 3] = innocent_mark;
        one.buffer[slot * 3 + 1] = one.number;
        one.buffer[slot * 3 + 2] = ++sent;
        request.local = std::as_writable_bytes(std::span(one.buffer)).subspan(slot * 24, 24);
      }
      result.kind = request.kind = kind == 0 ? Request::Kind::write : kind == 1 ? Request::Kind::read : Request::Kind::send;
      list.push_back(request);
      expected.push_back(result);
      snapshots_.push_back({written, value, sent});
    }
    const auto taken = one.from->pool->post(one.pair, list);
    if (!taken) throw Violation{"an innocent pair was refused: " + taken.error().to_string()};
    posted_ += *taken;
    for (std::size_t i = 0; i < *taken; ++i) one.expected.push_back(expected[i]);
    if (*taken > 0) {
      const Snapshot& after = snapshots_[*taken - 1];
      one.written = after.written;
      one.next_value = after.value;
      one.sent = after.sent;
    }
    one.next_context += *taken;
    snapshots_.clear();
  }

  [[nodiscard]] std::size_t node_of(const Node& node) const {
    return static_cast<std::size_t>(
        std::find_if(nodes_.begin(), nodes_.end(), [&](const auto& one) { return one.get() == &node; }) - nodes_.begin());
  }

  void misbehave(Node& node) {
    Node& peer = *nodes_[draw(nodes_.size())];
    if (guilty_.size() > 40) {
      node_close(draw(guilty_.size()));
      return;
    }
    auto made = node.pool->create(node.completions, {.once = draw(2) == 0});
    if (!made) return;
    const PairId pair = *made;
    guilty_.push_back({&node, pair});
    const bool to_mortal = draw(2) == 0;
    const auto connected =
        node.pool->connect(pair, to_mortal ? mortal_->device->metadata() : peer.device->metadata(), Port(draw(4)));
    if (!connected) return;
    Request request = node.write(peer, std::span(node.memory).first(8), peer.target.size() - 8);
    switch (draw(6)) {
      case 0: request.remote_key = draw(1000) + 1000; break;
      case 1: request.remote_address += draw(1 << 20) + 1; break;
      case 2: request.local_memory.local_key = draw(100) + 10'000; break;
      case 3: request = node.send(std::span(node.memory).first(draw(64))); break;
      case 4: request = node.send(std::span(node.memory).first(300 + draw(1000))); break;
      default: break;
    }
    const auto posted = node.pool->post(pair, std::vector<Request>(1 + draw(40), request));
    if (posted) posted_ += *posted;
    if (draw(2) == 0) node_close(guilty_.size() - 1);
  }

  void node_close(std::size_t which) {
    guilty_[which].node->pool->close(guilty_[which].pair);
    guilty_[which] = guilty_.back();
    guilty_.pop_back();
  }

  bool look() {
    bool any = false;
    for (auto& node : nodes_) {
      node->now += std::chrono::milliseconds(1);
      any = node->progress() || any;
      node->take();
      for (std::string text = node->pop(); text != "nothing"; text = node->pop()) {
        on_message(*node, text);
        any = true;
      }
    }
    if (mortal_->progress()) mortal_->take();
    for (auto& one : innocents_) any = take(*one) || any;
    return any;
  }

  void on_message(const Node& node, const std::string& text) {
    std::array<std::uint64_t, 3> words{};
    if (text.size() != sizeof words) return;
    std::memcpy(words.data(), text.data(), sizeof words);
    if (words[0] != innocent_mark) return;
    Innocent& one = *innocents_.at(words[1]);
    demand(one.to == &node && words[2] == one.heard + 1, "a message is lost, doubled or reordered");
    ++one.heard;
  }

  bool take(Innocent& one) {
    std::array<Completion, 8> completions;
    const std::size_t count = one.completions.take(completions);
    for (const Completion& completion : std::span(completions).first(count)) {
      demand(completion.status == OperationStatus::done, "an innocent's request failed");
      while (!one.expected.empty() && !one.expected.front().signaled && one.expected.front().context != completion.context)
        one.expected.pop_front();
      demand(!one.expected.empty() && one.expected.front().context == completion.context,
             "a completion is lost, doubled or reordered");
      const auto& expected = one.expected.front();
      if (expected.kind == Request::Kind::read)
        demand(one.buffer[expected.slot * 3] == expected.value, "a read brought something else than was written before it");
      one.expected.pop_front();
    }
    return count > 0;
  }

  void check_end() {
    for (auto& one : innocents_) {
      for (const auto& left : one->expected) demand(!left.signaled, "a completion never came");
      demand(!one->from->pool->failure(one->pair), "an innocent pair failed");
      for (std::size_t word = 0; word < words_per_pair; ++word) {
        std::uint64_t found = 0;
        std::memcpy(&found, one->to->target.data() + (one->number * words_per_pair + word) * 8, 8);
        demand(found == one->written[word], "the peer's memory is not what was written last");
      }
      demand(one->heard == one->sent, "a message never came");
    }
  }

  struct Snapshot {
    std::array<std::uint64_t, words_per_pair> written;
    std::uint64_t value;
    std::uint64_t sent;
  };
  struct Guilty {
    Node* node;
    PairId pair;
  };

  SimNetwork network_;
  const bool ordered_;
  const bool flushes_;    ///< without order: what goes to the same peer as something that failed, and no queue pair breaks
  const bool connected_;  ///< queue pairs too, made and broken on the way
  const bool proves_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<MemoryKeys> both_;  ///< by which the nodes' targets may be read
  std::unique_ptr<Node> mortal_;
  std::vector<std::unique_ptr<Node>> graves_;
  std::vector<std::unique_ptr<Innocent>> innocents_;
  std::vector<Guilty> guilty_;
  std::vector<Snapshot> snapshots_;
  std::uint64_t posted_ = 0;
  std::uint64_t deaths_ = 0;
};

}  // namespace

TEST_CASE("a million operations beside users who do everything wrong: no innocent virtual queue pair notices", "[slow]") {
  std::uint64_t breaks = 0;
  std::uint64_t replays = 0;
  std::uint64_t deaths = 0;
  std::uint64_t moves = 0;
  std::uint64_t flushed = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Abuse abuse(seed);
    try {
      abuse.run(50'000);
    } catch (const Violation& violation) {
      FAIL("seed " << seed << ": " << violation.what);
    }
    breaks += abuse.breaks();
    replays += abuse.replays();
    deaths += abuse.deaths();
    moves += abuse.moves();
    flushed += abuse.flushed();
  }
  CHECK(breaks > 1000);
  CHECK(replays > 1000);
  CHECK(deaths > 10);
  CHECK(moves > 100);
  CHECK(flushed > 1000);
}
