// From calls to members.
#include <spindrift/group/revive_calls.hpp>

#include <string>

#include <spindrift/views/member.hpp>

namespace spindrift::group {

Error ReviveCalls::late() {
  const std::string what = "the members that are named have not agreed in time: they are still told to go on, and may";
  return Error(ErrorKind::timed_out, what)
      .fix("see that each of them has lost the majority, and trusts the others: spindrift group why, there");
}

void ReviveCalls::take(views::Member& member) {
  calls_.take([&](Call& call) {
    if (call.of) return;
    call.of = member.epoch()->id();
    if (auto told = member.revive(call.revive.members, call.revive.force); !told) call.outcome = std::move(told).error();
  });
}

void ReviveCalls::on_active(const View& view) {
  calls_.look([&](Call& call) {
    if (call.of && *call.of < view.id) call.outcome = view;
  });
}

}  // namespace spindrift::group
