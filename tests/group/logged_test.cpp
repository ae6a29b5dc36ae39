// Logged subgroups in groups of several members: what was delivered comes again after all have ended, and whoever was away
// gets what it missed.
#include <catch2/catch.hpp>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <spindrift/core/guarded_directory.hpp>
#include <spindrift/core/log.hpp>
#include <spindrift/core/log_file.hpp>
#include <spindrift/group/found_journal.hpp>
#include <spindrift/group/group.hpp>
#include <spindrift/group/roster_service.hpp>

#include "logged_fixture.hpp"

namespace spindrift {
namespace {

constexpr Duration patience = std::chrono::seconds(20);

/// Everything that one process was given of a subgroup, in order.
class Given {
 public:
  void take(std::span<const Delivery> batch) {
    {
      const std::lock_guard lock(mutex_);
      for (const Delivery& each : batch) {
        if (texts_.empty()) first_ = each.version;
        if (each.version != first_ + texts_.size()) gap_ = true;
        texts_.emplace_back(reinterpret_cast<const char*>(each.payload.data()), each.payload.size());
      }
    }
    changed_.notify_all();
  }
  /// The first `count`, once they are there.
  [[nodiscard]] std::vector<std::string> await(std::size_t count) {
    std::unique_lock lock(mutex_);
    REQUIRE(changed_.wait_for(lock, patience, [&] { return texts_.size() >= count; }));
    REQUIRE_FALSE(gap_);
    REQUIRE(first_ == 0);
    return texts_;
  }
  /// All up to that one, from whichever was the first, once that is there.
  [[nodiscard]] std::vector<std::string> await_end(const std::string& last) {
    std::unique_lock lock(mutex_);
    REQUIRE(changed_.wait_for(lock, patience, [&] { return !texts_.empty() && texts_.back() == last; }));
    REQUIRE_FALSE(gap_);
    return texts_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> texts_;
  std::uint64_t first_ = 0;  // version
  bool gap_ = false;
};

void take(Group& group, Given& given) {
  group.subgroup("orders").on_delivery([&given](std::span<const Delivery> batch) { given.take(batch); });
  group.subgroup("ticks").on_delivery([](std::span<const Delivery>) {});
}

std::vector<std::string> numbered(unsigned count) {
  std::vector<std::string> texts;
  for (unsigned i = 0; i < count; ++i) texts.push_back("message " + std::to_string(i));
  return texts;
}

/// Nodes 2 and 3 alone have "orders", which is logged.
GroupOptions logged_by_two(const LayoutFunction& configured) {
  GroupOptions options;
  options.layout = [configured](const std::vector<NodeId>& nodes, const View* previous) {
    std::vector<SubgroupView> subgroups = configured(nodes, previous);
    for (SubgroupView& each : subgroups) {
      if (each.name != "orders") continue;
      each.storage = SubgroupStorage::logged;
      std::erase_if(each.members, [](NodeId node) { return node < NodeId(2); });
      each.senders = each.members;
      if (each.members.empty()) each.inadequate = "nobody is there";
    }
    return subgroups;
  };
  return options;
}

/// Nodes 2 and 3 alone, of a group of four, have "orders", which is logged.
class TwoHolders : public LoggedFixture {
 public:
  using Groups = std::vector<std::unique_ptr<Group>>;

  [[nodiscard]] std::unique_ptr<Group> join_one(unsigned node) const {
    return std::make_unique<Group>(config(node, 4, with_journals(4)), options_);
  }
  /// The holders have stopped one after the other: node 3 has the first 100 texts, and node 2, which was there last, 100
  /// more. `at_last`: while it is there alone.
  [[nodiscard]] Groups stopped_in_order(const std::vector<std::string>& texts,
                                        const std::function<void()>& at_last = [] {}) const {
    Groups groups = join_from(0, 4, with_journals(4), options_);
    std::vector<Given> given(2);
    for (unsigned i = 0; i < 2; ++i) take(*groups[2 + i], given[i]);
    for (unsigned i = 0; i < 100; ++i) groups[2]->subgroup("orders").send(texts[i]);
    REQUIRE(groups[3]->subgroup("orders").await_durable(99, patience));
    stop(groups[3]);
    for (unsigned i = 100; i < 200; ++i) groups[2]->subgroup("orders").send(texts[i]);
    REQUIRE(groups[2]->subgroup("orders").await_durable(199, patience));
    at_last();
    stop(groups[2]);
    return groups;
  }

