// When a message has waited too long for this member's application, look by look.
#include <catch2/catch.hpp>

#include <spindrift/views/lag_watch.hpp>

using namespace spindrift;
using namespace spindrift::views;
using std::chrono::milliseconds;

namespace {

constexpr SubgroupId orders(0);

struct Watched {
  LagWatch watch{milliseconds(80)};  // a look each 10 ms
  Time now{};

  Watched() { watch.begin_view(2); }
  std::optional<Duration> look(std::uint64_t deliverable, std::uint64_t delivered, milliseconds later = milliseconds(10)) {
    now += later;
    watch.begin_look(now);
    return watch.look(orders, deliverable, delivered);
  }
};

}  // namespace

TEST_CASE("a message that waits for the whole of the patience lags, and not before") {
  Watched member;
  CHECK_FALSE(member.look(5, 4));
  for (int looks = 0; looks < 7; ++looks) CHECK_FALSE(member.look(9, 4));
  CHECK(member.look(9, 4) == milliseconds(80));
}

TEST_CASE("an application that is always behind, and delivers each message in time, does not lag") {
  Watched member;
  for (std::uint64_t at = 0; at < 1000; ++at) CHECK_FALSE(member.look(at + 7, at));
}

TEST_CASE("an application that delivers, but each message too late, lags") {
  Watched member;
  bool found = false;
  for (std::uint64_t at = 0; at < 20 && !found; ++at) found = member.look(at + 12, at).has_value();
  CHECK(found);
}

TEST_CASE("time between looks counts as an eighth of the patience, however long it was") {
  Watched member;
  CHECK_FALSE(member.look(5, 4));
  CHECK_FALSE(member.look(5, 4, std::chrono::hours(1)));
  for (int looks = 0; looks < 6; ++looks) CHECK_FALSE(member.look(5, 4));
  CHECK(member.look(5, 4));
}

TEST_CASE("a subgroup that is not judged for a while begins anew, and so do all in a new view") {
  Watched member;
  const bool new_view = GENERATE(true, false);
  for (int looks = 0; looks < 8; ++looks) CHECK_FALSE(member.look(5, 4));
  new_view ? member.watch.begin_view(2) : member.watch.pass_over(orders);
  for (int looks = 0; looks < 8; ++looks) CHECK_FALSE(member.look(5, 4));
  CHECK(member.look(5, 4));
}

TEST_CASE("subgroups are judged each by itself") {
  Watched member;
  for (int looks = 0; looks < 8; ++looks) CHECK_FALSE(member.look(5, 4));
  CHECK_FALSE(member.watch.look(SubgroupId(1), 3, 3));
  CHECK_FALSE(member.watch.look(SubgroupId(1), 9, 3));
  CHECK(member.look(5, 4));
  CHECK_FALSE(member.watch.look(SubgroupId(1), 9, 9));
}

TEST_CASE("looks are due an eighth of the patience apart, and never without patience") {
  Watched member;
  CHECK(member.watch.due(Time{}));
  static_cast<void>(member.look(0, 0));
  CHECK_FALSE(member.watch.due(member.now + milliseconds(9)));
  CHECK(member.watch.next_look() == member.now + milliseconds(10));
  CHECK(member.watch.due(member.now + milliseconds(10)));
  CHECK_FALSE(LagWatch(Duration{}).due(Time::max()));
}
