// Objects that do not come to their end, or not at all members: their sender is killed, is killed and started again, leaves;
// a member joins midway, or takes nothing until the sender is long gone; the subgroup has too few members for a while.
#include <catch2/catch.hpp>

#include <csignal>
#include <future>
#include <thread>

#include "../tools/command.hpp"
#include "object_fixture.hpp"

using namespace spindrift;
using Why = ObjectEnd::Why;

namespace {

constexpr std::uint64_t mebibyte = 1 << 20;
constexpr std::uint64_t endless = std::uint64_t{1} << 40;  // bytes; no test waits for the last one

/// A moment that one thread waits for and another brings about.
class Moment {
 public:
  void come() { promise_.set_value(); }
  void wait() const { future_.wait(); }

 private:
  std::promise<void> promise_;
  std::shared_future<void> future_{promise_.get_future()};
};

/// The first object of node 0, whose second half waits for that moment.
void send_with_rest(Receiver& from, std::uint64_t bytes, const Moment& until) {
  from.channel().send_object(bytes, [&](std::uint64_t offset, std::span<std::byte> to) {
    if (offset >= bytes / 2) until.wait();
    fill_object(1, offset, to);
  });
}

}  // namespace

TEST_CASE("when a process is killed in the middle of its object, the others hear so behind the same piece, and go on") {
  GroupFixture fixture(GENERATE("shm", "tcp", "ofi:tcp"));
  const test::Command sender({fixture.file(0, 3, sizes), std::to_string(endless)});
  auto groups = fixture.join_from(1, 3, sizes);
  Receiver first(*groups[0]);
  Receiver second(*groups[1]);
  first.await_bytes(8 * mebibyte);
  second.await_bytes(8 * mebibyte);
  sender.send_signal(SIGKILL);
  for (Receiver* receiver : {&first, &second}) {
    const ObjectEnd end = receiver->await_end(0);
    CHECK(end.why == Why::sender_gone);
    CHECK(end.sender == NodeId(0));
    CHECK(end.bytes == receiver->bytes());  // nothing of it came behind its end
  }
  CHECK(first.bytes() == second.bytes());
  CHECK(send(first, 1, 1, 3 * mebibyte) == 1);
  for (Receiver* receiver : {&first, &second}) {
    CHECK(receiver->await_end(1).why == Why::complete);
    CHECK(receiver->ends() == 2);
    CHECK_FALSE(receiver->damaged());
  }
  leave_all(groups);
}

TEST_CASE("when a process is killed and started again, its next object is another, though it has the same number") {
  GroupFixture fixture;
  const std::string config = fixture.file(0, 3, sizes);
  std::optional<test::Command> sender;
  sender.emplace(std::vector{config, std::to_string(endless)});
  auto groups = fixture.join_from(1, 3, sizes);
  Receiver first(*groups[0]);
  Receiver second(*groups[1]);
  for (std::size_t start = 0; start < 3; ++start) {
    const std::uint64_t before = first.bytes();
    first.await_bytes(before + 3 * mebibyte);
    second.await_bytes(before + 3 * mebibyte);
    sender->send_signal(SIGKILL);
    sender.emplace(std::vector{config, std::to_string(endless)});
    for (Receiver* receiver : {&first, &second}) {
      const ObjectEnd end = receiver->await_end(start);
      CHECK(end.why == Why::sender_gone);
      CHECK(end.object == 1);
    }
    CHECK(first.await_end(start).bytes == second.await_end(start).bytes);
  }
  CHECK_FALSE(first.damaged());
  CHECK_FALSE(second.damaged());
  sender.reset();
  leave_all(groups);
}

TEST_CASE("when a member leaves in the middle of its object, its call says so, and the others hear that it is gone") {
  GroupFixture fixture;
  auto groups = fixture.join(3, sizes);
  Receiver leaver(*groups[0]);
  Receiver first(*groups[1]);
  Receiver second(*groups[2]);
  std::promise<ErrorKind> threw;
  std::thread sending([&] {
    try {
      send(leaver, 0, 1, endless);
    } catch (const Exception& failure) {
      threw.set_value(failure.error().kind());
    }
  });
  first.await_bytes(8 * mebibyte);
  groups[0]->leave();
  CHECK(threw.get_future().get() == ErrorKind::group_closed);
  sending.join();
  for (Receiver* receiver : {&first, &second}) {
    const ObjectEnd end = receiver->await_end(0);
    CHECK(end.why == Why::sender_gone);
    CHECK(end.bytes == leaver.bytes());  // who leaves has delivered all that it sent, and so have the others
    CHECK(end.bytes == receiver->bytes());
    CHECK_FALSE(receiver->damaged());
  }
  groups[1]->leave();
  groups[2]->leave();
}

