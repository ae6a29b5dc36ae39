// The bytes of a journal: what was written is read, and what was damaged, moved or never written is not.
#include <catch2/catch.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <spindrift/store/format.hpp>

using namespace spindrift;
using namespace spindrift::store;

namespace {

const EntryHead example_entry_head{
    EntryKind::message, SubgroupId(2), NodeId(1), ViewId(8), SequenceNumber(77), 1'700'000'000};
const SegmentSeal seal{digest_of("journal"), 7, 1234};
const LogEnds example_ends({{SubgroupId(2), LogVersion(41), ViewId(8), SequenceNumber(76), digest_of("two")},
                            {no_subgroup, LogVersion(3), ViewId(8), SequenceNumber(0), digest_of("none")}});

SegmentHead example_head() {
  return {seal, {digest_of("group"), NodeId(3)}, 16 * block_bytes, 5, JournalPosition(99), 2, log_ends_digest(example_ends)};
}

/// One sealed entry, last of its batch, with that payload.
Blocks example_entry(std::string_view payload) {
  const auto bytes = std::as_bytes(std::span(payload));
  const LogEnd before = example_ends.of(SubgroupId(2));
  Blocks entry(entry_bytes(bytes.size()));
  std::ranges::copy(bytes, entry.begin() + entry_head_bytes);
  const LogEnd end = seal_entry(entry, {JournalPosition(140), before.version, example_entry_head, bytes}, before, seal,
                                {JournalPosition(120), true});
  CHECK(end == end_behind(before, example_entry_head, before.version, bytes));
  return entry;
}

std::string text_of(std::span<const std::byte> bytes) {
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

}  // namespace

TEST_CASE("a segment's head and mark are read as they were written") {
  const HeadReading head = read_head(head_block(example_head()));
  REQUIRE(head.state == BlockState::whole);
  CHECK(head.head == example_head());
  SegmentHead signed_one = example_head();
  signed_one.format = SegmentFormat::with_signatures;
  CHECK(read_head(head_block(signed_one)).head == signed_one);
  CHECK(head_block(signed_one) != head_block(example_head()));
  const SegmentMark mark{3, JournalPosition(120), 6};
  const MarkReading reading = read_mark(mark_block(seal, mark), seal);
  REQUIRE(reading.state == BlockState::whole);
  CHECK(reading.mark == mark);
}

TEST_CASE("a bit that flips anywhere in a head's block or a mark's is noticed") {
  const SegmentMark mark{3, JournalPosition(120), 6};
  for (std::size_t bit = 0; bit < block_bytes * 8; ++bit) {
    Blocks head = head_block(example_head());
    head[bit / 8] ^= std::byte(1U << (bit % 8));
    REQUIRE(read_head(head).state != BlockState::whole);
    Blocks marked = mark_block(seal, mark);
    marked[bit / 8] ^= std::byte(1U << (bit % 8));
    REQUIRE(read_mark(marked, seal).state == BlockState::damaged);
  }
}

TEST_CASE("a head that was never written is blank, and one of a later version unknown") {
  CHECK(read_head(Blocks(block_bytes)).state == BlockState::blank);
  CHECK(read_mark(Blocks(block_bytes), seal).state == BlockState::blank);
  Blocks later = head_block(example_head());
  later[8] = std::byte{9};
  const HeadReading reading = read_head(later);
  CHECK(reading.state == BlockState::unknown);
  CHECK(reading.version == 9);
}

TEST_CASE("a head that says what no segment can be is damaged, whoever has digested it") {
  SegmentHead head = example_head();
  for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{4095}, 16 * block_bytes + 1,
                                    entries_at(2) - block_bytes, ~std::uint64_t{0}}) {
    head.bytes = bytes;
    CAPTURE(bytes);
    CHECK(read_head(head_block(head)).state == BlockState::damaged);
  }
  head.bytes = entries_at(2);
  CHECK(read_head(head_block(head)).state == BlockState::whole);
  head.bytes = std::uint64_t{1} << 40U;
  head.logs = logs_max;
  CHECK(read_head(head_block(head)).state == BlockState::whole);
  for (const std::uint64_t logs : {logs_max + 1, ~std::uint64_t{0}, (~std::uint64_t{0} / log_end_bytes) + 1}) {
    head.logs = logs;
    CHECK(read_head(head_block(head)).state == BlockState::damaged);
  }
  for (const std::uint64_t incarnation : {std::uint64_t{0}, ~std::uint64_t{0}}) {
    head = example_head();
    head.seal.incarnation = incarnation;
    CHECK(read_head(head_block(head)).state == BlockState::damaged);
  }
}

TEST_CASE("a mark of another segment, incarnation or journal does not count") {
  const Blocks mark = mark_block(seal, {3, JournalPosition(120), 6});
  for (const SegmentSeal& other : {SegmentSeal{seal.journal, 8, seal.incarnation}, SegmentSeal{seal.journal, 7, 1235},
                                   SegmentSeal{digest_of("other"), 7, seal.incarnation}})
    CHECK(read_mark(mark, other).state == BlockState::damaged);
}

