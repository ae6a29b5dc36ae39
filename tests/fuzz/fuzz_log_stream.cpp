// The bytes with which another node completes this one's log: however they are cut on their way, the same is told of them,
// in the same order, and no more than came.
#include <spindrift/group/log_stream.hpp>

#include <vector>

#include "fuzz.hpp"

namespace {

using namespace spindrift;
using namespace spindrift::group;
using spindrift::fuzz::Choices;
using spindrift::fuzz::expect;

/// A word for each thing that was told, and the bytes that came with it.
class Told final : public LogStreamSink {
 public:
  explicit Told(std::uint64_t message_bytes_max) : message_bytes_max_(message_bytes_max) {}

  void on_checkpoint(const views::LogPoint& at, std::uint64_t bytes) override {
    expect(!begun_ && state_left_ == 0, "one checkpoint comes, before the log begins");
    state_left_ = bytes;
    put(at.version);
    put(bytes);
  }
  void on_state(std::span<const std::byte> piece) override {
    expect(!begun_ && !piece.empty() && piece.size() <= state_left_, "a state has as many bytes as were announced");
    state_left_ -= piece.size();
    bytes_.insert(bytes_.end(), piece.begin(), piece.end());
  }
  void on_begin(const views::LogPoint& begin) override {
    expect(!begun_ && state_left_ == 0, "a log begins once, behind all of the state");
    begun_ = true;
    put(begin.version);
  }
  void on_message(const StreamedMessage& message) override {
    expect(begun_, "no message comes before the log begins");
    expect(message.payload.size() <= message_bytes_max_, "no message is larger than the subgroup's");
    put(message.sequence.value());
    put(message.payload.size());
    bytes_.insert(bytes_.end(), message.payload.begin(), message.payload.end());
  }

  void end(bool valid) {
    expect(!valid || begun_, "what is whole has a beginning");
    put(valid ? 1 : 0);
  }
  /// The bytes of state and messages.
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_.size(); }
  friend bool operator==(const Told& a, const Told& b) { return a.words_ == b.words_ && a.bytes_ == b.bytes_; }

 private:
  void put(std::uint64_t word) { words_.push_back(word); }

  const std::uint64_t message_bytes_max_;
  bool begun_ = false;
  std::uint64_t state_left_ = 0;
  std::vector<std::uint64_t> words_;
  std::vector<std::byte> bytes_;
};

Told told_of(std::span<const std::byte> bytes, std::size_t at_once, std::uint64_t message_bytes_max) {
  Told told(message_bytes_max);
  LogStream stream(message_bytes_max);
  for (auto rest = bytes; !rest.empty(); rest = rest.subspan(std::min(at_once, rest.size())))
    stream.take(rest.first(std::min(at_once, rest.size())), told);
  expect(told.bytes() <= bytes.size(), "no more is told than came");
  stream.finish();
  told.end(stream.valid());
  return told;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Choices choices(data, size);
  const std::size_t at_once = 1 + choices.choice(64);
  const std::uint64_t message_bytes_max = 1 + choices.choice(256);
  const auto bytes = std::as_bytes(choices.rest());
  expect(told_of(bytes, at_once, message_bytes_max) == told_of(bytes, bytes.size() + 1, message_bytes_max),
         "cuts make no difference");
  return 0;
}
