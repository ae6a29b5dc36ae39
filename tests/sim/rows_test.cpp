// The checkers of rows find what they are for: rows and mirrors written by hand, each with one violation.
#include <catch2/catch.hpp>

#include <cstring>

#include <spindrift/core/untrusted.hpp>
#include <spindrift/smc/record.hpp>

#include "books.hpp"

namespace spindrift::sim {
namespace {

/// The second process has a mirror of the first one's row; the test says what of it has come.
struct Mirrored {
  Mirrored() : mirror(books.memory[0].size()) { books.rows.on_mirror(mirror.data(), ViewId(0), 1); }
  void bring(std::uint64_t offset, std::uint64_t bytes) {
    std::memcpy(mirror.data() + offset, books.memory[0].data() + offset, bytes);
  }
  /// The line of this word lands.
  void land(std::uint64_t word) {
    const std::uint64_t line = word / 64 * 64;
    bring(line, 64);
    books.rows.on_landed({0, 1, books.memory[0].data() + line, mirror.data(), line, 64, true}, line, 64);
  }
  /// The first sender publishes one more message, all of one length.
  void send(std::uint32_t length) {
    const sst::SubgroupBlock& block = books.block(0);
    const std::uint64_t number = books.get(0, block.committed);
    const std::uint64_t at = block.ring + number * smc::record_bytes(length);
    books.set(0, at, smc::RecordHeader{length, smc::RecordKind::data, number}.encode());
    for (std::uint64_t word = 8; word < smc::record_bytes(length); word += 8) books.set(0, at + word, number + word);
    books.set(0, block.committed, number + 1);
  }

