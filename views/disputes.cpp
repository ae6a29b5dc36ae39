// Weighing accusations.
#include <spindrift/views/disputes.hpp>

#include <utility>

namespace spindrift::views {

Disputes::Disputes(const RankSet& trusted, const RankSet& newcomers, std::vector<RankSet> accused)
    : trusted_(trusted), newcomers_(newcomers), accused_(std::move(accused)) {}

bool Disputes::accuses(Rank accuser, Rank whom) const {
  return trusted_.contains(accuser) && trusted_.contains(whom) && accused_[accuser.value()].contains(whom);
}

bool Disputes::in_dispute(Rank one, Rank other) const { return accuses(one, other) && accuses(other, one); }

std::uint64_t Disputes::accusations() const noexcept {
  std::uint64_t count = 0;
  for (std::uint32_t i = 0; i < accused_.size(); ++i) count += trusted_.contains(Rank(i)) ? accused_[i].count() : 0;
  return count;
}

bool Disputes::none() const { return !verdict(std::nullopt) && !unanswered(); }

std::optional<Disputes::Verdict> Disputes::unanswered() const {
  for (std::uint32_t i = 0; i < accused_.size(); ++i) {
    if (accused_[i].empty()) continue;
    for (std::uint32_t j = 0; j < accused_.size(); ++j) {
      if (accuses(Rank(i), Rank(j)) && !accuses(Rank(j), Rank(i))) return Verdict{Rank(i), Rank(j)};
    }
  }
  return std::nullopt;
}

// An accusation that others make too, the reader among them, is no fault of this one: somebody died, or was judged before.
std::tuple<bool, std::uint32_t, Rank> Disputes::burden(Rank rank) const {
  RankSet said;
  for (std::uint32_t i = 0; i < accused_.size(); ++i) {
    if (Rank(i) != rank) said.add(accused_[i]);
  }
  return {newcomers_.contains(rank), accused_[rank.value()].without(said).count(), rank};
}

std::optional<Disputes::Verdict> Disputes::verdict(std::optional<Rank> party) const {
  std::vector<std::tuple<bool, std::uint32_t, Rank>> burdens;
  const auto burden_of = [&](Rank rank) -> const auto& {  // found out once somebody is in dispute
    for (std::uint32_t i = static_cast<std::uint32_t>(burdens.size()); i < accused_.size(); ++i)
      burdens.push_back(burden(Rank(i)));
    return burdens[rank.value()];
  };
  std::optional<Verdict> worst;
  for (std::uint32_t i = 0; i < accused_.size(); ++i) {
    if (accused_[i].empty()) continue;
    for (std::uint32_t j = 0; j < accused_.size(); ++j) {
      const Verdict each{Rank(i), Rank(j)};
      if (party && each.goes != *party && each.stays != *party) continue;
      if (!in_dispute(each.goes, each.stays)) continue;
      if (burden_of(each.goes) < burden_of(each.stays)) continue;
      if (!worst || burden_of(worst->goes) < burden_of(each.goes)) worst = each;
    }
  }
  if (worst && worst->stays == party) worst->stays = first_opponent(worst->goes, party).value_or(worst->stays);
  return worst;
}

std::optional<Rank> Disputes::first_opponent(Rank of, std::optional<Rank> other_than) const {
  for (std::uint32_t i = 0; i < accused_.size(); ++i) {
    if (Rank(i) != other_than && in_dispute(of, Rank(i))) return Rank(i);
  }
  return std::nullopt;
}

}  // namespace spindrift::views
