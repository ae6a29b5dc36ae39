// The program's tables in rows: what a reader takes is a whole content that the owner wrote, however the bytes come; and
// nothing that a row holds leads a reader out of it.
#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include <spindrift/sst/program_tables.hpp>

#include "../smc/null_fabric.hpp"

using namespace spindrift;
using sst::ProgramTableHead;
using sst::ProgramTablePlaces;
using sst::ProgramTableReader;
using Found = ProgramTableReader::Found;

namespace {

constexpr std::uint64_t table_bytes = 2048;

View two_members(std::uint64_t room = table_bytes) {
  View view;
  view.members = {NodeId(0), NodeId(1)};
  view.table_bytes = room;
  return view;
}

/// Zeroed memory for a row.
struct Memory {
  explicit Memory(const View& view) : lines(sst::RowLayout(view, NodeId(0)).bytes() / sizeof(Line)) {}
  struct alignas(64) Line {
    std::array<std::uint64_t, 8> words{};
  };
  [[nodiscard]] std::span<std::byte> span() { return std::as_writable_bytes(std::span(lines)); }
  void set(std::uint64_t offset, std::uint64_t value) { store_release(span().data() + offset, value); }
  [[nodiscard]] std::uint64_t get(std::uint64_t offset) { return load_acquire(span().data() + offset); }
  std::vector<Line> lines;
};

/// Writes wait here until the test lets them land, in their order, the words of each in any.
class SlowFabric final : public smc::NullFabric {
 public:
  Result<void> post(std::span<const fabric::Operation> operations) override {
    for (const fabric::Operation& each : operations) {
      for (std::uint64_t line = 0; line < each.bytes; line += 64) {
        Write& write = writes.emplace_back();
        write.offset = each.offset + line;
        std::memcpy(write.words.data(), each.local + line, 64);
      }
    }
    return {};
  }
  struct Write {
    std::uint64_t offset = 0;
    std::array<std::uint64_t, 8> words{};
  };
  std::vector<Write> writes;
};

ProgramTableHead head_of(std::string_view name, std::uint64_t words) { return {digest_of(name), digest_of("form"), words}; }

/// Two members: node 0 writes, node 1 has a mirror of its row.
struct Pair {
  Pair() : own_row(view), mirror(view), other_row(view) {
    reader_table.attach_mirrored(Rank(0), mirror.span(), fabric::PeerId(1), fabric::RegionKey(1));
  }
  void attach() { writer.attach_mirrored(Rank(1), other_row.span(), fabric::PeerId(2), fabric::RegionKey(2)); }
  void write(std::size_t position, const ProgramTableHead& head, std::uint64_t each) {
    const std::vector<std::uint64_t> content(head.words, each);
    sst::write_program_table(writer, places, position, head, content);
    sst::tell_of_program_tables(writer);
  }
  /// All that was posted lands, word by word, and after each `look` is called.
  template <class Look>
  void land(std::mt19937& random, Look&& look) {
    REQUIRE(writer.push(fabric));
    for (const SlowFabric::Write& write : fabric.writes) {
      std::array<std::size_t, 8> order{0, 1, 2, 3, 4, 5, 6, 7};
      std::shuffle(order.begin(), order.end(), random);
      for (const std::size_t word : order) {
        mirror.set(write.offset + 8 * word, write.words[word]);
        if (random() % looks_one_in == 0) look();
      }
    }
    fabric.writes.clear();
  }

  unsigned looks_one_in = 1;  // words that land
  View view = two_members();
  Memory own_row, mirror, other_row;
  sst::Table writer{view, NodeId(0), own_row.span()};
  sst::Table reader_table{view, NodeId(1), other_row.span()};
  ProgramTablePlaces places{writer.layout(Rank(0))};
  SlowFabric fabric;
};

}  // namespace

