// One member of five, whose reading of the others' rows is tested word by word: the test writes these.
#pragma once

#include <catch2/catch.hpp>

#include <cstring>
#include <vector>

#include <spindrift/core/log.hpp>
#include <spindrift/views/view_change.hpp>

#include "one_subgroup.hpp"

namespace spindrift::views {

inline View five_members() {
  View view;
  view.id = ViewId(1);
  for (std::uint32_t i = 0; i < 5; ++i) {
    view.members.emplace_back(i);
    view.incarnations.push_back(100 + i);
  }
  view.subgroups.push_back(subgroup_of(view.members));
  return view;
}

/// The member of one rank, and the rows that it reads.
struct OneOfFive : Counts {
  explicit OneOfFive(std::uint32_t rank, RankSet newcomers = {}, const Mandate::Terms& terms = {})
      : own(sst::RowLayout(view, NodeId(rank)).bytes()),
        table(view, NodeId(rank), own),
        change(view, loaded, table, *this, rosters, terms, newcomers) {
    REQUIRE(log::set_levels("off").ok());
    for (std::uint32_t i = 0; i < 5; ++i) {
      rows[i].resize(table.layout(Rank(i)).bytes());
      if (i != rank) table.attach_mapped(Rank(i), rows[i]);
    }
  }
  void wedge() override {}
  [[nodiscard]] bool can_deliver(const Decree&) const override { return true; }

  /// `whom`: a bit per rank.
  void accuses(std::uint32_t from, std::uint64_t whom) {
    std::memcpy(rows[from].data() + table.layout(Rank(from)).suspected(0), &whom, sizeof whom);
  }
  void wedges(std::uint32_t rank) {
    constexpr std::uint64_t yes = 1;
    std::memcpy(rows[rank].data() + table.layout(Rank(rank)).wedged(), &yes, sizeof yes);
  }
  void is_ready(std::uint32_t rank) {
    const std::uint64_t id = view.id.value();
    constexpr std::uint64_t yes = 1;
    std::memcpy(rows[rank].data() + table.layout(Rank(rank)).epoch(), &id, sizeof id);
    std::memcpy(rows[rank].data() + table.layout(Rank(rank)).phase(), &yes, sizeof yes);
  }
  void wants_to_leave(std::uint32_t rank) {
    constexpr std::uint64_t yes = 1;
    std::memcpy(rows[rank].data() + table.layout(Rank(rank)).leaving(), &yes, sizeof yes);
  }
  /// All others are wedged, so that a leader can propose.
  void step_wedged(int times = 3, const std::vector<Candidate>& candidates = {}) {
    for (std::uint32_t i = 0; i < 5; ++i) {
      if (Rank(i) != table.self()) wedges(i);
    }
    for (int i = 0; i < times; ++i) (void)change.step(candidates, true, {{}, false, weighed()});
  }
  [[nodiscard]] std::vector<Join> proposed() const { return proposal().joins; }
  [[nodiscard]] Decree proposal() const {
    if (change.state() != ViewChange::State::accepted) return {};
    std::vector<std::uint64_t> words;
    const std::byte* const from = table.bytes(table.self(), table.layout(table.self()).decree());
    for (std::uint64_t i = 0; i < table.layout(table.self()).decree_words(); ++i)
      words.push_back(load_acquire(from + i * sst::word_bytes));
    return *decode(words, view);
  }
  [[nodiscard]] std::uint64_t told() const { return table.own(table.layout(table.self()).suspected(0)); }
  void step(const RankSet& quiet = {}, bool just_woke = false, bool stale = false) {
    (void)change.step({}, true, {quiet, just_woke, weighed(stale)});
  }
  /// The rows have said the same for long.
  [[nodiscard]] AccusationWatch::Finding weighed(bool stale = false) const {
    const Disputes open = change.disputes();
    return {open.goes_by(table.self(), change.leader()), stale ? open.accusations() : 0};
  }

  View view = five_members();
  std::vector<RankSet> loaded{RankSet::first(5)};
  std::vector<std::byte> own;
  std::vector<std::byte> rows[5];
  sst::Table table;
  RosterAgreement rosters{view, table.self()};
  ViewChange change;
};

}  // namespace spindrift::views