TEST_CASE("an entry is read as it was written, whatever its size") {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{7}, std::size_t{8}, std::size_t{5000}}) {
    const std::string payload(size, 'x');
    const Blocks entry = example_entry(payload);
    CHECK(entry.size() == entry_bytes(size));
    const auto found = read_entry(entry, seal);
    REQUIRE(found);
    CHECK(found->entry.position == JournalPosition(140));
    CHECK(found->entry.version == LogVersion(41));
    CHECK(found->entry.head == example_entry_head);
    CHECK(text_of(found->entry.payload) == payload);
    CHECK(found->link_before == digest_of("two"));
    CHECK(found->end.version == LogVersion(42));
    CHECK(found->place.batch == JournalPosition(120));
    CHECK(found->place.last);
    CHECK(found->bytes == entry.size());
  }
}

TEST_CASE("ends of logs are read as they were written, and a copy that differs is none") {
  const Blocks copy = log_ends_blocks(example_ends);
  CHECK(copy.size() == log_ends_bytes(2));
  CHECK(read_log_ends(copy, example_head()) == example_ends);
  for (std::size_t byte = 0; byte < copy.size(); ++byte) {
    Blocks damaged = copy;
    damaged[byte] ^= std::byte{1};
    REQUIRE_FALSE(read_log_ends(damaged, example_head()));
  }
  CHECK(log_ends_blocks({}).empty());
}

TEST_CASE("the ends of logs are found by subgroup, and a log without an entry ends at its beginning") {
  LogEnds ends = example_ends;
  CHECK(ends.of(SubgroupId(2)).version == LogVersion(41));
  CHECK(ends.of(SubgroupId(1)) == LogEnd{SubgroupId(1), LogVersion(0), ViewId(0), SequenceNumber(0), Digest{}});
  ends.set({SubgroupId(1), LogVersion(9), ViewId(1), SequenceNumber(2), {}});
  ends.set({SubgroupId(2), LogVersion(42), ViewId(1), SequenceNumber(2), {}});
  REQUIRE(ends.all().size() == 3);
  CHECK(ends.all()[0].subgroup == SubgroupId(1));
  CHECK(ends.of(SubgroupId(2)).version == LogVersion(42));
}

TEST_CASE("a bit that flips anywhere in an entry is noticed, and so is its end if it is cut off") {
  const Blocks whole = example_entry("a payload of some bytes");
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    Blocks entry = whole;
    entry[bit / 8] ^= std::byte(1U << (bit % 8));
    REQUIRE_FALSE(read_entry(entry, seal));
  }
  for (std::size_t size = 0; size < whole.size(); ++size) REQUIRE_FALSE(read_entry(std::span(whole).first(size), seal));
}

TEST_CASE("an entry of another segment, incarnation or journal is none") {
  const Blocks entry = example_entry("payload");
  CHECK_FALSE(read_entry(entry, {seal.journal, 8, seal.incarnation}));
  CHECK_FALSE(read_entry(entry, {seal.journal, 7, 1235}));
  CHECK_FALSE(read_entry(entry, {digest_of("other"), 7, seal.incarnation}));
}

TEST_CASE("links differ where anything differs that all members have of an entry, and follow the ones before") {
  const auto payload = std::as_bytes(std::span("payload"));
  const LogEnd before = example_ends.of(SubgroupId(2));
  std::vector<Digest> links;
  const auto link = [&](auto change) {
    LogEnd end = before;
    EntryHead head = example_entry_head;
    LogVersion version = before.version;
    std::span<const std::byte> bytes = payload;
    change(end, head, version, bytes);
    links.push_back(end_behind(end, head, version, bytes).link);
  };
  link([](auto&...) {});
  link([](LogEnd& end, auto&...) { end.link = digest_of("other"); });
  link([](auto&, EntryHead& head, auto&...) { head.kind = EntryKind::view; });
  link([](auto&, EntryHead& head, auto&...) { head.subgroup = SubgroupId(3); });
  link([](auto&, EntryHead& head, auto&...) { head.sender = NodeId(2); });
  link([](auto&, EntryHead& head, auto&...) { head.view = ViewId(9); });
  link([](auto&, EntryHead& head, auto&...) { head.sequence = SequenceNumber(78); });
  link([](auto&, auto&, LogVersion& version, auto&) { version = LogVersion(42); });
  link([](auto&, auto&, auto&, std::span<const std::byte>& bytes) { bytes = bytes.first(3); });
  for (std::size_t i = 0; i < links.size(); ++i)
    for (std::size_t other = 0; other < i; ++other) CHECK_FALSE(links[i] == links[other]);
}

TEST_CASE("behind a base the log goes on from the version and the link that it names") {
  const LogEnd end{SubgroupId(2), LogVersion(500), ViewId(9), SequenceNumber(3), digest_of("theirs")};
  const EntryHead head{EntryKind::base, SubgroupId(2), NodeId(0), ViewId(9), SequenceNumber(3), 0};
  CHECK(end_behind(example_ends.of(SubgroupId(2)), head, LogVersion(500), std::as_bytes(std::span(end.link.words))) == end);
}

TEST_CASE("a segment's name says its number, and no other name does") {
  CHECK(segment_name(0) == "0000000000000000.segment");
  CHECK(segment_name(0xabcdef) == "0000000000abcdef.segment");
  CHECK(segment_number(segment_name(~std::uint64_t{0})) == ~std::uint64_t{0});
  for (const char* const name : {"", ".segment", "next.segment", "0.segment", "0000000000ABCDEF.segment", "lock",
                                 "0000000000abcdef.segmen", "0000000000abcdef.segment ", "-000000000abcdef.segment"})
    CHECK_FALSE(segment_number(name));
}
