// From calls to the member.
#include <spindrift/group/adopt_calls.hpp>

#include <algorithm>

#include <spindrift/views/member.hpp>

namespace spindrift::group {
namespace {

Result<View> adopted(const LogAdoption& adoption, const views::Epoch& present) {
  const View& view = present.view();
  const auto at = std::ranges::find(view.subgroups, adoption.subgroup, &SubgroupView::name);
  const bool is_here = at != view.subgroups.end() && !present.loaded()[static_cast<std::size_t>(
                                                         at - view.subgroups.begin())].empty();
  if (is_here) return view;
  return Error(ErrorKind::refused, "the view ended for another reason, and the log is away as before")
      .fix("see who is gone, spindrift group why, and say it again");
}

/// The member has no view to adopt a log in, and one comes by itself.
bool comes_to_a_view(views::MemberState state) {
  return state == views::MemberState::installing || state == views::MemberState::changing ||
         state == views::MemberState::concluding;
}

}  // namespace

void AdoptCalls::tell(Call& call, views::Member& member) {
  auto told = views::adopt_log(member, call.adoption.subgroup, call.adoption.from, call.adoption.force);
  if (!told) call.outcome = std::move(told).error();
  else call.of = member.epoch()->id();
}

Error AdoptCalls::late() {
  return Error(ErrorKind::timed_out, "the next view has not begun in time: it may still begin with that log")
      .fix("see what holds it up: spindrift group why");
}

void AdoptCalls::take(views::Member& member) {
  if (comes_to_a_view(member.state())) return calls_.take([](const Call&) {});
  calls_.take([&](Call& call) {
    if (!call.of) tell(call, member);
  });
}

void AdoptCalls::on_active(views::Member& member) {
  calls_.look([&](Call& call) {
    if (!call.of) tell(call, member);
    else if (*call.of < member.epoch()->id()) call.outcome = adopted(call.adoption, *member.epoch());
  });
}

}  // namespace spindrift::group
