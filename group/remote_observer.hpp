// One observer of another host at the member that feeds it: it is an observer of the member's own host itself, and hands on
// what it reads. So nothing of what the other end does or leaves undone reaches further than an observer here does.
#pragma once

#include <poll.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <spindrift/core/audit.hpp>
#include <spindrift/core/clock.hpp>
#include <spindrift/core/guarded_directory.hpp>
#include <spindrift/core/ids.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/fabric/tcp/byte_stream.hpp>
#include <spindrift/group/local_feed.hpp>
#include <spindrift/group/observer_frames.hpp>

namespace spindrift::group {

/// The member's, as all of its remote observers need it.
struct ObservedMember {
  NodeId self;
  const GuardedDirectory& directory;
  std::shared_ptr<AuditTrail> audit;
  std::uint64_t life = 0;  ///< random, of this process; not 0
};

class RemoteObserver {
 public:
  /// So long a caller may take to say what it wants, and for the last words.
  static constexpr Duration greeting_max = std::chrono::seconds(3);
  /// More than that is not read from the feed before it has left.
  static constexpr std::size_t batch_bytes = std::size_t{64} << 10U;

  /// `from`: for people. The member outlives this object.
  RemoteObserver(const ObservedMember& member, std::unique_ptr<fabric::tcp::ByteStream> stream, std::string from, Time now)
      : member_(member), stream_(std::move(stream)), from_(std::move(from)), deadline_(now + greeting_max) {}

  /// Does what can be done now. `scratch`: for messages on their way, of any observer.
  void step(FeedMessage& scratch, Time now);
  /// It is told why it gets nothing, or nothing more, and then it is over.
  void refuse(ObserverRefusal why, const std::string& text, Time now);
  void end(const std::string& why, Time now);
  /// Whether its certificate still counts; if not, it is over.
  void recheck();

  /// The identity of the certificate that it has shown; empty: it proves nothing.
  [[nodiscard]] std::string identity() const;
  [[nodiscard]] bool over() const noexcept { return state_ == State::over; }
  /// Whether `step` can do more without anything coming.
  [[nodiscard]] bool busy() const noexcept;
  [[nodiscard]] Time deadline() const noexcept;
  void add_waits(std::vector<pollfd>& to) const;

 private:
  enum class State : std::uint8_t {
    greeting,  ///< it has not said what it wants
    asking,    ///< this process asks its own member
    feeding,
    closing,  ///< it has been told that it is over
    over,
  };

  [[nodiscard]] Result<void> advance(FeedMessage& scratch, Time now);
  [[nodiscard]] Result<void> hear(Time now);
  [[nodiscard]] Result<void> on_hello(const ObserverPacket& hello, Time now);
  [[nodiscard]] Result<void> ask(Time now);
  [[nodiscard]] Result<void> feed(FeedMessage& scratch, Time now);
  [[nodiscard]] Result<void> flush(Time now);
  /// Feeding: whether its feed wants to be left alone for a moment.
  [[nodiscard]] bool naps(Time now) const noexcept;
  [[nodiscard]] bool wanted(const FeedRecord& record) const noexcept;

  const ObservedMember& member_;
  const std::unique_ptr<fabric::tcp::ByteStream> stream_;
  const std::string from_;
  State state_ = State::greeting;
  Time deadline_;  // greeting, closing: for the end; else for a sign of life
  FrameBuffer incoming_{observer_packet_bytes_max};
  OutgoingFrames outgoing_;
  bool blocked_ = false;  // what is outgoing waits for the other end
  ObserverPacket hello_;
  FileDescriptor socket_;  // asking: to the own member
  std::unique_ptr<LocalFeed> feed_;
  std::uint64_t told_ = UINT64_MAX;  // messages, as of the last end that was sent
};

}  // namespace spindrift::group
