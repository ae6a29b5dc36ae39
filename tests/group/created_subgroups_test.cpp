// Subgroups that are created and dropped while a group of real members runs.
#include <catch2/catch.hpp>

#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include <spindrift/group/group.hpp>
#include <spindrift/group/roster_messages.hpp>

#include "group_fixture.hpp"

namespace spindrift {
namespace {

using namespace std::chrono_literals;

/// All that one member delivers of one subgroup, as text.
class Heard {
 public:
  void listen(Subgroup& subgroup) {
    subgroup.on_delivery([this](std::span<const Delivery> batch) {
      const std::lock_guard lock(mutex_);
      for (const Delivery& each : batch)
        messages_.emplace_back(reinterpret_cast<const char*>(each.payload.data()), each.payload.size());
    });
  }
  [[nodiscard]] std::vector<std::string> messages() const {
    const std::lock_guard lock(mutex_);
    return messages_;
  }
  void await(std::size_t count) const {
    const auto limit = std::chrono::steady_clock::now() + 20s;
    while (messages().size() < count && std::chrono::steady_clock::now() < limit) std::this_thread::sleep_for(1ms);
    REQUIRE(messages().size() >= count);
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> messages_;
};

template <class Call>
std::optional<Error> thrown_by(const Call& call) {
  try {
    call();
  } catch (const Exception& thrown) {
    return thrown.error();
  }
  return std::nullopt;
}

void take_layout(Group& group) {
  for (const char* const name : {"orders", "ticks"}) group.subgroup(name).on_delivery([](auto) {});
}

std::uint64_t counter(const Group& group, const std::string& name) {
  for (const CounterValue& each : group.counters()) {
    if (each.name == name) return each.value;
  }
  return 0;
}

AddedSubgroup small(std::string name) {
  AddedSubgroup subgroup;
  subgroup.name = std::move(name);
  subgroup.profile = {.ring_bytes = 4096, .window_messages = 16, .message_bytes_max = 200};
  return subgroup;
}

}  // namespace

TEST_CASE("a subgroup is created by one member and used by all, in one order, and who set no handler discards and counts") {
  const bool tcp = GENERATE(false, true);
  const GroupFixture fixture(tcp ? "tcp" : "shm");
  auto groups = fixture.join(3);
  for (const auto& group : groups) take_layout(*group);
  CHECK(thrown_by([&] { static_cast<void>(groups[0]->subgroup("news")); })->kind() == ErrorKind::bad_argument);
  Subgroup& news = groups[0]->create_subgroup({.name = "news"}, 20s);
  CHECK(news.message_bytes_max() == 10240);
  CHECK(groups[2]->subgroup_names() == std::vector<std::string>{"orders", "ticks", "news"});
  CHECK(groups[2]->subgroup("news").description().members.size() == 3);
  Heard first, second;
  first.listen(news);
  second.listen(groups[1]->subgroup("news"));
  std::vector<std::thread> senders;
  for (unsigned i = 0; i < 3; ++i) {
    senders.emplace_back([&, i] {
      for (int k = 0; k < 300; ++k) groups[i]->subgroup("news").send(std::to_string(i) + ":" + std::to_string(k));
    });
  }
  for (std::thread& sender : senders) sender.join();
  first.await(900);
  second.await(900);
  CHECK(first.messages() == second.messages());
  while (counter(*groups[2], "subgroup.news.discarded") < 900) std::this_thread::sleep_for(1ms);
  CHECK(counter(*groups[0], "subgroup.news.discarded") == 0);
  CHECK(counter(*groups[0], "subgroup.news.sent") >= 300);
  CHECK(&groups[1]->create_subgroup({.name = "news"}) == &groups[1]->subgroup("news"));  // as it is
  for (const auto& group : groups) CHECK(group->open());
  CHECK_NOTHROW(groups[2]->leave());
}

TEST_CASE("what was sent before a drop is delivered first, what is sent afterwards refused, and its place used again") {
  const bool tcp = GENERATE(false, true);
  const GroupFixture fixture(tcp ? "tcp" : "shm");
  auto groups = fixture.join(3);
  for (const auto& group : groups) take_layout(*group);
  groups[0]->create_subgroup(small("jobs"), 20s);
  std::vector<Heard> heard(3);
  for (unsigned i = 0; i < 3; ++i) heard[i].listen(groups[i]->subgroup("jobs"));
  Subgroup& jobs = groups[1]->subgroup("jobs");
  std::atomic<int> sent = 0;
  std::atomic<bool> refused = false;
  std::vector<std::thread> senders;
  for (unsigned i = 0; i < 3; ++i) {
    senders.emplace_back([&, i] {
      const auto error = thrown_by([&] {
        for (;;) {
          groups[i]->subgroup("jobs").send("job");
          ++sent;
        }
      });
      // Between two sends it may be gone, so that its name is not found.
      refused = error->kind() == ErrorKind::refused || error->kind() == ErrorKind::bad_argument;
    });
  }
  heard[0].await(200);
  groups[2]->drop_subgroup("jobs", 20s);
  for (std::thread& sender : senders) sender.join();
  CHECK(refused);
  for (const Heard& each : heard) CHECK(each.messages().size() == static_cast<std::size_t>(sent));
  const auto error = thrown_by([&] { jobs.send("late"); });
  REQUIRE(error);
  CHECK(error->kind() == ErrorKind::refused);
  CHECK_THAT(error->message(), Catch::Matchers::Contains("jobs was dropped"));
  CHECK(thrown_by([&] { jobs.on_delivery([](auto) {}); })->kind() == ErrorKind::refused);
  CHECK(jobs.description().dropped);
  CHECK_FALSE(jobs.is_sender());
  CHECK(thrown_by([&] { groups[0]->drop_subgroup("jobs"); })->kind() == ErrorKind::bad_argument);
  CHECK(groups[0]->subgroup_names() == std::vector<std::string>{"orders", "ticks"});

  Subgroup& again = groups[1]->create_subgroup(small("jobs"), 20s);
  CHECK(groups[1]->view().subgroups.size() == 3);
  Heard fresh;
  fresh.listen(groups[0]->subgroup("jobs"));
  again.send("new");
  fresh.await(1);
  CHECK(thrown_by([&] { jobs.send("late"); })->kind() == ErrorKind::refused);  // it is another one
  CHECK(heard[1].messages().size() == static_cast<std::size_t>(sent));
}

TEST_CASE("a created subgroup gets another window and other senders while all send, and nothing is lost or out of order") {
  GroupFixture fixture;
  auto groups = fixture.join(3);
  Heard heard[3];
  for (auto& group : groups) take_layout(*group);
  groups[0]->create_subgroup(small("jobs"), 20s);
  for (std::size_t i = 0; i < 3; ++i) heard[i].listen(groups[i]->subgroup("jobs"));
  std::atomic<bool> over{false};
  std::atomic<std::size_t> sent{0};
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < 3; ++i) {
    threads.emplace_back([&, i] {
      try {
        for (int n = 0; !over; ++n) {
          groups[i]->subgroup("jobs").send(std::to_string(i) + ":" + std::to_string(n));
          ++sent;
        }
      } catch (const Exception& refused) {
        over = over || i != 1 || refused.error().kind() != ErrorKind::bad_argument;
      }
    });
  }
  heard[0].await(1000);
  AddedSubgroup changed;
  changed.name = "jobs";
  changed.profile.window_messages = 3;
  static_cast<void>(groups[1]->change_subgroup(changed, 20s));
  CHECK(groups[2]->subgroup("jobs").description().profile.window_messages == 3);
  CHECK(groups[2]->subgroup("jobs").description().profile.ring_bytes == 4096);
  changed.senders = {NodeId(0), NodeId(2)};
  static_cast<void>(groups[1]->change_subgroup(changed, 20s));
  threads[1].join();  // it is no sender any more
  CHECK_FALSE(over);
  CHECK_FALSE(groups[1]->subgroup("jobs").is_sender());
  heard[0].await(heard[0].messages().size() + 500);
  over = true;
  threads[0].join();
  threads[2].join();
  for (const Heard& each : heard) each.await(sent);
  CHECK(heard[0].messages() == heard[1].messages());
  CHECK(heard[0].messages() == heard[2].messages());
  std::map<char, int> next;
  for (const std::string& message : heard[0].messages()) CHECK(message.substr(2) == std::to_string(next[message[0]]++));
  changed.members = {NodeId(0), NodeId(2)};
  CHECK(thrown_by([&] { groups[0]->change_subgroup(changed); })->kind() == ErrorKind::bad_argument);
  changed.members.clear();
  changed.profile.message_bytes_max = 201;
  CHECK(thrown_by([&] { groups[0]->change_subgroup(changed); })->kind() == ErrorKind::bad_argument);
  CHECK(thrown_by([&] { groups[0]->change_subgroup(small("none")); })->kind() == ErrorKind::bad_argument);
  leave_all(groups);
}

TEST_CASE("a hundred subgroups are created in one change of the view, and a newcomer has them all") {
  const bool tcp = GENERATE(false, true);
  const GroupFixture fixture(tcp ? "tcp" : "shm");
  const std::string extra = "founders = 0, 1\njoin_timeout_ms = 20000\n";
  std::vector<std::unique_ptr<Group>> groups(2);
  std::thread other([&] { groups[1] = std::make_unique<Group>(fixture.config(1, 3, extra)); });
  groups[0] = std::make_unique<Group>(fixture.config(0, 3, extra));
  other.join();
  for (const auto& group : groups) take_layout(*group);
  std::vector<RosterChange> changes;
  for (int i = 0; i < 100; ++i)
    changes.push_back({.kind = RosterChange::Kind::create, .subgroup = small("s" + std::to_string(i))});
  const ViewId before = groups[0]->view().id;
  const auto began = std::chrono::steady_clock::now();
  CHECK(groups[0]->change_roster(changes, 20s).added.size() == 100);
  const auto took = std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - began);
  WARN("a hundred subgroups over " << (tcp ? "tcp" : "shm") << " in " << took.count() << " us");
  CHECK(groups[0]->view().id.value() == before.value() + 1);
  std::map<std::string, Heard> heard;
  for (int i = 0; i < 100; ++i) {
    const std::string name = "s" + std::to_string(i);
    heard[name].listen(groups[1]->subgroup(name));
    groups[0]->subgroup(name).send(name);
  }
  for (const auto& [name, each] : heard) {
    each.await(1);
    CHECK(each.messages() == std::vector{name});
  }
  groups.push_back(std::make_unique<Group>(fixture.config(2, 3, extra)));
  take_layout(*groups[2]);
  CHECK(groups[2]->subgroup_names().size() == 102);
  groups[2]->loaded(20s);
  groups[2]->subgroup("s99").send("from the newcomer");
  heard["s99"].await(2);
  CHECK(heard["s99"].messages().back() == "from the newcomer");
}

