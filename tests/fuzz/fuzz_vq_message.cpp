// Two pools whose users talk to each other, and a third node that sends both whatever it likes, by the shared queue pair and
// by connections of its own. Neither crashes nor stands still; the pairs of the two stay well, and what they say arrives
// whole, once, in order.
//
// The one lie that is left out is to speak as the other honest pair itself, or to whom it has not spoken yet: nothing tells
// who sent a message but what it says.
#include <spindrift/kernel/pool.hpp>

#include <array>
#include <deque>
#include <memory>
#include <vector>

#include "../kernel/sim_device.hpp"
#include "fuzz.hpp"

namespace {

using namespace spindrift;
using namespace spindrift::kernel;
using fuzz::Choices;
using fuzz::expect;

constexpr Port listening_port(1);
constexpr std::uint32_t start = 7;
constexpr std::size_t bytes_max = 128;

struct Honest {
  Honest(sim::SimNetwork& network, const sim::SimOptions& sim, std::uint32_t id) : device(network.add(sim)), number(id) {
    PoolOptions options;
    options.self = NodeId(id);
    options.start = start;
    options.pairs_max = 16;
    options.window = 4;
    options.fetch_bytes_max = 4096;
    pool = value_or_throw(Pool::open(*device, options));
    keys = value_or_throw(pool->register_memory(memory, fabric::Access::read));
  }

  bool progress() {
    const auto progressed = pool->progress(now);
    expect(progressed.ok(), "a pool goes on");
    return *progressed;
  }

  /// The k-th message of this node: its length and bytes follow from both.
  [[nodiscard]] std::vector<std::byte> message(std::uint64_t k) const {
    std::vector<std::byte> bytes(k * 11 % bytes_max);
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(number * 101 + k * 7 + i);
    return bytes;
  }
  void send() {
    const std::vector<std::byte> bytes = message(sent);
    const std::span<std::byte> place = std::span(memory).subspan(sent % places * bytes_max, bytes.size());
    if (sent - over >= places) return;
    std::copy(bytes.begin(), bytes.end(), place.begin());
    const Request request{.kind = Request::Kind::send, .local = place, .local_memory = keys};
    const auto taken = pool->post(pair, {&request, 1});
    expect(taken.ok(), "an honest pair may always post");
    sent += *taken;
  }
  void take_completions() {
    std::array<Completion, 8> done;
    for (std::size_t count = completions.take(done); count > 0; count = completions.take(done)) {
      for (const Completion& completion : std::span(done).first(count)) {
        if (completion.pair != pair) continue;
        expect(completion.status == OperationStatus::done, "what an honest pair posts is carried out");
        ++over;
      }
    }
  }
  static constexpr std::uint64_t places = 8;

  Time now{};
  std::unique_ptr<sim::SimDevice> device;
  std::uint64_t number;
  CompletionQueue completions{64};
  std::array<std::byte, places * bytes_max> memory{};
  MemoryKeys keys;
  std::unique_ptr<Pool> pool;
  PairId pair;
  std::uint64_t sent = 0;
  std::uint64_t over = 0;
  std::uint64_t heard = 0;
};

/// Takes what there is for an honest pair, and from strangers; closes some of those.
void listen(Honest& node, const Honest& from, Choices& choices) {
  node.take_completions();
  while (auto message = node.pool->take_message(node.pair)) {
    expect(node.heard < from.sent && *message == from.message(node.heard),
           "an honest message arrives once, whole, in order");
    ++node.heard;
  }
  for (auto next = node.pool->next_accepted(listening_port); next.ok() && *next;
       next = node.pool->next_accepted(listening_port)) {
    const PairId stranger = **next;
    switch (choices.choice(4)) {
      case 0: node.pool->close(stranger); break;
      case 1: static_cast<void>(node.pool->take_message(stranger)); break;
      case 2: {
        Request request;
        request.kind = Request::Kind::send;
        request.local = std::span(node.memory).first(1);
        request.local_memory = node.keys;
        static_cast<void>(node.pool->post(stranger, {&request, 1}));
        break;
      }
      default: break;  // it keeps its message
    }
  }
}

class World {
 public:
  explicit World(Choices& choices)
      : network_(choices.choice(256)),
        sim_{.ordered = choices.choice(2) == 0, .proves = choices.choice(2) == 0},
        a_(network_, sim_, 1),
        b_(network_, sim_, 2),
        device_(network_.add(sim_)),
        open_(value_or_throw(device_->open())) {
    for (const Honest* node : {&a_, &b_}) handles_.push_back(value_or_throw(device_->resolve(node->device->metadata())));
    for (Honest* node : {&a_, &b_}) value_or_throw(node->pool->bind(listening_port, node->completions, 8));
    a_.pair = value_or_throw(a_.pool->create(a_.completions, {}));
    value_or_throw(a_.pool->connect(a_.pair, b_.device->metadata(), listening_port));
    a_.send();
    settle();
    const auto accepted = value_or_throw(b_.pool->next_accepted(listening_port));
    expect(accepted.has_value(), "the first message makes a pair");
    b_.pair = *accepted;
    b_.send();  // from here on each knows the other's pair
    settle();
  }

