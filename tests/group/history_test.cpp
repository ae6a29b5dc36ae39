// Subgroups that keep a history, in groups of several members: a newcomer is given the last messages and then those that are
// delivered, all of them in their order and once, with the versions that they have at the others.
#include <catch2/catch.hpp>

#include <atomic>
#include <condition_variable>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <spindrift/group/group.hpp>
#include <spindrift/group/objects.hpp>
#include <spindrift/group/replicated.hpp>

#include "group_fixture.hpp"

namespace spindrift {
namespace {

using Catch::Matchers::Contains;

constexpr Duration patience = std::chrono::seconds(60);
constexpr std::uint64_t kept = 100;
const std::string founders_of_two = "founders = 0, 1\njoin_timeout_ms = 60000\n";

std::string text_of(const Delivery& delivery) {
  return {reinterpret_cast<const char*>(delivery.payload.data()), delivery.payload.size()};
}

/// The messages of "orders" that one process was given, in order.
class Given {
 public:
  struct Message {
    std::uint64_t version;
    ViewId view;
    NodeId sender;
    SequenceNumber sequence;
    std::string text;
    bool operator==(const Message&) const = default;
  };

  void take(std::span<const Delivery> batch) {
    {
      const std::lock_guard lock(mutex_);
      for (const Delivery& each : batch) {
        if (!messages_.empty() && each.version != messages_.back().version + 1) in_turn_ = false;
        ++of_[each.sender];
        messages_.push_back({each.version, each.view, each.sender, each.sequence, text_of(each)});
      }
    }
    changed_.notify_all();
  }
  /// Once the message of that version is there: all that are. Each followed the one before it.
  std::vector<Message> await(std::uint64_t version) {
    std::unique_lock lock(mutex_);
    REQUIRE(changed_.wait_for(lock, patience, [&] { return !messages_.empty() && messages_.back().version >= version; }));
    REQUIRE(in_turn_);
    return messages_;
  }
  /// The version of the message with that text, once it is the last one.
  std::uint64_t await(const std::string& text) {
    std::unique_lock lock(mutex_);
    REQUIRE(changed_.wait_for(lock, patience, [&] { return !messages_.empty() && messages_.back().text == text; }));
    return messages_.back().version;
  }
  /// False: there were not so many messages of that sender in time.
  [[nodiscard]] bool await_of(NodeId sender, std::uint64_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, patience, [&] { return of_[sender] >= count; });
  }
  [[nodiscard]] std::uint64_t count_of(NodeId sender) {
    const std::lock_guard lock(mutex_);
    return of_[sender];
  }
  [[nodiscard]] std::size_t count() {
    const std::lock_guard lock(mutex_);
    return messages_.size();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Message> messages_;
  std::map<NodeId, std::uint64_t> of_;  // counts by sender
  bool in_turn_ = true;
};

/// A member that takes what it is given once it is told to.
class HistoryMember {
 public:
  HistoryMember(const Config& config, const HistoryBounds& bounds) : group_(config, options_of(config, bounds)) {
    group_.subgroup("ticks").on_delivery([](std::span<const Delivery>) {});
  }
  /// A message of the text "die" ends this one.
  void take(bool mortal = false) {
    orders().on_delivery([this, mortal](std::span<const Delivery> batch) {
      for (const Delivery& each : batch) {
        if (mortal && text_of(each) == "die") throw std::runtime_error("told to die");
      }
      given.take(batch);
    });
  }
  [[nodiscard]] Group& group() noexcept { return group_; }
  [[nodiscard]] Subgroup& orders() { return group_.subgroup("orders"); }
  /// The versions from `first` to `last` with texts that say so.
  void send(std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t version = first; version <= last; ++version) orders().send("message " + std::to_string(version));
  }

  Given given;  // outlives the group

 private:
  static GroupOptions options_of(const Config& config, const HistoryBounds& bounds) {
    GroupOptions options;
    const LayoutFunction configured = value_or_throw(config.layout_function());
    options.layout = [configured, bounds](const std::vector<NodeId>& nodes, const View* previous) {
      std::vector<SubgroupView> subgroups = configured(nodes, previous);
      subgroups.at(0).history = bounds;
      return subgroups;
    };
    return options;
  }

  Group group_;
};

/// Nodes 0 and 1 of four, whose subgroup "orders" keeps a history.
class HistoryFixture : public GroupFixture {
 public:
  explicit HistoryFixture(const HistoryBounds& bounds = {.messages = kept}, const std::string& fabric = "shm")
      : GroupFixture(fabric), bounds_(bounds) {
    found();
  }
  /// Neither of the two is there yet, or any more.
  void found() {
    auto joining = std::async(std::launch::async, [&] { return member(1); });
    zero = member(0);
    one = joining.get();
  }
  [[nodiscard]] std::unique_ptr<HistoryMember> member(unsigned node) const {
    return std::make_unique<HistoryMember>(config(node, 4, founders_of_two), bounds_);
  }
  /// Checks that this one was given the same as node 1 from its own first message on; how many were from before its first
  /// view.
  [[nodiscard]] std::uint64_t check_same(HistoryMember& newcomer, ViewId first_view, std::uint64_t last) {
    const auto all = one->given.await(last);
    const auto its = newcomer.given.await(last);
    REQUIRE(all.front().version == 0);
    REQUIRE(its.front().version < all.size());
    const std::vector<Given::Message> rest(all.begin() + static_cast<std::ptrdiff_t>(its.front().version), all.end());
    CHECK(its.size() == rest.size());
    CHECK(its == rest);
    return static_cast<std::uint64_t>(
        std::ranges::count_if(its, [&](const Given::Message& each) { return each.view < first_view; }));
  }

