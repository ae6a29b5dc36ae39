// A stream of bytes with all that another node's log lacks of this one's: the place where it begins, which is where the
// other one ends, or where this one begins; then one message behind the other.
//
//   stream   version 8 · link 16 · messages
//   message  size of the payload 8 · sender 4 · view 8 · sequence number 8 · time 8 · payload
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <span>
#include <stop_token>
#include <vector>

#include <spindrift/core/ids.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/group/node_journal.hpp>
#include <spindrift/views/subgroup_logs.hpp>

namespace spindrift::group {

/// A log that is to be read for another one.
struct StreamedLog {
  LogPlace log;
  views::LogPoint from;            ///< where the other one ends
  std::uint64_t first = 0;         ///< version of its first message
  std::uint64_t to = 0;            ///< version behind the last message
  store::JournalPosition written;  ///< when everything before it is on the disk, so is all that is to be read
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

/// Takes a stream apart that another node sends, cut anywhere. Holds at most one message.
class LogStream {
 public:
  using BeginVisitor = std::function<void(const views::LogPoint&)>;
  using MessageVisitor = std::function<void(const StreamedMessage&)>;

  explicit LogStream(std::uint64_t message_bytes_max) noexcept;

  /// The next bytes. Once it is not valid it takes nothing more.
  void take(std::span<const std::byte> piece, const BeginVisitor& on_begin, const MessageVisitor& on_message);
  /// There are no more: in the middle of something it is not valid.
  void finish() noexcept;
  [[nodiscard]] bool valid() const noexcept { return valid_; }

 private:
  enum class Part : std::uint8_t { begin, head, payload };

  void take_part(std::span<const std::byte> part, const BeginVisitor& on_begin, const MessageVisitor& on_message);
  void take_head(std::span<const std::byte> part);
  void await(Part part, std::uint64_t bytes) noexcept;

  std::uint64_t message_bytes_max_;
  bool valid_ = true;
  Part part_ = Part::begin;
  std::uint64_t bytes_;             // of that part
  std::vector<std::byte> partial_;  // what came of it
  StreamedMessage message_;         // whose payload is awaited
};

}  // namespace spindrift::group
