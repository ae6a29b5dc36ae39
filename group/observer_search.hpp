// An observer's search on its own host for a member that feeds it: it calls all that are there, and takes the first one that
// has the feed.
#pragma once

#include <poll.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/file_descriptor.hpp>
#include <spindrift/core/guarded_directory.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/group/local_feed.hpp>

namespace spindrift::group {

class ObserverSearch {
 public:
  /// `source`: that member alone. The directory outlives this object.
  ObserverSearch(const GuardedDirectory& directory, std::string subgroup, std::optional<NodeId> source)
      : directory_(directory), subgroup_(std::move(subgroup)), source_(source) {}
  /// For an observer that this member feeds: the others answer once that one is not in the subgroup any more, which it may
  /// not know itself.
  [[nodiscard]] static ObserverSearch beside(const GuardedDirectory& directory, std::string subgroup, NodeId fed_by) {
    ObserverSearch search(directory, std::move(subgroup), std::nullopt);
    search.fed_by_ = fed_by;
    return search;
  }

  /// Nobody says when a member that had no room has some: all that are not heard of are called again. An observer that is
  /// fed has no descriptor that tells of new members, for a user may have few of these, and members need them.
  static constexpr Duration between_calls = std::chrono::seconds(1);

  /// Calls whoever is there. Errors: resource.
  [[nodiscard]] Result<void> begin(Time now);
  /// Takes what was answered since; to be called again at `next_calls`, too. Errors: bad_argument (no such subgroup),
  /// bad_input (what no member sends), resource.
  /// Null: nobody feeds this observer yet.
  [[nodiscard]] Result<std::unique_ptr<LocalFeed>> look(Time now);
  [[nodiscard]] Time next_calls() const noexcept { return next_calls_; }
  /// Adds the descriptors whose news `look` takes.
  void add_waits(std::vector<pollfd>& to) const;
  /// The members that were there and what they said, in words; empty: none was.
  [[nodiscard]] std::string answers() const;

 private:
  struct Call {
    FileDescriptor socket;  // empty: the call is over
    std::string answer;     // so far
  };

  [[nodiscard]] Result<void> call_everybody(Time now);
  [[nodiscard]] Result<std::unique_ptr<LocalFeed>> on_answer(NodeId node, Call& call);

  const GuardedDirectory& directory_;
  std::string subgroup_;
  std::optional<NodeId> source_;
  std::optional<NodeId> fed_by_;
  FileDescriptor arrivals_;
  std::map<NodeId, Call> calls_;
  Time next_calls_{};
};

}  // namespace spindrift::group