  void act(Choices& choices) {
    switch (choices.choice(8)) {
      case 0: a_.send(); break;
      case 1: b_.send(); break;
      case 2: listen(a_, b_, choices); break;
      case 3: listen(b_, a_, choices); break;
      case 4:
        for (std::uint64_t steps = 1 + choices.choice(8); steps > 0; --steps) network_.step();
        break;
      case 5:
        a_.progress();
        b_.progress();
        drain();
        break;
      case 6: reach_for(choices); break;
      default: lie(choices); break;
    }
  }

  void finish() {
    Choices nothing(nullptr, 0);
    for (int round = 0; round < rounds_max && !all_is_over(); ++round) {
      settle();
      listen(a_, b_, nothing);
      listen(b_, a_, nothing);
    }
    for (const Honest* node : {&a_, &b_}) expect(!node->pool->failure(node->pair), "an honest pair stays well");
    expect(all_is_over(), "everything that was posted arrives, and is over");
  }

 private:
  static constexpr int rounds_max = 64;

  [[nodiscard]] bool all_is_over() const {
    return a_.heard == b_.sent && b_.heard == a_.sent && a_.over == a_.sent && b_.over == b_.sent;
  }

  void drain() {
    std::array<PhysicalEvent, 8> events;
    std::erase_if(connections_, [&](const auto& connection) { return poll(*connection, events); });
    if (poll(*open_, events)) static_cast<void>(open_->reset());
    while (device_->accepted().queue_pair != nullptr) {
    }
  }
  /// Whether it broke.
  static bool poll(PhysicalQueuePair& queue_pair, std::span<PhysicalEvent> events) {
    bool broken = false;
    for (std::size_t count = queue_pair.poll(events); count > 0; count = queue_pair.poll(events)) {
      for (const PhysicalEvent& event : events.first(count)) {
        if (event.kind == PhysicalEvent::Kind::received) queue_pair.give_back(event.id);
        broken |= event.kind == PhysicalEvent::Kind::broken;
      }
    }
    return broken;
  }

  void settle() {
    int idle = 0;
    for (int pass = 0; pass < rounds_max && idle < 3; ++pass) {
      ++idle;
      for (int steps = 0; steps < rounds_max && network_.step(); ++steps) idle = 0;
      a_.now += std::chrono::milliseconds(200);
      b_.now = a_.now;
      if (a_.progress()) idle = 0;
      if (b_.progress()) idle = 0;
      drain();
    }
  }

  void reach_for(Choices& choices) {
    const Honest& whom = choices.choice(2) == 0 ? a_ : b_;
    if (connections_.size() == 4) connections_.erase(connections_.begin());
    connections_.push_back(value_or_throw(device_->connect(whom.device->metadata(), choices.number(8))));
  }

