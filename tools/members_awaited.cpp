// A line is due once, and after that whenever it differs: nobody is told again and again of what does not change.
#include "members_awaited.hpp"

#include <unistd.h>

#include <optional>

#include <fmt/format.h>

#include <spindrift/core/clock.hpp>

namespace spindrift::tools {

void MembersAwaited::on_view(const NewView& news) {
  const std::lock_guard lock(mutex_);
  for (const SubgroupView& each : news.view.subgroups) {
    if (each.name == subgroup_) there_ = each.members.size();
  }
  if (waiting_ != nullptr) waiting_->request_stop();
}

std::uint64_t MembersAwaited::there() const {
  const std::lock_guard lock(mutex_);
  return there_;
}

void MembersAwaited::wake_with(Session* session) {
  const std::lock_guard lock(mutex_);
  waiting_ = session;
}

bool MembersAwaited::wait(Session& session) {
  const Duration before_words =
      ::isatty(STDERR_FILENO) == 1 ? JoinProgress::first_on_terminal : JoinProgress::first_elsewhere;
  const SystemClock clock;
  const Time due = words_ == Words::quiet ? never : clock.now() + before_words;
  std::optional<std::uint64_t> told;
  wake_with(&session);
  bool goes_on = true;
  while (goes_on) {
    const std::uint64_t here = there();
    if (here >= needed_) break;
    if (told != here && clock.now() >= due) {
      fmt::print(stderr, "spindrift: waiting: {}\n", lacking());
      told = here;
    }
    const Session::Event event = session.wait_for(-1, told == here ? never : due);
    goes_on = event == Session::Event::requested || event == Session::Event::deadline;
  }
  wake_with(nullptr);
  return goes_on;
}

std::string MembersAwaited::lacking() const {
  const std::uint64_t here = there();
  return fmt::format("of the {} members of subgroup {} {} {} there", needed_, subgroup_, here, here == 1 ? "is" : "are");
}

}  // namespace spindrift::tools
