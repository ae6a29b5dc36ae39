// A stream that a peer sends over TCP: however it is cut on its way, and whichever of its bytes go straight to their place,
// the same frames come out, or the same refusal.
#include "fuzz.hpp"

#include <vector>

#include <spindrift/fabric/tcp/frame_reader.hpp>

using namespace spindrift;
using namespace spindrift::fabric::tcp;
using spindrift::fuzz::Choices;
using spindrift::fuzz::expect;

namespace {

struct Frame {
  FrameHeaderBytes header{};
  std::vector<std::byte> bytes;
  friend bool operator==(const Frame&, const Frame&) = default;
};

/// Pieces put together again, up to the refusal if there is one.
class Receiver {
 public:
  void feed(std::span<const std::byte> bytes) {
    while (!refused_ && !bytes.empty()) {
      const auto room = reader_.room();
      expect(!room.empty(), "there is room once all pieces were taken");
      const auto next = bytes.first(std::min(room.size(), bytes.size()));
      std::copy(next.begin(), next.end(), room.begin());
      reader_.came(next.size());
      bytes = bytes.subspan(next.size());
      take_all();
    }
  }

  /// How many of those bytes went straight to their place; 0: the next byte has to pass the reader.
  [[nodiscard]] std::size_t land(std::span<const std::byte> bytes) {
    const auto rest = refused_ ? std::nullopt : reader_.rest();
    if (!rest || rest->gap != 0) return 0;
    expect(rest->bytes() > 0, "what is to come has bytes");
    std::size_t landing = std::min<std::size_t>(bytes.size(), rest->bytes());
    if (landing < rest->bytes()) landing -= std::min<std::size_t>(landing, (rest->header.offset + rest->done + landing) % 8);
    if (landing == 0) return 0;
    append(rest->header, rest->done, bytes.first(landing));
    reader_.landed(landing);
    return landing;
  }

  [[nodiscard]] const std::vector<Frame>& frames() const noexcept { return frames_; }
  [[nodiscard]] bool refused() const noexcept { return refused_; }

 private:
  void append(const FrameHeader& header, std::uint64_t done, std::span<const std::byte> bytes) {
    if (done == 0) frames_.push_back({encode(header), {}});
    Frame& frame = frames_.back();
    expect(frame.header == encode(header) && frame.bytes.size() == done, "pieces of a frame follow each other");
    frame.bytes.insert(frame.bytes.end(), bytes.begin(), bytes.end());
    expect(frame.bytes.size() <= header.bytes, "a frame has no more bytes than it announces");
  }

  void take_all() {
    while (true) {
      const auto taken = reader_.take();
      refused_ = !taken;
      if (refused_ || !*taken) return;
      const FrameReader::Piece& piece = **taken;
      expect(decode_frame_header(encode(piece.header)).has_value(), "a frame that comes out has a header that may come in");
      append(piece.header, piece.done, piece.bytes);
      expect(piece.last == (frames_.back().bytes.size() == piece.header.bytes), "the last piece ends its frame");
      const bool part = piece.header.kind == FramePurpose::write || piece.header.kind == FramePurpose::reply;
      const bool whole_words = (piece.header.offset + piece.done + piece.bytes.size()) % 8 == 0;
      expect(piece.last || (part && whole_words), "a piece ends at a word, or with its frame");
    }
  }

  FrameReader reader_;
  std::vector<Frame> frames_;
  bool refused_ = false;
};

void expect_same(const Receiver& one, const Receiver& other) {
  expect(one.refused() == other.refused(), "a stream is refused however it is cut");
  expect(one.frames() == other.frames(), "a stream gives the same frames however it is cut");
}

}  // namespace

// The first 16 bytes of the input say how long the parts are in which the others come.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Choices choices(data, size);
  const auto cuts = choices.take(16);
  const auto stream = std::as_bytes(choices.rest());
  Receiver whole;
  whole.feed(stream);
  Receiver cut, straight;
  std::size_t next = 0;
  for (auto rest = stream; !rest.empty();) {
    const auto part = rest.first(std::min<std::size_t>(rest.size(), 1 + cuts[next++ % cuts.size()]));
    cut.feed(part);
    rest = rest.subspan(part.size());
    for (auto left = part; !left.empty();) {
      const std::size_t landed = straight.land(left);
      if (landed == 0) straight.feed(left.first(1));
      left = left.subspan(std::max<std::size_t>(landed, 1));
    }
  }
  expect_same(whole, cut);
  expect_same(whole, straight);
  return 0;
}
