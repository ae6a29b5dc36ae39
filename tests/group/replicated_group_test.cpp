// Replicated objects in real groups: updates from everywhere, answers from everybody, a newcomer with the state.
#include <catch2/catch.hpp>

#include <chrono>
#include <future>
#include <fstream>
#include <istream>
#include <iterator>
#include <map>
#include <ostream>
#include <stdexcept>

#include <spindrift/group/objects.hpp>
#include <spindrift/group/replicated.hpp>

#include "group_replicas.hpp"

using namespace spindrift;

namespace {

class Ledger {
 public:
  long deposit(std::string account, long cents) {
    if (cents < 0) throw std::invalid_argument("a negative deposit");
    return accounts_[account] += cents;
  }
  [[nodiscard]] long balance(std::string account) const {
    const auto found = accounts_.find(account);
    return found == accounts_.end() ? 0 : found->second;
  }
  void save(std::ostream& to) const {
    for (const auto& [account, cents] : accounts_) to << account << ' ' << cents << '\n';
  }
  void load(std::istream& from) {
    accounts_.clear();
    std::string account;
    for (long cents = 0; from >> account >> cents;) accounts_[account] = cents;
  }
  using Methods = Replicates<&Ledger::deposit, &Ledger::balance>;

 private:
  std::map<std::string, long> accounts_;
};

/// One in "orders" of each group.
}  // namespace

TEST_CASE("an update changes every replica, and every replica answers") {
  GroupFixture fixture;
  auto groups = fixture.join(3);
  auto ledgers = replicas_of<Ledger>(groups);
  auto first = ledgers[0].update<&Ledger::deposit>("a", 10);
  CHECK(first.get() == 10);
  const auto answers = ledgers[1].update<&Ledger::deposit>("a", 5).all();
  CHECK(answers.size() == 3);
  CHECK(ledgers[2].ordered_query<&Ledger::balance>("a").get() == 15);
  CHECK_THROWS_AS(ledgers[2].update<&Ledger::deposit>("a", -1).get(), std::invalid_argument);
  auto stable = ledgers[0].update<&Ledger::deposit>("b", 1);
  stable.stable();
  leave_all(groups);
  CHECK_THROWS_AS(ledgers[0].update<&Ledger::deposit>("a", 1), Exception);
}

TEST_CASE("a newcomer's replica has the state, and survivors go on") {
  GroupFixture fixture;
  auto groups = fixture.join(3);
  auto ledgers = replicas_of<Ledger>(groups);
  CHECK(ledgers[2].update<&Ledger::deposit>("a", 7).get() == 7);
  groups[2]->leave();
  groups[2].reset();
  CHECK(ledgers[0].update<&Ledger::deposit>("a", 1).get() == 8);
  groups[2] = std::make_unique<Group>(fixture.config(2, 3));
  Replicated<Ledger> again = groups[2]->replicated<Ledger>("orders");
  groups[2]->subgroup("ticks").on_delivery([](auto) {});
  CHECK(again.query<&Ledger::balance>("a") == 8);  // waits for the state
  CHECK(again.is_loaded());
  CHECK(again.ordered_query<&Ledger::balance>("a").get() == 8);
  leave_all(groups);
}

TEST_CASE("calls become stable in a view that has seen fewer of them than the one before") {
  GroupFixture fixture;
  auto groups = fixture.join(3);
  auto ledgers = replicas_of<Ledger>(groups);
  for (int i = 0; i < 100; ++i) ledgers[0].update<&Ledger::deposit>("a", 1).stable();
  groups[2]->leave();
  auto call = ledgers[0].update<&Ledger::deposit>("a", 1);
  CHECK(call.get() == 101);
  CHECK_NOTHROW(call.stable(std::chrono::seconds(20)));
  leave_all(groups);
}

TEST_CASE("no handler waits for a replicated call: not before the first one, nor on a thread of its own") {
  GroupFixture fixture;
  auto groups = fixture.join(2);
  std::vector<Replicated<Ledger>> ledgers;
  for (auto& group : groups) ledgers.push_back(group->replicated<Ledger>("orders"));
  const bool own = GENERATE(false, true);
  Journal ticks;
  std::promise<void> asked;
  std::atomic<ErrorKind> refused{ErrorKind::unsupported};
  groups[0]->subgroup("ticks").on_delivery(
      [&](auto batch) {
        try {
          static_cast<void>(ledgers[0].ordered_query<&Ledger::balance>("a").get(std::chrono::seconds(20)));
        } catch (const Exception& thrown) {
          refused = thrown.error().kind();
        }
        asked.set_value();
        ticks.keep(batch);
      },
      own ? HandlerThread::own : HandlerThread::shared);
  // The other member receives no query as long as its handler runs, so that there is no answer yet where it is waited for.
  groups[1]->subgroup("ticks").on_delivery([&](auto) { asked.get_future().wait(); });
  groups[1]->subgroup("ticks").send("now");
  ticks.await(1);
  CHECK(refused == ErrorKind::would_block);
  leave_all(groups);
}

