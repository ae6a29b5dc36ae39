// Frames of a peer that has a key, as a connection takes them: however they are cut, and whether they pass its buffer or go
// straight to their place, what fits lands word by word, and what does not ends the connection and changes nothing.
#include <catch2/catch.hpp>

#include "scripted_peer.hpp"

using namespace spindrift;
using namespace spindrift::fabric;
using namespace spindrift::fabric::test;
using tcp::FramePurpose;

namespace {

using Bytes = std::vector<std::byte>;

constexpr std::size_t region_bytes = 64 << 10;

Bytes pattern(std::size_t bytes, unsigned seed) {
  Bytes made(bytes);
  for (std::size_t i = 0; i < bytes; ++i) made[i] = static_cast<std::byte>(i * 7 + i / 251 + seed);
  return made;
}

Bytes part_of(const Bytes& all, std::size_t from, std::size_t bytes) {
  const auto begin = all.begin() + static_cast<std::ptrdiff_t>(from);
  return {begin, begin + static_cast<std::ptrdiff_t>(bytes)};
}

/// Says the stream in parts that end there, and looks between them.
void say(HearingConnection& hearing, const ExpectedMemory& expected, const Bytes& stream,
         std::initializer_list<std::size_t> cuts) {
  std::size_t said = 0;
  for (const std::size_t cut : cuts) {
    const std::size_t next = std::min(cut, stream.size());
    if (next > said) hearing.hear(part_of(stream, said, next - said));
    said = std::max(said, next);
    if (!expected.has_held(hearing.memory())) throw std::runtime_error("a torn word, cut at " + std::to_string(cut));
  }
  hearing.hear(part_of(stream, said, stream.size() - said));
  REQUIRE(expected.has_held(hearing.memory()));
  REQUIRE(hearing.guards_hold());
}

Bytes write_frame(const HearingConnection& to, std::uint64_t offset, const Bytes& payload) {
  return HearingConnection::frame({FramePurpose::write, 0, to.key(), offset}, payload);
}

}  // namespace

