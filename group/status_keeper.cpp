// The status after each change, and when the file says so.
#include <spindrift/group/status_keeper.hpp>

#include <algorithm>
#include <utility>

#include <spindrift/views/member.hpp>

namespace spindrift::group {

StatusKeeper::StatusKeeper(std::string path, MemberStatus first, Counter unwritten_since_ms)
    : file_(std::move(path), unwritten_since_ms), status_(std::move(first)) {
  status_.state_since_ms = wall_clock_ms();
  flush();
}

void StatusKeeper::on_view(const views::NewView& news, std::uint64_t now_ms) {
  const View& view = news.view;
  std::vector<MemberStatus::MemberEntry> members;
  for (std::size_t i = 0; i < view.members.size(); ++i) {
    MemberStatus::MemberEntry entry{view.members[i], i < view.incarnations.size() ? view.incarnations[i] : 0, now_ms};
    for (const MemberStatus::MemberEntry& known : status_.members) {
      if (known.node == entry.node && known.incarnation == entry.incarnation) entry.since_ms = known.since_ms;
    }
    members.push_back(entry);
  }
  status_.members = std::move(members);
  status_.view = view.id;
  status_.roster.drained = view.roster.drained;
  status_.roster.version = view.roster.version;
  std::map<std::string, MemberStatus::Pause> pauses;
  for (const MemberStatus::SubgroupEntry& subgroup : status_.subgroups) {
    if (subgroup.paused) pauses.emplace(subgroup.name, *subgroup.paused);
  }
  status_.subgroups.clear();
  for (const SubgroupView& subgroup : view.subgroups) {
    if (subgroup.dropped) continue;
    status_.subgroups.push_back({subgroup.name, subgroup.mode, subgroup.members, subgroup.senders, subgroup.inadequate, {},
                                 subgroup.storage});
  }
  on_pauses(pauses);
  if (status_.changes.size() == MemberStatus::changes_max) status_.changes.pop_front();
  status_.changes.push_back({view.id, now_ms, view.members, news.joined, news.left, news.failed});
  block_subgroups();
  note_change();
}

void StatusKeeper::on_state(std::string state, std::optional<MemberStatus::End> end) {
  if (state == status_.state) return;
  status_.state = std::move(state);
  status_.state_since_ms = wall_clock_ms();
  waits_for_.clear();
  status_.end = std::move(end);
  block_subgroups();
  note_change();
  if (status_.end) flush();  // no pass comes any more
  if (!status_.end && status_.changes.size() == 1) give();  // there was none before, which others would read
}

void StatusKeeper::on_waiting(std::string applications) {
  if (applications == waits_for_) return;
  waits_for_ = std::move(applications);
  block_subgroups();
  note_change();
}

void StatusKeeper::on_waits(const MemberStatus::Waits& waits) {
  if (waits == status_.waits) return;
  status_.waits = waits;
  note_change();
}

void StatusKeeper::on_pauses(const std::map<std::string, MemberStatus::Pause>& pauses) {
  for (MemberStatus::SubgroupEntry& subgroup : status_.subgroups) {
    const auto found = pauses.find(subgroup.name);
    const auto now = found == pauses.end() ? std::optional<MemberStatus::Pause>() : found->second;
    if (now == subgroup.paused) continue;
    subgroup.paused = now;
    note_change();
  }
}

void StatusKeeper::on_roster(const std::string& sizes_differ, const std::string& version_held) {
  status_.roster.sizes_differ = sizes_differ;
  status_.roster.version_held = version_held;
  note_change();
}

void StatusKeeper::on_handler_at_work(const std::string& what) {
  if (what == status_.waits.handler) return;
  status_.waits.handler = what;
  give();  // no pass looks as long as the handler is at work
}

Time StatusKeeper::look(Time now) {
  switch (shown_) {
    case Shown::as_it_is: return never;
    case Shown::changed:
      show_at_ = now + settles_within;
      shown_ = Shown::settling;
      return show_at_;
    case Shown::settling:
      if (now < show_at_) return show_at_;
      give();
      return never;
  }
  return never;
}

void StatusKeeper::on_failure(const Error& why) {
  on_state(std::string(to_string(views::MemberState::failed)),
           MemberStatus::End{std::string(to_string(why.kind())), why.to_string(), wall_clock_ms()});
}

void StatusKeeper::block_subgroups() {
  for (MemberStatus::SubgroupEntry& subgroup : status_.subgroups) {
    subgroup.blocked.clear();
    const bool sends = std::find(subgroup.senders.begin(), subgroup.senders.end(), status_.node) != subgroup.senders.end();
    if (!subgroup.inadequate.empty()) {
      subgroup.blocked = subgroup.inadequate;
    } else if (!sends) {
      subgroup.blocked = "this node is none of its senders";
    } else if (status_.end) {
      subgroup.blocked = "this node is out of the group";
    } else if (status_.state == to_string(views::MemberState::stranded)) {
      subgroup.blocked = "the majority of the view is lost";
    } else if (status_.state != "active") {
      subgroup.blocked = "the view is changing" + (waits_for_.empty() ? "" : ": it waits for " + waits_for_);
    }
  }
}

void StatusKeeper::flush() {
  shown_ = Shown::as_it_is;
  file_.write(status_);
}

void StatusKeeper::await_file() { file_.write_waiting(); }

void StatusKeeper::give() {
  shown_ = Shown::as_it_is;
  file_.give(status_);
}

// A change while another one settles is shown with it.
void StatusKeeper::note_change() noexcept {
  if (shown_ == Shown::as_it_is) shown_ = Shown::changed;
}

}  // namespace spindrift::group
