// A disk that takes a record of views long, or never: the member shows that it lives meanwhile, for as long as it may.
#include <catch2/catch.hpp>

#include <future>
#include <memory>
#include <thread>
#include <vector>

#include <spindrift/group/covered_memory.hpp>

namespace spindrift::group {
namespace {

using namespace std::chrono_literals;
using Whose = UpcallHeartbeats::Whose;

/// A memory whose stores begin, and end when they are let.
class GatedMemory final : public views::ViewMemory {
 public:
  struct Gate {
    std::promise<void> reached;
    std::promise<void> open;
  };
  explicit GatedMemory(Gate& gate) : gate_(gate) {}
  Result<std::optional<views::ViewRecord>> load() override { return stored_; }
  Result<void> store(const views::ViewRecord& record) override {
    gate_.reached.set_value();
    gate_.open.get_future().wait();
    stored_ = record;
    return {};
  }
  Result<std::vector<Neighbor>> neighbors() override { return std::vector<Neighbor>(); }
  void close() override {}

 private:
  Gate& gate_;
  std::optional<views::ViewRecord> stored_;
};

/// A poller that stores a record, on a thread of its own, and a heartbeat thread whose turns are taken by hand.
struct Storing {
  explicit Storing(Duration stuck_after)
      : heartbeats(8s, stuck_after,
                   {[this](const Whose& whose) { lives.push_back(whose); }, [](const Whose&, Duration) {},
                    [this](const UpcallHeartbeats::Stuck& stuck) { given_up.push_back(stuck.whose); }},
                   clock),
        memory(std::make_unique<GatedMemory>(gate), heartbeats),
        poller([this] { value_or_throw(memory.store({})); }) {
    gate.reached.get_future().wait();
  }
  ~Storing() {
    if (poller.joinable()) end();
  }
  void turns(int count) {
    for (int i = 0; i < count; ++i) heartbeats.on_turn(now += 1s);
  }
  void end() {
    gate.open.set_value();
    poller.join();
  }

  SystemClock clock;
  Time now{};
  std::vector<Whose> lives;
  std::vector<Whose> given_up;
  GatedMemory::Gate gate;
  UpcallHeartbeats heartbeats;
  CoveredMemory memory;
  std::thread poller;
};

const Whose disk{UpcallHeartbeats::HeldBy::disk};

}  // namespace

TEST_CASE("a member whose disk has not taken its record of views shows that it lives until it has") {
  Storing storing(0s);
  storing.turns(20);
  CHECK(storing.lives == std::vector<Whose>(19, disk));  // the first turn takes it for one of many short ones
  CHECK(storing.given_up.empty());
  storing.end();
  CHECK(value_or_throw(storing.memory.load()));
  storing.turns(20);
  CHECK(storing.lives.size() == 19);
  CHECK_FALSE(storing.heartbeats.take_stuck());
}

TEST_CASE("a disk that takes no record for too long is said to, though it may never answer, and costs a member its place") {
  Storing storing(5s);
  storing.turns(20);
  CHECK(storing.lives.size() == 4);
  CHECK(storing.given_up == std::vector<Whose>{disk});
  storing.end();
  const auto stuck = storing.heartbeats.take_stuck();
  REQUIRE(stuck);
  CHECK(stuck->whose == disk);
  CHECK(stuck->lasted == Duration(5s));
}

}  // namespace spindrift::group
