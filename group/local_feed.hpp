// A feed in memory that a member of this host shares, and the call by which it is asked for.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <spindrift/core/file_descriptor.hpp>
#include <spindrift/core/guarded_directory.hpp>
#include <spindrift/fabric/shm/region.hpp>
#include <spindrift/group/feed_source.hpp>
#include <spindrift/group/observer_calls.hpp>
#include <spindrift/group/reader_naps.hpp>

namespace spindrift::group {

class LocalFeed final : public FeedSource {
 public:
  /// `position`: as in ObserverPacket. Errors: bad_input (the memory is no feed).
  [[nodiscard]] static Result<std::unique_ptr<LocalFeed>> open(const FeedOrigin& origin, FileDescriptor socket,
                                                               fabric::shm::PeerSegment memory, std::uint64_t position);

  /// To the oldest record that is likely to stay there for a while: what was delivered before may be there.
  void rewind() noexcept { reader_.rewind(); }
  /// Why the member has ended the feed, if it has said so.
  [[nodiscard]] const std::string& why() const noexcept { return why_; }

  [[nodiscard]] const FeedOrigin& origin() const noexcept override { return origin_; }
  [[nodiscard]] Result<Found> next(FeedMessage& to) override;
  [[nodiscard]] const FeedEnd& end() const noexcept override { return end_; }
  void report() override;
  void finish() noexcept override;
  [[nodiscard]] bool pending() const noexcept override;
  void rest(Time now, Time at_most) override;
  [[nodiscard]] int descriptor() const noexcept override { return socket_.get(); }
  void on_readable() override;
  /// The end of a nap.
  [[nodiscard]] Time deadline() const noexcept override { return state_ == State::napping ? nap_until_ : never; }

 private:
  enum class State : std::uint8_t {
    reading,
    napping,   ///< and found much: there may be more by now, of which it wants to know nothing yet
    waiting,   ///< the member is to wake this reader
    finished,  ///< nothing more will be written
    over,      ///< and all of it was read
  };

  LocalFeed(const FeedOrigin& origin, FileDescriptor socket, fabric::shm::PeerSegment memory, FeedReader reader)
      : origin_(origin),
        socket_(std::move(socket)),
        memory_(std::move(memory)),
        reader_(std::move(reader)),
        end_(origin.before),
        known_(origin.before.delivered),
        reported_(reader_.position()),
        rested_(reported_) {}

  /// Whether more was written, or left out, than was read.
  [[nodiscard]] bool news() const noexcept;

  const FeedOrigin origin_;
  const FileDescriptor socket_;
  const fabric::shm::PeerSegment memory_;
  FeedReader reader_;
  FeedEnd end_;
  std::uint64_t known_ = 0;     // messages that were read, or of which the caller knows that they were left out
  std::uint64_t left_out_ = 0;  // up to this one, as it looked last
  std::uint64_t reported_ = 0;  // position
  State state_ = State::reading;
  bool read_all_ = false;  // when it looked last
  ReaderNaps naps_;
  std::uint64_t rested_ = 0;  // position
  Time nap_until_{};
  std::string why_;
};

/// A socket on which a member of this host has the hello; nothing: it is not there. `file_name`: in the directory. Errors:
/// resource.
[[nodiscard]] Result<std::optional<FileDescriptor>> call_member(const GuardedDirectory& directory,
                                                                const std::string& file_name, const ObserverPacket& hello);

/// A member's answer to that.
struct LocalAnswer {
  enum class Kind : std::uint8_t { nothing, fed, standing_by, refused, ended };
  Kind kind = Kind::nothing;
  std::string text;                 ///< standing_by, refused, ended
  std::uint64_t refusal = 0;        ///< refused: an ObserverRefusal
  std::unique_ptr<LocalFeed> feed;  ///< fed, with the socket
};
/// Takes what has been answered. Errors: bad_input (what no member answers), resource.
[[nodiscard]] Result<LocalAnswer> take_answer(NodeId node, FileDescriptor& socket);

}  // namespace spindrift::group
