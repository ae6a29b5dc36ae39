// A sink that keeps what a stream of a log tells it, and that it is told so in order.
#pragma once

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <spindrift/core/bytes.hpp>
#include <spindrift/group/log_stream.hpp>

#include "logs_fixture.hpp"

namespace spindrift::group {

/// Keeps what a stream has.
struct Heard final : LogStreamSink {
  void on_checkpoint(const views::LogPoint& at, std::uint64_t bytes) override {
    CHECK_FALSE(begin);
    checkpoint = at;
    state_bytes = bytes;
  }
  void on_state(std::span<const std::byte> piece) override {
    CHECK(checkpoint);
    CHECK_FALSE(begin);
    CHECK_FALSE(piece.empty());
    longest_piece = std::max(longest_piece, piece.size());
    state.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  }
  void on_begin(const views::LogPoint& at) override {
    CHECK_FALSE(begin);
    CHECK(state.size() == state_bytes);
    begin = at;
  }
  void on_message(const StreamedMessage& message) override {
    CHECK(begin);
    const auto head = field_bytes(message.sender, message.view, message.sequence);
    std::string& text = messages.emplace_back(reinterpret_cast<const char*>(head.data()), head.size());
    text.append(reinterpret_cast<const char*>(message.payload.data()), message.payload.size());
  }

  std::optional<views::LogPoint> checkpoint;
  std::uint64_t state_bytes = 0;
  std::string state;
  std::size_t longest_piece = 0;
  std::optional<views::LogPoint> begin;
  std::vector<std::string> messages;  // without their times
};

/// Hears all of it, in two pieces. Returns whether it is valid.
inline bool hear(std::span<const std::byte> bytes, Heard& heard, std::size_t cut = 0) {
  LogStream stream(LoggingNode::message_bytes_max);
  stream.take(bytes.first(cut), heard);
  stream.take(bytes.subspan(cut), heard);
  stream.finish();
  return stream.valid();
}

}  // namespace spindrift::group