  template <std::size_t N>
  static std::uint64_t one_of(Choices& choices, const std::array<std::uint64_t, N>& likely) {
    const std::uint64_t which = choices.choice(N + 1);
    return which < N ? likely[which] : choices.number(8);
  }

  /// Its fields are likely ones, so that the input reaches what lies behind the first check; or any bytes.
  void lie(Choices& choices) {
    const std::uint64_t to = choices.choice(2);
    const Honest& whom = to == 0 ? a_ : b_;
    const Honest& other = to == 0 ? b_ : a_;
    vq_header header{};
    header.magic = VQ_MAGIC;
    header.version = VQ_HEADER_VERSION;
    header.kind = static_cast<std::uint8_t>(1 + choices.choice(VQ_KINDS));
    header.hello = static_cast<std::uint8_t>(choices.choice(3) % 2);
    header.to = one_of<4>(choices, {listening_port.value(), whom.pair.value(), 1, 2});
    header.from = one_of<5>(choices, {other.pair.value(), whom.pair.value(), 1, 2, 3});
    header.node = static_cast<std::uint32_t>(one_of<3>(choices, {1, 2, 3}));
    header.start = static_cast<std::uint32_t>(one_of<2>(choices, {start, start + 1}));
    header.sequence = one_of<6>(choices, {1, 0, 2, 3, 4, 5});
    header.consumed = one_of<3>(choices, {0, 1, 2});
    header.window = static_cast<std::uint32_t>(one_of<3>(choices, {4, 1, VQ_WINDOW_MAX}));
    header.address = one_of<2>(choices, {whom.keys.remote_base, other.keys.remote_base});
    header.key = one_of<2>(choices, {whom.keys.remote_key, other.keys.remote_key});

    std::vector<std::byte> metadata;
    if (choices.choice(4) > 0) {
      const Metadata& said = choices.choice(3) == 0 ? other.device->metadata() : device_->metadata();
      metadata.assign(said.bytes.begin(), said.bytes.begin() + said.size);
      if (choices.choice(4) == 0 && !metadata.empty()) metadata[0] ^= static_cast<std::byte>(1 + choices.choice(255));
    }
    header.metadata_bytes = static_cast<std::uint8_t>(metadata.size());
    const auto payload = choices.take(choices.choice(32));
    header.bytes = static_cast<std::uint32_t>(payload.size());
    if (choices.choice(4) == 0) header.bytes = static_cast<std::uint32_t>(choices.number(4));

    if (header.from == other.pair.value()) header.from ^= std::uint64_t{1} << 40U;
    std::vector<std::byte> message(sizeof header + metadata.size());
    std::memcpy(message.data(), &header, sizeof header);
    std::copy(metadata.begin(), metadata.end(), message.begin() + sizeof header);
    for (const std::uint8_t byte : payload) message.push_back(static_cast<std::byte>(byte));
    if (choices.choice(8) == 0) message.resize(choices.choice(message.size() + 1));
    if (message.empty()) return;

    said_.push_back(std::move(message));
    PhysicalOperation operation;
    operation.kind = PhysicalOperation::Kind::send;
    operation.peer = handles_[to];
    operation.local = said_.back().data();
    operation.bytes = static_cast<std::uint32_t>(said_.back().size());
    PhysicalQueuePair* by = open_.get();
    const std::uint64_t way = choices.choice(connections_.size() + 1);
    if (way > 0) by = connections_[way - 1].get();
    static_cast<void>(by->post({&operation, 1}));
  }

  sim::SimNetwork network_;
  const sim::SimOptions sim_;
  std::deque<std::vector<std::byte>> said_;  // stays until the operation is over
  Honest a_;
  Honest b_;
  std::unique_ptr<sim::SimDevice> device_;
  std::unique_ptr<PhysicalQueuePair> open_;
  std::vector<std::unique_ptr<PhysicalQueuePair>> connections_;
  std::vector<PeerHandle> handles_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Choices choices(data, size);
  World world(choices);
  while (!choices.empty()) world.act(choices);
  world.finish();
  return 0;
}
