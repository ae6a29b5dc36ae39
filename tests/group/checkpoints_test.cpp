// Replicated objects in logged subgroups whose logs are bounded: an object begins with a checkpoint, and with what follows.
#include <catch2/catch.hpp>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <spindrift/group/found_journal.hpp>
#include <spindrift/group/object_copy.hpp>
#include <spindrift/group/replicated.hpp>
#include <spindrift/persistent.hpp>

#include "logged_fixture.hpp"

namespace spindrift {
namespace {

constexpr Duration patience = std::chrono::seconds(120);
constexpr HistoryBounds last_hundred{.messages = 100, .bytes = 0, .age_ms = 0};

/// The last text of each of some names, and how many there were.
class Board {
 public:
  explicit Board(std::uint64_t first = 0) : count_(first) {}

  std::uint64_t put(std::uint32_t slot, const std::string& text) {
    texts_[slot % 32] = text;
    return ++count_;
  }
  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] std::vector<std::string> texts() const {
    std::vector<std::string> all;
    for (const auto& [slot, text] : texts_) all.push_back(std::to_string(slot) + " " + text);
    return all;
  }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(texts_, count_);
  }
  using Methods = Replicates<&Board::put, &Board::count, &Board::texts>;

 private:
  std::map<std::uint32_t, std::string> texts_;
  std::uint64_t count_;
};

/// Keeps its last values by version.
struct Ledger {
  std::uint64_t set(const std::string& value) {
    last.set(value);
    return *last.latest_version();
  }
  [[nodiscard]] std::string at(std::uint64_t version) const { return *last.at(version); }
  [[nodiscard]] std::uint64_t first() const { return last.first_version().value_or(0); }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(last);
  }
  Persistent<std::string> last{KeepVersions{50}};
  using Methods = Replicates<&Ledger::set, &Ledger::at, &Ledger::first>;
};

/// Is not saved at first: what it throws is no std::exception.
struct Stubborn {
  void add(const std::string&) { ++count; }
  [[nodiscard]] int sum() const { return count; }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(count);
    if (refusals > 0) throw refusals--;
  }
  int count = 0;
  static inline std::atomic<int> refusals{0};
  using Methods = Replicates<&Stubborn::add, &Stubborn::sum>;
};

/// An update of it starts another call.
struct Caller {
  void add(const std::string& text) {
    ++count;
    if (Replicated<Caller>* const calls = self) static_cast<void>(calls->post<&Caller::note>(text.size()));
  }
  void note(std::uint64_t size) { noted += size; }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(count, noted);
  }
  std::uint64_t count = 0;
  std::uint64_t noted = 0;
  /// Set while updates of it may run already, on other threads.
  static inline std::atomic<Replicated<Caller>*> self{nullptr};
  using Methods = Replicates<&Caller::add, &Caller::note>;
};

/// Cannot be saved.
struct Counter {
  int add(int value) { return sum += value; }
  int sum = 0;
  using Methods = Replicates<&Counter::add>;

 private:
  [[maybe_unused]] std::unique_ptr<int> held_;
};

template <class T, class... Arguments>
Replicated<T> attach(Group& group, const Arguments&... arguments) {
  group.subgroup("ticks").on_delivery([](std::span<const Delivery>) {});
  return group.replicated<T>("orders", arguments...);
}

/// Calls of some 2 KB each, all of which are durable on return.
void put(Replicated<Board>& board, std::uint32_t calls) {
  std::optional<Future<std::uint64_t>> last;
  for (std::uint32_t i = 0; i < calls; ++i)
    last = board.update<&Board::put>(i * 7, std::string(2000, static_cast<char>('a' + i % 26)));
  last->durable(patience);
  CHECK(last->is_durable());
}

class CheckpointFixture : public LoggedFixture {
 public:
  CheckpointFixture() {}