TEST_CASE("the program's tables lie behind the decree and before the rings, and none beyond the room that there is") {
  const View view = two_members();
  const sst::RowLayout layout(view, NodeId(0));
  CHECK(layout.table_versions() == table_bytes / sst::table_bytes_per_version);
  CHECK(layout.table_version(layout.table_versions() - 1) + 8 <= layout.control_bytes());
  CHECK(layout.table_area() >= layout.decree() + layout.decree_words() * 8);
  CHECK(layout.lines_end() == layout.table_area() + table_bytes);
  CHECK(layout.shared_bytes() >= layout.lines_end());
  CHECK(layout.tables() / 64 == 0);  // in a line that a late mirror is caught up with behind all of that

  ProgramTablePlaces places(layout);
  CHECK_FALSE(places.add(0));
  CHECK_FALSE(places.add(table_bytes));
  CHECK_FALSE(places.add(~std::uint64_t{0}));
  while (places.add(9)) {
    const std::size_t last = places.count() - 1;
    CHECK(places.content(last, 2) == places.head(last) + 64);
    CHECK(places.content(last, 1) == places.head(last) + 64 + 128);
    CHECK(places.content(last, 1) + 128 == places.next());
    CHECK(places.next() <= table_bytes);
  }
  CHECK(places.count() == table_bytes / (64 + 2 * 128));
  ProgramTablePlaces small(layout);
  while (small.add(1)) CHECK(small.next() <= table_bytes);
  CHECK(small.count() == layout.table_versions());
}

TEST_CASE("a view whose members have no room for tables has rows as ever") {
  View view = two_members();
  view.table_bytes = 0;
  const sst::RowLayout without(view, NodeId(0));
  CHECK(without.table_versions() == 0);
  CHECK(without.table_bytes() == 0);
  CHECK(without.lines_end() <= without.shared_bytes());
  ProgramTablePlaces none(without);
  CHECK_FALSE(none.add(1));
}

TEST_CASE("a reader never sees a mixture of two contents, whatever has landed, in a mirror attached late too") {
  const bool late = GENERATE(false, true);
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    Pair pair;
    pair.looks_one_in = round % 2 == 0 ? 1 : 30;  // so that news wait while more lands
    if (!late) pair.attach();
    ProgramTableReader reader(pair.reader_table, Rank(0));
    const std::array heads{head_of("large", 19), head_of("small", 2)};
    for (const ProgramTableHead& head : heads) REQUIRE(pair.places.add(head.words));
    std::array<std::uint64_t, 2> seen{}, written{};
    const auto look = [&] {
      const Found found = reader.look([&](const ProgramTableHead& head, std::span<const std::uint64_t> content) {
        const auto which = static_cast<std::size_t>(std::find(heads.begin(), heads.end(), head) - heads.begin());
        REQUIRE(which < 2);
        REQUIRE(content.size() == head.words);
        CHECK(std::all_of(content.begin(), content.end(), [&](std::uint64_t word) { return word == content[0]; }));
        CHECK(content[0] >= seen[which]);
        CHECK(content[0] <= written[which]);
        seen[which] = content[0];
      });
      REQUIRE(found != Found::impossible);
    };
    pair.write(0, heads[0], written[0] = 1);
    pair.write(1, heads[1], written[1] = 1);
    if (late) {
      for (int i = 0; i < 3; ++i) pair.write(0, heads[0], ++written[0]);
      pair.attach();
    }
    for (int i = 0; i < 5; ++i) {
      pair.land(random, look);
      look();
      CHECK(seen == written);
      for (int more = 0; more < 3; ++more) {  // each is a push of its own
        const std::size_t which = random() % 2;
        pair.write(which, heads[which], ++written[which]);
        REQUIRE(pair.writer.push(pair.fabric));
      }
    }
  }
}

TEST_CASE("a row that has not changed is not looked at again, and an unchanged table not taken again") {
  Pair pair;
  pair.attach();
  ProgramTableReader reader(pair.reader_table, Rank(0));
  std::mt19937 random(1);
  std::size_t taken = 0;
  const auto look = [&] { return reader.look([&](const auto&, auto) { ++taken; }); };
  CHECK(look() == Found::nothing);
  const std::array heads{head_of("a", 1), head_of("b", 1)};
  for (const ProgramTableHead& head : heads) REQUIRE(pair.places.add(head.words));
  pair.write(0, heads[0], 1);
  pair.write(1, heads[1], 1);
  pair.land(random, [] {});
  CHECK(look() == Found::contents);
  CHECK(taken == 2);
  CHECK(look() == Found::nothing);
  pair.write(1, heads[1], 2);
  pair.land(random, [] {});
  CHECK(look() == Found::contents);
  CHECK(taken == 3);
  CHECK_FALSE(pair.writer.news());
  REQUIRE(pair.writer.push(pair.fabric));
  CHECK(pair.fabric.writes.empty());  // a table at rest costs nothing
}

