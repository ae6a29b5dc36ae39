// The table: who hears what, and in which order it is posted.
#include <catch2/catch.hpp>

#include <vector>

#include <spindrift/sst/table.hpp>

using namespace spindrift;
using sst::Table;

namespace {

// Writes what is posted straight into the mirrors and remembers the order.
class RecordingFabric final : public fabric::Fabric {
 public:
  struct Posted {
    fabric::PeerId peer;
    std::uint64_t offset;
    std::uint64_t bytes;
    bool copied;
    const std::byte* local;
  };
  std::vector<Posted> posted;
  int notified = 0;
  fabric::Traits told;
  std::uint64_t waiting = 0;  // for each peer

  const fabric::Traits& traits() const noexcept override { return told; }
  std::uint64_t unsent_bytes(fabric::PeerId) const noexcept override { return waiting; }
  Result<fabric::Region> allocate(std::size_t, std::string_view) override { return unsupported(); }
  void release(fabric::RegionKey) override {}
  Result<void> listen(const fabric::Address&) override { return {}; }
  Result<void> connect(const fabric::Address&) override { return {}; }
  void disconnect(fabric::PeerId) override {}
  Result<void> expose(fabric::PeerId, fabric::RegionKey, fabric::Access) override { return {}; }
  Result<std::span<const std::byte>> map(fabric::PeerId, fabric::RegionKey) override { return unsupported(); }
  void unmap(fabric::PeerId, fabric::RegionKey) override {}
  Result<void> post(std::span<const fabric::Operation> operations) override {
    for (const auto& operation : operations) {
      posted.push_back({operation.peer, operation.offset, operation.bytes, operation.copied, operation.local});
    }
    return {};
  }
  std::size_t poll(std::span<fabric::Event>) override { return 0; }
  void notify() noexcept override { ++notified; }
  void prepare_sleep() noexcept override {}
  void sleep(Time) noexcept override {}
  void cancel_sleep() noexcept override {}
  void wake() noexcept override {}

 private:
  static Error unsupported() { return {ErrorKind::unsupported, "not needed here"}; }
};

struct Fixture {
  Fixture() {
    view.members = {NodeId(0), NodeId(1), NodeId(2)};
    SubgroupView all, pair;
    all.name = "all";
    all.members = all.senders = view.members;
    all.profile = {4096, 8, 512};
    pair = all;
    pair.name = "pair";
    pair.members = pair.senders = {NodeId(0), NodeId(2)};
    view.subgroups = {all, pair};
    own.resize(sst::RowLayout(view, NodeId(0)).bytes() + 64);
    one.resize(sst::RowLayout(view, NodeId(1)).bytes() + 64);
    two.resize(sst::RowLayout(view, NodeId(2)).bytes() + 64);
  }
  static std::span<std::byte> aligned(std::vector<std::byte>& memory) {
    void* at = memory.data();
    std::size_t space = memory.size();
    std::align(64, memory.size() - 64, at, space);
    return {static_cast<std::byte*>(at), memory.size() - 64};
  }
  View view;
  std::vector<std::byte> own, one, two;
  RecordingFabric fabric;
};

}  // namespace

TEST_CASE("a mirror attached late gets what was stored before: data, then guards, then the guards' guard") {
  Fixture f;
  Table table(f.view, NodeId(0), Fixture::aligned(f.own));
  const sst::RowLayout& layout = table.layout(Rank(0));
  table.store(layout.suspected(0), 2, Table::everybody);
  table.store(layout.wedged(), 1, Table::everybody);
  table.store(layout.subgroup(SubgroupId(0))->received_of, 7, Table::everybody);
  REQUIRE(table.push(f.fabric));
  CHECK(f.fabric.posted.empty());
  table.attach_mirrored(Rank(2), Fixture::aligned(f.two), fabric::PeerId(22), fabric::RegionKey(2));
  REQUIRE(table.push(f.fabric));
  REQUIRE(f.fabric.posted.size() == 3);
  CHECK(f.fabric.posted[0].offset == layout.subgroup(SubgroupId(0))->received_of);
  CHECK(f.fabric.posted[1].offset == 0);
  CHECK(f.fabric.posted[2].offset == 64);
  for (const auto& posted : f.fabric.posted) CHECK(posted.copied);
}

TEST_CASE("the backlog is of those members of a subgroup that have mirrors, and so is what sockets take") {
  Fixture f;
  f.fabric.told.buffered_bytes = 100;
  f.fabric.waiting = 7;
  Table table(f.view, NodeId(0), Fixture::aligned(f.own));
  table.attach_mapped(Rank(1), Fixture::aligned(f.one));
  CHECK(table.backlog(f.fabric, SubgroupId(0)).buffered_bytes == 0);
  table.attach_mirrored(Rank(2), Fixture::aligned(f.two), fabric::PeerId(22), fabric::RegionKey(2));
  const Table::Backlog backlog = table.backlog(f.fabric, SubgroupId(0));
  CHECK(backlog.mirrors == 1);
  CHECK(backlog.unsent_bytes == 7);
  CHECK(backlog.buffered_bytes == 100);
}

