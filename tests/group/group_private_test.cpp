// Private messages in real groups: nobody is removed because an application sends, and nothing is lost.
#include <catch2/catch.hpp>

#include <future>
#include <map>

#include "group_fixture.hpp"

using namespace spindrift;

namespace {

/// Private messages as one member gets them.
struct Post {
  std::atomic<std::size_t> count{0};
  std::atomic<bool> in_order{true};
  std::map<NodeId, std::uint64_t> next;  // the poller's

  void take(NodeId from, std::span<const std::byte> message) {
    std::uint64_t number = 0;
    std::memcpy(&number, message.data(), sizeof number);
    if (number != next[from]++) in_order = false;
    ++count;
    count.notify_all();
  }
  void await(std::size_t all) const {
    for (std::size_t now = count.load(); now < all; now = count.load()) count.wait(now);
  }
};

std::vector<std::byte> numbered(std::uint64_t number, std::size_t bytes) {
  std::vector<std::byte> message(bytes);
  std::memcpy(message.data(), &number, sizeof number);
  return message;
}

struct Members {
  explicit Members(std::size_t count) : posts(count), groups(count) {
    std::vector<std::thread> joining;
    for (unsigned i = 0; i < count; ++i) {
      joining.emplace_back([this, i, count] {
        GroupOptions options;
        options.on_private = [this, i](NodeId from, auto message) {
          if (on_private) on_private(NodeId(i));
          posts[i].take(from, message);
        };
        groups[i] = std::make_unique<Group>(fixture.config(i, static_cast<unsigned>(count)), options);
        for (const std::string& name : groups[i]->subgroup_names()) groups[i]->subgroup(name).on_delivery([](auto) {});
      });
    }
    for (std::thread& thread : joining) thread.join();
  }

  GroupFixture fixture;
  std::function<void(NodeId)> on_private;  // set before anything is sent
  std::vector<Post> posts;
  std::vector<std::unique_ptr<Group>> groups;
};

}  // namespace

