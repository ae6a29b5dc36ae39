// Accusations among the members that a reader trusts, and which of two that accuse each other goes.
//
// An accusation separates two, and convicts neither: whoever has lost a connection does not know at which end. So nothing
// follows from it for others before each of the two accuses the other; a member that is gone never does, and whoever is to
// leave it out finds that for itself. Then one goes: a newcomer before a member that was there before, then who accuses
// more, then the higher rank. So a member that loses many costs itself, and not those. (docs/protocol.md, "How a view ends")
//
// A value, made of what the rows say in one pass.
#pragma once

#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include <spindrift/views/rank_set.hpp>

namespace spindrift::views {

class Disputes {
 public:
  struct Verdict {
    Rank goes;
    Rank stays;
    bool operator==(const Verdict&) const noexcept = default;
  };

  /// `accused`: by rank, whom that member accuses. Only what is between two of the `trusted` counts.
  Disputes(const RankSet& trusted, const RankSet& newcomers, std::vector<RankSet> accused);

  /// By those who are trusted, of whomever.
  [[nodiscard]] std::uint64_t accusations() const noexcept;
  /// Nobody who is trusted accuses another.
  [[nodiscard]] bool none() const;
  /// The first to go of all who accuse each other or, with `party`, of those who do so with that member. Nothing: no two do.
  /// Another than `party` counts as the one that stays, where several are in dispute with the one that goes: `party` may
  /// only have judged between them.
  [[nodiscard]] std::optional<Verdict> verdict(std::optional<Rank> party) const;
  /// The same as this member judges: the leader between any two, the others between the leader and another, which the leader
  /// cannot.
  [[nodiscard]] std::optional<Verdict> verdict_of(Rank judge, Rank leader) const {
    return verdict(judge == leader ? std::nullopt : std::optional(leader));
  }
  /// The one that goes by that verdict.
  [[nodiscard]] std::optional<Rank> goes_by(Rank judge, Rank leader) const {
    const auto found = verdict_of(judge, leader);
    return found ? std::optional(found->goes) : std::nullopt;
  }
  /// The first who accuses another that does not answer, and that other.
  [[nodiscard]] std::optional<Verdict> unanswered() const;

 private:
  [[nodiscard]] bool accuses(Rank accuser, Rank whom) const;
  [[nodiscard]] bool in_dispute(Rank one, Rank other) const;
  [[nodiscard]] std::optional<Rank> first_opponent(Rank of, std::optional<Rank> other_than) const;
  [[nodiscard]] std::tuple<bool, std::uint32_t, Rank> burden(Rank rank) const;

  RankSet trusted_;
  RankSet newcomers_;
  std::vector<RankSet> accused_;  // by rank
};

}  // namespace spindrift::views
