// An observer's search for a member that feeds it: on its own host, and where that does not answer at once, on others.
#pragma once

#include <poll.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/config/config.hpp>
#include <spindrift/core/guarded_directory.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/group/feed_cursor.hpp>
#include <spindrift/group/network_search.hpp>
#include <spindrift/group/observer_search.hpp>

namespace spindrift::group {

class FeedSearch {
 public:
  /// So long members of the own host have to answer before others are called; and when the observer was fed before, for then
  /// each moment may be a message that it misses.
  static constexpr Duration before_others = std::chrono::milliseconds(200);
  static constexpr Duration before_others_again = std::chrono::milliseconds(5);

  /// `source`: that member alone. The clock outlives this object. Errors: refused, resource (of the directory).
  [[nodiscard]] static Result<std::unique_ptr<FeedSearch>> make(const Config& config, std::string subgroup,
                                                                std::optional<NodeId> source, const Clock& clock);

  /// `from`: nothing for the first feed. Errors: resource.
  [[nodiscard]] Result<void> begin(std::optional<Resumption> from);
  /// The observer is fed by that member: those of its own host answer once it is not in the subgroup any more. Errors:
  /// resource.
  [[nodiscard]] Result<void> begin_beside(NodeId fed_by, std::optional<Resumption> from);
  void stop();

  /// Takes what came since; to be called again at `next_look`, too. Null: nobody feeds this observer yet. Errors: those of
  /// ObserverSearch and NetworkSearch.
  [[nodiscard]] Result<std::unique_ptr<FeedSource>> look();
  [[nodiscard]] Time next_look() const noexcept;
  /// Adds the descriptors whose news `look` takes.
  void add_waits(std::vector<pollfd>& to) const;

  /// The member that is looked for, and what has been answered, in words.
  [[nodiscard]] std::string waits_for() const;
  /// The thing to do if nobody is there.
  [[nodiscard]] std::string fix() const;
  [[nodiscard]] const std::string& directory() const noexcept { return directory_.path(); }

 private:
  FeedSearch(const Config& config, std::string subgroup, std::optional<NodeId> source, const Clock& clock,
             GuardedDirectory directory);
  [[nodiscard]] std::string answers() const;

  const std::string group_;
  const std::string subgroup_;
  const std::optional<NodeId> source_;
  const Clock& clock_;
  const GuardedDirectory directory_;
  std::optional<Resumption> from_;
  bool fed_before_ = false;
  std::optional<ObserverSearch> here_;
  std::optional<NetworkSearch> elsewhere_;  // if members listen for observers of other hosts
  Time elsewhere_from_ = never;             // never: it has begun, or does not
};

}  // namespace spindrift::group
