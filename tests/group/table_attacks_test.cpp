// The program's tables of a member that writes what no correct one does, and over a fabric that tears and delays: nobody
// takes what is not whole or cannot be, and who wrote it goes.
#include <catch2/catch.hpp>

#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>
#include <thread>

#include <spindrift/fabric/fault/fault.hpp>
#include <spindrift/group/probe.hpp>
#include <spindrift/group/table.hpp>
#include <spindrift/sst/program_tables.hpp>

#include "group_fixture.hpp"

using namespace spindrift;
using namespace std::chrono_literals;

namespace {

constexpr Duration patience = 60s;
constexpr std::uint64_t table_bytes = 4096;

struct Load {
  std::array<std::uint64_t, 30> words{};
};

/// Passes everything on, and shows the row that was made last.
class ShownRows final : public fabric::Fabric {
 public:
  ShownRows(std::unique_ptr<Fabric> inner, std::atomic<std::byte*>& row) : inner_(std::move(inner)), row_(row) {}
  const fabric::Traits& traits() const noexcept override { return inner_->traits(); }
  Result<fabric::Region> allocate(std::size_t bytes, std::string_view name) override {
    auto region = inner_->allocate(bytes, name);
    if (region && name == "row") row_ = region->memory.data();
    return region;
  }
  void release(fabric::RegionKey region) override { inner_->release(region); }
  Result<void> listen(const fabric::Address& self) override { return inner_->listen(self); }
  Result<void> connect(const fabric::Address& peer) override { return inner_->connect(peer); }
  void disconnect(fabric::PeerId peer) override { inner_->disconnect(peer); }
  Result<void> expose(fabric::PeerId peer, fabric::RegionKey region, fabric::Access access) override {
    return inner_->expose(peer, region, access);
  }
  Result<std::span<const std::byte>> map(fabric::PeerId peer, fabric::RegionKey region) override {
    return inner_->map(peer, region);
  }
  void unmap(fabric::PeerId peer, fabric::RegionKey region) override { inner_->unmap(peer, region); }
  Result<void> post(std::span<const fabric::Operation> operations) override { return inner_->post(operations); }
  std::uint64_t unsent_bytes(fabric::PeerId peer) const noexcept override { return inner_->unsent_bytes(peer); }
  void count_in(CounterBlock* block) override { inner_->count_in(block); }
  std::size_t poll(std::span<fabric::Event> events) override { return inner_->poll(events); }
  void notify() noexcept override { inner_->notify(); }
  void prepare_sleep() noexcept override { inner_->prepare_sleep(); }
  void sleep(Time deadline) noexcept override { inner_->sleep(deadline); }
  void cancel_sleep() noexcept override { inner_->cancel_sleep(); }
  void wake() noexcept override { inner_->wake(); }

 private:
  std::unique_ptr<Fabric> inner_;
  std::atomic<std::byte*>& row_;
};

using Groups = std::vector<std::unique_ptr<Group>>;

/// The reasons why members were removed, from all that tell.
struct Reasons {
  std::mutex mutex;
  std::string text;
  void add(const NewView& news) {
    const std::lock_guard lock(mutex);
    for (const Removal& removal : news.failed) text += removal.reason + "; ";
  }
};

/// All at once; `watch` puts something before the fabric of each.
Groups join(const GroupFixture& fixture, unsigned members, Reasons& reasons,
            const std::function<std::unique_ptr<fabric::Fabric>(unsigned, std::unique_ptr<fabric::Fabric>)>& watch) {
  Groups groups(members);
  std::vector<std::thread> joining;
  for (unsigned i = 0; i < members; ++i) {
    joining.emplace_back([&, i] {
      group::Probe probe;
      probe.watch_fabric = [&watch, i](std::unique_ptr<fabric::Fabric> inner) { return watch(i, std::move(inner)); };
      GroupOptions options;
      options.on_view = [&](const NewView& news) { reasons.add(news); };
      groups[i] = std::make_unique<Group>(fixture.config(i, members), options, probe);
      for (const char* name : {"orders", "ticks"}) groups[i]->subgroup(name).on_delivery([](auto) {});
    });
  }
  for (std::thread& thread : joining) thread.join();
  return groups;
}

}  // namespace

