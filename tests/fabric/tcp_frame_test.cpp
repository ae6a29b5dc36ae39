// The parts of the TCP fabric that need no socket: cutting a stream into frames, the queue of what is to be sent, and how
// many strangers may try to get in.
#include <catch2/catch.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <spindrift/core/bytes.hpp>
#include <spindrift/fabric/tcp/admission.hpp>
#include <spindrift/fabric/tcp/frame.hpp>
#include <spindrift/fabric/tcp/frame_reader.hpp>
#include <spindrift/fabric/tcp/send_backlog.hpp>

using namespace spindrift;
using namespace spindrift::fabric;
using namespace spindrift::fabric::tcp;

namespace {

using Bytes = std::vector<std::byte>;

Bytes pattern(std::size_t bytes, unsigned seed) {
  Bytes made(bytes);
  for (std::size_t i = 0; i < bytes; ++i) made[i] = static_cast<std::byte>(i * 7 + i / 251 + seed);
  return made;
}

struct Frame {
  FrameHeader header;
  Bytes bytes;
  friend bool operator==(const Frame& a, const Frame& b) {
    return encode(a.header) == encode(b.header) && a.bytes == b.bytes;
  }
};

Frame frame_of(FramePurpose kind, std::uint64_t key, std::uint64_t offset, Bytes bytes) {
  return {{kind, static_cast<std::uint32_t>(bytes.size()), key, offset}, std::move(bytes)};
}

Bytes stream_of(const std::vector<Frame>& frames) {
  Bytes stream;
  for (const Frame& frame : frames) {
    const FrameHeaderBytes header = encode(frame.header);
    stream.insert(stream.end(), header.begin(), header.end());
    stream.insert(stream.end(), frame.bytes.begin(), frame.bytes.end());
  }
  return stream;
}

/// Frames of every kind, with beginnings and ends at and beside words.
std::vector<Frame> small_frames() {
  const auto asked = encode(ReadRequest{5, 4096});
  return {
      frame_of(FramePurpose::message, 0, 0, pattern(8, 1)),
      frame_of(FramePurpose::write, 11, 0, pattern(8, 2)),
      frame_of(FramePurpose::write, 11, 3, pattern(1, 3)),
      frame_of(FramePurpose::write, 12, 5, pattern(30, 4)),
      frame_of(FramePurpose::message, 0, 0, {}),
      frame_of(FramePurpose::read, 13, 64, {asked.begin(), asked.end()}),
      frame_of(FramePurpose::reply, 5, 0, pattern(17, 5)),
      frame_of(FramePurpose::reply, 5, 17, pattern(24, 6)),
      frame_of(FramePurpose::write, 12, 16, pattern(64, 7)),
      frame_of(FramePurpose::message, 0, 0, pattern(41, 8)),
  };
}

/// Puts pieces together again, and sees that each is one that it may be.
class Receiver {
 public:
  FrameReader reader;
  std::vector<Frame> frames;

  void feed(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const auto room = reader.room();
      REQUIRE_FALSE(room.empty());
      const auto next = bytes.first(std::min(room.size(), bytes.size()));
      std::copy(next.begin(), next.end(), room.begin());
      reader.came(next.size());
      bytes = bytes.subspan(next.size());
      take_all();
    }
  }

  /// Those that may go straight to their place do, `direct` at a time and up to a whole word; the others pass the reader.
  void feed_in_place(std::span<const std::byte> bytes, std::size_t direct) {
    while (!bytes.empty()) {
      const auto rest = reader.rest();
      if (!rest || rest->gap >= bytes.size()) {
        feed(bytes.first(1));
        bytes = bytes.subspan(1);
        continue;
      }
      feed(bytes.first(rest->gap));
      bytes = bytes.subspan(rest->gap);
      REQUIRE(frames_bytes() == rest->done);
      const std::uint64_t left = rest->bytes();
      std::uint64_t landing = std::min<std::uint64_t>({left, direct, bytes.size()});
      if (landing < left) landing -= std::min(landing, (rest->header.offset + rest->done + landing) % 8);
      const auto next = bytes.first(landing == 0 ? 1 : landing);
      if (landing == 0) {
        feed(next);
      } else {
        begin_frame(rest->header, rest->done);
        frames.back().bytes.insert(frames.back().bytes.end(), next.begin(), next.end());
        reader.landed(landing);
        open_ = landing < left;
        landed_bytes += landing;
      }
      bytes = bytes.subspan(next.size());
    }
  }