TEST_CASE("who joins in the middle of an object hears so once, and gets the next one whole") {
  GroupFixture fixture;
  auto groups = fixture.join(3, sizes);
  Receiver sender(*groups[0]);
  Receiver witness(*groups[1]);
  groups[2]->leave();
  Moment joined;
  constexpr std::uint64_t bytes = 16 * mebibyte;
  std::thread sending([&] {
    send_with_rest(sender, bytes, joined);
    send(sender, 0, 2, bytes);
  });
  witness.await_bytes(bytes / 4);
  groups[2].reset();
  groups[2] = std::make_unique<Group>(fixture.config(2, 3, sizes));
  Receiver newcomer(*groups[2]);
  joined.come();
  sending.join();
  const ObjectEnd met = newcomer.await_end(0);
  CHECK(met.why == Why::met_midway);
  CHECK(met.object == 1);
  CHECK(met.bytes == 0);
  CHECK(newcomer.await_end(1).why == Why::complete);
  CHECK(newcomer.bytes() == bytes);
  for (Receiver* receiver : {&sender, &witness}) {
    CHECK(receiver->await_end(0).why == Why::complete);
    CHECK(receiver->await_end(1).why == Why::complete);
    CHECK(receiver->bytes() == 2 * bytes);
  }
  for (Receiver* receiver : {&sender, &witness, &newcomer}) CHECK_FALSE(receiver->damaged());
  leave_all(groups);
}

TEST_CASE("who looks at objects only when their sender is gone hears so too, behind the pieces that were kept for it") {
  GroupFixture fixture;
  test::Command sender({fixture.file(0, 3, sizes), std::to_string(endless)});
  Moment shrunk[2];
  std::atomic<int> seen{0};
  GroupOptions options;
  options.on_view = [&](const NewView& news) {
    if (news.view.members.size() == 2) shrunk[seen++].come();
  };
  auto groups = fixture.join_from(1, 3, sizes, options);
  Receiver early(*groups[0]);
  early.await_bytes(early.channel().piece_bytes_max());
  sender.send_signal(SIGKILL);
  shrunk[0].wait();
  shrunk[1].wait();
  Receiver late(*groups[1]);
  const ObjectEnd end = late.await_end(0);
  CHECK(end.why == Why::sender_gone);
  CHECK(end.bytes > 0);
  CHECK(end.bytes == late.bytes());
  CHECK(end.bytes == early.await_end(0).bytes);
  CHECK(send(early, 1, 1, 1000) == 1);
  CHECK(late.await_end(1).why == Why::complete);
  CHECK_FALSE(late.damaged());
  leave_all(groups);
}

TEST_CASE("an object outlives a time in which its subgroup has too few members") {
  GroupFixture fixture;
  GroupOptions options;
  Moment inadequate;
  std::atomic<bool> told{false};
  options.on_view = [&](const NewView& news) {
    if (!news.view.subgroups[0].inadequate.empty() && !told.exchange(true)) inadequate.come();
  };
  const LayoutFunction usual = value_or_throw(fixture.config(0, 3, sizes).layout_function());
  options.layout = [usual](const std::vector<NodeId>& members, const View* before) {
    std::vector<SubgroupView> subgroups = usual(members, before);
    SubgroupView& orders = subgroups[0];
    if (members.size() < 3) {
      orders.members.clear();
      orders.senders.clear();
      orders.inadequate = "three members are needed";
    }
    return subgroups;
  };
  auto groups = fixture.join_from(0, 3, sizes, options);
  Receiver sender(*groups[0]);
  Receiver witness(*groups[1]);
  std::optional<Receiver> third(std::in_place, *groups[2]);
  Moment returned;
  constexpr std::uint64_t bytes = 16 * mebibyte;
  std::thread sending([&] { send_with_rest(sender, bytes, returned); });
  witness.await_bytes(bytes / 4);
  groups[2]->leave();
  inadequate.wait();
  groups[2].reset();
  groups[2] = std::make_unique<Group>(fixture.config(2, 3, sizes), options);
  third.emplace(*groups[2]);
  returned.come();
  sending.join();
  for (Receiver* receiver : {&sender, &witness}) {
    const ObjectEnd end = receiver->await_end(0);
    CHECK(end.why == Why::complete);
    CHECK(end.bytes == bytes);
    CHECK_FALSE(receiver->damaged());
  }
  CHECK(third->await_end(0).why == Why::met_midway);
  leave_all(groups);
}