  std::unique_ptr<HistoryMember> zero, one;

 private:
  HistoryBounds bounds_;
};

class Sum {
 public:
  int add(int number) { return value_ += number; }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(value_);
  }
  using Methods = Replicates<&Sum::add>;

 private:
  int value_ = 0;
};

/// Sends until it is told to stop, some messages at a time: what all members keep of it for the test is not to grow without
/// bounds.
class Traffic {
 public:
  explicit Traffic(HistoryMember& member)
      : thread_([this, &member] {
          const NodeId self = member.group().self();
          std::uint64_t sent = member.given.count_of(self);
          while (!over_ && member.given.await_of(self, sent)) {
            for (unsigned i = 0; i < 20; ++i) member.orders().send("traffic " + std::to_string(sent++));
          }
        }) {}
  ~Traffic() { stop(); }
  Traffic(const Traffic&) = delete;
  Traffic& operator=(const Traffic&) = delete;
  void stop() {
    over_ = true;
    if (thread_.joinable()) thread_.join();
  }

 private:
  std::atomic<bool> over_{false};
  std::thread thread_;
};

}  // namespace

TEST_CASE("a newcomer is given the last messages and then those of the group, without a gap and each once, under traffic") {
  HistoryFixture all({.messages = kept}, GENERATE("shm", "tcp"));
  all.zero->take();
  all.one->take();
  all.zero->send(0, 4 * kept - 1);
  static_cast<void>(all.one->given.await(4 * kept - 1));
  Traffic from_zero(*all.zero), from_one(*all.one);
  auto two = all.member(2);
  const ViewId joined = two->group().view().id;
  two->take();
  two->group().loaded(patience);
  const std::uint64_t then = two->given.await(4 * kept).back().version;
  static_cast<void>(two->given.await(then + 20 * kept));
  from_zero.stop();
  from_one.stop();
  all.zero->group().leave();  // all that it sent is delivered then
  all.one->orders().send("the last");
  CHECK(all.check_same(*two, joined, all.one->given.await("the last")) == kept);
  two->group().leave();
  all.one->group().leave();
}

TEST_CASE("a member that comes back is given the last messages, and versions go on") {
  HistoryFixture all;
  all.zero->take();
  all.one->take();
  auto two = all.member(2);
  two->take();
  two->send(0, 2 * kept - 1);
  CHECK(two->given.await(2 * kept - 1).front().version == 0);
  two->group().leave();
  two.reset();
  all.zero->send(2 * kept, 2 * kept + 9);
  static_cast<void>(all.one->given.await(2 * kept + 9));
  two = all.member(2);
  const ViewId joined = two->group().view().id;
  two->take();
  two->send(2 * kept + 10, 2 * kept + 19);
  CHECK(all.check_same(*two, joined, 2 * kept + 19) == kept);
  for (const Given::Message& each : two->given.await(2 * kept + 19))
    CHECK(each.text == "message " + std::to_string(each.version));
  two->group().leave();
  all.zero->group().leave();
  all.one->group().leave();
}

TEST_CASE("a newcomer whose source dies before it has given everything gets it from another member, each message once") {
  HistoryFixture all;
  all.zero->take(true);
  all.one->take();
  all.zero->send(0, 2 * kept - 1);
  static_cast<void>(all.one->given.await(2 * kept - 1));
  auto two = all.member(2);  // it takes nothing of the history before it has a handler
  CHECK_FALSE(two->group().is_loaded());
  const ViewId joined = two->group().view().id;
  all.one->orders().send("die");
  const auto why = thrown_by([&] { all.zero->group().wait(); });
  REQUIRE(why);
  CHECK_THAT(why->message(), Contains("told to die"));
  two->take();
  two->group().loaded(patience);
  all.one->send(2 * kept + 1, 2 * kept + 10);
  const std::uint64_t before = all.check_same(*two, joined, 2 * kept + 10);
  CHECK(before + 1 >= kept);  // "die" may have taken the place of the first one
  CHECK(before <= kept);
  two->group().leave();
  all.one->group().leave();
}

TEST_CASE("a source that leaves has given its newcomer the history by then") {
  HistoryFixture all;
  all.zero->take();
  all.one->take();
  all.zero->send(0, 2 * kept - 1);
  auto two = all.member(2);
  const ViewId joined = two->group().view().id;
  auto leaving = std::async(std::launch::async, [&] { all.zero->group().leave(); });
  two->take();
  two->send(2 * kept, 2 * kept + 9);
  leaving.get();
  CHECK(all.check_same(*two, joined, 2 * kept + 9) == kept);
  two->group().leave();
  all.one->group().leave();
}