namespace {

/// Sees whether somebody reads it while it is being changed.
class Lamp {
 public:
  void flash() {
    lit_ = true;
    begun.set_value();
    static_cast<void>(read.get_future().wait_for(std::chrono::milliseconds(200)));
    lit_ = false;
  }
  [[nodiscard]] bool lit() const { return lit_; }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(lit_);
  }
  using Methods = Replicates<&Lamp::flash>;

  static inline std::promise<void> begun;
  static inline std::promise<void> read;

 private:
  bool lit_ = false;
};

}  // namespace

TEST_CASE("a query on a handler's own thread waits until the object is not being changed") {
  GroupFixture fixture;
  auto groups = fixture.join(1);
  auto lamp = groups[0]->replicated<Lamp>("orders");
  Journal ticks;
  std::atomic<bool> lit{true};
  groups[0]->subgroup("ticks").on_delivery(
      [&](auto batch) {
        Lamp::begun.get_future().wait();
        lit = lamp.query<&Lamp::lit>();
        Lamp::read.set_value();
        ticks.keep(batch);
      },
      HandlerThread::own);
  groups[0]->subgroup("ticks").send("look");
  // That the query waits has no event: on a busy machine a query that does not may go unnoticed, never the other way.
  lamp.post<&Lamp::flash>().get();
  ticks.await(1);
  CHECK_FALSE(lit);
  leave_all(groups);
}

TEST_CASE("a subgroup with a replicated object refuses a second one, and handlers, by their names") {
  GroupFixture fixture;
  Group group(fixture.config(0, 1));
  static_cast<void>(group.replicated<Ledger>("orders"));
  const auto words_of = [](auto&& call) -> std::string {
    try {
      call();
    } catch (const Exception& refused) {
      CHECK(refused.error().kind() == ErrorKind::bad_argument);
      return refused.what();
    }
    return "nothing was thrown";
  };
  const std::string second = words_of([&] { static_cast<void>(group.replicated<Ledger>("orders")); });
  CHECK_THAT(second, Catch::Contains("call replicated once") && !Catch::Contains("on_state of"));
  const std::string objects = words_of([&] {
    static_cast<void>(group.objects("orders", ObjectHandlers{.on_piece = [](const auto&) {}, .on_end = [](const auto&) {}}));
  });
  CHECK_THAT(objects, Catch::Contains("call objects once"));
  group.leave();
}

namespace {

struct Slow {
  void work() {
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(12);
    while (std::chrono::steady_clock::now() < until) {
    }
  }
  using Methods = Replicates<&Slow::work>;
};

}  // namespace

TEST_CASE("slow methods of a replicated object are told of with what helps there") {
  GroupFixture fixture;
  const std::string path = fixture.directory() + "/log";
  Group group(fixture.config(0, 1));
  auto slow = group.replicated<Slow>("orders");
  value_or_throw(log::configure(log::Level::warn, path));
  slow.post<&Slow::work>().get();
  group.leave();
  value_or_throw(log::configure(log::Level::warn, ""));
  std::ifstream file(path);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  CHECK_THAT(text, Catch::Contains("slow delivery handler") && Catch::Contains("shorter methods of the replicated object"));
  CHECK_THAT(text, !Catch::Contains("HandlerThread::own"));
}

namespace {

struct Archive {
  std::string copies(std::uint64_t bytes) { return std::string(bytes, 'x'); }
  using Methods = Replicates<&Archive::copies>;
};

}  // namespace

TEST_CASE("results of megabytes come from every replica") {
  GroupFixture fixture;
  auto groups = fixture.join(3);
  std::vector<Replicated<Archive>> archives;
  for (auto& group : groups) {
    archives.push_back(group->replicated<Archive>("orders"));
    group->subgroup("ticks").on_delivery([](auto) {});
  }
  std::vector<Future<std::string>> futures;
  for (int i = 0; i < 10; ++i) futures.push_back(archives[0].update<&Archive::copies>(3'000'000));
  for (const auto& future : futures) {
    const auto results = future.all(std::chrono::seconds(60));
    CHECK(results.size() == 3);
    for (const auto& result : results) CHECK(result.value().size() == 3'000'000);
  }
  CHECK(groups[0]->view().members.size() == 3);
  leave_all(groups);
}
