// The multicast while memory moves: before every single read of a row and behind every store, other members run whole
// passes, application threads commit, and lines of a push become visible in any order that a network may choose. So a pass
// sees words of different moments in whatever order it reads them.
//
// Deliveries are judged by the specification alone: the round-robin order from indices and ranks, every byte as it was
// sent, nothing before all have acknowledged it. Members look, prepare, look and sleep as the product's poll loop says, a
// sleeper is woken only if its preparation was seen, and there is no heartbeat: when all sleep, everything must be delivered
// everywhere.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <set>

#include <spindrift/group/poll_loop.hpp>
#include <spindrift/smc/subgroup_scheduler.hpp>

#include "null_fabric.hpp"

using namespace spindrift;
using namespace spindrift::smc;

namespace {

constexpr std::uint64_t row_region = 7;

struct Shape {
  std::uint32_t members;
  std::uint32_t subgroups;
  bool mapped;
  DeliveryMode mode;
};

View view_of(const Shape& shape) {
  View view;
  for (std::uint32_t i = 0; i < shape.members; ++i) view.members.emplace_back(i);
  for (std::uint32_t s = 0; s < shape.subgroups; ++s) {
    SubgroupView subgroup;
    subgroup.name = "s" + std::to_string(s);
    subgroup.members = view.members;
    subgroup.senders = view.members;
    subgroup.mode = shape.mode;
    subgroup.profile = {.ring_bytes = 512, .window_messages = 8, .message_bytes_max = 40};
    view.subgroups.push_back(subgroup);
  }
  return view;
}

/// Zeroed rows begin at a line.
struct Memory {
  explicit Memory(std::size_t bytes) : words((bytes + 63) / 8 + 8) {}
  std::span<std::byte> bytes() {
    auto* at = reinterpret_cast<std::byte*>((reinterpret_cast<std::uintptr_t>(words.data()) + 63) / 64 * 64);
    return {at, words.size() * 8 - 64};
  }
  std::vector<std::uint64_t> words;
};

class World;

/// Keeps what a member posts until the world lets it become visible, and says whom a push wakes.
class WorldFabric final : public NullFabric {
 public:
  WorldFabric(World& world, std::uint32_t rank) : world_(world), rank_(rank) {}
  [[nodiscard]] Result<void> post(std::span<const fabric::Operation> operations) override;
  void notify() noexcept override;

 private:
  World& world_;
  std::uint32_t rank_;
};

struct Member final : DeliverySink {
  Member(World& world, const View& view, std::uint32_t rank, const Policy& policy);
  void on_delivery(SubgroupId subgroup, std::span<const Delivery> batch) override;
  void on_space(SubgroupId) override {}
  [[nodiscard]] bool accepts(SubgroupId) const override { return true; }

  World& world;
  Memory row;
  std::vector<Memory> mirrors;  // by rank
  sst::Table table;
  CounterBlock counters;
  WorldFabric fabric;
  Stepper stepper;
  SubgroupScheduler scheduler;
  group::PollLoop poll{true, Duration(0)};
  enum class Sleep : std::uint8_t { awake, prepared, woken_before_it, asleep } sleep = Sleep::awake;
  bool running = false;
  std::map<std::uint32_t, std::uint64_t> sequence_min;                                    // by subgroup
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::uint64_t>> numbers;  // by subgroup and sender
  std::map<std::uint32_t, std::vector<std::uint64_t>> order;                              // by subgroup: of the sequences
};

class World {
 public:
  World(const Shape& shape, std::uint32_t seed) : shape_(shape), random_(seed), view_(view_of(shape)) {
    rarity_ = 2 + below(60);
    for (std::uint32_t i = 0; i < shape.members; ++i) {
      Policy policy;
      if (below(2) == 0) policy.delivery_batch_max = 1 + below(4);
      if (below(2) == 0) policy.turn.messages = 1 + below(6);
      members_.push_back(std::make_unique<Member>(*this, view_, i, policy));
    }
    for (auto& member : members_) attach(*member);
    for (auto& member : members_) {
      for (const auto& multicast : member->scheduler.multicasts()) multicast->start();
    }
  }

  /// A few messages at a time, for later ones would heal what was missed.
  void run() {
    for (int burst = 0; burst < 25; ++burst) {
      left_to_send_ = 1 + below(6);
      for (std::uint32_t idle = 0; idle < 100; ++idle) {
        if (act() || left_to_send_ > 0 || something_waits()) idle = 0;
      }
      judge_the_end();
    }
  }
  /// Something else happens, now and then.
  void interleave() {
    if (depth_ < 3 && below(rarity_) == 0) act();
  }
  void judge_the_end() const;