 private:
  static void stop(std::unique_ptr<Group>& group) {
    group->leave();
    group.reset();
  }

  const GroupOptions options_ = logged_by_two(*config(0, 4, with_journals(4)).layout_function());
};

}  // namespace

TEST_CASE_METHOD(LoggedFixture, "a logged subgroup's messages come again when all have ended and are back") {
  const std::vector<std::string> texts = numbered(1000);
  for (unsigned round = 0; round < 3; ++round) {
    std::vector<Given> given(2);
    auto groups = join_logged(0, 2);
    for (unsigned i = 0; i < 2; ++i) take(*groups[i], given[i]);
    if (round == 0) {
      for (const std::string& text : texts) groups[0]->subgroup("orders").send(text);
      REQUIRE(groups[0]->subgroup("orders").await_durable(texts.size() - 1, patience));
      REQUIRE(groups[1]->subgroup("orders").await_durable(texts.size() - 1, patience));
    }
    for (unsigned i = 0; i < 2; ++i) CHECK(given[i].await(texts.size()) == texts);
    leave_all(groups);
  }
}

TEST_CASE_METHOD(LoggedFixture, "a member that comes back gets what it missed of a log behind what it has") {
  std::vector<std::string> texts = numbered(300);
  auto groups = join_logged(0, 3);
  {
    std::vector<Given> given(3);
    for (unsigned i = 0; i < 3; ++i) take(*groups[i], given[i]);
    for (unsigned i = 0; i < 100; ++i) groups[0]->subgroup("orders").send(texts[i]);
    REQUIRE(groups[1]->subgroup("orders").await_durable(99, patience));
    groups[2]->leave();
    groups[2].reset();
    for (unsigned i = 100; i < 200; ++i) groups[1]->subgroup("orders").send(texts[i]);
    REQUIRE(groups[0]->subgroup("orders").await_durable(199, patience));
    Given later;
    auto back = join_logged(2, 3);
    take(*back[0], later);
    for (unsigned i = 200; i < 300; ++i) groups[0]->subgroup("orders").send(texts[i]);
    CHECK(later.await(300) == texts);
    REQUIRE(back[0]->subgroup("orders").await_durable(299, patience));
    leave_all(back);
    groups[0]->leave();
    groups[1]->leave();
  }
}

TEST_CASE_METHOD(LoggedFixture, "a log that its history bounds begins later, at newcomers and after a stop of all") {
  constexpr HistoryBounds kept{.messages = 50};
  constexpr std::uint64_t count = 4000;
  std::vector<std::string> texts = numbered(count);
  for (std::string& text : texts) text.resize(1000, '.');
  std::uint64_t begins = 0;
  {
    auto groups = join_logged(0, 3, kept);
    std::vector<Given> given(3);
    for (unsigned i = 0; i < 3; ++i) take(*groups[i], given[i]);
    const auto send = [&](std::uint64_t from, std::uint64_t to) {
      for (std::uint64_t i = from; i < to; ++i) groups[0]->subgroup("orders").send(texts[i]);
      for (unsigned i = 0; i < 2; ++i) REQUIRE(groups[i]->subgroup("orders").await_durable(to - 1, patience));
    };
    send(0, 100);
    groups[2]->leave();
    groups[2].reset();
    for (std::uint64_t sent = 100; sent < count - 100; sent += 100) send(sent, sent + 100);
    CHECK(given[0].await(count - 100).front() == texts.front());
    // The third was away for longer than the others keep what it lacks.
    auto third = join_logged(2, 3, kept);
    Given late;
    take(*third[0], late);
    send(count - 100, count);
    third[0]->loaded(patience);
    const std::vector<std::string> has = late.await_end(texts.back());
    begins = count - has.size();
    CHECK(begins > count / 2);
    CHECK(has.size() >= kept.messages);
    CHECK(std::ranges::equal(has, std::span(texts).subspan(begins)));
    leave_all(third);
    groups.pop_back();
    leave_all(groups);
  }
  auto groups = join_logged(0, 3, kept);
  std::vector<Given> given(3);
  for (unsigned i = 0; i < 3; ++i) take(*groups[i], given[i]);
  for (Given& each : given) {
    const std::vector<std::string> has = each.await_end(texts.back());
    CHECK(has.size() >= kept.messages);
    CHECK(has.size() < count / 2);
    CHECK(std::ranges::equal(has, std::span(texts).last(has.size())));
  }
  leave_all(groups);
}

TEST_CASE_METHOD(LoggedFixture, "a group is loaded when a handler on a thread of its own has returned from all of a log") {
  constexpr unsigned count = 1000;
  {
    Given given;
    auto groups = join_logged(0, 1);
    take(*groups[0], given);
    for (const std::string& text : numbered(count)) groups[0]->subgroup("orders").send(text);
    REQUIRE(groups[0]->subgroup("orders").await_durable(count - 1, patience));
    leave_all(groups);
  }
  auto groups = join_logged(0, 1);
  std::atomic<unsigned> taken = 0;
  std::atomic<bool> may_return = false;
  groups[0]->subgroup("ticks").on_delivery([](std::span<const Delivery>) {});
  groups[0]->subgroup("orders").on_delivery(
      [&](std::span<const Delivery> batch) {
        may_return.wait(false);
        taken += static_cast<unsigned>(batch.size());
      },
      HandlerThread::own);
  CHECK_FALSE(groups[0]->is_loaded());
  may_return = true;
  may_return.notify_all();
  groups[0]->loaded(patience);
  CHECK(taken == count);
  leave_all(groups);
}

TEST_CASE_METHOD(LoggedFixture, "who asks late what is durable is told what was durable before") {
  {
    Given given;
    auto groups = join_logged(0, 1);
    take(*groups[0], given);
    for (const std::string& text : numbered(10)) groups[0]->subgroup("orders").send(text);
    REQUIRE(groups[0]->subgroup("orders").await_durable(9, patience));
    leave_all(groups);
  }
  Given given;
  auto groups = join_logged(0, 1);
  take(*groups[0], given);
  Subgroup& orders = groups[0]->subgroup("orders");
  REQUIRE(orders.await_durable(9, patience));
  std::atomic<std::uint64_t> told = 0;
  orders.on_durable([&](std::uint64_t version) {
    told = version;
    told.notify_all();
  });
  told.wait(0);
  CHECK(told == 10);
  const auto again = thrown_by([&] { orders.on_durable([](std::uint64_t) {}); });
  REQUIRE(again);
  CHECK(again->to_string().find("is already set") != std::string::npos);
  leave_all(groups);
}

// The last view that node 2 knows of is one without it, as of all that have left.
TEST_CASE_METHOD(LoggedFixture, "a journal that was lost takes the logs of no others away, though its node left last") {
  for (int generation = 0; generation < 2; ++generation) {
    auto groups = join_logged(0, 3);
    std::vector<Given> given(3);
    for (unsigned i = 0; i < 3; ++i) take(*groups[i], given[i]);
    if (generation == 0) {
      for (const std::string& text : numbered(50)) groups[0]->subgroup("orders").send(text);
      REQUIRE(groups[0]->subgroup("orders").await_durable(49, patience));
    }
    for (Given& each : given) static_cast<void>(each.await(50));
    leave_all(groups);
  }
  const group::JournalPlace place{directory() + "/journals", config(0, 1).group_name()};
  std::filesystem::remove_all(place.of(NodeId(2)));
  auto groups = join_logged(0, 3);
  CHECK(groups[0]->view().subgroup(SubgroupId(0)).members.empty());
  CHECK_THAT(groups[0]->view().subgroup(SubgroupId(0)).inadequate, Catch::Contains("its log is with node 2"));
  for (auto& group : groups) {
    group->subgroup("orders").on_delivery([](std::span<const Delivery>) {});
    group->subgroup("ticks").on_delivery([](std::span<const Delivery>) {});
  }
  leave_all(groups);
  for (const std::uint32_t node : {0U, 1U}) {
    const auto content = value_or_throw(group::read_journal(place, NodeId(node)));
    CHECK(content->findings.ends.of(SubgroupId(0)).version == store::LogVersion(50));
  }
}

TEST_CASE_METHOD(TwoHolders, "holders of a log that stopped one after the other take it up in the group that went on") {
  const std::vector<std::string> texts = numbered(400);
  Groups groups = stopped_in_order(texts);
  // The first to be back has less than all, and waits for the one that was there last.
  std::vector<Given> given(2);
  groups[3] = join_one(3);
  take(*groups[3], given[1]);
  CHECK(groups[3]->view().subgroup(SubgroupId(0)).inadequate.starts_with("its log is with node 2"));
  groups[2] = join_one(2);
  take(*groups[2], given[0]);
  for (unsigned i = 200; i < 300; ++i) groups[2]->subgroup("orders").send(texts[i]);
  for (unsigned i = 300; i < 400; ++i) groups[3]->subgroup("orders").send(texts[i]);
  for (unsigned i = 0; i < 2; ++i) {
    REQUIRE(groups[2 + i]->subgroup("orders").await_durable(399, patience));
    const std::vector<std::string> all = given[i].await(400);
    CHECK(std::vector(all.begin(), all.begin() + 200) == std::vector(texts.begin(), texts.begin() + 200));
    CHECK(std::ranges::is_permutation(all, texts));
  }
  leave_all(groups);
}

TEST_CASE_METHOD(TwoHolders, "a group goes on with the log that is adopted, and who is back with more of it drops that") {
  const std::vector<std::string> texts = numbered(300);
  const std::string mine = config(0, 1).group_name();
  const group::JournalPlace place{directory() + "/journals", mine};
  const auto runtime = value_or_throw(GuardedDirectory::open(directory(), mine));
  const std::string log_file = directory() + "/log";
  const auto adopt = [&](unsigned told, std::uint32_t from, bool force) -> std::optional<Error> {
    group::RosterCall call{{}, patience};
    call.adopt = group::LogAdoption{"orders", NodeId(from), force};
    const auto outcome = group::change_roster_through(runtime, NodeId(told), call);
    return outcome ? std::nullopt : std::optional(outcome.error());
  };
  Groups groups = stopped_in_order(
      texts, [&] { CHECK_THAT(adopt(0, 3, true)->message(), Catch::Contains("is here, and the group goes on with it")); });
  const std::string away = directory() + "/away";
  std::filesystem::rename(place.of(NodeId(2)), away);
  std::vector<Given> given(2);
  groups[3] = join_one(3);
  take(*groups[3], given[1]);
  CHECK(groups[3]->view().subgroup(SubgroupId(0)).inadequate.starts_with("its log is with node 2"));
  std::optional<Error> loss;
  do loss = adopt(0, 3, false);
  while (loss && loss->message().find("has not said yet") != std::string::npos);
  REQUIRE(loss);
  CHECK(loss->kind() == ErrorKind::no_majority);
  CHECK_THAT(loss->message(), Catch::Contains("with node 2") && Catch::Contains("node 3 goes up to version 100"));
  CHECK_THAT(adopt(1, 3, true)->fix(), Catch::Contains("--through 0"));
  CHECK_THAT(adopt(0, 2, true)->message(), Catch::Contains("node 2 is no member"));
  CHECK_THAT(adopt(0, 1, true)->message(), Catch::Contains("nothing of the log"));
  CHECK_FALSE(adopt(0, 3, true));
  for (unsigned i = 200; i < 250; ++i) groups[3]->subgroup("orders").send(texts[i]);
  REQUIRE(groups[3]->subgroup("orders").await_durable(149, patience));

  std::filesystem::rename(away, place.of(NodeId(2)));
  REQUIRE(log::configure(log::Level::warn, log_file));
  groups[2] = join_one(2);
  take(*groups[2], given[0]);
  for (unsigned i = 250; i < 300; ++i) groups[2]->subgroup("orders").send(texts[i]);
  std::vector<std::string> all(texts.begin(), texts.begin() + 100);
  all.insert(all.end(), texts.begin() + 200, texts.end());
  for (Given& each : given) CHECK(each.await(200) == all);
  REQUIRE(groups[2]->subgroup("orders").await_durable(199, patience));
  leave_all(groups);
  REQUIRE(log::await_written(std::chrono::seconds(20)));
  REQUIRE(log::configure(log::Level::warn, ""));
  std::ifstream written(log_file);
  const std::string log{std::istreambuf_iterator<char>(written), {}};
  CHECK_THAT(log, Catch::Contains("are not in the group's, and are dropped") && Catch::Contains("messages=100 first=100"));
  for (const std::uint32_t node : {2U, 3U}) {
    const auto content = value_or_throw(group::read_journal(place, NodeId(node)));
    CHECK(content->findings.ends.of(SubgroupId(0)).version == store::LogVersion(200));
  }
}

TEST_CASE_METHOD(LoggedFixture, "nothing of a subgroup that is not logged is durable, and a program is told so") {
  auto groups = join_logged(0, 1);
  CHECK(groups[0]->subgroup("ticks").durable_version() == 0);
  const auto refused = thrown_by([&] { static_cast<void>(groups[0]->subgroup("ticks").await_durable(0)); });
  REQUIRE(refused);
  CHECK(refused->kind() == ErrorKind::bad_argument);
}

TEST_CASE_METHOD(LoggedFixture, "a program's layout whose subgroups cannot be logged is refused before anybody joins") {
  const auto refusal = [&](std::size_t count, DeliveryMode mode) {
    GroupOptions options;
    options.layout = [count, mode](const std::vector<NodeId>& nodes, const View*) {
      std::vector<SubgroupView> subgroups(count);
      for (std::size_t i = 0; i < count; ++i) {
        subgroups[i].name = "log" + std::to_string(i);
        subgroups[i].members = subgroups[i].senders = nodes;
        subgroups[i].mode = mode;
        subgroups[i].storage = SubgroupStorage::logged;
        subgroups[i].profile = {.ring_bytes = 1 << 12, .window_messages = 4, .message_bytes_max = 100};
      }
      return subgroups;
    };
    const auto refused = thrown_by([&] { const Group group(config(0, 1, with_journals(1)), options); });
    if (!refused) return std::string("joined");
    CHECK(refused->kind() == ErrorKind::bad_argument);
    CHECK(refused->place() == "GroupOptions::layout");
    CHECK_FALSE(refused->fix().empty());
    return refused->message();
  };
  CHECK(refusal(1, DeliveryMode::unordered) ==
        "the program's layout: subgroup log0 is logged, and unordered: its members have no order in common to keep");
  CHECK(refusal(logged_subgroup_count_max + 1, DeliveryMode::ordered) ==
        "the program's layout has more than 64 subgroups that are logged");
  CHECK(refusal(logged_subgroup_count_max, DeliveryMode::ordered) == "joined");
}

}  // namespace spindrift
