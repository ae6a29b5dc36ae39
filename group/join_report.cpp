// Asked in each pass, and silent but for changes.
#include <spindrift/group/join_report.hpp>

#include <utility>

namespace spindrift::group {

void JoinReport::look(const views::Member& member, const Handler& handler) {
  if (!handler || member.state() != views::MemberState::looking) return;
  std::vector<NodeId> missing = member.awaited().nodes;
  if (told_ == missing) return;
  told_ = std::move(missing);
  handler(*told_);
}

}  // namespace spindrift::group
