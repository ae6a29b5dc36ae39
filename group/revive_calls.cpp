// From calls to members.
#include <spindrift/group/revive_calls.hpp>

#include <algorithm>
#include <string>

#include <spindrift/core/ids_text.hpp>
#include <spindrift/views/mandate.hpp>
#include <spindrift/views/member.hpp>

namespace spindrift::group {
namespace {

Error looks_for_none() {
  return Error(ErrorKind::refused, "this node looks for no group: it is in one, or was")
      .fix("see how it is: spindrift group status; if it has lost the majority: spindrift group revive");
}

Error looks_for_its_group() {
  return Error(ErrorKind::refused, "this node looks for its group, and has lost no majority of a view")
      .fix("see for whom it waits: spindrift group why; if these are gone for good: spindrift group found");
}

bool names_the_same(const Revive& one, const std::vector<NodeId>& nodes) {
  return std::ranges::is_permutation(one.members, nodes);
}

bool are_in(const View& view, const Revive& revive) {
  return std::ranges::all_of(revive.members, [&](NodeId node) { return view.rank_of(node).has_value(); });
}

/// The view is of the group that is asked for, by the word that this node was told before, and others may have joined since
/// then; or of these nodes alone, by somebody's force: no view of the first era is.
bool is_founded(const Revive& revive, const std::optional<Revive>& before, const View& view) {
  if (before && names_the_same(*before, revive.members)) return are_in(view, revive);
  return views::era_of(view.id) > 0 && names_the_same(revive, view.members);
}

/// The loss is asked for while these are to found already.
Error under_way(const Error& loss) {
  return Error(loss.kind(), "these nodes were told to found already, and have not yet: " + loss.message()).fix(loss.fix());
}

Result<View> founded(const Revive& revive, const std::optional<Revive>& before, const View& view) {
  if (!revive.found || (before ? are_in(view, revive) : is_founded(revive, before, view))) return view;
  if (!before) return looks_for_none();
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
    call.outcome = begin(member, call);
  });
}

// A founding and a revival are the word that named nodes go on, and what they go on with differs. If it is said twice that
// nodes are to found, the second caller is told that they have, or waits with the first.
std::optional<Result<View>> ReviveCalls::begin(views::Member& member, Call& call) {
  using State = views::MemberState;
  const State state = member.state();
  const Revive& revive = call.revive;
  // The view will show whether another node was told, by whose word this one goes into its first.
  const bool by_that_word = founds_ ? names_the_same(*founds_, revive.members) : !was_in_view_;
  if (revive.found && state == State::installing && by_that_word) return std::nullopt;
  if (member.epoch() != nullptr) call.of = member.epoch()->id();
  if (revive.found && state == State::active && is_founded(revive, founds_, member.epoch()->view()))
    return member.epoch()->view();
  if (revive.found && state != State::looking) return looks_for_none();
  if (!revive.found && state == State::looking) return looks_for_its_group();
  const auto told = member.revive(revive.members, revive.force);
  if (told && revive.found) founds_ = revive;
  if (told) return std::nullopt;
  const Error& why = told.error();
  const bool again = revive.found && why.kind() == ErrorKind::no_majority && founds_;
  return again && names_the_same(*founds_, revive.members) ? under_way(why) : why;
}

void ReviveCalls::on_active(const View& view) {
  was_in_view_ = true;
  calls_.look([&](Call& call) {
    if (call.taken && (!call.of || *call.of < view.id)) call.outcome = founded(call.revive, founds_, view);
  });
}

}  // namespace spindrift::group