  [[nodiscard]] group::JournalContent journal(std::uint32_t node) const {
    auto content = group::read_journal({directory() + "/journals", config(0, 1).group_name()}, NodeId(node));
    REQUIRE(content);
    REQUIRE(*content);
    return std::move(**content);
  }
  [[nodiscard]] std::uint64_t first_version(std::uint32_t node) const {
    return journal(node).logs.at(orders).first().version;
  }
  /// The node's log begins with its first message. The journal is read only when its first segment is gone, which may have
  /// had no message at all: while it is there, to look is quick, however large the journal is.
  [[nodiscard]] bool untrimmed(std::uint32_t node) const {
    return std::filesystem::exists(directory() + "/journals/" + config(0, 1).group_name() + "/" + std::to_string(node) +
                                   "/0000000000000000.segment") ||
           first_version(node) == 0;
  }
  /// Puts until the node's log does not begin with its first message any more.
  void put_until_trimmed(Replicated<Board>& board, std::uint32_t node) {
    const auto begun = std::chrono::steady_clock::now();
    while (untrimmed(node)) {
      put(board, 500);
      REQUIRE(std::chrono::steady_clock::now() - begun < patience);
    }
  }

  const SubgroupId orders{0};
};

}  // namespace

TEST_CASE_METHOD(CheckpointFixture, "the log of an object is trimmed while calls go on") {
  auto groups = join_logged(0, 1, last_hundred);
  auto board = attach<Board>(*groups[0], std::uint64_t{0});
  for (int round = 0; round < 40; ++round) put(board, 500);
  CHECK_FALSE(untrimmed(0));
  leave_all(groups);
}

TEST_CASE_METHOD(CheckpointFixture, "an object that could not be saved once has its log trimmed when it can be") {
  auto groups = join_logged(0, 1, last_hundred);
  auto stubborn = attach<Stubborn>(*groups[0]);
  Stubborn::refusals = 2;
  int calls = 0;
  const auto begun = std::chrono::steady_clock::now();
  while (untrimmed(0)) {
    for (int i = 0; i < 20; ++i, ++calls) static_cast<void>(stubborn.post<&Stubborn::add>(std::string(4000, 'x')));
    REQUIRE(std::chrono::steady_clock::now() - begun < patience);
  }
  CHECK(Stubborn::refusals == 0);
  CHECK(stubborn.ordered_query<&Stubborn::sum>().get() == calls);
  leave_all(groups);
}

TEST_CASE_METHOD(CheckpointFixture, "no checkpoint is made of an object whose updates start calls, and its log stays") {
  auto groups = join_logged(0, 1, last_hundred);
  auto caller = attach<Caller>(*groups[0]);
  Caller::self = &caller;
  std::optional<Future<void>> last;
  for (int i = 0; i < 4000; ++i) last = caller.post<&Caller::add>(std::string(2000, 'x'));
  last->durable(patience);
  leave_all(groups);
  Caller::self = nullptr;  // before that, updates that are replayed for a checkpoint would start no call, and it be made
  CHECK_FALSE(journal(0).checkpoints.contains(orders));
  CHECK(first_version(0) == 0);
}

TEST_CASE_METHOD(CheckpointFixture, "an object of a bounded log is made again by a checkpoint and what follows it") {
  std::vector<std::string> texts;
  std::uint64_t count = 0;
  for (unsigned round = 0; round < 3; ++round) {
    auto groups = join_logged(0, 1, last_hundred);
    auto board = attach<Board>(*groups[0], std::uint64_t{1000});
    CHECK(board.query<&Board::texts>() == texts);
    CHECK(board.query<&Board::count>() == (round == 0 ? 1000 : count));
    const std::uint64_t before = round == 0 ? 0 : first_version(0);
    put_until_trimmed(board, 0);
    put(board, 1000);
    texts = board.query<&Board::texts>();
    count = board.query<&Board::count>();
    leave_all(groups);
    const group::JournalContent left = journal(0);
    REQUIRE(left.checkpoints.contains(orders));
    const std::uint64_t version = left.checkpoints.at(orders).version.value();
    CHECK(left.logs.at(orders).first().version <= version);
    CHECK(version <= left.findings.ends.of(orders).version.value());
    CHECK(left.logs.at(orders).first().version >= before);
  }
  CHECK(count > 3000);
}