  Books books;
  std::vector<std::byte> mirror;
};

}  // namespace

TEST_CASE("a word of the own row that falls is found (S2)") {
  Books books;
  books.set(0, books.layouts[0].heartbeat(), 5);
  books.rows.after_step(0);
  books.set(0, books.layouts[0].heartbeat(), 4);
  books.rows.after_step(0);
  CHECK(books.found() == "S2");
}

TEST_CASE("a count that grows after the wedge is found (V9)") {
  Books books;
  books.set(1, books.layouts[1].wedged(), 1);
  books.set(1, books.block(1).received_of, 3);
  books.rows.after_step(1);
  CHECK(books.found() == "nothing");
  books.set(1, books.block(1).received_of, 4);
  books.rows.after_step(1);
  CHECK(books.found() == "V9");
}

TEST_CASE("a view that ends without a majority's consent is found (V4)") {
  Books books(4);
  for (std::uint32_t i = 0; i < 3; ++i) {
    books.set(i, books.layouts[i].accepted(), 1);
    books.set(i, books.layouts[i].decree(), i < 2 ? 42 : 43);
  }
  books.rows.check_quorum(books.view);
  CHECK(books.found() == "V4");
}

TEST_CASE("a ballot that no rank has is found (V12)") {
  Books books;
  books.set(0, books.layouts[0].accepted(), 4);
  books.rows.after_step(0);
  CHECK(books.found() == "V12");
}

TEST_CASE("a delivery that one member had not acknowledged is found (M5w)") {
  Books books;
  for (std::uint32_t i = 0; i < 2; ++i) books.set(i, books.block(i).received, 7);
  books.rows.on_delivered(books.view, 0, 0, 6);
  CHECK(books.found() == "M5w");
}

TEST_CASE("words that a row never had are found when they land (S1)") {
  Books books;
  std::vector<std::byte> mirror(books.memory[0].size());
  books.rows.on_mirror(mirror.data(), ViewId(0), 1);
  std::vector<std::byte> line(64);
  store_release(line.data(), 9);
  NetworkListener::Write write{0, 1, line.data(), mirror.data(), 0, 64, true};
  books.rows.on_landing(write, 0, line.data(), 64);
  CHECK(books.found() == "S1");
}

TEST_CASE("a word of a mirror that falls is found when it lands (S2)") {
  Books books;
  books.set(0, books.layouts[0].heartbeat(), 9);
  std::vector<std::byte> mirror = books.memory[0];
  books.rows.on_mirror(mirror.data(), ViewId(0), 1);
  std::vector<std::byte> line(64);
  NetworkListener::Write write{0, 1, line.data(), mirror.data(), 0, 64, true};
  books.rows.on_landing(write, 0, line.data(), 64);
  CHECK(books.found() == "S2");
}

TEST_CASE("a write of one view into memory of another is found (V11)") {
  Books books;
  std::vector<std::byte> mirror(books.memory[0].size());
  books.rows.on_mirror(mirror.data(), ViewId(1), 1);
  books.rows.on_posted({0, 1, books.memory[0].data(), mirror.data(), 0, 64, false});
  CHECK(books.found() == "V11");
}

TEST_CASE("a view that ends as the protocol says violates nothing") {
  Books books;
  books.agree(0b001, 5, 5);
  for (const std::uint32_t i : {1u, 2u}) {
    books.decide(i);
    books.step(i);
  }
  books.rows.check_quorum(books.view);
  CHECK(books.found() == "nothing");
}

TEST_CASE("a decision without a majority's acceptances is found (V4)") {
  Books books;
  books.accept(0, 1, 42);
  books.decide(0);
  books.step(0);
  CHECK(books.found() == "V4");
}

TEST_CASE("two decrees of one ballot are found (V7)") {
  Books books;
  books.accept(0, 1, 42);
  books.accept(1, 1, 43);
  books.step_all();
  CHECK(books.found() == "V7");
}

TEST_CASE("a later leader that replaces what a majority accepted is found (V7)") {
  Books books;
  for (const std::uint32_t i : {0u, 1u}) books.accept(i, 1, 42);
  books.step_all();
  books.suspect(2, 0b001);
  books.step(2);
  books.suspect(1, 0b001);
  books.accept(1, 2, 43);
  books.step(1);
  CHECK(books.found() == "V7");
}

TEST_CASE("a majority that comes together behind a later leader's other decree is found (V7)") {
  Books books;
  books.suspect(1, 0b001);
  books.accept(1, 2, 43);
  books.step(1);
  for (const std::uint32_t i : {0u, 2u}) books.accept(i, 1, 42);
  books.step_all();
  CHECK(books.found() == "V7");
}

TEST_CASE("a decision of another decree than the majority's is found (V7)") {
  Books books(5);
  books.suspect(1, 0b00001);
  books.accept(1, 2, 43);
  books.step(1);
  for (const std::uint32_t i : {2u, 3u, 4u}) {
    books.suspect(i, 0b00011);
    books.accept(i, 3, 44);
    books.step(i);
  }
  CHECK(books.found() == "nothing");
  books.decide(1);
  books.step(1);
  CHECK(books.found() == "V7");
}

TEST_CASE("a suspicion that is taken back is found, though the word grew (V8)") {
  Books books;
  books.suspect(0, 0b010);
  books.step(0);
  books.suspect(0, 0b100);
  books.step(0);
  CHECK(books.found() == "V8");
}

TEST_CASE("a suspicion that the next view does not know is found (V8)") {
  for (const bool remembers : {true, false}) {
    Books books;
    books.suspect(0, 0b010);
    books.step(0);
    View next = books.view;
    next.id = ViewId(1);
    std::vector<std::byte> row(books.memory[0].size());
    books.rows.on_row(0, Rank(0), next, row.data());
    if (remembers) store_release(row.data() + books.layouts[0].suspected(0), 0b010);
    books.step(0);
    CHECK(books.found() == (remembers ? "nothing" : "V8"));
  }
}

TEST_CASE("a suspect that may still write is found (V8)") {
  for (const bool fenced : {true, false}) {
    Books books;
    std::vector<std::byte> mirror(books.memory[0].size());
    books.rows.on_mirror(mirror.data(), ViewId(0), 1);
    books.suspect(1, 0b001);
    books.step(1);
    books.rows.on_landed({0, 1, books.memory[0].data(), mirror.data(), 0, 64, true, fenced}, 0, 64);
    CHECK(books.found() == (fenced ? "nothing" : "V8"));
  }
}

TEST_CASE("a member that follows whom it suspects is found (V8)") {
  Books books;
  books.suspect(1, 0b001);
  books.step(1);
  books.accept(1, 1, 42);
  books.step(1);
  CHECK(books.found() == "V8");
}

TEST_CASE("messages of a suspect from behind the suspicion are found (V8)") {
  Books books;
  books.set(0, books.block(0).committed, 4);
  books.suspect(1, 0b001);
  books.step(1);
  books.suspect(2, 0b001);
  books.step(2);
  books.wedge(1, 4);
  books.step(1);
  CHECK(books.found() == "nothing");
  books.set(0, books.block(0).committed, 5);
  books.wedge(2, 5);
  books.step(2);
  CHECK(books.found() == "V8");
}

TEST_CASE("what a suspect still writes arrives spoiled, what others write does not (V8)") {
  Books books;
  for (const bool suspected : {false, true}) {
    std::vector<std::byte> mirror(books.memory[0].size());
    books.rows.on_mirror(mirror.data(), ViewId(0), 1);
    if (suspected) books.suspect(1, 0b001);
    const std::uint64_t at = books.layouts[0].heartbeat();
    books.set(0, at, 7);
    store_release(mirror.data() + at, 7);
    books.rows.on_landed({0, 1, books.memory[0].data(), mirror.data(), 0, 64, true}, 0, 64);
    CHECK((load_acquire(mirror.data() + at) == 7) == !suspected);
  }
  CHECK(books.found() == "nothing");
}

TEST_CASE("a trim beyond what a survivor holds is found (V10)") {
  Books books;
  books.agree(0b001, 6, 5);
  books.decide(1);
  books.step(1);
  CHECK(books.found() == "V10");
}

TEST_CASE("a trim over a member that had not wedged is found (V10)") {
  Books books;
  for (const std::uint32_t i : {0u, 1u}) {
    books.wedge(i);
    books.accept(i, 1, 42);
  }
  books.step_all();
  books.decide(0);
  books.step(0);
  CHECK(books.found() == "V10");
}

TEST_CASE("a trim that leaves out what a dead member delivered is found (V10)") {
  Books books;
  books.set(0, books.block(0).delivered, 16);  // five of each sender, and one more of the first
  books.step(0);
  books.agree(0b001, 5, 5);
  books.decide(1);
  books.step(1);
  CHECK(books.found() == "V10");
}

TEST_CASE("a delivery beyond the trim, by one that does not know it, is found (V10)") {
  Books books;
  books.agree(0b001, 5, 5);
  books.decide(1);
  books.step(1);
  for (std::uint32_t i = 0; i < 3; ++i) books.set(i, books.block(i).received, 30);
  books.rows.on_delivered(books.view, 0, 0, 14);
  CHECK(books.found() == "nothing");
  books.rows.on_delivered(books.view, 0, 0, 15);
  CHECK(books.found() == "V10");
}

TEST_CASE("two trims of one view are found, even if no majority is asked (V10)") {
  Books books(3, false);
  for (std::uint32_t i = 0; i < 3; ++i) books.wedge(i, 5);
  books.accept(0, 1, 42, 0, 5);
  books.decide(0);
  books.step_all();
  CHECK(books.found() == "nothing");
  books.suspect(1, 0b001);
  books.accept(1, 2, 43, 0b001, 4);
  books.decide(1);
  books.step(1);
  CHECK(books.found() == "V10");
}

TEST_CASE("a member that follows another than its lowest unsuspected rank is found (V12)") {
  Books books;
  books.accept(2, 2, 42);
  books.step(2);
  CHECK(books.found() == "V12");
}

TEST_CASE("messages that are counted before they came are found (S3)") {
  Mirrored it;
  it.send(24);
  it.land(it.books.block(0).committed);
  CHECK(it.books.found() == "S3");
}

TEST_CASE("a message that is counted before its last bytes came is found, a whole one is not (S3)") {
  Mirrored it;
  it.send(24);
  it.bring(it.books.block(0).ring, 32);
  it.land(it.books.block(0).committed);
  CHECK(it.books.found() == "nothing");
  it.send(24);
  it.bring(it.books.block(0).ring + 32, 24);
  it.land(it.books.block(0).committed);
  CHECK(it.books.found() == "S3");
}

TEST_CASE("a decree that is accepted before it came is found (S3)") {
  Mirrored it;
  it.books.accept(0, 1, 42);
  it.books.step(0);
  it.land(it.books.layouts[0].accepted());
  CHECK(it.books.found() == "S3");
}

TEST_CASE("counts that come after the wedge are found (S3)") {
  Mirrored it;
  it.books.wedge(0, 3);
  it.books.step(0);
  it.land(it.books.layouts[0].wedged());
  CHECK(it.books.found() == "S3");
}

TEST_CASE("a promise that comes before an acceptance made under it is found (S3)") {
  Mirrored it;
  it.books.accept(0, 1, 42);
  it.books.step(0);
  it.books.suspect(0, 0b010);
  it.books.step(0);
  it.land(it.books.layouts[0].suspected(0));
  CHECK(it.books.found() == "S3");
}

TEST_CASE("a row that is attached without its view is found (S3)") {
  Mirrored it;
  it.books.set(0, it.books.layouts[0].phase(), 1);
  it.books.set(0, it.books.layouts[0].epoch(), 9);
  it.land(it.books.layouts[0].phase());
  CHECK(it.books.found() == "S3");
}

}  // namespace spindrift::sim