TEST_CASE("what no correct member writes into its tables is said once, and nothing is read out of the row") {
  Pair pair;
  const sst::RowLayout& layout = pair.reader_table.layout(Rank(0));
  ProgramTableReader reader(pair.reader_table, Rank(0));
  const auto look = [&] { return reader.look([](const auto&, auto) {}); };
  const std::uint64_t size = layout.table_area() + 4 * 8;
  pair.mirror.set(layout.tables(), 1);
  pair.mirror.set(layout.table_version(0), 2);
  SECTION("a size of 0") { CHECK(look() == Found::impossible); }
  SECTION("a size beyond the room") {
    pair.mirror.set(size, table_bytes / 8);
    CHECK(look() == Found::impossible);
  }
  SECTION("a size that wraps") {
    pair.mirror.set(size, ~std::uint64_t{0} - 7);
    CHECK(look() == Found::impossible);
  }
  SECTION("a version that falls") {
    pair.mirror.set(size, 3);
    CHECK(look() == Found::contents);
    pair.mirror.set(layout.table_version(0), 1);
    pair.mirror.set(layout.tables(), 2);
    CHECK(look() == Found::impossible);
  }
  SECTION("a count of changes that falls") {
    pair.mirror.set(size, 3);
    CHECK(look() == Found::contents);
    pair.mirror.set(layout.tables(), 0);
    CHECK(look() == Found::impossible);
  }
  CHECK_FALSE(reader.fault().empty());
  pair.mirror.set(layout.tables(), 9);
  CHECK(look() == Found::nothing);
}

TEST_CASE("a row of any words leads a reader nowhere but into the row") {
  std::mt19937_64 random(3);
  for (int round = 0; round < 2000; ++round) {
    Pair pair;
    const sst::RowLayout& layout = pair.reader_table.layout(Rank(0));
    ProgramTableReader reader(pair.reader_table, Rank(0));
    for (int change = 0; change < 4; ++change) {
      pair.mirror.set(layout.tables(), random() % 8);
      for (std::size_t i = 0; i < layout.table_versions(); ++i)
        pair.mirror.set(layout.table_version(i), random() % 3);
      for (std::uint64_t at = 0; at < table_bytes; at += 8) {
        const std::uint64_t word = random();
        pair.mirror.set(layout.table_area() + at, word % 2 == 0 ? word % 40 : word);
      }
      static_cast<void>(reader.look([&](const ProgramTableHead& head, std::span<const std::uint64_t> content) {
        CHECK(content.size() == head.words);
        CHECK(head.words <= table_bytes / 16);
      }));
    }
  }
}

TEST_CASE("a reader in place beside a writer that does not rest sees whole contents alone") {
  const View view = two_members(256 << 10);  // so much that a reader is overtaken now and then
  Memory row(view), other(view);
  sst::Table writer(view, NodeId(0), row.span());
  sst::Table reader_table(view, NodeId(1), other.span());
  reader_table.attach_mapped(Rank(0), row.span());
  constexpr std::uint64_t last_value = 3000;
  const ProgramTableHead head = head_of("large", 15'000);
  std::atomic<bool> over{false};
  std::thread writing([&] {
    ProgramTablePlaces places(writer.layout(Rank(0)));
    static_cast<void>(places.add(head.words));
    std::vector<std::uint64_t> content(head.words);
    for (std::uint64_t value = 1; value <= last_value; ++value) {
      std::fill(content.begin(), content.end(), value);
      sst::write_program_table(writer, places, 0, head, content);
      sst::tell_of_program_tables(writer);
    }
    over = true;
  });
  ProgramTableReader reader(reader_table, Rank(0));
  std::uint64_t last = 0;
  bool whole = true;
  for (bool done = false; !done;) {
    done = over;
    const Found found = reader.look([&](const ProgramTableHead&, std::span<const std::uint64_t> content) {
      whole = whole && content[0] >= last && std::all_of(content.begin(), content.end(), [&](std::uint64_t word) {
                return word == content[0];
              });
      last = content[0];
    });
    REQUIRE(found != Found::impossible);
  }
  writing.join();
  CHECK(whole);
  CHECK(last == last_value);
}
