// Views over shared memory: members die, come and come back while messages flow; everybody sees one history.
#include <catch2/catch.hpp>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <istream>
#include <iterator>
#include <mutex>
#include <ostream>

#include "group_fixture.hpp"

using namespace spindrift;

namespace {

/// The application of one member: the sum of all deliveries is its state.
class Application {
 public:
  explicit Application(const Config& config) {
    GroupOptions options;
    options.on_view = [this](const NewView& news) {
      std::lock_guard lock(mutex_);
      views_.push_back(news.view.members);
      changed_.notify_all();
    };
    group_ = std::make_unique<Group>(config, std::move(options));
    Subgroup& orders = group_->subgroup("orders");
    orders.on_state(
        [this](std::ostream& to) {
          std::lock_guard lock(mutex_);
          for (const std::string& line : lines_) to << line << '\n';
        },
        [this](std::istream& from) {
          std::lock_guard lock(mutex_);
          lines_.clear();
          for (std::string line; std::getline(from, line);) lines_.push_back(line);
        });
    orders.on_delivery([this](std::span<const Delivery> batch) {
      std::lock_guard lock(mutex_);
      for (const Delivery& delivery : batch) {
        lines_.emplace_back(reinterpret_cast<const char*>(delivery.payload.data()), delivery.payload.size());
      }
      changed_.notify_all();
    });
    group_->subgroup("ticks").on_delivery([](auto) {});
  }

  Group& group() { return *group_; }
  void send(const std::string& text) { group_->subgroup("orders").send(text); }
  std::vector<std::string> lines() {
    std::lock_guard lock(mutex_);
    return lines_;
  }
  void await_lines(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return lines_.size() >= count; });
  }
  void await_view(const std::vector<NodeId>& members) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return std::find(views_.begin(), views_.end(), members) != views_.end(); });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> lines_;
  std::vector<std::vector<NodeId>> views_;
  std::unique_ptr<Group> group_;
};

std::vector<std::unique_ptr<Application>> start(const GroupFixture& fixture, unsigned members) {
  std::vector<std::unique_ptr<Application>> all(members);
  std::vector<std::thread> joining;
  for (unsigned i = 0; i < members; ++i) {
    joining.emplace_back([&, i] { all[i] = std::make_unique<Application>(fixture.config(i, members)); });
  }
  for (std::thread& thread : joining) thread.join();
  return all;
}

}  // namespace

TEST_CASE("a member that leaves and comes back has everybody's state") {
  GroupFixture fixture(
      GENERATE("shm", "tcp", "shm+tcp", "ofi:tcp", "ofi:net", "vq:tcp", "vq:net", "shm+ofi:tcp", "shm+vq:tcp"));
  auto all = start(fixture, 3);
  for (int k = 0; k < 100; ++k) all[static_cast<unsigned>(k % 3)]->send("early " + std::to_string(k));
  all[2]->group().leave();
  all[2].reset();
  for (int k = 0; k < 100; ++k) all[0]->send("between " + std::to_string(k));
  all[0]->await_view({NodeId(0), NodeId(1)});
  all[2] = std::make_unique<Application>(fixture.config(2, 3));
  CHECK(all[2]->group().view().members == std::vector<NodeId>{NodeId(0), NodeId(1), NodeId(2)});
  for (unsigned i = 0; i < 3; ++i) all[i]->send("late " + std::to_string(i));
  for (auto& one : all) one->await_lines(203);
  CHECK(all[1]->lines() == all[0]->lines());
  CHECK(all[2]->lines() == all[0]->lines());
  for (auto& one : all) one->group().leave();
}

TEST_CASE("a node that a member cannot reach waits and says for whom, nobody goes for it, and reached it comes in") {
  GroupFixture fixture("tcp");
  const std::string extra = "founders = 0, 1\nsuspect_after_ms = 400\njoin_timeout_ms = 2500\n";
  const std::string pattern = fixture.addresses();
  const auto address_of = [&pattern](unsigned node) {
    return std::string(pattern).replace(pattern.find("<id>"), 4, std::to_string(node));
  };
  // Everybody calls node 0, and nobody knows where the other two are: not even the roster that node 0 founds with.
  const auto config = [&](unsigned node) {
    std::ifstream file(fixture.file(node, 3, extra));
    std::string text(std::istreambuf_iterator<char>(file), {});
    std::string list;
    for (unsigned other = 0; other < 3; ++other) {
      const bool known = other == 0 || other == node;
      list += (other == 0 ? "" : ", ") + std::to_string(other) + "@" + address_of(known ? other : 90 + other);
    }
    return value_or_throw(Config::parse(text.replace(text.find(pattern), pattern.size(), list), "test.cfg"));
  };
  std::unique_ptr<Application> zero;
  std::thread joining([&] { zero = std::make_unique<Application>(config(0)); });
  Application one(config(1));
  joining.join();
  const auto refused = thrown_by([&] { const Group two(config(2)); });
  REQUIRE(refused);
  CHECK(refused->to_string().find("has no connection with node 1") != std::string::npos);
  for (Application* each : {zero.get(), &one}) {
    CHECK(each->group().view().members == std::vector{NodeId(0), NodeId(1)});
    each->send("still here");
  }
  one.await_lines(2);
  static_cast<void>(zero->group().change_roster({{RosterChange::Kind::move, NodeId(1), address_of(1)}}));
  Application two(config(2));
  CHECK(two.group().view().members == std::vector{NodeId(0), NodeId(1), NodeId(2)});
  two.group().leave();
  one.group().leave();
  zero->group().leave();
}

TEST_CASE("messages flow over changes of the view, in order and once") {
  GroupFixture fixture;
  auto all = start(fixture, 3);
  std::atomic<bool> stop{false};
  std::vector<std::thread> senders;
  std::vector<unsigned> sent(2);
  for (unsigned i = 0; i < 2; ++i) {
    senders.emplace_back([&, i] {
      for (; !stop; ++sent[i]) all[i]->send(std::to_string(i) + " " + std::to_string(sent[i]));
    });
  }
  for (int round = 0; round < 5; ++round) {
    all[2]->group().leave();
    all[2].reset();
    all[2] = std::make_unique<Application>(fixture.config(2, 3));
  }
  stop = true;
  for (std::thread& sender : senders) sender.join();
  for (auto& one : all) one->await_lines(sent[0] + sent[1]);
  const auto lines = all[0]->lines();
  CHECK(lines.size() == sent[0] + sent[1]);
  CHECK(all[1]->lines() == lines);
  CHECK(all[2]->lines() == lines);
  std::vector<unsigned> next(2);
  for (const std::string& line : lines) {
    const unsigned sender = line[0] == '0' ? 0 : 1;
    CHECK(line == std::to_string(sender) + " " + std::to_string(next[sender]++));
  }
  for (auto& one : all) one->group().leave();
}
