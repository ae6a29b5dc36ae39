// Observers of real groups: what they get, what becomes of them when members go, and that whatever they do harms no member.
#include <spindrift/group/observer.hpp>

#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include <catch2/catch.hpp>

#include <spindrift/core/guarded_directory.hpp>
#include <spindrift/fabric/host_sockets.hpp>
#include <spindrift/fabric/shm/packet.hpp>
#include <spindrift/group/observer_calls.hpp>
#include <spindrift/group/observers.hpp>

#include "group_fixture.hpp"
#include "observer_watch.hpp"

using namespace spindrift;
using namespace std::chrono_literals;

TEST_CASE("an observer gets what the members deliver from its beginning on, and is no member") {
  const std::string fabric = GENERATE("shm", "tcp");
  CAPTURE(fabric);
  const GroupFixture fixture(fabric);
  auto groups = fixture.join(2);
  auto journals = keep_journals(groups);
  groups[0]->subgroup("orders").send("before");
  journals[0].await(1);
  journals[1].await(1);
  Watch watch(fixture.config(0, 2));
  watch.until_fed();
  for (int i = 0; i < 1000; ++i) groups[static_cast<std::size_t>(i % 2)]->subgroup("orders").send(std::to_string(i));
  groups[0]->subgroup("ticks").send("elsewhere");
  watch.until_lines(1000);
  journals[1].await(1001);
  CHECK(watch.lines == std::vector<std::string>(journals[1].lines.begin() + 1, journals[1].lines.end()));
  CHECK(std::is_sorted(watch.places.begin(), watch.places.end()));
  CHECK(watch.gaps.empty());
  CHECK(groups[0]->view().members.size() == 2);
  leave_all(groups);
}

TEST_CASE("when the member that feeds it leaves, an observer goes on with another, and knows what came in between") {
  const GroupFixture fixture;
  auto groups = fixture.join(3);
  auto journals = keep_journals(groups);
  Watch watch(fixture.config(0, 3));
  watch.until_fed();
  const auto send = [&](int from, int to) {
    for (int i = from; i < to; ++i) groups[0]->subgroup("orders").send(std::to_string(i));
  };
  follow_two_leavers(watch, groups, send);
  leave_all(groups);
}

TEST_CASE("an observer that is fed by another member before it got a message has missed nothing, and holds no inotify") {
  const auto inotify_instances = [] {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
      std::error_code gone;
      count += std::filesystem::read_symlink(entry.path(), gone).string().find("inotify") != std::string::npos ? 1 : 0;
    }
    return count;
  };
  const GroupFixture fixture;
  auto groups = fixture.join(2);
  auto journals = keep_journals(groups);
  for (int i = 0; i < 5; ++i) groups[0]->subgroup("orders").send("before");
  for (const Journal& journal : journals) journal.await(5);
  const std::size_t of_members = inotify_instances();
  Watch watch(fixture.config(0, 2));
  watch.until_fed();
  CHECK(inotify_instances() == of_members);
  const NodeId first = *watch.observer.source();
  groups[first.value()]->leave();
  watch.until([&] { return watch.observer.source() && watch.observer.source() != first; });
  groups[1 - first.value()]->subgroup("orders").send("first");
  watch.until_lines(1);
  CHECK(watch.gaps.empty());
  leave_all(groups);
}

TEST_CASE("an observer needs a handler, and an open descriptor") {
  const GroupFixture fixture;
  CHECK_THROWS_WITH(Observer(fixture.config(0, 1), "orders", {}), Catch::Contains("no on_message"));
  Watch watch(fixture.config(0, 1));
  CHECK_THROWS_WITH(watch.observer.wait(9999), Catch::Contains("not open"));
}

