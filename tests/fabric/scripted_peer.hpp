// A peer over TCP that says any bytes in any parts, without a socket; and a connection that hears it, whose memory is known
// word by word. Shared by the unit tests and a fuzz target, so that both hold a connection to the same promises.
#pragma once

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include <spindrift/fabric/tcp/connection.hpp>
#include <spindrift/fabric/tcp/frame.hpp>

namespace spindrift::fabric::test {

/// Gives the parts one after the other: all of the next one is surely there, as the kernel or TLS says.
class ScriptedStream final : public tcp::UnprovenStream {
 public:
  [[nodiscard]] Result<std::size_t> read(std::span<const iovec> to) override {
    if (parts_.empty()) return 0;
    std::vector<std::byte>& part = parts_.front();
    std::size_t total = 0;
    for (const iovec& range : to) {
      const std::size_t count = std::min(range.iov_len, part.size() - taken_);
      if (count > 0) std::memcpy(range.iov_base, part.data() + taken_, count);
      taken_ += count;
      total += count;
    }
    if (taken_ == part.size()) {
      parts_.pop_front();
      taken_ = 0;
    }
    return total;
  }
  [[nodiscard]] std::size_t known() const noexcept override { return parts_.empty() ? 0 : parts_.front().size() - taken_; }
  [[nodiscard]] bool holds_bytes() const noexcept override { return !parts_.empty(); }
  [[nodiscard]] Result<std::size_t> write(std::span<const iovec> from) override {
    std::size_t total = 0;
    for (const iovec& range : from) total += range.iov_len;
    return takes_ ? total : 0;
  }
  [[nodiscard]] Result<bool> flush() override { return true; }
  [[nodiscard]] int descriptor() const noexcept override { return -1; }

  void come(std::vector<std::byte> part) { parts_.push_back(std::move(part)); }
  /// Whether the peer takes what is sent to it.
  void take(bool takes) noexcept { takes_ = takes; }
  [[nodiscard]] std::size_t parts_left() const noexcept { return parts_.size(); }

 private:
  std::deque<std::vector<std::byte>> parts_;
  std::size_t taken_ = 0;
  bool takes_ = true;
};

/// A connection, whose first message has come if it is not to be otherwise, and a region that the peer may write to, between
/// two guards.
class HearingConnection final : public connected::TransportEvents {
 public:
  enum class FirstMessage { came, did_not_come };

  explicit HearingConnection(std::size_t bytes, FirstMessage first = FirstMessage::came)
      : words_((bytes + 7) / 8 + 2 * guard_words, guard),
        bytes_(bytes),
        connection_(call_, std::unique_ptr<tcp::ByteStream>(stream_), connected::GreetingBytes{}) {
    call_.state = connected::PeerCall::State::up;
    std::memset(words_.data() + guard_words, 0, bytes);
    region_.memory = memory();
    key_ = value_or_throw(connection_.grant(RegionKey(1), region_, Access::write)).remote_key;
    if (first == FirstMessage::came)
      hear(frame({tcp::FramePurpose::message, 0, 0, 0}, connected::encode(connected::Kind::alive, 0)));
  }

  [[nodiscard]] static std::vector<std::byte> frame(tcp::FrameHeader header, std::span<const std::byte> payload) {
    header.bytes = static_cast<std::uint32_t>(payload.size());
    const auto encoded = tcp::encode(header);
    std::vector<std::byte> all(encoded.begin(), encoded.end());
    all.insert(all.end(), payload.begin(), payload.end());
    return all;
  }
  /// The part comes, and is taken.
  void hear(std::vector<std::byte> part) {
    if (connection_.broken() || part.empty()) return;
    stream_->come(std::move(part));
    while (!connection_.broken() && stream_->holds_bytes()) static_cast<void>(connection_.receive(*this));
  }
  /// All of them have come; how many are not taken after one pass.
  [[nodiscard]] std::size_t left_after_a_pass(std::size_t parts, const std::vector<std::byte>& part) {
    for (std::size_t i = 0; i < parts; ++i) stream_->come(part);
    static_cast<void>(connection_.receive(*this));
    return stream_->parts_left();
  }
  /// The owner wants the memory no more, though the peer does not know.
  void release() noexcept { region_.released = true; }
  /// This process has said its last words to the peer.
  void begin_closing() noexcept { call_.state = connected::PeerCall::State::closing; }
  /// Reads so many bytes of the peer to that memory; `read_done` when they are there. The first read is the peer's number 1.
  void ask(std::byte* to, std::size_t bytes) {
    connected::Transfer read;
    read.reads = true;
    read.signaled = true;
    read.local = to;
    read.bytes = bytes;
    connection_.transfer(read);
  }
  /// Posts a write of that memory, which the peer does not take before `let_take`.
  void post(connected::OwnRegion& from) {
    stream_->take(false);
    connected::Transfer write;
    write.signaled = true;
    write.local = from.memory.data();
    write.bytes = from.memory.size();
    write.region = &from;
    connection_.transfer(write);
    connection_.flush();
    connection_.tell_done(*this);
  }
  void let_take() {
    stream_->take(true);
    connection_.flush();
    connection_.tell_done(*this);
  }
  [[nodiscard]] std::size_t completed() const noexcept { return completed_; }
  [[nodiscard]] bool read_done() {
    connection_.tell_done(*this);
    return completed_ > 0;
  }

