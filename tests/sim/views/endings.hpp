// How each view of a run ends, from the members' rows alone: what was proposed, accepted and decided under which ballot, who
// had promised what, and how much of the view's messages everybody is to deliver.
//
// The invariant to remember: a decree that a majority accepted is every later ballot's decree (docs/protocol.md, "How a view
// ends"). A dead member's words count: others may have seen them. But where all who live are less than a majority, and that
// ballot's leader is dead and has not decided, nobody ever will.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include <spindrift/core/view.hpp>
#include <spindrift/sst/row_layout.hpp>
#include <spindrift/views/rank_set.hpp>

#include "../report.hpp"

namespace spindrift::sim {

/// One process's row of one view.
struct RowBook {
  /// The ballot that had been accepted when these were suspected; a member that sees the one sees the other.
  struct Promise {
    views::RankSet suspected;
    std::uint64_t accepted = 0;
  };
  std::uint32_t process = 0;
  Rank rank;
  const View* view = nullptr;  ///< outlives the book
  sst::RowLayout layout;
  const std::byte* memory = nullptr;
  bool released = false;
  bool begun = false;                         ///< seen after a step
  views::RankSet remembered = {};             ///< suspects as of then
  std::vector<std::byte> before = {};         ///< control words after the owner's last step
  std::vector<Promise> promises = {};         ///< oldest first
  std::map<std::uint32_t, const std::byte*> rings = {};  ///< by subgroup, those that are split off the row
  std::vector<std::uint64_t> delivered = {};  ///< by subgroup, ordered: frontier of what the application was seen to get

  /// The owner's place of its ring of that subgroup, in which it sends.
  [[nodiscard]] const std::byte* ring(std::uint32_t subgroup) const {
    const auto split = rings.find(subgroup);
    return split == rings.end() ? memory + layout.subgroup(SubgroupId(subgroup))->ring : split->second;
  }
  [[nodiscard]] std::uint64_t now(std::uint64_t offset) const;
  [[nodiscard]] std::uint64_t earlier(std::uint64_t offset) const;
  /// The newest that is known of the word, also when the row is gone.
  [[nodiscard]] std::uint64_t last(std::uint64_t offset) const { return released ? earlier(offset) : now(offset); }
  [[nodiscard]] views::RankSet suspects_now() const;
  [[nodiscard]] views::RankSet suspected_earlier() const;
};

class Endings {
 public:
  using Books = std::map<std::uint32_t, RowBook>;  // of one view, by process

  /// `majority_rules`: the plan's partition safety; without it two sides may each decide.
  Endings(Report& report, bool majority_rules) : report_(report), majority_rules_(majority_rules) {}

  /// Words of this row changed in its owner's last step; `book.before` still has those of before.
  void on_change(RowBook& book, const Books& books);
  /// This member's application got everything below `frontier`, by the ordinary way.
  void on_delivered(RowBook& book, std::uint32_t subgroup, std::uint64_t frontier);
  /// The decree that the view's ballot stands for, as it was first accepted; empty if it never was.
  [[nodiscard]] std::span<const std::uint64_t> decree(ViewId view, std::uint64_t ballot) const;
  /// A process has crashed, in whatever view: it does nothing any more.
  void on_crash(std::uint64_t incarnation) { crashed_.insert(incarnation); }
  [[nodiscard]] bool crashed(const View& view, Rank rank) const {
    return crashed_.contains(view.incarnations[rank.value()]);
  }
  /// Somebody had this view revived: few may end it.
  void on_revival(ViewId view) { revived_.insert(view); }
  void forget() {
    endings_.clear();
    revived_.clear();
  }

 private:
  struct Ballot {
    std::vector<std::uint64_t> words;  ///< the decree's
    std::uint64_t acceptors = 0;
  };
  struct Ending {
    std::map<std::uint64_t, Ballot> ballots;
    std::uint64_t chosen = 0;                                  ///< the lowest ballot that a majority accepted; 0: none
    std::vector<std::uint64_t> decided;                        ///< words of the decree; empty: nobody has decided
    std::vector<std::vector<std::uint64_t>> trim;              ///< by subgroup and sender; empty: nobody has decided
    std::vector<bool> survives;                                ///< by subgroup: a survivor is in it
    std::map<std::uint32_t, std::vector<std::uint64_t>> ends;  ///< by suspecter · 256 + suspect: `committed` by subgroup
  };

  void on_suspicion(RowBook& book, const Books& books, Ending& ending);
  void on_wedge(const RowBook& book, const Ending& ending);
  void on_acceptance(const RowBook& book, const Books& books, Ending& ending);
  void on_decision(const RowBook& book, const Books& books, Ending& ending);
  [[nodiscard]] bool by_testimony(const RowBook& book) const;
  [[nodiscard]] bool accepted_by_all_that_live(const std::vector<std::uint64_t>& words, const RowBook& book,
                                               const Books& books) const;
  [[nodiscard]] bool accepted_by_all_that_go_on(const std::vector<std::uint64_t>& words, std::uint64_t ballot,
                                                const RowBook& book, const Books& books) const;
  void check_survivor(const RowBook& book, Ending& ending);
  void check_delivered(const RowBook& book, const Ending& ending);
  void violate(const char* invariant, const RowBook& book, const std::string& what);

  Report& report_;
  bool majority_rules_;
  std::map<ViewId, Ending> endings_;
  std::set<std::uint64_t> crashed_;  // incarnations
  std::set<ViewId> revived_;
};

}  // namespace spindrift::sim
