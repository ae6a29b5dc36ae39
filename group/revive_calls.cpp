// From calls to members.
#include <spindrift/group/revive_calls.hpp>

#include <algorithm>
#include <string>

#include <spindrift/core/ids_text.hpp>
#include <spindrift/views/member.hpp>

namespace spindrift::group {
namespace {

// Both are the word that named nodes go on, and what they go on with differs.
Result<void> tell(views::Member& member, const Revive& revive) {
  const bool looks = member.state() == views::MemberState::looking;
  if (revive.found && !looks) {
    return Error(ErrorKind::refused, "this node looks for no group: it is in one, or was")
        .fix("see how it is: spindrift group status; if it has lost the majority: spindrift group revive");
  }
  if (!revive.found && looks) {
    return Error(ErrorKind::refused, "this node looks for its group, and has lost no majority of a view")
        .fix("see for whom it waits: spindrift group why; if these are gone for good: spindrift group found");
  }
  return member.revive(revive.members, revive.force);
}

Result<View> founded(const Revive& revive, const View& view) {
  const auto is_there = [&](NodeId node) { return view.rank_of(node).has_value(); };
  if (!revive.found || std::ranges::all_of(revive.members, is_there)) return view;
  return Error(ErrorKind::refused, "this node went into view " + std::to_string(view.id.value()) + " of nodes " +
                                       listed(view.members) + ", which others have founded")
      .fix("see the group: spindrift group status");
}

}  // namespace

Error ReviveCalls::late(bool founds) {
  if (founds) {
    return Error(ErrorKind::timed_out, "the nodes that are named have not founded in time: they still are to, as long as "
                                       "all of them are here, and nobody comes who remembers the group")
        .fix("see what they wait for: spindrift group why, there");
  }
  return Error(ErrorKind::timed_out,
               "the members that are named have not agreed in time: they are still told to go on, and may")
      .fix("see that each of them has lost the majority, and trusts the others: spindrift group why, there");
}

void ReviveCalls::take(views::Member& member) {
  calls_.take([&](Call& call) {
    if (call.taken) return;
    call.taken = true;
    if (member.epoch() != nullptr) call.of = member.epoch()->id();
    if (auto told = tell(member, call.revive); !told) call.outcome = std::move(told).error();
  });
}

void ReviveCalls::on_active(const View& view) {
  calls_.look([&](Call& call) {
    if (call.taken && (!call.of || *call.of < view.id)) call.outcome = founded(call.revive, view);
  });
}

}  // namespace spindrift::group