  void posted(std::uint32_t from, const fabric::Operation& write) {
    flying_[{from, write.peer.value()}].push_back({write.offset, {write.local, write.local + write.bytes}, {}});
  }
  void wake_others(std::uint32_t rank) {
    for (std::uint32_t i = 0; i < members_.size(); ++i) {
      if (i != rank && shape_.mapped) wake(*members_[i]);
    }
  }
  [[nodiscard]] const Shape& shape() const { return shape_; }
  [[nodiscard]] Member& member(std::uint32_t rank) { return *members_[rank]; }
  /// The bytes of a message are a function of who sent it and its number.
  static void fill(std::span<std::byte> payload, std::uint32_t sender, std::uint64_t number) {
    for (std::size_t i = 0; i < payload.size(); ++i) payload[i] = static_cast<std::byte>(number * 31 + sender * 7 + i);
    std::memcpy(payload.data(), &number, sizeof number);
  }

 private:
  struct Write {
    std::uint64_t offset;
    std::vector<std::byte> bytes;
    std::set<std::uint64_t> landed;  // lines
  };

  [[nodiscard]] std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>(random_() % bound); }

  void attach(Member& member) {
    for (std::uint32_t peer = 0; peer < members_.size(); ++peer) {
      if (members_[peer].get() == &member) continue;
      if (shape_.mapped) {
        member.table.attach_mapped(Rank(peer), members_[peer]->row.bytes());
      } else {
        member.table.attach_mirrored(Rank(peer), member.mirrors[peer].bytes(), fabric::PeerId(peer),
                                     fabric::RegionKey(row_region));
      }
    }
  }

  [[nodiscard]] bool something_waits() const {
    const auto waits = [](const auto& queue) { return !queue.second.empty(); };
    if (std::any_of(flying_.begin(), flying_.end(), waits)) return true;
    return std::any_of(members_.begin(), members_.end(),
                       [](const auto& member) { return member->sleep != Member::Sleep::asleep; });
  }

  /// Reaches whoever can be seen about to sleep.
  static void wake(Member& member) {
    if (member.sleep == Member::Sleep::prepared) member.sleep = Member::Sleep::woken_before_it;
    if (member.sleep == Member::Sleep::asleep) member.sleep = Member::Sleep::awake;
  }

  /// True if anything happened.
  bool act() {
    ++depth_;
    const std::uint32_t choice = below(8);
    Member& member = *members_[below(shape_.members)];
    const bool acted = choice < 4 ? land() : choice < 6 ? step(member) : send(member);
    --depth_;
    return acted;
  }

  /// One look and what the loop makes of it; others act in between.
  bool step(Member& member) {
    if (member.running || member.sleep == Member::Sleep::asleep) return false;
    member.running = true;
    const auto progress = member.scheduler.run(member.fabric, member.stepper, Time());
    REQUIRE(progress);
    member.scheduler.for_each_fault([](const PeerFault& fault) { FAIL(fault.what); });
    interleave();
    switch (*progress ? member.poll.on_work() : member.poll.on_nothing(Time())) {
      case group::PollLoop::Next::prepare: member.sleep = Member::Sleep::prepared; break;
      case group::PollLoop::Next::cancel: member.sleep = Member::Sleep::awake; break;
      case group::PollLoop::Next::sleep:
        interleave();
        member.sleep = member.sleep == Member::Sleep::prepared ? Member::Sleep::asleep : Member::Sleep::awake;
        break;
      default: break;
    }
    member.running = false;
    return true;
  }

  bool send(Member& member) {
    if (left_to_send_ == 0) return false;
    const std::uint32_t subgroup = below(shape_.subgroups);
    SendRing& ring = *member.scheduler.multicast(SubgroupId(subgroup))->ring();
    const auto reservation = ring.reserve(8 + below(33));
    if (!reservation) return false;
    --left_to_send_;
    const std::uint32_t rank = member.table.self().value();
    std::uint64_t& number = sent_[{subgroup, rank}];
    ++number;
    fill(reservation->payload, rank, number);
    ring.commit(*reservation);
    wake(member);
    return true;
  }

