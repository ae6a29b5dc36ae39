// A feed that comes over a connection to a member of another host.
#pragma once

#include <memory>
#include <string>

#include <spindrift/fabric/tcp/byte_stream.hpp>
#include <spindrift/group/feed_source.hpp>
#include <spindrift/group/observer_frames.hpp>

namespace spindrift::group {

class NetworkFeed final : public FeedSource {
 public:
  /// A member says something each `between_signs`; one of which nothing came for so long is given up.
  static constexpr Duration between_signs = std::chrono::seconds(1);
  static constexpr Duration silence_max = std::chrono::seconds(5);

  /// `frames`: with what came behind the welcome. The clock outlives this object.
  NetworkFeed(const FeedOrigin& origin, std::unique_ptr<fabric::tcp::ByteStream> stream, FrameBuffer frames,
              const Clock& clock)
      : origin_(origin),
        stream_(std::move(stream)),
        frames_(std::move(frames)),
        clock_(clock),
        heard_(clock.now()),
        end_(origin.before) {}

  [[nodiscard]] const FeedOrigin& origin() const noexcept override { return origin_; }
  [[nodiscard]] Result<Found> next(FeedMessage& to) override;
  [[nodiscard]] const FeedEnd& end() const noexcept override { return end_; }
  void report() override {}
  void finish() noexcept override { over_ = true; }
  [[nodiscard]] bool pending() const noexcept override;
  void rest(Time, Time) override {}
  [[nodiscard]] int descriptor() const noexcept override { return stream_->descriptor(); }
  void on_readable() override {}
  [[nodiscard]] Time deadline() const noexcept override { return heard_ + silence_max; }

 private:
  [[nodiscard]] Result<Found> on_frame(const ObserverFrame& frame, FeedMessage& to);

  const FeedOrigin origin_;
  const std::unique_ptr<fabric::tcp::ByteStream> stream_;
  FrameBuffer frames_;
  const Clock& clock_;
  Time heard_;
  FeedEnd end_;
  bool over_ = false;
};

}  // namespace spindrift::group
