// Which starts of other nodes this one has parted from, and which connections broke: what a view that begins must know.
// Pure. Of each kind the last 1024 are kept.
#pragma once

#include <algorithm>
#include <vector>

#include <spindrift/views/decree.hpp>

namespace spindrift::views {

class Partings {
 public:
  /// Never again. `turned_away`: the other parted from this node first.
  void part(const Join& who, bool turned_away) {
    remember(removed_, who);
    if (turned_away) remember(turned_away_, who);
  }
  [[nodiscard]] bool parted_from(const Join& who) const { return contains(removed_, who); }
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
  std::vector<Join> turned_away_;  // those among them that were turned away
  std::vector<Join> lost_;
  std::vector<Join> died_;  // those among them whose processes ended
  std::vector<Join> stopped_;
};

}  // namespace spindrift::views