TEST_CASE("writes that end at each border of a region land whole, and those that end behind it change nothing") {
  for (const std::size_t bytes :
       {std::size_t{1}, std::size_t{8}, std::size_t{4095}, std::size_t{4096}, std::size_t{20'001}, region_bytes}) {
    for (const std::size_t beyond : {std::size_t{0}, std::size_t{1}, std::size_t{8}, bytes, region_bytes}) {
      CAPTURE(bytes, beyond);
      HearingConnection hearing(region_bytes);
      ExpectedMemory expected(region_bytes);
      const Bytes payload = pattern(bytes, 1);
      const std::uint64_t offset = region_bytes - bytes + beyond;
      CHECK(expected.write(offset, payload) == (beyond == 0));
      say(hearing, expected, write_frame(hearing, offset, payload), {30, 4000, 9000});
      CHECK(expected.is(hearing.memory()));
      CHECK(hearing.broken().has_value() == (beyond > 0));
    }
  }
}

TEST_CASE("an offset or a length that wraps around is refused before a byte of it lands") {
  const Bytes payload = pattern(20'000, 2);
  for (const std::uint64_t offset :
       {UINT64_MAX, UINT64_MAX - 7, UINT64_MAX - payload.size() + 1, UINT64_MAX - payload.size() + 1 + 4096,
        std::uint64_t{1} << 63U, std::uint64_t{region_bytes} + 1}) {
    CAPTURE(offset);
    HearingConnection hearing(region_bytes);
    say(hearing, ExpectedMemory(region_bytes), write_frame(hearing, offset, payload), {24, 25, 8000});
    REQUIRE(hearing.broken());
    CHECK(hearing.broken()->find("it wrote out of the memory that it was given") != std::string::npos);
    CHECK(ExpectedMemory(region_bytes).is(hearing.memory()));
  }
}

TEST_CASE("a large write that is cut at any byte, and begins anywhere in a word, lands word by word between its neighbors") {
  for (const std::uint64_t offset : {0U, 5U, 4095U}) {
    const std::size_t bytes = 13'003;
    const Bytes before = pattern(24, 3), large = pattern(bytes, 4), behind = pattern(40, 5);
    // Those before and behind it overlap it by some bytes.
    const std::uint64_t end = offset + bytes;
    for (std::size_t cut = 1; cut < 13'200; cut += cut < 100 || cut > 13'000 ? 1 : 499) {
      CAPTURE(offset, cut);
      HearingConnection hearing(region_bytes);
      ExpectedMemory expected(region_bytes);
      Bytes stream;
      const auto add = [&](std::uint64_t at, const Bytes& payload) {
        const Bytes frame = write_frame(hearing, at, payload);
        stream.insert(stream.end(), frame.begin(), frame.end());
        REQUIRE(expected.write(at, payload));
      };
      add(offset > 8 ? offset - 8 : 0, before);
      add(offset, large);
      add(end - 16, behind);
      say(hearing, expected, stream, {60, 60 + cut % 5000, cut, cut + 4200});
      REQUIRE_FALSE(hearing.broken());
      REQUIRE(expected.is(hearing.memory()));
    }
  }
}

TEST_CASE("before its first message a peer writes nothing, also under a key that it was given") {
  HearingConnection hearing(region_bytes, HearingConnection::FirstMessage::did_not_come);
  hearing.hear(write_frame(hearing, 0, pattern(8, 7)));
  REQUIRE(hearing.broken());
  CHECK(hearing.broken()->find("it does not keep to the protocol of connections") != std::string::npos);
  CHECK(ExpectedMemory(region_bytes).is(hearing.memory()));
}

TEST_CASE("what comes for memory that was released, or on a connection that closes, is lost, and the connection goes on") {
  for (const bool closing : {false, true}) {
    for (const std::size_t bytes : {std::size_t{8}, std::size_t{20'000}}) {
      CAPTURE(closing, bytes);
      HearingConnection hearing(region_bytes);
      ExpectedMemory expected(region_bytes);
      const Bytes first = pattern(bytes, 8), later = pattern(bytes, 9);
      REQUIRE(expected.write(0, first));
      say(hearing, expected, write_frame(hearing, 0, first), {30, 9000});
      const Bytes frame = write_frame(hearing, 0, later);
      closing ? hearing.begin_closing() : hearing.release();
      say(hearing, expected, frame, {30, 9000});
      CHECK_FALSE(hearing.broken());
      CHECK(expected.is(hearing.memory()));
    }
  }
}

TEST_CASE("a peer that has sent without end gets its share of a pass, and no more") {
  HearingConnection hearing(region_bytes);
  const Bytes frame = write_frame(hearing, 0, pattern(32'000, 1));
  constexpr std::size_t frames = 200;
  const std::size_t left = hearing.left_after_a_pass(frames, frame);
  CHECK_FALSE(hearing.broken());
  CHECK(left < frames);
  CHECK((frames - left) * frame.size() < std::size_t{2} << 20U);
}

TEST_CASE("memory whose bytes wait to leave is in use until the last of them has left") {
  HearingConnection hearing(64);
  Bytes bytes = pattern(20'000, 1);
  connected::OwnRegion own;
  own.memory = bytes;
  hearing.post(own);
  CHECK(own.reading == 1);
  CHECK(hearing.completed() == 0);
  hearing.let_take();
  CHECK(own.reading == 0);
  CHECK(hearing.completed() == 1);
}

TEST_CASE("a read takes the pieces that it asked for, each once and in order, and nothing behind its end") {
  const std::size_t bytes = 12'000;
  const Bytes answer = pattern(bytes, 6);
  const auto reply = [&](std::uint64_t from, std::size_t count, std::uint64_t token = 1) {
    return HearingConnection::frame({FramePurpose::reply, 0, token, from}, pattern(count, 6));
  };
  struct Case {
    std::vector<Bytes> frames;
    bool holds;
  };
  Bytes second = HearingConnection::frame({FramePurpose::reply, 0, 1, 5000}, part_of(answer, 5000, bytes - 5000));
  Bytes longer = HearingConnection::frame({FramePurpose::reply, 0, 1, 5000}, pattern(bytes - 5000 + 1, 6));
  const std::vector<Case> cases{
      {{reply(0, bytes)}, true},
      {{reply(0, 5000), second}, true},
      {{reply(0, bytes + 1)}, false},
      {{reply(0, 5000), longer}, false},
      {{reply(0, 5000), reply(0, 5000)}, false},
      {{second}, false},
      {{reply(0, 5000), reply(5001, 100)}, false},
      {{reply(0, bytes), reply(bytes, 1)}, false},
      {{reply(0, bytes, 2)}, false},
      {{reply(UINT64_MAX - 7, 8)}, false},
  };
  for (std::size_t i = 0; i < cases.size(); ++i) {
    for (const std::size_t cut : {std::size_t{100}, std::size_t{4500}, std::size_t{30'000}}) {
      CAPTURE(i, cut);
      HearingConnection hearing(4096);
      Bytes to(bytes + 64, std::byte{0xee});
      hearing.ask(to.data(), bytes);
      for (const Bytes& frame : cases[i].frames) {
        const std::size_t first = std::min(cut, frame.size());
        hearing.hear(part_of(frame, 0, first));
        hearing.hear(part_of(frame, first, frame.size() - first));
      }
      CHECK(hearing.broken().has_value() != cases[i].holds);
      if (cases[i].holds) CHECK(hearing.read_done());
      if (cases[i].holds) CHECK(std::equal(answer.begin(), answer.end(), to.begin()));
      CHECK(std::all_of(to.end() - 64, to.end(), [](std::byte each) { return each == std::byte{0xee}; }));
    }
  }
}

TEST_CASE("keys of regions are random words, of one connection each: who has seen some does not come near another") {
  std::vector<std::uint64_t> keys;
  for (int i = 0; i < 64; ++i) keys.push_back(HearingConnection(64).key());
  std::sort(keys.begin(), keys.end());
  for (std::size_t i = 1; i < keys.size(); ++i) CHECK(keys[i] - keys[i - 1] > std::uint64_t{1} << 32U);
  CHECK(keys.back() - keys.front() > std::uint64_t{1} << 62U);
}