  [[nodiscard]] std::span<std::byte> memory() noexcept {
    return {reinterpret_cast<std::byte*>(words_.data() + guard_words), bytes_};
  }
  [[nodiscard]] bool guards_hold() const noexcept {
    const auto holds = [](std::uint64_t each) { return each == guard; };
    return std::all_of(words_.begin(), words_.begin() + guard_words, holds) &&
           std::all_of(words_.end() - guard_words, words_.end(), holds);
  }
  [[nodiscard]] std::uint64_t key() const noexcept { return key_; }
  [[nodiscard]] const std::optional<std::string>& broken() const noexcept { return connection_.broken(); }
  [[nodiscard]] std::size_t messages() const noexcept { return messages_; }

 private:
  static constexpr std::ptrdiff_t guard_words = 16;
  static constexpr std::uint64_t guard = 0x6775'6172'6421'2121U;

  void on_established(connected::Connection&, std::span<const std::byte>) override {}
  void on_first_word(connected::Connection&, std::span<const std::byte>) override {}
  void on_heard(connected::Connection&) override {}
  void on_message(connected::Connection&, std::span<const std::byte>) override { ++messages_; }
  void on_completed(connected::Connection&, std::uint64_t) override { ++completed_; }
  void on_unused(connected::OwnRegion&) override {}
  void on_reports_due() override {}

  std::vector<std::uint64_t> words_;
  const std::size_t bytes_;
  connected::PeerCall call_;
  connected::OwnRegion region_;
  ScriptedStream* const stream_ = new ScriptedStream;  ///< the connection's
  tcp::TcpConnection connection_;
  std::uint64_t key_ = 0;
  std::size_t messages_ = 0;
  std::size_t completed_ = 0;
};

/// The contents that a region may have when writes come in order, in whole words, and only such as fit: each word in turn.
class ExpectedMemory {
 public:
  explicit ExpectedMemory(std::size_t bytes) : bytes_(bytes), words_((bytes + 7) / 8, Word(1, 0)) {}

  /// Whether it fits; then it is to come whole, in the end.
  [[nodiscard]] bool write(std::uint64_t offset, std::span<const std::byte> payload) {
    if (offset > bytes_.size() || payload.size() > bytes_.size() - offset) return false;
    if (payload.empty()) return true;
    std::copy(payload.begin(), payload.end(), bytes_.begin() + static_cast<std::ptrdiff_t>(offset));
    for (std::size_t word = offset / 8; word <= (offset + payload.size() - 1) / 8; ++word) words_[word].push_back(now(word));
    return true;
  }
  /// Each whole word holds something that it was to hold at some time.
  [[nodiscard]] bool has_held(std::span<const std::byte> memory) const {
    for (std::size_t word = 0; word < bytes_.size() / 8; ++word) {
      std::uint64_t value = 0;
      std::memcpy(&value, memory.data() + 8 * word, sizeof value);
      if (std::find(words_[word].begin(), words_[word].end(), value) == words_[word].end()) return false;
    }
    return true;
  }
  [[nodiscard]] bool is(std::span<const std::byte> memory) const {
    return std::equal(memory.begin(), memory.end(), bytes_.begin());
  }

 private:
  using Word = std::vector<std::uint64_t>;
  [[nodiscard]] std::uint64_t now(std::size_t word) const {
    std::uint64_t value = 0;
    std::memcpy(&value, bytes_.data() + 8 * word, std::min<std::size_t>(8, bytes_.size() - 8 * word));
    return value;
  }

  std::vector<std::byte> bytes_;
  std::vector<Word> words_;
};

}  // namespace spindrift::fabric::test