TEST_CASE("who writes into its tables what no correct member writes is removed, and the others go on") {
  GroupFixture fixture;
  std::atomic<std::byte*> row{nullptr};
  Reasons reasons;
  auto groups = join(fixture, 3, reasons, [&](unsigned node, std::unique_ptr<fabric::Fabric> inner) {
    if (node != 2) return inner;
    return std::unique_ptr<fabric::Fabric>(std::make_unique<ShownRows>(std::move(inner), row));
  });
  std::vector<ProgramTable<Load>> tables;
  for (auto& group : groups) tables.push_back(group->table<Load>("load"));
  for (auto& table : tables) table.set({});
  for (auto& table : tables) table.wait([](const auto& rows) { return rows.size() == 3; }, patience);
  View view = groups[2]->view();
  view.table_bytes = table_bytes;
  const sst::RowLayout layout(view, NodeId(2));
  sst::ProgramTablePlaces places(layout);
  constexpr std::size_t words = group::TableCore::value + 30;
  REQUIRE(places.add(words));
  const auto set = [&](std::uint64_t offset, std::uint64_t value) { store_release(row.load() + offset, value); };
  const std::uint64_t version = load_acquire(row.load() + layout.table_version(0));
  std::string expected;
  SECTION("a size that does not fit") {
    set(layout.table_area() + places.next() + 4 * 8, table_bytes);
    set(layout.table_version(1), 1);
    expected = "a table has an impossible size";
  }
  SECTION("a version that falls") {
    set(layout.table_version(0), version - 1);
    expected = "the version of a table fell";
  }
  SECTION("a member that has passed more rounds of a barrier than it has come to") {
    set(layout.table_area() + places.content(0, version + 1) + group::TableCore::passed * 8, 7);
    set(layout.table_version(0), version + 1);
    expected = "it wrote an impossible row into a table of the program's";
  }
  set(layout.tables(), load_acquire(row.load() + layout.tables()) + 1);
  CHECK(thrown_by([&] { groups[2]->wait(); })->kind() == ErrorKind::removed);
  for (std::size_t i = 0; i < 2; ++i) {
    tables[i].wait([](const auto& rows) { return rows.size() == 2; }, patience);
    CHECK(groups[i]->view().members.size() == 2);
  }
  {
    const std::lock_guard lock(reasons.mutex);
    CHECK_THAT(reasons.text, Catch::Contains(expected));
  }
  std::thread other([&] { tables[1].barrier(patience); });
  tables[0].barrier(patience);
  other.join();
  groups.pop_back();
  leave_all(groups);
}

TEST_CASE("over a fabric that tears writes and delays them nobody sees a mixture in a row, nor passes a barrier early") {
  GroupFixture fixture;
  const SystemClock clock;
  Reasons reasons;
  auto groups = join(fixture, 3, reasons, [&](unsigned node, std::unique_ptr<fabric::Fabric> inner) {
    fabric::FaultPlan plan;
    plan.seed = node + 1;
    plan.torn_writes = true;
    plan.delay_max = 50us;
    plan.line_gap_max = 50us;
    return value_or_throw(fabric::make_fault(std::move(inner), plan, clock));
  });
  std::array<std::atomic<std::uint64_t>, 3> at{};
  std::atomic<bool> sound{true};
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    threads.emplace_back([&, i] {
      auto table = groups[i]->table<Load>("load");
      for (std::uint64_t round = 1; round <= 30; ++round) {
        for (std::uint64_t value = round * 10; value < round * 10 + 5; ++value) {
          Load load;
          load.words.fill(value);
          table.set(load);
          for (const auto& row : table.rows()) {
            const auto same = [&](std::uint64_t word) { return word == row.value.words[0]; };
            if (!std::all_of(row.value.words.begin(), row.value.words.end(), same)) sound = false;
          }
        }
        at[i] = round;
        table.barrier(patience);
        if (std::any_of(at.begin(), at.end(), [&](const auto& other) { return other < round; })) sound = false;
        // A row that shows its owner at the barrier is not older than what the owner had set before.
        for (const auto& row : table.rows()) {
          if (row.value.words[0] < round * 10 + 4) sound = false;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(sound);
  leave_all(groups);
}
