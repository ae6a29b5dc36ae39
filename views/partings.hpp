// Which starts of other nodes this one has parted from, and which connections broke: what a view that begins must know.
// Pure. Of each kind the last 1024 are kept.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <spindrift/views/decree.hpp>

namespace spindrift::views {

class Partings {
 public:
  /// Never again. `turned_away`: the other parted from this node first.
  void part(const Join& who, bool turned_away, std::string reason) {
    if (!parted_from(who)) {
      if (reasons_.size() == kept_max) reasons_.erase(reasons_.begin());
      reasons_.push_back(std::move(reason));
    }
    remember(removed_, who);
    if (turned_away) remember(turned_away_, who);
  }
  [[nodiscard]] bool parted_from(const Join& who) const { return contains(removed_, who); }
  /// The same for people, with the reason as far as it is known.
  [[nodiscard]] std::string words_of(const Join& who) const {
    const auto at = std::find(removed_.begin(), removed_.end(), who);
    const std::string reason = at == removed_.end() ? "" : reasons_[static_cast<std::size_t>(at - removed_.begin())];
    return reason.empty() ? "removed before" : "removed before: " + reason;
  }
  [[nodiscard]] bool turned_away_by(const Join& who) const { return contains(turned_away_, who); }
  /// Its connection broke, and it may come back.
  void lose(const Join& who) { remember(lost_, who); }
  void regain(const Join& who) { std::erase(lost_, who); }
  [[nodiscard]] bool lost(const Join& who) const { return contains(lost_, who); }
  /// Its connection broke because its process ended.
  void die(const Join& who) { remember(died_, who); }
  [[nodiscard]] bool died(const Join& who) const { return contains(died_, who); }
  /// It has ended by its own word.
  void stop(const Join& who) { remember(stopped_, who); }
  [[nodiscard]] bool stopped(const Join& who) const { return contains(stopped_, who); }

 private:
  static constexpr std::size_t kept_max = 1024;
  static bool contains(const std::vector<Join>& list, const Join& who) {
    return std::find(list.begin(), list.end(), who) != list.end();
  }
  static void remember(std::vector<Join>& list, const Join& who) {
    if (contains(list, who)) return;
    if (list.size() == kept_max) list.erase(list.begin());
    list.push_back(who);
  }

  std::vector<Join> removed_;
  std::vector<std::string> reasons_;  // of those, in the same order
  std::vector<Join> turned_away_;  // those among them that were turned away
  std::vector<Join> lost_;
  std::vector<Join> died_;  // those among them whose processes ended
  std::vector<Join> stopped_;
};

}  // namespace spindrift::views
