// Lines for a place that may stand still: a pipe whose reader has stopped, a terminal after Ctrl-S, a disk that answers
// nothing for seconds. A caller waits for its line only as long as that costs nobody its place in a group.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace spindrift {

/// A line as its place takes it: without its end, and with the time at which it was written.
struct Line {
  std::chrono::system_clock::time_point at;
  std::string text;
};

/// Brings lines to one place, in order, on a thread of its own that begins with the first line and on which no signal is
/// handled. Where no thread can be had, and in a forked child, the caller brings its line there itself.
///
/// A line is waited for, so that a process that dies has lost none. Once a line took longer than `patience`, the place
/// stands still, and nobody waits again until everything has been written. What exceeds the bounds meanwhile is lost, and
/// the next line to be written is told how many were. Threads: any.
class LineWriter {
 public:
  /// Brings a line to its place; `lost`: how many lines before it were given up. Called by one thread at a time.
  using Sink = std::function<void(const Line& line, std::uint64_t lost)>;

  static constexpr std::chrono::milliseconds patience{5};
  /// How long the end of a writer, or of a process, is held up by lines that are not yet written.
  static constexpr std::chrono::milliseconds farewell{500};
  static constexpr std::size_t lines_max = 4096;
  static constexpr std::size_t bytes_max = std::size_t{1} << 20;

  explicit LineWriter(Sink sink);
  /// Awaits what is not yet written, for `farewell` at most; the rest is written if the place ever takes it.
  ~LineWriter();
  LineWriter(const LineWriter&) = delete;
  LineWriter& operator=(const LineWriter&) = delete;

  void write(std::string text);
  /// Whether everything that was written before is at its place, or was lost, within `limit`.
  bool await_written(std::chrono::milliseconds limit);

 private:
  class Queue;
  std::shared_ptr<Queue> queue_;  // also the thread's
};

/// Writes the text to standard error, but not through its stream, for whose lock the end of a process waits: whoever holds
/// it may be held up for ever by a reader that has stopped. What cannot be written is lost. Threads: any.
void write_to_standard_error(std::string_view text) noexcept;

}  // namespace spindrift
