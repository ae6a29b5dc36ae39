// The feeds of a member's subgroups, those of the layout and those that views add: the poller writes them, and the thread of
// the observers lets these read.
//
// The invariant to remember: each of the two has a list of its own. What is new goes from the poller's to the other's behind
// a mutex; a delivery takes none.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/view.hpp>
#include <spindrift/group/feed.hpp>

namespace spindrift::group {

class Feeds {
 public:
  /// Each of `shapes`, the layout's, has a feed, for which FeedBudget allows so many bytes each second.
  Feeds(const std::vector<SubgroupView>& shapes, std::uint64_t bytes_per_second);

  // The poller.
  /// As Feed::on_delivery.
  [[nodiscard]] bool on_delivery(SubgroupId id, std::span<const Delivery> batch, const Clock& clock) noexcept {
    return written_[id.value()]->on_delivery(batch, clock);
  }
  /// A subgroup is new in the view that begins, behind all or at the place of one that was dropped.
  void add(SubgroupId id, const SubgroupView& shape);

  // The thread of the observers.
  /// Hears of those that are new.
  void take_new();
  /// So many places are known; some may have no feed.
  [[nodiscard]] std::size_t count() const noexcept { return read_.size(); }
  /// Null: there is none.
  [[nodiscard]] Feed* at(std::size_t place) const noexcept { return read_[place].get(); }
  /// That of a subgroup that observers know of.
  [[nodiscard]] Feed& operator[](SubgroupId id) const noexcept { return *read_[id.value()]; }
  /// The place of the subgroup of that name in that view, or in the layout if there is no view yet; count(): none has it.
  [[nodiscard]] std::size_t seek(std::string_view name, const View& view) const;
  /// The names of all that are there, likewise.
  [[nodiscard]] std::string names(const View& view) const;

 private:
  [[nodiscard]] bool is_there(std::size_t place, const View& view) const;

  const std::uint64_t bytes_per_second_;
  std::vector<std::shared_ptr<Feed>> written_;  // by subgroup; the poller's
  std::vector<std::shared_ptr<Feed>> read_;     // by subgroup; the thread's
  std::mutex mutex_;
  std::vector<std::shared_ptr<Feed>> new_;  // behind the mutex, by subgroup: null where nothing is new
};

}  // namespace spindrift::group
