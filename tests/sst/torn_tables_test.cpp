// The program's tables while memory moves: before every read of a row the owner writes on, and behind every store another
// member looks. What a reader takes is one whole content each time, and never an older one than before.
#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <functional>
#include <random>
#include <utility>
#include <vector>

#include <spindrift/sst/program_tables.hpp>

using namespace spindrift;
using Found = sst::ProgramTableReader::Found;

namespace {

std::function<void()> meanwhile;  // what happens before a read and behind a store

/// Node 0 writes a table, node 1 reads its row in place.
class Neighbors {
 public:
  Neighbors() : lines_(2 * sst::RowLayout(view_, NodeId(0)).bytes() / sizeof(Line)), writer_(view_, NodeId(0), row(0)),
                other_(view_, NodeId(1), row(1)) {
    other_.attach_mapped(Rank(0), row(0));
    static_cast<void>(places_.add(words));
  }
  void write() {
    const std::vector<std::uint64_t> content(words, ++written_);
    sst::write_program_table(writer_, places_, 0, {digest_of("t"), digest_of("u"), words}, content);
    sst::tell_of_program_tables(writer_);
  }
  void look() {
    const Found found = reader_.look([&](const auto&, std::span<const std::uint64_t> content) {
      whole = whole && std::all_of(content.begin(), content.end(), [&](std::uint64_t word) { return word == content[0]; });
      whole = whole && content[0] > taken && content[0] <= written_;
      taken = content[0];
    });
    whole = whole && found != Found::impossible;
  }
  [[nodiscard]] std::uint64_t written() const { return written_; }
  bool whole = true;
  std::uint64_t taken = 0;

 private:
  static constexpr std::uint64_t words = 20;
  struct alignas(64) Line {
    std::array<std::uint64_t, 8> words{};
  };
  static View view() {
    View view;
    view.members = {NodeId(0), NodeId(1)};
    view.table_bytes = 1024;
    return view;
  }
  [[nodiscard]] std::span<std::byte> row(std::size_t which) {
    return std::as_writable_bytes(std::span(lines_).subspan(which * lines_.size() / 2, lines_.size() / 2));
  }

  const View view_ = view();
  std::vector<Line> lines_;
  sst::Table writer_;
  sst::Table other_;
  sst::ProgramTablePlaces places_{writer_.layout(Rank(0))};
  sst::ProgramTableReader reader_{other_, Rank(0)};
  std::uint64_t written_ = 0;
};

}  // namespace

void spindrift::torn::interleave() {
  if (const auto act = std::exchange(meanwhile, nullptr)) {  // not within itself
    act();
    meanwhile = act;
  }
}

TEST_CASE("a reader that the owner overtakes at any word takes whole contents alone, and in the end the last one") {
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    Neighbors two;
    const unsigned one_in = 1U << round % 7;
    two.write();
    meanwhile = [&] {
      if (random() % one_in == 0) two.write();
    };
    for (int i = 0; i < 20; ++i) two.look();
    meanwhile = nullptr;
    two.look();
    REQUIRE(two.whole);
    CHECK(two.taken == two.written());
  }
}

TEST_CASE("a reader that looks behind any store of the owner takes whole contents alone") {
  Neighbors two;
  meanwhile = [&] { two.look(); };
  for (int i = 0; i < 100; ++i) {
    two.write();
    CHECK(two.taken + 1 >= two.written());
  }
  meanwhile = nullptr;
  CHECK(two.whole);
  CHECK(two.taken == 100);
}
