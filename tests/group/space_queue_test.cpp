// One thread at a time goes on when a full ring has space again, and none waits for ever.
#include <functional>
#include <thread>

#include <catch2/catch.hpp>

#include <spindrift/group/space_queue.hpp>

namespace spindrift::group {
namespace {

constexpr Duration turn = SpaceQueue::turn_length;

Time at(Duration since_start) { return Time(std::chrono::seconds(1)) + since_start; }

void on_a_thread(const std::function<void()>& work) { std::thread(work).join(); }

SpaceQueue::Ticket prepare_on_a_thread(SpaceQueue& queue, Time now) {
  SpaceQueue::Ticket ticket{};
  on_a_thread([&] { ticket = queue.prepare(now); });
  return ticket;
}

}  // namespace

TEST_CASE("a queue in which nobody waits is never offered anything") {
  SpaceQueue queue;
  queue.offer(at({}));
  CHECK_FALSE(queue.has_waiters());
  CHECK(queue.next_offer() == never);
  queue.cancel(queue.prepare(at({})));
  CHECK_FALSE(queue.has_waiters());
  CHECK(queue.next_offer() == never);
}

TEST_CASE("the thread that finds the ring full first is woken whenever there is space, and no other") {
  SpaceQueue queue;
  const auto first = queue.prepare(at({}));
  const auto second = prepare_on_a_thread(queue, at({}));
  CHECK(first.where != second.where);
  CHECK(queue.next_offer() == never);  // the first waits, so space will wake it

  queue.offer(at({}));
  queue.wait(first);  // returns
  CHECK(queue.next_offer() == at(turn));

  const auto again = queue.prepare(at(turn - Duration(1)));
  CHECK(again.where == first.where);
  queue.cancel(again);
  queue.cancel(second);
}

TEST_CASE("who waits up to a time goes on then, and is told whether there was space") {
  SpaceQueue queue;
  const SystemClock clock;
  const Time limit = clock.now() + std::chrono::milliseconds(20);
  CHECK_FALSE(queue.wait(queue.prepare(at({})), limit));
  CHECK(clock.now() >= limit);
  CHECK_FALSE(queue.has_waiters());

  const auto offered = queue.prepare(at({}));
  queue.offer(at({}));
  CHECK(queue.wait(offered, limit));  // though the time is over
  const auto late = queue.prepare(at({}));
  std::thread poller([&] { queue.offer(at({})); });
  CHECK(queue.wait(late, clock.now() + std::chrono::minutes(10)));
  poller.join();
}

TEST_CASE("a thread whose turn is over goes behind the others, and hands the turn on") {
  SpaceQueue queue;
  const auto first = queue.prepare(at({}));
  const auto second = prepare_on_a_thread(queue, at({}));
  queue.offer(at({}));
  queue.wait(first);

  const auto behind = queue.prepare(at(turn));
  CHECK(behind.where == second.where);
  queue.wait(second);  // was woken by that
  SpaceQueue::Ticket in_front{};
  on_a_thread([&] { in_front = queue.prepare(at(turn)); });
  CHECK(in_front.where == first.where);
  queue.cancel(in_front);
  queue.cancel(behind);
}

TEST_CASE("a thread may try again without sleeping while nobody waits, or while it has the turn") {
  SpaceQueue queue;
  CHECK(queue.may_try_again(at({})));
  queue.cancel(queue.prepare(at({})));
  const auto behind = prepare_on_a_thread(queue, at({}));
  CHECK(queue.may_try_again(at(turn - Duration(1))));
  CHECK_FALSE(queue.may_try_again(at(turn)));
  bool another_may = true;
  on_a_thread([&] { another_may = queue.may_try_again(at({})); });
  CHECK_FALSE(another_may);
  queue.cancel(behind);
  CHECK(queue.may_try_again(at(turn)));
}

TEST_CASE("a thread whose turn was over while it ran does not take it from whom it was offered to") {
  SpaceQueue queue;
  queue.cancel(queue.prepare(at({})));
  const auto second = prepare_on_a_thread(queue, at({}));
  queue.offer(at(turn));
  const auto again = queue.prepare(at(turn));
  CHECK(again.where == second.where);
  queue.wait(second);  // was woken
  SpaceQueue::Ticket in_front{};
  on_a_thread([&] { in_front = queue.prepare(at(turn)); });
  CHECK(in_front.where != again.where);
  queue.cancel(in_front);

  queue.offer(at(2 * turn));  // and not for ever: it is the next
  queue.wait(again);
  CHECK(queue.prepare(at(2 * turn)).where == in_front.where);
}

TEST_CASE("a thread keeps the turn as long as nobody else wants it") {
  SpaceQueue queue;
  const auto first = queue.prepare(at({}));
  queue.cancel(first);
  const auto later = queue.prepare(at(10 * turn));
  CHECK(later.where == first.where);
  queue.cancel(later);
}

TEST_CASE("a thread that has the turn and does not come back holds up the others until its turn ends") {
  SpaceQueue queue;
  queue.cancel(queue.prepare(at({})));
  const auto behind = prepare_on_a_thread(queue, at({}));
  queue.offer(at(turn - Duration(1)));
  CHECK(queue.next_offer() == at(turn));
  queue.offer(at(turn));
  CHECK(queue.next_offer() == at(2 * turn));
  queue.wait(behind);  // was woken
}

TEST_CASE("a turn that was offered and not taken goes to the next") {
  SpaceQueue queue;
  queue.cancel(queue.prepare(at({})));
  const auto second = prepare_on_a_thread(queue, at({}));
  const auto third = prepare_on_a_thread(queue, at({}));
  queue.offer(at(turn));
  queue.cancel(second);  // has what it wanted
  CHECK(queue.next_offer() == at(2 * turn));
  queue.offer(at(2 * turn));
  queue.wait(third);
  CHECK(queue.next_offer() == never);
}

TEST_CASE("all who wait look again when the ring is closed") {
  SpaceQueue queue;
  const auto first = queue.prepare(at({}));
  const auto second = prepare_on_a_thread(queue, at({}));
  queue.let_all_go();
  queue.wait(first);
  queue.wait(second);
  CHECK_FALSE(queue.has_waiters());
}

}  // namespace spindrift::group
