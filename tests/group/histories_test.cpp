// The histories of one process, without a group: views, versions, and what the application is given.
#include <catch2/catch.hpp>

#include <optional>
#include <string>
#include <vector>

#include <spindrift/group/histories.hpp>

using namespace spindrift;
using namespace spindrift::group;

namespace {

constexpr SubgroupId plain(0), orders(1);
constexpr NodeId self(1), other(0);

View view_of(std::vector<NodeId> in_orders) {
  View view;
  view.id = ViewId(1);
  view.members = {other, self};
  view.incarnations = {1, 1};
  view.subgroups.resize(2);
  view.subgroups[0].name = "plain";
  view.subgroups[1].name = "orders";
  view.subgroups[1].history = {.messages = 5};
  view.subgroups[1].members = std::move(in_orders);
  view.subgroups[1].profile.message_bytes_max = 100;
  return view;
}

/// One process whose application takes everything at once.
class HistoryProcess {
 public:
  [[nodiscard]] Histories& histories() noexcept { return histories_; }
  /// Delivers so many messages; their versions.
  std::vector<std::uint64_t> deliver(unsigned count, SubgroupId id = orders) {
    std::vector<Delivery> batch(count);
    std::vector<std::uint64_t> versions;
    for (const Delivery& each : histories_.take(id, batch)) versions.push_back(each.version);
    return versions;
  }
  /// A view in which these members have the state.
  void view(const View& view, std::initializer_list<unsigned> loaded, std::vector<SubgroupId> lost = {}) {
    std::vector<views::RankSet> sets(2);
    for (const unsigned rank : loaded) sets[1].add(Rank(rank));
    histories_.on_view({view, {}, {}, {}, std::move(lost)}, self, sets);
  }
  void load_from(HistoryProcess& source) {
    const auto reader = source.histories().save(orders);
    std::vector<std::byte> bytes(reader->bytes());
    reader->read(0, bytes);
    const auto writer = histories_.load(orders);
    writer->write(bytes);
    writer->finish();
  }
  /// The versions of all that the application is given of what came.
  std::vector<std::uint64_t> given() {
    std::vector<std::uint64_t> versions;
    const auto deliver = [&](SubgroupId id, std::span<const Delivery> batch) {
      CHECK(id == orders);
      for (const Delivery& each : batch) versions.push_back(each.version);
    };
    while (histories_.step([](SubgroupId) { return true; }, deliver, [](SubgroupId) { return false; })) {
    }
    CHECK_FALSE(histories_.at_work());
    return versions;
  }
  [[nodiscard]] std::uint64_t counter(const std::string& name) const {
    for (const CounterValue& each : counters_.values()) {
      if (each.name == name) return each.value;
    }
    FAIL("no counter " + name);
    return 0;
  }

 private:
  SystemClock clock_;
  CounterBlock counters_ = CounterBlock::in_memory(8);
  Histories histories_{view_of({other, self}).subgroups, clock_, counters_};
};

using Versions = std::vector<std::uint64_t>;

}  // namespace

TEST_CASE("messages have versions in a subgroup that keeps a history, and counters say what is kept") {
  HistoryProcess process;
  CHECK_FALSE(process.histories().covers(plain));
  CHECK(process.histories().covers(orders));
  CHECK(process.deliver(2, plain) == Versions{0, 0});
  CHECK(process.deliver(3) == Versions{0, 1, 2});
  CHECK(process.deliver(4) == Versions{3, 4, 5, 6});
  CHECK(process.counter("subgroup.orders.history_messages") == 5);
  CHECK(process.counter("subgroup.orders.history_bytes") == 5 * history_head_bytes);
}

TEST_CASE("what a newcomer lacks is given when its application takes it, and what is delivered then follows") {
  HistoryProcess source, newcomer;
  source.deliver(8);
  newcomer.view(view_of({other, self}), {0});
  newcomer.load_from(source);
  CHECK(newcomer.histories().at_work(orders));
  CHECK_FALSE(newcomer.histories().at_work(plain));
  CHECK_FALSE(newcomer.histories().step([](SubgroupId) { return false; }, [](SubgroupId, auto) { FAIL("not taken"); },
                                        [](SubgroupId) { return false; }));
  CHECK(newcomer.given() == Versions{3, 4, 5, 6, 7});
  CHECK(newcomer.deliver(2) == source.deliver(2));
}

TEST_CASE("a member that was out of the subgroup keeps nothing meanwhile, and gets what it lacks when it is back") {
  HistoryProcess source, mover;
  source.deliver(4);
  CHECK(mover.deliver(4) == Versions{0, 1, 2, 3});
  mover.view(view_of({other}), {0});
  CHECK(mover.counter("subgroup.orders.history_messages") == 0);
  source.deliver(2);
  mover.view(view_of({other, self}), {0});
  mover.load_from(source);
  CHECK(mover.given() == Versions{4, 5});
  CHECK(mover.counter("subgroup.orders.history_messages") == 5);
  CHECK(mover.deliver(1) == Versions{6});
}

TEST_CASE("a member of a subgroup that lacks members keeps its history, as it keeps a state") {
  HistoryProcess process;
  process.deliver(4);
  process.view(view_of({}), {1});
  CHECK(process.counter("subgroup.orders.history_messages") == 4);
  process.view(view_of({other, self}), {1});
  CHECK(process.deliver(1) == Versions{4});
}

TEST_CASE("where all that had the history are gone, it begins anew, and what came of it is given no more") {
  HistoryProcess source, newcomer;
  source.deliver(4);
  newcomer.view(view_of({other, self}), {0});
  newcomer.load_from(source);
  newcomer.view(view_of({self}), {1}, {orders});
  CHECK(newcomer.given().empty());
  CHECK(newcomer.deliver(2) == Versions{0, 1});
  HistoryProcess next;
  next.view(view_of({other, self}), {0});
  next.load_from(newcomer);
  CHECK(next.given() == Versions{0, 1});
}

TEST_CASE("a state of no bytes, which no correct source of a history gives, is found with the first delivery") {
  HistoryProcess newcomer;
  newcomer.view(view_of({other, self}), {0});
  CHECK_THROWS_AS(newcomer.deliver(1), UnloadableState);
}
