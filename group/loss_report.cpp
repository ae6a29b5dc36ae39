// A member's suspicions, and a command.
#include <spindrift/group/loss_report.hpp>

#include <spindrift/views/ending.hpp>
#include <spindrift/views/revivable.hpp>

namespace spindrift::group {

std::string words_of_loss(const views::Member& member) {
  if (member.state() != views::MemberState::stranded) return {};
  views::Epoch& present = *member.epoch();
  const View& view = present.view();
  const views::Revivable about = views::revivable(present, member.links());
  const views::RankSet left = views::RankSet::first(view.members.size()).without(about.suspected);
  std::string words = "without a majority it keeps its state: " + views::lost_majority(present).message() +
                      "; fix: see to the others; if they have gone on, this node ends when it hears of that; if they "
                      "have not, and must not: spindrift group revive --members " +
                      views::nodes_in(view, left);
  const views::RankSet may_live = views::majority_that_may_live(about, left);
  if (may_live.empty()) return words;
  return words + ", with --force unless this host shows that nodes " + views::nodes_in(view, may_live) +
         " have ended: else they may live, and would be a majority of the " + std::to_string(view.members.size()) +
         " members";
}

}  // namespace spindrift::group