TEST_CASE("private messages as fast as they go arrive all, in order, and nobody is removed") {
  constexpr unsigned members = 3;
  constexpr std::size_t each = 20'000;
  Members all(members);
  std::vector<std::thread> senders;
  for (unsigned from = 0; from < members; ++from) {
    senders.emplace_back([&, from] {
      for (std::uint64_t i = 0; i < each; ++i) {
        const auto message = numbered(i, i % 50 == 0 ? 60'000 : 60);
        for (unsigned to = 0; to < members; ++to) all.groups[from]->send_private(NodeId(to), message);
      }
    });
  }
  for (std::thread& sender : senders) sender.join();
  for (const Post& post : all.posts) {
    post.await(members * each);
    CHECK(post.in_order);
  }
  CHECK(all.groups[0]->view().members.size() == members);
  leave_all(all.groups);
}

TEST_CASE("private messages wait for a member that does not take them, and go on to the others") {
  Members all(3);
  std::promise<void> release;
  const std::shared_future<void> released = release.get_future().share();
  all.on_private = [&](NodeId at) {
    if (at == NodeId(1)) released.wait();
  };
  Group& sender = *all.groups[0];
  std::uint64_t sent = 0;
  while (sender.try_send_private(NodeId(1), numbered(sent, 60'000))) ++sent;
  CHECK(sent == Group::private_window_bytes / (60'000 + 264));
  for (std::uint64_t i = 0; i < 100; ++i) sender.send_private(NodeId(2), numbered(i, 60'000));
  all.posts[2].await(100);
  CHECK(all.posts[1].count == 0);
  std::thread waiter([&] { sender.send_private(NodeId(1), numbered(sent, 60'000)); });
  release.set_value();
  waiter.join();
  all.posts[1].await(sent + 1);
  CHECK(all.posts[1].in_order);
  CHECK(sender.view().members.size() == 3);
  leave_all(all.groups);
}

TEST_CASE("a message to a member that is gone waits for nothing, however much that one had not taken") {
  Members all(3);
  std::promise<void> release;
  const std::shared_future<void> released = release.get_future().share();
  all.on_private = [&](NodeId) {
    released.wait();
    throw std::runtime_error("that is too much");
  };
  Group& sender = *all.groups[0];
  std::uint64_t sent = 0;
  while (sender.try_send_private(NodeId(1), numbered(sent, 60'000))) ++sent;
  std::thread waiter([&] { sender.send_private(NodeId(1), numbered(sent, 60'000)); });
  release.set_value();
  CHECK_THROWS_AS(all.groups[1]->wait(), Exception);
  waiter.join();
  while (sender.view().rank_of(NodeId(1))) std::this_thread::yield();
  sender.send_private(NodeId(1), numbered(sent + 1, 60'000));
  all.groups[2]->leave();
  all.groups[0]->leave();
}

TEST_CASE("a handler that would have to wait for room for a private message is told so") {
  GroupFixture fixture;
  Group group(fixture.config(0, 1));
  Journal orders;
  std::uint64_t sent = 0;
  std::atomic<ErrorKind> refused{ErrorKind::unsupported};
  group.subgroup("ticks").on_delivery([](auto) {});
  group.subgroup("orders").on_delivery([&](auto batch) {
    try {
      for (;; ++sent) group.send_private(NodeId(0), numbered(sent, 60'000));
    } catch (const Exception& full) {
      refused = full.error().kind();
    }
    if (group.try_send_private(NodeId(0), numbered(sent, 60'000))) refused = ErrorKind::unsupported;
    orders.keep(batch);
  });
  group.subgroup("orders").send("fill");
  orders.await(1);
  CHECK(refused == ErrorKind::would_block);
  CHECK(sent == Group::private_window_bytes / (60'000 + 264));
  group.leave();
}

TEST_CASE("what was sent privately before a member leaves arrives, and afterwards it sends nothing") {
  Members all(3);
  for (std::uint64_t i = 0; i < 100; ++i) all.groups[0]->send_private(NodeId(1), numbered(i, 60'000));
  all.groups[0]->leave();
  all.posts[1].await(100);
  for (const bool may_wait : {true, false}) {
    try {
      if (may_wait) all.groups[0]->send_private(NodeId(1), numbered(0, 8));
      if (!may_wait) static_cast<void>(all.groups[0]->try_send_private(NodeId(1), numbered(0, 8)));
      FAIL("it was sent");
    } catch (const Exception& closed) {
      CHECK(closed.error().kind() == ErrorKind::group_closed);
    }
  }
  all.groups[1]->leave();
}

TEST_CASE("a receiver that is slower than its sender has all private messages when that has left") {
  for (int round = 0; round < 20; ++round) {
    const GroupFixture fixture;
    std::atomic<std::uint64_t> taken = 0;
    GroupOptions options;
    options.on_private = [&](NodeId, auto) {
      std::this_thread::sleep_for(std::chrono::microseconds(50 * (round % 4)));
      ++taken;
    };
    auto groups = fixture.join_from(0, 3, "", options);
    for (auto& group : groups) {
      for (const std::string& name : group->subgroup_names()) group->subgroup(name).on_delivery([](auto) {});
    }
    for (std::uint64_t i = 0; i < 60; ++i) groups[0]->send_private(NodeId(1), numbered(i, 30'000));
    groups[0]->leave();
    CHECK(taken == 60);
    leave_all(groups);
  }
}

TEST_CASE("a newcomer gets the private messages that a member sends on hearing of it") {
  GroupFixture fixture;
  std::vector<std::unique_ptr<Group>> groups(3);
  Post post;
  std::thread founding([&] {
    GroupOptions options;
    options.on_view = [&](const NewView& news) {
      for (const NodeId node : news.joined) {
        if (node == NodeId(2)) groups[1]->send_private(node, numbered(0, 60));
      }
    };
    groups[1] = std::make_unique<Group>(fixture.config(1, 3, "founders = 0,1\njoin_timeout_ms = 20000\n"), options);
  });
  groups[0] = std::make_unique<Group>(fixture.config(0, 3, "founders = 0,1\njoin_timeout_ms = 20000\n"));
  founding.join();
  GroupOptions options;
  options.on_private = [&](NodeId from, auto message) { post.take(from, message); };
  groups[2] = std::make_unique<Group>(fixture.config(2, 3, "founders = 0,1\njoin_timeout_ms = 20000\n"), options);
  post.await(1);
  CHECK(post.in_order);
  for (auto& group : groups) {
    for (const std::string& name : group->subgroup_names()) group->subgroup(name).on_delivery([](auto) {});
  }
  leave_all(groups);
}