TEST_CASE("a push posts ring bytes, then words, then activity, to the members of the subgroup alone") {
  Fixture f;
  Table table(f.view, NodeId(0), Fixture::aligned(f.own));
  table.attach_mirrored(Rank(1), Fixture::aligned(f.one), fabric::PeerId(11), fabric::RegionKey(1));
  table.attach_mirrored(Rank(2), Fixture::aligned(f.two), fabric::PeerId(22), fabric::RegionKey(2));
  const SubgroupId pair(1);
  const sst::SubgroupBlock block = *table.layout(Rank(0)).subgroup(pair);
  REQUIRE(table.push(f.fabric));
  CHECK(f.fabric.posted.empty());  // the mirrors begin as zeros, and so does the row

  table.bump_activity(pair);  // staged first, posted last
  table.store(block.committed, 3, Table::members_of(pair));
  table.stage_ring(pair, 0, 24);
  REQUIRE(table.push(f.fabric));

  REQUIRE(f.fabric.posted.size() == 4);
  CHECK(f.fabric.posted[0].peer == fabric::PeerId(11));  // node 1 hears of the activity only
  CHECK(f.fabric.posted[0].offset == table.layout(Rank(0)).activity(pair) / 64 * 64);
  CHECK(f.fabric.posted[1].peer == fabric::PeerId(22));
  CHECK(f.fabric.posted[1].offset == block.ring);
  CHECK(f.fabric.posted[1].bytes == 24);
  CHECK_FALSE(f.fabric.posted[1].copied);
  CHECK(f.fabric.posted[2].offset == block.committed / 64 * 64);
  CHECK(f.fabric.posted[2].copied);
  CHECK(f.fabric.posted[3].offset == table.layout(Rank(0)).activity(pair) / 64 * 64);
  CHECK(f.fabric.notified == 2);  // the attaching and the storing
}

TEST_CASE("mapped peers cost no post, and a push without news does nothing") {
  Fixture f;
  Table table(f.view, NodeId(0), Fixture::aligned(f.own));
  table.attach_mapped(Rank(1), Fixture::aligned(f.one));
  table.attach_mapped(Rank(2), Fixture::aligned(f.two));
  REQUIRE(table.push(f.fabric));
  CHECK(f.fabric.notified == 0);

  table.store(table.layout(Rank(0)).phase(), 1, Table::everybody);
  REQUIRE(table.push(f.fabric));
  CHECK(f.fabric.posted.empty());
  CHECK(f.fabric.notified == 1);
  CHECK(table.own(table.layout(Rank(0)).phase()) == 1);
}

TEST_CASE("a peer's word is read from its row, in place or mirrored alike") {
  Fixture f;
  Table table(f.view, NodeId(0), Fixture::aligned(f.own));
  const auto one = Fixture::aligned(f.one);
  const auto two = Fixture::aligned(f.two);
  table.attach_mapped(Rank(1), one);
  table.attach_mirrored(Rank(2), two, fabric::PeerId(5), fabric::RegionKey(6));
  store_release(one.data() + table.layout(Rank(1)).phase(), 2);
  store_release(two.data() + table.layout(Rank(2)).phase(), 3);
  CHECK(table.read(Rank(1), table.layout(Rank(1)).phase()).within(0, 9) == 2);
  CHECK(table.read(Rank(2), table.layout(Rank(2)).phase()).within(0, 9) == 3);
  CHECK(table.read(Rank(2), table.layout(Rank(2)).phase()).within(4, 9) == std::nullopt);
}

TEST_CASE("a ring that is split off is read where it is mapped, and in its row's mirror where it is not") {
  Fixture f;
  const SubgroupId pair(1);
  f.view.subgroups[0].profile.split_rows = f.view.subgroups[1].profile.split_rows = true;
  const std::uint64_t shared = sst::RowLayout(f.view, NodeId(0)).shared_bytes();
  Table table(f.view, NodeId(0), Fixture::aligned(f.own).first(shared));
  CHECK(table.own_ring(pair).empty());
  std::vector<std::byte> own(4096), mapped(4096);
  table.set_own_ring(pair, own);
  CHECK(table.own_ring(pair).data() == own.data());
  CHECK(table.ring(Rank(0), pair) == own.data());

  table.attach_ring(Rank(2), pair, mapped);
  CHECK_FALSE(table.attached(Rank(2)));
  table.attach_mapped(Rank(2), Fixture::aligned(f.two).first(table.layout(Rank(2)).shared_bytes()));
  CHECK(table.ring(Rank(2), pair) == mapped.data());

  const auto mirror = Fixture::aligned(f.one);
  table.attach_mirrored(Rank(1), mirror, fabric::PeerId(11), fabric::RegionKey(1));
  CHECK(table.ring(Rank(1), SubgroupId(0)) == mirror.data() + table.layout(Rank(1)).subgroup(SubgroupId(0))->ring);
}

TEST_CASE("bytes of a ring that is split off are pushed to the ring's place in a mirror") {
  Fixture f;
  const SubgroupId pair(1);
  f.view.subgroups[1].profile.split_rows = true;
  Table table(f.view, NodeId(0), Fixture::aligned(f.own));
  std::vector<std::byte> ring(4096);
  table.set_own_ring(pair, ring);
  table.attach_mirrored(Rank(1), Fixture::aligned(f.one), fabric::PeerId(11), fabric::RegionKey(1));
  table.attach_mirrored(Rank(2), Fixture::aligned(f.two), fabric::PeerId(22), fabric::RegionKey(2));
  table.stage_ring(pair, 40, 24);
  table.stage_ring(SubgroupId(0), 8, 16);
  REQUIRE(table.push(f.fabric));
  REQUIRE(f.fabric.posted.size() == 3);
  CHECK(f.fabric.posted[0].peer == fabric::PeerId(11));  // of the ring that is in the row
  CHECK(f.fabric.posted[0].local == table.own_ring(SubgroupId(0)).data() + 8);
  CHECK(f.fabric.posted[1].peer == fabric::PeerId(22));
  CHECK(f.fabric.posted[1].local == ring.data() + 40);
  CHECK(f.fabric.posted[1].offset == table.layout(Rank(0)).subgroup(pair)->ring + 40);
  CHECK(f.fabric.posted[1].bytes == 24);
}
