// A ring written by somebody who means harm: the reader stays inside, ends, and says what was wrong.
#include <catch2/catch.hpp>

#include "ring_fixture.hpp"

using namespace spindrift;
using namespace spindrift::smc;

namespace {

struct Hostile {
  std::vector<std::uint64_t> words = std::vector<std::uint64_t>(32, 0);
  RingReader reader{reinterpret_cast<const std::byte*>(words.data()), 256, 64};

  std::string fault_of(std::uint64_t committed) {
    for (std::uint64_t i = 0; i < committed; ++i) {
      if (!reader.next(committed)) return reader.fault();
    }
    return "";
  }
};

std::uint64_t header(std::uint32_t length, RecordKind kind, std::uint64_t number) {
  return RecordHeader{length, kind, number}.encode();
}

}  // namespace

TEST_CASE("an empty ring that claims a message is refused") {
  Hostile h;
  CHECK(h.fault_of(1) == "a record header of unknown kind or wrong number");
}

TEST_CASE("a record longer than the largest message or than the rest of the ring is refused") {
  Hostile h;
  h.words[0] = header(65, RecordKind::data, 0);
  CHECK(h.fault_of(1) == "a record longer than the ring or the largest message");

  Hostile end;
  for (std::uint64_t i = 0; i < 28; ++i) end.words[i] = header(0, RecordKind::data, i);
  end.words[28] = header(64, RecordKind::data, 28);
  CHECK(end.fault_of(29) == "a record longer than the ring or the largest message");
}

TEST_CASE("a null run beyond what was committed, or of no length, is refused") {
  Hostile h;
  h.words[0] = header(6, RecordKind::null_run, 0);
  CHECK(h.fault_of(5) == "a null run longer than what was committed");
  Hostile none;
  none.words[0] = header(0, RecordKind::null_run, 0);
  CHECK(none.fault_of(5) == "a null run longer than what was committed");
}

TEST_CASE("padding must end at the ring's end, not stand at its start, and not repeat") {
  Hostile start;
  start.words[0] = header(256, RecordKind::padding, 0);
  CHECK(start.fault_of(1) == "padding that does not end at the ring's end");

  Hostile elsewhere;
  elsewhere.words[0] = header(0, RecordKind::data, 0);
  elsewhere.words[1] = header(16, RecordKind::padding, 1);
  CHECK(elsewhere.fault_of(2) == "padding that does not end at the ring's end");

  Hostile twice;
  twice.words[0] = header(0, RecordKind::data, 0);
  twice.words[1] = header(248, RecordKind::padding, 1);
  CHECK(twice.reader.next(2));
  twice.words[0] = header(248, RecordKind::padding, 1);
  CHECK_FALSE(twice.reader.next(2));
  CHECK(std::string(twice.reader.fault()) == "padding behind padding");
}

TEST_CASE("what is no plain message in its place changes nothing, and is judged as any other") {
  const auto taken_as_plain = [](Hostile& h) {
    std::span<const std::byte> payload;
    return h.reader.next_plain(100, payload);
  };
  for (const std::uint64_t word : {header(2, RecordKind::null_run, 0), header(256, RecordKind::padding, 0),
                                   header(8, RecordKind::abandoned, 0), header(16, RecordKind::large, 0),
                                   header(8, RecordKind::data, 1), header(65, RecordKind::data, 0), std::uint64_t{0}}) {
    CAPTURE(word);
    Hostile h;
    h.words[0] = word;
    CHECK_FALSE(taken_as_plain(h));
    CHECK(h.reader.count() == 0);
    CHECK(h.reader.fault() == nullptr);
  }

  Hostile end;  // what fits by its own size, but not before the end of the ring
  for (std::uint64_t i = 0; i < 28; ++i) {
    end.words[i] = header(0, RecordKind::data, i);
    CHECK(taken_as_plain(end));
  }
  end.words[28] = header(25, RecordKind::data, 28);
  CHECK_FALSE(taken_as_plain(end));
  end.words[28] = header(24, RecordKind::data, 28);
  CHECK(taken_as_plain(end));
  end.words[0] = header(1, RecordKind::data, 29);  // exactly to the end: the next begins anew
  CHECK(taken_as_plain(end));
}