TEST_CASE("only listed nodes are in a subgroup, of these only its senders send, and it outlives members that go") {
  const GroupFixture fixture;
  auto groups = fixture.join(3);
  for (const auto& group : groups) take_layout(*group);
  AddedSubgroup pair = small("pair");
  pair.members = {NodeId(2), NodeId(1)};  // in any order
  pair.senders = {NodeId(1)};
  groups[0]->create_subgroup(pair, 20s);
  CHECK(groups[0]->subgroup("pair").description().members == std::vector{NodeId(1), NodeId(2)});
  CHECK(thrown_by([&] { groups[0]->subgroup("pair").send("x"); })->kind() == ErrorKind::bad_argument);
  CHECK(thrown_by([&] { groups[2]->subgroup("pair").send("x"); })->kind() == ErrorKind::bad_argument);
  Heard heard;
  heard.listen(groups[2]->subgroup("pair"));
  groups[1]->subgroup("pair").send("x");
  heard.await(1);
  groups[1].reset();
  const auto inadequate = [&] { return groups[2]->subgroup("pair").description().inadequate; };
  while (inadequate().empty()) std::this_thread::sleep_for(1ms);
  CHECK(inadequate() == "needs its sender, 1, who is not in the view");
  groups[1] = std::make_unique<Group>(fixture.config(1, 3));
  take_layout(*groups[1]);
  groups[1]->subgroup("pair").send("y");
  heard.await(2);
}