TEST_CASE("an observer that reads nothing holds up nobody, and then learns what it has missed") {
  const GroupFixture fixture;
  auto groups = fixture.join(2);
  auto journals = keep_journals(groups);
  Watch watch(fixture.config(0, 2));
  watch.until_fed();
  groups[0]->subgroup("orders").send("first");
  watch.until_lines(1);
  const std::string large(5000, 'x');
  constexpr std::size_t messages = 8000;  // 40 MB: five times what a feed holds
  for (std::size_t i = 0; i < messages; ++i) groups[0]->subgroup("orders").send(large);
  journals[0].await(messages + 1);
  journals[1].await(messages + 1);
  watch.until([&] { return watch.accounted() == messages + 1; });
  REQUIRE(watch.gaps.size() == 1);  // behind what the feed held
  CHECK(watch.gaps[0].after == watch.places.back());
  CHECK(watch.lines.size() > 500);
  const MessagePlace last = *watch.gaps[0].last;
  groups[0]->subgroup("orders").send("last");
  watch.until([&] { return watch.lines.back() == "0:last"; });
  CHECK(watch.gaps.size() == 1);
  CHECK(last < watch.places.back());
  leave_all(groups);
}

TEST_CASE("an observer that polls and never waits misses nothing, lap after lap") {
  const GroupFixture fixture;
  auto groups = fixture.join_from(0, 1, "join_timeout_ms = 20000\nobserver_bytes_per_s = 0\n");
  auto journals = keep_journals(groups);
  Watch watch(fixture.config(0, 1));
  watch.until_fed();
  const std::string large(5000, 'x');
  constexpr std::size_t messages = 5000;  // three laps of a feed
  for (std::size_t i = 1; i <= messages; ++i) {
    groups[0]->subgroup("orders").send(large);
    journals[0].await(i);
    while (watch.lines.size() < i && watch.gaps.empty()) watch.observer.poll();
    REQUIRE(watch.gaps.empty());
  }
  leave_all(groups);
}

TEST_CASE("an observer waits for members, says for whom, and gives up after join_timeout_ms") {
  const GroupFixture fixture;
  Watch watch(fixture.config(0, 1));
  CHECK(watch.observer.poll() == 0);
  CHECK_FALSE(watch.observer.source());
  CHECK_THAT(watch.observer.waits_for(), Catch::Contains("a member of group test on this host"));
  auto groups = fixture.join(1);
  auto journals = keep_journals(groups);
  watch.until_fed();
  CHECK(watch.observer.source() == NodeId(0));
  groups[0]->subgroup("orders").send("here");
  watch.until_lines(1);
  leave_all(groups);

  Watch nobody(fixture.config(0, 1, "join_timeout_ms = 100"));
  try {
    nobody.until([] { return false; });
    FAIL("it has found somebody");
  } catch (const Exception& thrown) {
    CHECK(thrown.error().kind() == ErrorKind::timed_out);
    CHECK_THAT(thrown.what(), Catch::Contains("waited 100 ms for a member of group test"));
  }
}

TEST_CASE("a subgroup that the group does not have is refused with those that it has") {
  const GroupFixture fixture;
  auto groups = fixture.join(1);
  Watch watch(fixture.config(0, 1), "order");
  try {
    watch.until_fed();
    FAIL("there is such a subgroup");
  } catch (const Exception& thrown) {
    CHECK(thrown.error().kind() == ErrorKind::bad_argument);
    CHECK_THAT(thrown.what(), Catch::Contains("no subgroup \"order\"; there are orders, ticks"));
  }
  leave_all(groups);
}

TEST_CASE("an observer of one member alone waits until that is in the subgroup") {
  const GroupFixture fixture;
  const std::string founders = "founders = 0\njoin_timeout_ms = 60000";
  Group zero(fixture.config(0, 2, founders));
  zero.subgroup("orders").on_delivery([](std::span<const Delivery>) {});
  zero.subgroup("ticks").on_delivery([](std::span<const Delivery>) {});
  Watch watch(fixture.config(0, 2, founders), "orders", {NodeId(1)});
  CHECK(watch.observer.poll() == 0);
  CHECK_THAT(watch.observer.waits_for(), Catch::StartsWith("node 1 of group test"));
  Group one(fixture.config(1, 2, founders));
  one.subgroup("orders").on_delivery([](std::span<const Delivery>) {});
  one.subgroup("ticks").on_delivery([](std::span<const Delivery>) {});
  watch.until_fed();
  zero.subgroup("orders").send("to both");
  watch.until_lines(1);
  one.leave();
  watch.until([&] { return !watch.observer.source(); });
  zero.leave();
}

