// A member's suspicions, and a command.
#include <spindrift/group/loss_report.hpp>

#include <spindrift/views/ending.hpp>

namespace spindrift::group {

std::string words_of_loss(const views::Member& member) {
  if (member.state() != views::MemberState::stranded) return {};
  const views::Epoch& present = *member.epoch();
  std::string left;
  for (std::uint32_t i = 0; i < present.view().members.size(); ++i) {
    if (present.change().suspected().contains(Rank(i))) continue;
    left += (left.empty() ? "" : ",") + std::to_string(present.view().members[i].value());
  }
  return "without a majority it keeps its state: " + views::lost_majority(present).message() +
         "; fix: see to the others; if they have gone on, this node ends when it hears of that; if they "
         "have not, and must not: spindrift group revive --members " +
         left;
}

}  // namespace spindrift::group