TEST_CASE("what a source has not taken yet follows the history, with the versions that it has everywhere") {
  HistoryFixture all;
  all.zero->take();
  all.one->take();
  all.zero->send(0, 9);
  static_cast<void>(all.zero->given.await(9));
  all.zero->orders().pause();
  all.one->send(10, 19);
  static_cast<void>(all.one->given.await(19));
  auto two = all.member(2);  // with that view node 0 has delivered what its application takes later
  two->take();
  CHECK(two->given.await(19).front().version == 0);
  CHECK(all.zero->given.count() == 10);
  all.zero->orders().resume();
  two->send(20, 29);
  CHECK(two->given.await(29) == all.one->given.await(29));
  CHECK(two->given.await(29) == all.zero->given.await(29));
  two->group().leave();
  all.zero->group().leave();
  all.one->group().leave();
}

TEST_CASE("a history bounded by bytes is that at the newcomer as well") {
  HistoryFixture all({.bytes = 12'000});
  all.zero->take();
  all.one->take();
  for (unsigned i = 0; i < 30; ++i) all.zero->orders().send(std::string(1000, 'x'));  // 1048 each
  static_cast<void>(all.one->given.await(29));
  auto two = all.member(2);
  const ViewId joined = two->group().view().id;
  two->take();
  two->orders().send("the last");
  CHECK(all.check_same(*two, joined, 30) == 11);
  two->group().leave();
  all.zero->group().leave();
  all.one->group().leave();
}

TEST_CASE("nothing of a history survives the group") {
  HistoryFixture all;
  all.zero->take();
  all.one->take();
  all.zero->send(0, 9);
  static_cast<void>(all.one->given.await(9));
  all.zero->group().leave();
  all.one->group().leave();
  all.zero.reset();
  all.one.reset();
  all.found();
  all.zero->take();
  all.one->take();
  all.zero->orders().send("anew");
  const auto given = all.one->given.await(0);
  CHECK(given.size() == 1);
  CHECK(given.front().text == "anew");
  all.zero->group().leave();
  all.one->group().leave();
}

TEST_CASE("a subgroup that keeps a history takes no other state, and says so") {
  HistoryFixture all;
  Subgroup& orders = all.zero->orders();
  const auto check = [](const std::optional<Error>& refused, const std::string& call) {
    REQUIRE(refused);
    CHECK(refused->kind() == ErrorKind::bad_argument);
    CHECK_THAT(refused->message(), Contains(call + ": subgroup orders keeps a history"));
    CHECK_THAT(refused->place(), Contains("the layout's entry of orders"));
    CHECK_THAT(refused->fix(), Contains("remove \"history\""));
  };
  check(thrown_by([&] { orders.on_state([](std::ostream&) {}, [](std::istream&) {}); }), "on_state");
  check(thrown_by([&] { static_cast<void>(all.zero->group().replicated<Sum>("orders")); }), "replicated");
  check(thrown_by([&] {
          static_cast<void>(all.zero->group().objects("orders", {[](auto&&...) {}, [](auto&&...) {}, {}}));
        }),
        "objects");
  all.zero->take();  // what was refused has left nothing behind
  all.one->take();
  all.zero->send(0, 0);
  static_cast<void>(all.one->given.await(0));
  all.zero->group().leave();
  all.one->group().leave();
}

TEST_CASE("a program's layout whose subgroup can have no history is refused before anybody joins") {
  GroupFixture fixture;
  const auto refusal = [&](const HistoryBounds& bounds, DeliveryMode mode) {
    GroupOptions options;
    options.layout = [&](const std::vector<NodeId>& nodes, const View*) {
      SubgroupView subgroup;
      subgroup.name = "orders";
      subgroup.members = subgroup.senders = nodes;
      subgroup.mode = mode;
      subgroup.history = bounds;
      subgroup.profile = {.ring_bytes = 1 << 16, .window_messages = 16, .message_bytes_max = 1000};
      return std::vector{subgroup};
    };
    const auto refused = thrown_by([&] { const Group group(fixture.config(0, 1), options); });
    if (!refused) return std::string("joined");
    CHECK(refused->kind() == ErrorKind::bad_argument);
    CHECK(refused->place() == "GroupOptions::layout");
    CHECK_FALSE(refused->fix().empty());
    return refused->message();
  };
  CHECK(refusal({.messages = 10}, DeliveryMode::ordered) == "joined");
  CHECK_THAT(refusal({.messages = 10}, DeliveryMode::unordered), Contains("keeps a history, and is unordered"));
  CHECK_THAT(refusal({.bytes = 1047}, DeliveryMode::ordered), Contains("has no room"));
  CHECK(refusal({.bytes = 1048}, DeliveryMode::ordered) == "joined");
  CHECK_THAT(refusal({.age_ms = 1000}, DeliveryMode::ordered), Contains("impossible bounds"));
}

}  // namespace spindrift