  std::uint64_t landed_bytes = 0;

 private:
  [[nodiscard]] std::uint64_t frames_bytes() const { return open_ ? frames.back().bytes.size() : 0; }

  void begin_frame(const FrameHeader& header, std::uint64_t done) {
    REQUIRE(frames_bytes() == done);
    if (!open_) frames.push_back({header, {}});
    REQUIRE(encode(frames.back().header) == encode(header));
  }

  void take_all() {
    for (auto piece = value_or_throw(reader.take()); piece; piece = value_or_throw(reader.take())) {
      begin_frame(piece->header, piece->done);
      const bool whole_words = (piece->header.offset + piece->done + piece->bytes.size()) % 8 == 0;
      const bool may_be_part = piece->header.kind == FramePurpose::write || piece->header.kind == FramePurpose::reply;
      REQUIRE((piece->last || (may_be_part && whole_words && !piece->bytes.empty())));
      frames.back().bytes.insert(frames.back().bytes.end(), piece->bytes.begin(), piece->bytes.end());
      REQUIRE(piece->last == (frames.back().bytes.size() == piece->header.bytes));
      open_ = !piece->last;
    }
  }

  bool open_ = false;  ///< the last frame is to go on
};

}  // namespace

TEST_CASE("a stream that is cut at any byte gives the frames that were sent") {
  const std::vector<Frame> sent = small_frames();
  const Bytes stream = stream_of(sent);
  for (std::size_t cut = 0; cut <= stream.size(); ++cut) {
    CAPTURE(cut);
    Receiver receiver;
    receiver.feed(std::span(stream).first(cut));
    receiver.feed(std::span(stream).subspan(cut));
    REQUIRE(receiver.frames == sent);
    REQUIRE(receiver.reader.empty());
  }
  for (std::size_t step = 1; step < 100; ++step) {
    CAPTURE(step);
    Receiver receiver;
    for (std::size_t at = 0; at < stream.size(); at += step)
      receiver.feed(std::span(stream).subspan(at, std::min(step, stream.size() - at)));
    REQUIRE(receiver.frames == sent);
  }
}

TEST_CASE("a frame that is larger than the reader's memory passes it in pieces, and the reader says that frames are large") {
  const std::vector<Frame> sent{frame_of(FramePurpose::write, 1, 13, pattern(5 * FrameReader::buffer_bytes / 2, 1)),
                                frame_of(FramePurpose::message, 0, 0, pattern(65544, 2)),
                                frame_of(FramePurpose::reply, 2, 0, pattern(FrameReader::buffer_bytes + 1, 3)),
                                frame_of(FramePurpose::write, 1, 0, pattern(8, 4))};
  const Bytes stream = stream_of(sent);
  for (const std::size_t step : {std::size_t{997}, std::size_t{65536}, stream.size()}) {
    CAPTURE(step);
    Receiver receiver;
    for (std::size_t at = 0; at < stream.size(); at += step) {
      receiver.feed(std::span(stream).subspan(at, std::min(step, stream.size() - at)));
      if (at == 0 && step < stream.size()) CHECK(receiver.reader.large_frames());
    }
    CHECK(receiver.frames == sent);
    CHECK_FALSE(receiver.reader.large_frames());
  }
}