TEST_CASE("callers that say what no observer says are cut off, too many are refused, and no member is harmed") {
  const GroupFixture fixture;
  auto groups = fixture.join(1);
  auto journals = keep_journals(groups);
  const auto directory = value_or_throw(GuardedDirectory::open(fixture.directory(), "test"));
  const auto call = [&] {
    auto socket = value_or_throw(fabric::call_in(directory, "0.observers"));
    REQUIRE(socket);
    return std::move(*socket);
  };
  const auto answer = [](const FileDescriptor& socket) {
    std::array<std::byte, group::observer_packet_bytes_max> buffer;
    pollfd wait{.fd = socket.get(), .events = POLLIN, .revents = 0};
    REQUIRE(::poll(&wait, 1, 60'000) == 1);
    const auto packet = fabric::shm::receive_packet(socket.get(), buffer);
    const bool came = packet.outcome == fabric::shm::Packet::Outcome::frame;
    return came ? group::decode_observer_packet(packet.bytes) : std::nullopt;
  };
  const auto say = [](const FileDescriptor& socket, std::span<const std::byte> bytes) {
    CHECK(fabric::shm::send_packet(socket.get(), bytes, {}, -1) == fabric::shm::SendOutcome::sent);
  };
  using group::ObserverCall;

  auto hello = group::encode({ObserverCall::hello, 0, {}, "orders"});
  std::vector<std::vector<std::byte>> wrong{std::vector<std::byte>(5), std::vector<std::byte>(2000, std::byte{0xff}), hello};
  wrong[2][2] = std::byte{0};                                          // another magic
  wrong.push_back(group::encode({ObserverCall::await, 0, {}, {}}));    // before it has a feed
  wrong.push_back(group::encode({ObserverCall::welcome, 1, {}, {}}));  // what members say
  for (const auto& bytes : wrong) {
    const FileDescriptor socket = call();
    say(socket, bytes);
    CHECK_FALSE(answer(socket));
  }
  {
    const FileDescriptor socket = call();
    auto later = hello;
    later[4] = std::byte{99};
    say(socket, later);
    const auto refused = answer(socket);
    REQUIRE(refused);
    CHECK(refused->call == ObserverCall::refused);
    CHECK(refused->number == static_cast<std::uint64_t>(group::ObserverRefusal::version));
  }
  {
    const FileDescriptor socket = call();
    say(socket, hello);
    std::array<std::byte, group::observer_packet_bytes_max> buffer;
    pollfd wait{.fd = socket.get(), .events = POLLIN, .revents = 0};
    REQUIRE(::poll(&wait, 1, 60'000) == 1);
    const auto packet = fabric::shm::receive_packet(socket.get(), buffer);
    REQUIRE(packet.descriptor);
    CHECK(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, packet.descriptor.get(), 0) == MAP_FAILED);
    CHECK(::ftruncate(packet.descriptor.get(), 0) != 0);
  }
  std::vector<FileDescriptor> silent;
  std::optional<group::ObserverPacket> refused;
  for (std::size_t i = 0; i < group::Observers::callers_max + 1; ++i) {
    silent.push_back(call());
    static_cast<void>(fabric::shm::send_packet(silent.back().get(), hello, {}, -1));  // it may be refused before
    const auto said = answer(silent.back());
    REQUIRE(said);
    if (said->call == ObserverCall::refused) refused = said;
    if (refused) break;
  }
  REQUIRE(refused);
  CHECK(refused->number == static_cast<std::uint64_t>(group::ObserverRefusal::full));
  silent.clear();
  Watch watch(fixture.config(0, 1));
  watch.until_fed();
  groups[0]->subgroup("orders").send("all is well");
  watch.until_lines(1);
  leave_all(groups);
}