TEST_CASE_METHOD(CheckpointFixture, "who was away for longer than the log reaches begins with another member's checkpoint") {
  std::vector<std::string> texts;
  {
    auto groups = join_logged(0, 3, last_hundred);
    std::vector<Replicated<Board>> boards;
    for (auto& group : groups) boards.push_back(attach<Board>(*group));
    put(boards[0], 50);
    groups[2]->leave();
    groups.pop_back();
    boards.pop_back();
    put_until_trimmed(boards[1], 0);
    put_until_trimmed(boards[1], 1);
    auto back = join_logged(2, 3, last_hundred);
    auto board = attach<Board>(*back[0]);
    board.loaded(patience);
    put(board, 10);
    CHECK(board.query<&Board::count>() == boards[0].query<&Board::count>());
    texts = board.query<&Board::texts>();
    CHECK(boards[1].ordered_query<&Board::texts>().get() == texts);
    CHECK(journal(2).checkpoints.contains(orders));
    CHECK(first_version(2) > 50);
    groups.push_back(std::move(back[0]));
    leave_all(groups);
  }
  auto again = join_logged(0, 3, last_hundred);
  for (auto& group : again) {
    auto board = attach<Board>(*group);
    CHECK(board.query<&Board::texts>() == texts);
  }
  leave_all(again);
}

TEST_CASE_METHOD(CheckpointFixture, "the versions of a Persistent field are part of a checkpoint") {
  std::uint64_t last = 0;
  for (unsigned round = 0; round < 2; ++round) {
    auto groups = join_logged(0, 1, last_hundred);
    auto ledger = attach<Ledger>(*groups[0]);
    const auto begun = std::chrono::steady_clock::now();
    do {
      std::optional<Future<std::uint64_t>> call;
      for (unsigned i = 0; i < 500; ++i) {
        const std::uint64_t next = last + i;
        call = ledger.update<&Ledger::set>(std::to_string(next) + std::string(1000, '.'));
      }
      call->durable(patience);
      CHECK(call->get() == last + 499);
      last += 500;
      REQUIRE(std::chrono::steady_clock::now() - begun < patience);
    } while (untrimmed(0));
    CHECK(ledger.query<&Ledger::first>() == last - 50);
    leave_all(groups);
  }
  auto groups = join_logged(0, 1, last_hundred);
  auto ledger = attach<Ledger>(*groups[0]);
  CHECK(ledger.query<&Ledger::first>() == last - 50);
  for (std::uint64_t version = last - 50; version < last; ++version) {
    const std::string value = ledger.query<&Ledger::at>(version);
    CHECK(value.substr(0, value.find('.')) == std::to_string(version));
  }
  leave_all(groups);
}

TEST_CASE_METHOD(CheckpointFixture, "an object that no checkpoint can be made of is refused in a bounded log") {
  auto groups = join_logged(0, 1, last_hundred);
  groups[0]->subgroup("ticks").on_delivery([](std::span<const Delivery>) {});
  const auto words_of = [](const auto& attach) -> std::string {
    try {
      attach();
    } catch (const Exception& refused) {
      CHECK(refused.error().kind() == ErrorKind::bad_argument);
      return refused.error().to_string();
    }
    return "";
  };
  CHECK_THAT(words_of([&] { static_cast<void>(groups[0]->replicated<Counter>("orders")); }),
             Catch::Contains("cannot be saved"));
  static_cast<void>(groups[0]->replicated<Board>("orders", std::uint64_t{0}));
  leave_all(groups);
}

}  // namespace spindrift
