// Large messages and objects between hosts: every byte arrives, in one order, handed on by members where all rows are
// mirrored, and the loss of a member that had some to hand on loses none. SPINDRIFT_TEST_FABRIC names the fabric; else it is
// those that every machine has.
#include <catch2/catch.hpp>

#include <csignal>
#include <cstdlib>
#include <map>
#include <optional>

#include "../tools/command.hpp"
#include "object_fixture.hpp"

using namespace spindrift;

namespace {

constexpr std::uint64_t large_above = 4096;
constexpr std::uint64_t most = 64 << 10;
/// An emulated machine may not let a member run for long.
const std::string settings =
    "join_timeout_ms = 60000\nsuspect_after_ms = 3000\n[SUBGROUP/DEFAULT]\nmax_smc_payload_size = " + std::to_string(most) +
    "\nlarge_message_bytes = " + std::to_string(large_above) + "\nbulk_ring_bytes = 1 MiB\nring_size = 64 KiB\n";

std::vector<std::string> fabrics() {
  const char* const chosen = std::getenv("SPINDRIFT_TEST_FABRIC");
  if (chosen != nullptr) return {chosen};
  return {"tcp", "ofi:tcp", "vq:tcp", "shm+ofi:tcp"};
}
/// If some row may be mapped, senders write to everybody themselves.
bool hands_on(const std::string& fabric) { return !fabric.starts_with("shm"); }

std::uint64_t handed_on(const Group& group) {
  std::uint64_t sum = 0;
  for (const CounterValue& counter : group.counters()) sum += counter.name.ends_with(".large_handed_on") ? counter.value : 0;
  return sum;
}

constexpr std::uint64_t lengths[] = {most, 8, large_above, large_above + 1, most - 1, 1000, 3 * large_above};
constexpr std::uint64_t larger_than_limit = 4;  // of them

/// The deliveries of one member: each message's place among its sender's says what it should be.
struct Witness {
  std::vector<std::uint32_t> order;  ///< their senders
  std::map<std::uint32_t, std::uint64_t> counts;
  std::vector<std::byte> wanted;
  bool damaged = false;
  std::atomic<std::size_t> delivered{0};

  void keep(std::span<const Delivery> batch) {
    for (const Delivery& delivery : batch) {
      const std::uint32_t sender = delivery.sender.value();
      const std::uint64_t index = counts[sender]++;
      wanted.resize(lengths[index % std::size(lengths)]);
      fill_object(sender * 1000 + index, 0, wanted);
      damaged |= digest_of(wanted).words != digest_of(delivery.payload).words;
      order.push_back(sender);
    }
    delivered = order.size();
    delivered.notify_all();
  }
  void await(std::size_t all) const {
    for (std::size_t now = delivered; now < all; now = delivered) delivered.wait(now);
  }
};

}  // namespace

TEST_CASE(
    "messages around the limit of large ones arrive whole and in one order, each large one handed on once or not at all") {
  constexpr unsigned members = 3;
  constexpr std::uint64_t rounds = 12;
  constexpr std::uint64_t messages = rounds * std::size(lengths);  // of each
  const std::string fabric = GENERATE(from_range(fabrics()));
  GroupFixture fixture(fabric);
  auto groups = fixture.join(members, settings);
  std::vector<Witness> witnesses(members);
  for (unsigned i = 0; i < members; ++i)
    groups[i]->subgroup("orders").on_delivery([&witnesses, i](auto batch) { witnesses[i].keep(batch); });
  std::vector<std::thread> senders;
  for (std::uint32_t i = 0; i < members; ++i) {
    senders.emplace_back([&orders = groups[i]->subgroup("orders"), i] {
      for (std::uint64_t index = 0; index < messages; ++index) {
        orders.send(lengths[index % std::size(lengths)],
                    [&](std::span<std::byte> to) { fill_object(i * 1000 + index, 0, to); });
      }
    });
  }
  for (std::thread& sender : senders) sender.join();
  std::uint64_t relayed = 0;
  for (unsigned i = 0; i < members; ++i) {
    witnesses[i].await(members * messages);
    CHECK_FALSE(witnesses[i].damaged);
    CHECK(witnesses[i].order == witnesses[0].order);
    relayed += handed_on(*groups[i]);
  }
  CHECK(relayed == (hands_on(fabric) ? members * rounds * larger_than_limit : 0));
  leave_all(groups);
}

TEST_CASE("an object outlives a member that had pieces of it to hand on, and who comes after it hands on the next one") {
  constexpr std::uint64_t bytes = (12 << 20) + 13;
  const std::string fabric = GENERATE(from_range(fabrics()));
  GroupFixture fixture(fabric);
  const test::Command relay({fixture.file(0, 3, settings)});
  auto groups = fixture.join_from(1, 3, settings);
  Receiver sender(*groups[0]);
  Receiver witness(*groups[1]);
  const std::uint64_t piece = sender.channel().piece_bytes_max();
  std::optional<std::uint64_t> stopped_at;
  bool killed = false;
  sender.channel().send_object(bytes, [&](std::uint64_t offset, std::span<std::byte> to) {
    fill_object(1001, offset, to);
    if (!stopped_at && offset >= bytes / 2) {
      // Nothing is under way, so what follows has room, and needs no word from the member that stands still.
      sender.await_bytes(offset);
      witness.await_bytes(offset);
      relay.send_signal(SIGSTOP);
      stopped_at = offset;
    } else if (stopped_at && !killed && offset >= *stopped_at + 4 * piece) {
      relay.send_signal(SIGKILL);  // every second piece since was for it to hand on
      killed = true;
    }
  });
  CHECK(killed);
  for (Receiver* receiver : {&sender, &witness}) {
    const ObjectEnd end = receiver->await_end(0);
    CHECK(end.why == ObjectEnd::Why::complete);
    CHECK(end.bytes == bytes);
    CHECK(receiver->bytes() == bytes);
    CHECK_FALSE(receiver->damaged());
  }
  CHECK((handed_on(*groups[1]) > 0) == hands_on(fabric));

  groups.push_back(std::make_unique<Group>(fixture.config(0, 3, settings)));
  Receiver newcomer(*groups.back());
  CHECK(send(sender, 1, 2, bytes) == 2);
  for (Receiver* receiver : {&sender, &witness, &newcomer}) {
    const ObjectEnd end = receiver->await_end(receiver == &newcomer ? 0 : 1);
    CHECK(end.why == ObjectEnd::Why::complete);
    CHECK(end.object == 2);
    CHECK(end.bytes == bytes);
    CHECK_FALSE(receiver->damaged());
  }
  CHECK(newcomer.bytes() == bytes);
  CHECK((handed_on(*groups.back()) > 0) == hands_on(fabric));
  leave_all(groups);
}
