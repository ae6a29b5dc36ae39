// The judge of what members delivered finds everything that can be wrong with it, and nothing else.
#include <catch2/catch.hpp>

#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <spindrift/bench/delivered_record.hpp>

using namespace spindrift;
using namespace spindrift::bench;

namespace {

/// Three members: 0 and 1 in views 0 and 1, and 2 in view 1 alone.
class Members {
 public:
  Members() {
    for (auto& record : records_) record = std::make_unique<DeliveredRecord>();
    begin(0, 0, {0, 1});
    begin(1, 0, {0, 1});
  }

  void begin(std::size_t member, std::uint32_t view, const std::vector<std::uint32_t>& nodes) {
    std::vector<NodeId> ids;
    for (const std::uint32_t node : nodes) ids.emplace_back(node);
    CHECK(records_[member]->begin_view(ViewId(view), ids));
  }
  void begin_second_view() {
    for (std::size_t member = 0; member < 3; ++member) begin(member, 1, {0, 1, 2});
  }

  void deliver(std::size_t member, std::uint32_t sender, std::uint64_t number) {
    std::array<std::byte, 64> payload{};
    stamp(payload, NodeId(sender), number);
    deliver_bytes(member, sender, payload);
  }
  void deliver_bytes(std::size_t member, std::uint32_t sender, std::span<const std::byte> payload) {
    records_[member]->add({NodeId(sender), SenderRank(sender), MessageIndex(0), SequenceNumber(0), payload});
  }
  void deliver_everywhere(std::uint32_t sender, std::uint64_t number, std::size_t members = 2) {
    for (std::size_t member = 0; member < members; ++member) deliver(member, sender, number);
  }
  void sent(std::size_t member, std::uint64_t count) { records_[member]->sent = count; }
  [[nodiscard]] std::uint64_t delivered(std::size_t member) const { return records_[member]->delivered(); }

  [[nodiscard]] std::vector<std::string> broken() const {
    return broken_promises(std::array<const DeliveredRecord*, 3>{records_[0].get(), records_[1].get(), records_[2].get()});
  }
  [[nodiscard]] bool is_broken(const std::string& words) const {
    for (const std::string& each : broken()) {
      if (each.find(words) != std::string::npos) return true;
    }
    return false;
  }

 private:
  std::array<std::unique_ptr<DeliveredRecord>, 3> records_;
};

}  // namespace

TEST_CASE("members that delivered the same in each view broke no promise, from a newcomer's first view on") {
  Members members;
  for (std::uint64_t number = 1; number <= 3; ++number) members.deliver_everywhere(0, number);
  members.deliver_everywhere(1, 1);
  members.begin_second_view();
  members.deliver_everywhere(0, 4, 3);
  members.deliver_everywhere(2, 1, 3);
  members.deliver_everywhere(1, 2, 3);
  members.sent(0, 4);
  members.sent(1, 2);
  members.sent(2, 1);
  CHECK(members.broken().empty());
  CHECK(members.delivered(0) == 7);
  CHECK(members.delivered(2) == 3);
}

TEST_CASE("a message that is lost at one member is found, within a view and between two") {
  Members members;
  members.deliver_everywhere(0, 1);
  members.deliver(0, 0, 2);
  if (GENERATE(false, true)) members.begin_second_view();
  members.deliver_everywhere(0, 3);
  members.sent(0, 3);
  CHECK(members.is_broken("member 1 delivered, in view"));
  CHECK(members.is_broken("message 3 of node 0 where 2 was due: 1 lost"));
  CHECK(members.is_broken("members 0 and 1 delivered different sequences in view 0"));
}

TEST_CASE("a message that is lost at all members is found, be it the first, the last or one between") {
  Members members;
  const std::uint64_t lost = GENERATE(1, 2, 3);
  for (std::uint64_t number = 1; number <= 3; ++number) {
    if (number != lost) members.deliver_everywhere(0, number);
  }
  members.sent(0, 3);
  CHECK(members.is_broken(lost == 1   ? "nothing of node 0 before message 2"
                          : lost == 2 ? "where 2 was due: 1 lost"
                                      : "2 as the last message of node 0, which sent 3"));
}

TEST_CASE("a message that a newcomer lost at its beginning is found by its view's digest") {
  Members members;
  members.deliver_everywhere(0, 1);
  members.begin_second_view();
  members.deliver_everywhere(0, 2);
  members.deliver_everywhere(0, 3, 3);
  members.sent(0, 3);
  CHECK(members.broken().size() == 1);
  CHECK(members.is_broken("members 0 and 2 delivered different sequences in view 1, of 2 and 1 messages"));
}

TEST_CASE("messages that are doubled, swapped or damaged are found, at all members alike") {
  Members members;
  members.deliver_everywhere(0, 1);
  SECTION("doubled") {
    members.deliver_everywhere(0, 1);
    members.sent(0, 1);
    CHECK(members.is_broken("message 1 of node 0 where 2 was due: doubled, or out of order"));
  }
  SECTION("swapped") {
    members.deliver_everywhere(0, 3);
    members.deliver_everywhere(0, 2);
    members.sent(0, 3);
    CHECK(members.is_broken("message 3 of node 0 where 2 was due: 1 lost, and 1 more"));
  }
  SECTION("damaged") {
    std::array<std::byte, 64> payload{};
    stamp(payload, NodeId(0), 2);
    payload[GENERATE(0U, 63U)] ^= std::byte{4};
    for (const std::size_t member : {0U, 1U}) members.deliver_bytes(member, 0, payload);
    members.sent(0, 2);
    CHECK(members.is_broken("a payload of node 0 that is not as it was sent"));
  }
  SECTION("another's") {
    std::array<std::byte, 64> payload{};
    stamp(payload, NodeId(1), 2);
    for (const std::size_t member : {0U, 1U}) members.deliver_bytes(member, 0, payload);
    members.sent(0, 2);
    CHECK(members.is_broken("a payload of node 0 that is not as it was sent"));
  }
}

TEST_CASE("members that delivered all messages, of two senders in different orders, are found") {
  Members members;
  members.deliver(0, 0, 1);
  members.deliver(0, 1, 1);
  members.deliver(1, 1, 1);
  members.deliver(1, 0, 1);
  members.sent(0, 1);
  members.sent(1, 1);
  CHECK(members.broken().size() == 1);
  CHECK(members.is_broken("members 0 and 1 delivered different sequences in view 0, of 2 and 2 messages"));
}

TEST_CASE("members that name other members of a view are found, and views beyond the record are refused") {
  Members members;
  members.begin(0, 1, {0, 1, 2});
  members.begin(1, 1, {0, 1});
  CHECK(members.is_broken("members 0 and 1 disagree on who is in view 1"));
  DeliveredRecord record;
  CHECK_FALSE(record.begin_view(ViewId(recorded_views_max), {}));
  CHECK_FALSE(record.begin_view(ViewId(0), std::array{NodeId(recorded_nodes_max)}));
}

TEST_CASE("what was sent after a member had left is not asked of it") {
  Members members;
  members.deliver_everywhere(0, 1);
  members.begin(0, 1, {0});
  members.deliver(0, 0, 2);
  members.sent(0, 2);
  CHECK(members.broken().empty());
}