TEST_CASE("what cannot be is refused, and says why and what to do instead") {
  const GroupFixture fixture;
  auto groups = fixture.join(2);
  for (const auto& group : groups) take_layout(*group);
  const ViewId before = groups[0]->view().id;
  AddedSubgroup wrong = small("wrong");
  wrong.profile.ring_bytes = 5000;
  for (const AddedSubgroup& each : {small("orders"), small("a b"), wrong}) {
    const auto error = thrown_by([&] { groups[0]->create_subgroup(each); });
    REQUIRE(error);
    CHECK(error->kind() == ErrorKind::bad_argument);
    CHECK_FALSE(error->fix().empty());
  }
  CHECK(thrown_by([&] { groups[0]->drop_subgroup("orders"); })->kind() == ErrorKind::bad_argument);
  CHECK(thrown_by([&] { groups[0]->drop_subgroup("nothing"); })->kind() == ErrorKind::bad_argument);
  CHECK(groups[0]->view().id == before);
  Subgroup& made = groups[0]->create_subgroup(small("made"), 20s);
  CHECK(thrown_by([&] { groups[0]->create_subgroup({.name = "made"}); })->kind() == ErrorKind::bad_argument);
  CHECK(thrown_by([&] { made.on_state([](std::ostream&) {}, [](std::istream&) {}); })->kind() == ErrorKind::unsupported);
}

TEST_CASE("calls about subgroups travel to a member, and its roster back") {
  group::RosterCall call;
  AddedSubgroup orders = small("orders");
  orders.mode = DeliveryMode::unordered;
  orders.members = {NodeId(1), NodeId(4)};
  orders.senders = {NodeId(4)};
  call.changes = {{.kind = RosterChange::Kind::create, .subgroup = orders},
                  {.kind = RosterChange::Kind::drop, .subgroup = {.name = "old"}},
                  {.kind = RosterChange::Kind::change, .subgroup = orders}};
  const auto again = group::decode_roster_call(group::encode(call));
  REQUIRE(again);
  CHECK(again->changes == call.changes);
  Roster roster{3, {{NodeId(1), "a:1"}, {NodeId(4), "b:1"}}, {}, {AddedSubgroup(), orders}};
  const auto told = group::decode_roster_outcome(group::encode(Result<Roster>(roster)));
  REQUIRE(told);
  CHECK(*told == roster);
}

}  // namespace spindrift
