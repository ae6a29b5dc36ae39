// A stream of bytes with all that another node's log lacks of this one's: the place where it begins, which is where the
// other one ends, or where this one begins; then one message behind the other. Where a log of which an object is made lacks
// its first messages, the object's state at a later place of the log, the checkpoint, comes before these.
//
//   stream      version 8 · link 16 · messages
//               version with bit 63 set 8 · link 16 · checkpoint · messages
//   checkpoint  its version 8 · its link 16 · bytes of the state 8 · state
//   message     size of the payload 8 · sender 4 · view 8 · sequence number 8 · time 8 · payload
//
// Programs that know no checkpoints would take that bit for an impossible version. They refuse a layout in which an object
// is made of a log that may be trimmed, so none of them is ever sent one, and no version of the protocol is needed for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include <spindrift/core/ids.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/group/node_journal.hpp>
#include <spindrift/views/subgroup_logs.hpp>

namespace spindrift::group {

/// The state of an object that is made of a log, as of one place of it.
struct StreamedCheckpoint {
  using Visitor = std::function<bool(std::span<const std::byte>)>;

  views::LogPoint at;
  std::uint64_t bytes = 0;
  std::function<Result<void>(const Visitor&)> read;  ///< visits all of it, piece by piece, until one returns false
};

/// A log that is to be read for another one.
struct StreamedLog {
  LogPlace log;
  views::LogPoint from;            ///< where the other one ends
  std::uint64_t first = 0;         ///< version of its first message
  std::uint64_t to = 0;            ///< version behind the last message
  store::JournalPosition written;  ///< when everything before it is on the disk, so is all that is to be read
  std::optional<StreamedCheckpoint> checkpoint{};  ///< for one that begins anew behind messages that this one lacks
};
/// Writes the stream. Errors: bad_input, resource, group_closed (`stop` was requested). Throws what the stream throws.
[[nodiscard]] Result<void> write_stream(const StreamedLog& log, const std::stop_token& stop, std::ostream& to);

struct StreamedMessage {
  NodeId sender;
  ViewId view;
  SequenceNumber sequence;
  std::uint64_t time = 0;              ///< as the source says
  std::span<const std::byte> payload;  ///< valid during the call
};

/// Is told what a stream has, in its order: a checkpoint comes before the beginning.
class LogStreamSink {
 public:
  virtual ~LogStreamSink() = default;
  /// The state of the subgroup's object follows, of so many bytes, as of that place of the log.
  virtual void on_checkpoint(const views::LogPoint& at, std::uint64_t bytes) = 0;
  /// The next bytes of it, cut anywhere; never empty.
  virtual void on_state(std::span<const std::byte> piece) = 0;
  /// The log begins, or goes on, there; all of the state is here.
  virtual void on_begin(const views::LogPoint& begin) = 0;
  virtual void on_message(const StreamedMessage& message) = 0;
};

/// Takes a stream apart that another node sends, cut anywhere. Holds at most one message, and nothing of a state. Whether
/// the checkpoint's link is the log's at its version is for the sink to see, which has the links.
class LogStream {
 public:
  explicit LogStream(std::uint64_t message_bytes_max);

  /// The next bytes. Once it is not valid it takes nothing more.
  void take(std::span<const std::byte> piece, LogStreamSink& sink);
  /// A sink that knows why what came is impossible says so, perhaps while it is told: it is not valid from now on.
  void refuse() noexcept { valid_ = false; }
  /// There are no more: in the middle of something, or before the checkpoint's version, it is not valid.
  void finish() noexcept;
  [[nodiscard]] bool valid() const noexcept { return valid_; }

 private:
  enum class Part : std::uint8_t { begin, checkpoint, state, head, payload };

  void take_part(std::span<const std::byte> part, LogStreamSink& sink);
  void take_begin(std::span<const std::byte> part, LogStreamSink& sink);
  void take_checkpoint(std::span<const std::byte> part, LogStreamSink& sink);
  void take_state(std::span<const std::byte> piece, LogStreamSink& sink);
  void take_head(std::span<const std::byte> part);
  void begin(LogStreamSink& sink);
  void await(Part part, std::uint64_t bytes) noexcept;

  std::uint64_t message_bytes_max_;
  bool valid_ = true;
  Part part_ = Part::begin;
  std::uint64_t bytes_;             // of that part; of a state, those that are still to come
  std::vector<std::byte> partial_;  // what came of it
  views::LogPoint begin_;
  std::uint64_t end_ = 0;           // version behind what came
  std::uint64_t checkpoint_ = 0;    // its version; 0 if there is none
  StreamedMessage message_;         // whose payload is awaited
};

}  // namespace spindrift::group
