// One word for each that an upcall may wait for.
#include <spindrift/group/upcall_reports.hpp>

#include <chrono>
#include <string>

#include <spindrift/core/log.hpp>
#include <spindrift/group/status.hpp>

namespace spindrift::group {
namespace {

using HeldBy = UpcallHeartbeats::HeldBy;

std::int64_t ms_of(Duration lasted) { return std::chrono::duration_cast<std::chrono::milliseconds>(lasted).count(); }

std::string name_of(const UpcallHeartbeats::Whose& whose, const Channels& channels) {
  return whose.subgroup ? "a handler of subgroup " + channels[*whose.subgroup].name() : "a handler of the group's";
}

std::string what_lasts(const UpcallHeartbeats::Whose& whose, Duration lasted, const Channels& channels) {
  const std::string ms = std::to_string(ms_of(lasted)) + " ms";
  if (whose.held_by == HeldBy::disk)
    return std::string(waits_for_disk) + ", which has not taken the record of views for " + ms;
  return name_of(whose, channels) + " has been at work for " + ms + " on the thread that runs the protocol";
}

}  // namespace

void report_upcall(UpcallHeartbeats::Whose whose, Duration lasted, const Channels& channels, StatusKeeper& status) {
  if (whose.held_by == HeldBy::disk) {
    log::warn(log::Room::group, "the disk holds up this member, and all others wait for it",
              {{"ms", ms_of(lasted)}, {"fix", "see what holds up the disk of [PERS] file_path"}});
  } else {
    const std::string fix = whose.subgroup ? "give it " + std::string(channels[*whose.subgroup].cure_of_slowness())
                                           : std::string("let it return sooner");
    log::warn(log::Room::group, "a handler holds up this member, and all others wait for it",
              {{"whose", name_of(whose, channels)}, {"ms", ms_of(lasted)}, {"fix", fix}});
  }
  status.on_handler_at_work(what_lasts(whose, lasted, channels));
}

void report_given_up(const UpcallHeartbeats::Stuck& stuck, const Channels& channels, StatusKeeper& status) {
  const std::string what = what_lasts(stuck.whose, stuck.lasted, channels);
  log::error(log::Room::group, "this member is held up for too long, and the others are let go on without it",
             {{"what", what}, {"limit", "[SPINDRIFT] handler_stuck_after_ms"}});
  status.on_handler_at_work(what + ": the others go on without this member, which ends when that returns");
}

}  // namespace spindrift::group