  /// A line of the oldest write on one connection becomes visible; of a write in any order, behind all earlier writes.
  bool land() {
    if (flying_.empty()) return false;
    auto queue = std::next(flying_.begin(), below(static_cast<std::uint32_t>(flying_.size())));
    if (queue->second.empty()) return false;
    const auto [from, to] = queue->first;
    Write& write = queue->second.front();
    const std::uint64_t first = write.offset / 64;
    const std::uint64_t lines = (write.offset + write.bytes.size() - 1) / 64 - first + 1;
    std::uint64_t line = first + below(static_cast<std::uint32_t>(lines));
    while (write.landed.contains(line)) line = first + (line - first + 1) % lines;
    const std::uint64_t begin = std::max(line * 64, write.offset);
    const std::uint64_t end = std::min((line + 1) * 64, write.offset + write.bytes.size());
    std::memcpy(members_[to]->mirrors[from].bytes().data() + begin, write.bytes.data() + (begin - write.offset),
                end - begin);
    write.landed.insert(line);
    if (write.landed.size() == lines) queue->second.pop_front();
    wake(*members_[to]);
    return true;
  }

  Shape shape_;
  std::mt19937 random_;
  View view_;
  std::uint32_t rarity_;
  std::vector<std::unique_ptr<Member>> members_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::deque<Write>> flying_;  // by sender and receiver
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> sent_;        // by subgroup and sender
  std::uint32_t left_to_send_ = 0;
  std::uint32_t depth_ = 0;
};

World* present = nullptr;

Result<void> WorldFabric::post(std::span<const fabric::Operation> operations) {
  for (const fabric::Operation& each : operations) world_.posted(rank_, each);
  return {};
}

void WorldFabric::notify() noexcept { world_.wake_others(rank_); }

Member::Member(World& in, const View& view, std::uint32_t rank, const Policy& policy)
    : world(in),
      row(sst::RowLayout(view, view.members[rank]).bytes()),
      mirrors(view.members.size(), Memory(sst::RowLayout(view, view.members[rank]).bytes())),
      table(view, view.members[rank], row.bytes()),
      counters(CounterBlock::in_memory(Multicast::counters_max * view.subgroups.size())),
      fabric(in, rank),
      scheduler(table, policy) {
  for (std::uint32_t s = 0; s < view.subgroups.size(); ++s) scheduler.add(SubgroupId(s), *this, counters);
}

void Member::on_delivery(SubgroupId subgroup, std::span<const Delivery> batch) {
  const std::uint32_t members = world.shape().members;
  for (const Delivery& each : batch) {
    const std::uint32_t sender = each.sender_rank.value();
    std::uint64_t number = 0;
    std::memcpy(&number, each.payload.data(), sizeof number);
    std::vector<std::byte> expected(each.payload.size());
    World::fill(expected, sender, number);
    REQUIRE(std::equal(expected.begin(), expected.end(), each.payload.begin()));
    numbers[{subgroup.value(), sender}].push_back(number);
    REQUIRE(numbers[{subgroup.value(), sender}].size() == number);
    if (world.shape().mode == DeliveryMode::unordered) continue;
    const std::uint64_t sequence = each.sequence.value();
    REQUIRE(sequence == each.index.value() * members + sender);
    REQUIRE(sequence >= sequence_min[subgroup.value()]);
    sequence_min[subgroup.value()] = sequence + 1;
    order[subgroup.value()].push_back(sequence);
    for (std::uint32_t rank = 0; rank < members; ++rank) {
      const sst::Table& theirs = world.member(rank).table;
      const std::uint64_t received = theirs.layout(theirs.self()).subgroup(subgroup)->received;
      std::uint64_t acknowledged = 0;
      std::memcpy(&acknowledged, world.member(rank).row.bytes().data() + received, sizeof acknowledged);
      REQUIRE(acknowledged > sequence);
    }
  }
}

void World::judge_the_end() const {
  for (const auto& member : members_) {
    for (const auto& [which, count] : sent_) {
      const auto found = member->numbers.find(which);
      REQUIRE(found != member->numbers.end());
      REQUIRE(found->second.size() == count);
    }
    REQUIRE(member->order == members_.front()->order);
  }
}

}  // namespace

void spindrift::torn::interleave() {
  if (present != nullptr) present->interleave();
}

TEST_CASE("whatever becomes visible between two reads, members deliver in order, everything, and nothing too soon") {
  const bool mapped = GENERATE(true, false);
  const DeliveryMode mode = GENERATE(DeliveryMode::ordered, DeliveryMode::unordered);
  for (std::uint32_t seed = 1; seed <= 150; ++seed) {
    CAPTURE(mapped, mode == DeliveryMode::ordered, seed);
    const Shape shape{.members = 2 + seed % 3, .subgroups = 1 + seed % 4 * 3, .mapped = mapped, .mode = mode};
    World world(shape, seed);
    present = &world;
    world.run();
    present = nullptr;
  }
}