TEST_CASE("bytes that go straight to their place are the same as those that pass the reader") {
  std::vector<Frame> sent = small_frames();
  sent.push_back(frame_of(FramePurpose::write, 3, 5, pattern(40'001, 9)));
  sent.push_back(frame_of(FramePurpose::reply, 4, 8, pattern(20'000, 10)));
  sent.push_back(frame_of(FramePurpose::message, 0, 0, pattern(100, 11)));
  const Bytes stream = stream_of(sent);
  for (const std::size_t direct : std::initializer_list<std::size_t>{1, 7, 8, 9, 64, 1001, 100'000}) {
    CAPTURE(direct);
    Receiver receiver;
    receiver.feed_in_place(stream, direct);
    CHECK(receiver.frames == sent);
    CHECK(receiver.reader.empty());
    if (direct >= 64) CHECK(receiver.landed_bytes > 50'000);
  }
}

TEST_CASE("a header that is none of this protocol is refused") {
  const auto refused = [](const FrameHeaderBytes& bytes) {
    FrameReader reader;
    std::copy(bytes.begin(), bytes.end(), reader.room().begin());
    reader.came(bytes.size());
    const auto taken = reader.take();
    return !decode_frame_header(bytes) && !taken && taken.error().kind() == ErrorKind::refused;
  };
  const FrameHeaderBytes good = encode(FrameHeader{FramePurpose::write, 8, 1, 0});
  REQUIRE_FALSE(refused(good));
  for (std::size_t bit = 8; bit < 32; ++bit) {
    FrameHeaderBytes other = good;
    other[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
    CHECK(refused(other));
  }
  for (unsigned kind = 0; kind < 256; ++kind) {
    if (kind >= 1 && kind <= 4) continue;
    CHECK(refused(encode(FrameHeader{static_cast<FramePurpose>(kind), 8, 0, 0})));
  }
  for (const auto kind : {FramePurpose::write, FramePurpose::reply}) {
    CHECK(refused(encode(FrameHeader{kind, 0, 1, 0})));
    CHECK(refused(encode(FrameHeader{kind, frame_bytes_max + 1, 1, 0})));
    CHECK_FALSE(refused(encode(FrameHeader{kind, frame_bytes_max, 1, 0})));
  }
  CHECK_FALSE(refused(encode(FrameHeader{FramePurpose::message, 65536 + 8, 0, 0})));
  CHECK(refused(encode(FrameHeader{FramePurpose::message, 65536 + 9, 0, 0})));
  CHECK(refused(encode(FrameHeader{FramePurpose::message, 8, 1, 0})));
  CHECK(refused(encode(FrameHeader{FramePurpose::message, 8, 0, 1})));
  for (const std::uint32_t bytes : {0U, 15U, 17U, UINT32_MAX})
    CHECK(refused(encode(FrameHeader{FramePurpose::read, bytes, 1, 0})));
  CHECK_FALSE(decode_frame_header(std::span(good).first(frame_header_bytes - 1)));
  CHECK_FALSE(decode_read_request(std::span(good)));
}

namespace {

/// A queue of which is known what has to leave it.
struct Expected {
  struct End {
    std::size_t behind = 0;  ///< the bytes before it
    std::uint64_t context = 0;
  };
  SendBacklog backlog;
  Bytes all;
  std::vector<End> ends;
  std::size_t sent = 0;
  std::vector<SendBacklog::Done> over;

  void add(const Bytes& bytes, bool in_place, bool signaled) {
    in_place ? backlog.add_in_place(bytes) : backlog.add(bytes);
    all.insert(all.end(), bytes.begin(), bytes.end());
    if (!signaled) return;
    ends.push_back({all.size(), ends.size() + 1});
    backlog.end_with({nullptr, ends.back().context});
  }

  /// The bytes that wait, and the frames that are over, are as they should be.
  void check(std::size_t ranges_max) const {
    REQUIRE(backlog.bytes() == all.size() - sent);
    std::vector<iovec> ranges(ranges_max);
    ranges.resize(backlog.ranges(ranges));
    std::size_t at = sent;
    for (const iovec& range : ranges) {
      REQUIRE(range.iov_len <= all.size() - at);
      REQUIRE(std::memcmp(range.iov_base, all.data() + at, range.iov_len) == 0);
      at += range.iov_len;
    }
    REQUIRE((at > sent || sent == all.size()));
    if (ranges.size() < ranges_max) REQUIRE(at == all.size());
    check_over();
  }
  void check_over() const {
    const auto due = static_cast<std::size_t>(
        std::count_if(ends.begin(), ends.end(), [this](const End& end) { return end.behind <= sent; }));
    REQUIRE(over.size() == due);
    for (std::size_t i = 0; i < due; ++i) REQUIRE(over[i].context == ends[i].context);
  }
  void leave(std::size_t bytes) {
    backlog.left(bytes, over);
    sent += bytes;
  }
};

/// Copied and not, with an end and without, and ranges that lie side by side in memory.
struct Payloads {
  std::vector<Bytes> each;
  Payloads() {
    for (unsigned i = 0; i < 12; ++i) each.push_back(pattern(1 + i * i % 19, i));
  }
  void add_to(Expected& expected) const {
    for (std::size_t i = 0; i < each.size(); ++i) expected.add(each[i], i % 3 == 2, i % 4 > 1);
  }
};

}  // namespace

TEST_CASE("what leaves a send queue is what was added, however it is cut, and each end comes once, behind its last byte") {
  const Payloads payloads;
  for (std::size_t step = 1; step < 120; ++step) {
    for (const std::size_t ranges_max : {1U, 2U, 64U}) {
      CAPTURE(step, ranges_max);
      Expected expected;
      payloads.add_to(expected);
      while (expected.sent < expected.all.size()) {
        expected.check(ranges_max);
        expected.leave(std::min(step, expected.all.size() - expected.sent));
      }
      expected.check(ranges_max);
      REQUIRE(expected.backlog.empty());
    }
  }
}

TEST_CASE("a send queue that is added to while it leaves keeps its order") {
  std::mt19937 random(7);
  std::vector<Bytes> kept;  // for as long as they may wait
  for (unsigned i = 0; i < 64; ++i) kept.push_back(pattern(1 + random() % 3000, i));
  Expected expected;
  for (int i = 0; i < 3000; ++i) {
    const std::size_t waiting = expected.all.size() - expected.sent;
    if (waiting < 20'000 && random() % 2 == 0)
      expected.add(kept[random() % kept.size()], random() % 3 == 0, random() % 3 == 0);
    else
      expected.leave(random() % (waiting + 1));
    expected.check(1 + random() % 8);
  }
  expected.leave(expected.all.size() - expected.sent);
  expected.check(1);
  CHECK(expected.backlog.empty());
}

TEST_CASE("a send queue that is dropped, wherever it was, ends each of what it had once") {
  const Payloads payloads;
  Expected whole;
  payloads.add_to(whole);
  for (std::size_t cut = 0; cut <= whole.all.size(); ++cut) {
    CAPTURE(cut);
    Expected expected;
    payloads.add_to(expected);
    expected.leave(cut);
    expected.check_over();
    expected.backlog.drop(expected.over);
    expected.sent = expected.all.size();
    expected.check(4);
    REQUIRE(expected.backlog.empty());
    expected.backlog.drop(expected.over);
    expected.check_over();
    expected.add(payloads.each.front(), false, true);  // as good as new
    expected.check(4);
  }
}

namespace {

Source source_of(const char* address) {
  connected::SocketAddress from;
  sockaddr_in v4{};
  sockaddr_in6 v6{};
  if (::inet_pton(AF_INET, address, &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    std::memcpy(&from.storage, &v4, sizeof v4);
  } else {
    REQUIRE(::inet_pton(AF_INET6, address, &v6.sin6_addr) == 1);
    v6.sin6_family = AF_INET6;
    std::memcpy(&from.storage, &v6, sizeof v6);
  }
  return Source::of(from);
}

constexpr Time start = Time{} + std::chrono::hours(1);

/// How many of so many calls at once may try.
std::size_t let_try(Admission& admission, const Source& source, Time at, std::size_t calls) {
  std::size_t tried = 0;
  for (std::size_t i = 0; i < calls; ++i) tried += admission.enter(source, at) == Admission::Verdict::admitted ? 1 : 0;
  return tried;
}

}  // namespace

TEST_CASE("an IPv6 network of 64 bits is one caller, and an IPv4 address another one") {
  CHECK(source_of("2001:db8:1:2::1") == source_of("2001:db8:1:2:ffff:ffff:ffff:ffff"));
  CHECK(source_of("2001:db8:1:2::1") != source_of("2001:db8:1:3::1"));
  CHECK(source_of("10.0.0.1") == source_of("10.0.0.1"));
  CHECK(source_of("10.0.0.1") != source_of("10.0.0.2"));
  CHECK(source_of("::1") != source_of("0.0.0.0"));
}

TEST_CASE("callers that have not proved themselves are bounded, in all and from one address") {
  Admission admission({.pending_max = 10, .pending_per_source = 4, .calls_per_second = 50, .calls_at_once = 100});
  CHECK(let_try(admission, source_of("10.0.0.1"), start, 50) == 4);
  CHECK(let_try(admission, source_of("2001:db8::1"), start, 3) == 3);
  CHECK(let_try(admission, source_of("2001:db8::2"), start, 3) == 1);
  CHECK(let_try(admission, source_of("10.0.0.3"), start, 50) == 2);
  CHECK(let_try(admission, source_of("10.0.0.4"), start, 1) == 0);
  CHECK(admission.pending() == 10);
  CHECK(admission.turned_away() == 46 + 2 + 48 + 1);
  admission.leave(source_of("10.0.0.1"));
  CHECK(let_try(admission, source_of("10.0.0.4"), start, 2) == 1);
  // A caller that was never let try leaves nothing free.
  admission.leave(source_of("10.0.0.9"));
  for (int i = 0; i < 5; ++i) admission.leave(source_of("10.0.0.3"));
  CHECK(admission.pending() == 8);
}

TEST_CASE("one address may call so often at once, and then as often as its rate gives back") {
  Admission admission({.pending_max = 1000, .pending_per_source = 1000, .calls_per_second = 10, .calls_at_once = 20});
  const Source source = source_of("10.0.0.1");
  CHECK(let_try(admission, source, start, 100) == 20);
  CHECK(let_try(admission, source_of("10.0.0.2"), start, 1) == 1);
  CHECK(let_try(admission, source, start + std::chrono::milliseconds(99), 5) == 0);
  CHECK(let_try(admission, source, start + std::chrono::milliseconds(550), 100) == 5);
  CHECK(let_try(admission, source, start + std::chrono::seconds(1), 100) == 5);
  // A long rest gives no more than the calls at once.
  CHECK(let_try(admission, source, start + std::chrono::hours(1), 100) == 20);
}

TEST_CASE("what is kept of callers is bounded, and nobody who has to rest is forgotten") {
  Admission admission({.pending_max = 8, .pending_per_source = 8, .calls_per_second = 1, .calls_at_once = 2});
  const Source tired{1, 0};
  for (int i = 0; i < 2; ++i) {
    REQUIRE(admission.enter(tired, start) == Admission::Verdict::admitted);
    admission.leave(tired);
  }
  const auto strangers_let_try = [&](std::uint64_t first, std::uint64_t count, Time at) {
    std::size_t tried = 0;
    for (std::uint64_t i = first; i < first + count; ++i) {
      if (admission.enter(Source{2, i}, at) != Admission::Verdict::admitted) continue;
      ++tried;
      admission.leave(Source{2, i});
    }
    return tried;
  };
  CHECK(strangers_let_try(0, 10'000, start) == 4095);
  CHECK(admission.enter(tired, start) == Admission::Verdict::turned_away);
  CHECK(strangers_let_try(0, 10, start) == 10);  // who is known is not counted anew
  CHECK(strangers_let_try(10'000, 10, start + std::chrono::milliseconds(900)) == 0);
  CHECK(strangers_let_try(10'000, 5000, start + std::chrono::milliseconds(1500)) == 4085);
  // It had two calls, and has rested for one.
  CHECK(let_try(admission, tired, start + std::chrono::milliseconds(1500), 5) == 1);
}
