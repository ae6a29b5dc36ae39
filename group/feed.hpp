// One subgroup's feed at a member that observers may call: written while somebody observes.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include <spindrift/core/result.hpp>
#include <spindrift/core/view.hpp>
#include <spindrift/fabric/shm/region.hpp>
#include <spindrift/group/feed_budget.hpp>
#include <spindrift/group/feed_ring.hpp>

namespace spindrift::group {

class Feed {
 public:
  /// `bytes_per_second`: see FeedBudget.
  Feed(const SubgroupView& shape, std::uint64_t bytes_per_second)
      : name_(shape.name),
        mode_(shape.mode),
        message_bytes_max_(shape.profile.message_bytes_max),
        budget_(bytes_per_second) {}

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] DeliveryMode mode() const noexcept { return mode_; }

  /// The poller: this member delivers these. Whether an observer waits for it, and is to be woken.
  [[nodiscard]] bool on_delivery(std::span<const Delivery> batch, const Clock& clock) noexcept;

  // The thread of the observers.
  /// From now on deliveries are written. Errors: resource (the first time).
  [[nodiscard]] Result<void> begin();
  /// So many have the feed; none: from now on nothing is written, and what was written stays.
  void on_readers(std::uint64_t count) noexcept;
  /// After `begin`: the memory, which observers can map for reading alone.
  [[nodiscard]] int descriptor() const noexcept { return memory_->descriptor(); }
  [[nodiscard]] std::size_t bytes() const noexcept { return memory_->memory().size(); }
  /// A reader is that far: there may be a lap more.
  void on_position(std::uint64_t position) noexcept;
  /// How far the subgroup and the feed are at one moment. After `begin`.
  struct Snapshot {
    std::uint64_t written = 0;
    FeedEnd end;
  };
  [[nodiscard]] Snapshot snapshot() const noexcept;
  /// Whether more is written than that, or more was delivered than so many messages, as far as can be told. If not, the
  /// next delivery says that somebody waits.
  [[nodiscard]] bool passed(std::uint64_t position, std::uint64_t delivered_before) noexcept;

 private:
  void write(std::span<const Delivery> batch, std::uint64_t limit) noexcept;

  const std::string name_;
  const DeliveryMode mode_;
  const std::uint64_t message_bytes_max_;
  std::optional<fabric::shm::OwnSegment> memory_;
  std::optional<FeedWriter> writer_;  // made before `observed_` is true, then the poller's
  std::atomic<bool> observed_{false};
  std::atomic<bool> awaited_{false};
  std::atomic<std::uint64_t> readers_{0};
  std::atomic<std::uint64_t> limit_{0};  // nothing is written behind it
  std::array<std::uint64_t, SharedEnd::words> end_words_{};
  SharedEnd end_{end_words_};
  FeedEnd now_;  // the same for the poller itself
  FeedBudget budget_;
};

}  // namespace spindrift::group
