// The one log of a subgroup, from append to append and from founding to founding.
#include "log_books.hpp"

#include <algorithm>
#include <cstring>

#include <spindrift/views/versions.hpp>

namespace spindrift::sim {
namespace {

MessageHead head_of(std::span<const std::byte> payload) {
  MessageHead head;
  if (payload.size() >= sizeof head) std::memcpy(&head, payload.data(), sizeof head);
  return head;
}

/// The version from which on a node's log is not the same as the one log, or one ends. What it has trimmed is the same if
/// the link behind that is; of what the one log lacks, too, nobody can say anything.
std::uint64_t common(const LogContent& own, const LogEntries& log) {
  std::uint64_t version = own.begin.version;
  if (version > log.size()) return 0;
  if (version > 0 && log[version - 1] && log[version - 1]->link != own.begin.link) return 0;
  const auto same = [&] {
    const auto& a = own.entries[version];
    const auto& b = log[version];
    return a == b || !b || same_message(*a, *b);
  };
  while (version < own.entries.size() && version < log.size() && same()) ++version;
  return version;
}

bool is_away(const SubgroupView& subgroup) { return subgroup.inadequate.starts_with("its log is with"); }

}  // namespace

void LogBooks::violate(const char* invariant, std::uint32_t process, std::uint32_t subgroup, const std::string& what) const {
  report_.violate(invariant, "node " + std::to_string(history_.node_of(process)) + " (process " + std::to_string(process) +
                                 "), log of subgroup " + std::to_string(subgroup) + ": " + what);
}

// It is in a view behind which others have founded another: what it appends is dropped, unless those have it.
bool LogBooks::is_past(std::uint32_t process, const Book& book) const {
  const auto view = history_.view_of(process);
  return view && book.first && *view < *book.first;
}

// D1, D3: the same message at the same version, behind the same ones.
void LogBooks::on_append(std::uint32_t process, std::uint32_t subgroup, std::uint64_t version, const LogEntry& entry) {
  Book& book = books_[subgroup];
  if (is_past(process, book)) return;
  if (version > book.log.size())
    return violate("D1", process, subgroup,
                   "goes on at " + std::to_string(version) + " of " + std::to_string(book.log.size()));
  if (version == book.log.size()) extend(process, subgroup, entry);
  if (report_.failed() || !book.log[version]) return;
  if (!same_message(*book.log[version], entry))
    return violate("D1", process, subgroup, "has another message at " + std::to_string(version) + " than others");
  if (book.log[version]->link != entry.link)
    violate("D3", process, subgroup, "has a link at " + std::to_string(version) + " that is not that of its messages");
}

// M2, M3: each message once, and in the order in which its thread sent it.
void LogBooks::extend(std::uint32_t process, std::uint32_t subgroup, const LogEntry& entry) {
  Book& book = books_[subgroup];
  const MessageHead head = head_of(entry.payload);
  const std::uint32_t stream = head.stream();
  if (stream >= history_.streams().size()) return violate("M1", process, subgroup, "has a message that nobody sent");
  std::uint64_t& next = book.next[stream];
  std::uint64_t& skipped = book.skipped[stream];
  if (head.counter() < next) return violate("M2", process, subgroup, "has a message twice, or late");
  skipped += head.counter() - next;
  const std::uint32_t sender = history_.streams()[stream].process;
  if (skipped > history_.dropped(sender, subgroup)) {
    violate("M3", process, subgroup, "has message " + std::to_string(head.counter()) + " of a thread of node " +
                                         std::to_string(history_.node_of(sender)) + " behind " + std::to_string(next) +
                                         " others of it");
  }
  next = head.counter() + 1;
  const bool behind_all = book.log.size() == book.begin.version;
  const Digest before = behind_all ? book.begin.link : book.log.back()->link;
  LogEntry own = entry;
  own.link = link_behind(before, entry);
  book.log.push_back(std::make_shared<const LogEntry>(std::move(own)));
}

void LogBooks::on_view(std::uint32_t process, const View& view, const std::vector<bool>& loading) {
  if (generation_ != history_.generation()) {
    generation_ = history_.generation();
    for (Book& book : books_) book = {};
  }
  for (std::uint32_t s = 0; s < books_.size(); ++s) {
    if (!plan_.subgroups[s].logged) continue;
    Book& book = books_[s];
    const bool founded = history_.is_first(view.id);
    const SubgroupView& subgroup = subgroup_at(view, s);
    const bool taken_up = !founded && is_taken_up(s, view);
    if ((founded || taken_up) && (!book.first || *book.first < view.id)) {
      book.first = view.id;
      if (founded) note_founders(s, view);
      else note_holders(s, view);
      if (founded && is_without_holder(s, view)) check_longest(process, s, view);
      if (!book.have.empty() || subgroup.log_holders.empty()) begin(process, s, view);
      else if (taken_up && book.adopted) give_up(book, view, book.adopted->durable);  // who was named has died since
    }
    const bool loaded = subgroup.member_position(NodeId(history_.node_of(process))) && !loading[s];
    if (loaded) check_checkpoint(process, s, true);
    const bool begins = taken_up || history_.first_view_of(process) == view.id;
    if (loaded && begins && !is_past(process, book)) check_beginning(process, s);
  }
}

// The group goes on with a log that nobody had in the view before.
bool LogBooks::is_taken_up(std::uint32_t subgroup, const View& view) const {
  const View* const before = history_.right_before(view.id);
  return before != nullptr && is_away(subgroup_at(*before, subgroup)) && !is_away(subgroup_at(view, subgroup));
}

// A process that began later was given what its node has.
bool LogBooks::has_lost(const LogHolder& holder, std::uint32_t subgroup) const {
  const std::uint32_t before = log_of_(holder.node.value(), subgroup).lost_before;
  const auto process = history_.process_of(holder.incarnation);
  return process ? *process < before : before > 0;
}

// The holders in the view that have the longest log have it for all.
void LogBooks::note_holders(std::uint32_t subgroup, const View& view) {
  Book& book = books_[subgroup];
  book.have.clear();
  std::uint64_t most = 0;
  for (std::size_t i = 0; i < view.members.size(); ++i) {
    const std::vector<LogHolder>& holders = subgroup_at(view, subgroup).log_holders;
    // The process that a holder's node has now: an older one of that node may have had what its disk has lost since.
    if (std::ranges::find(holders, LogHolder{view.members[i], view.incarnations[i]}) == holders.end()) continue;
    const NodeLog& log = log_of_(view.members[i].value(), subgroup);
    if (has_lost({view.members[i], view.incarnations[i]}, subgroup)) continue;  // it died, and lost it since
    const std::uint64_t has = log.entries().size();
    if (has > most) book.have.clear();
    most = std::max(most, has);
    if (has == most) book.have.push_back(*history_.process_of(view.incarnations[i]));
  }
  if (!history_.is_first(view.id)) report_.hit(Probe::log_taken_up);
}

// D2: a holder among the founders has the log for all; they wait for one that was in the view before.
void LogBooks::note_founders(std::uint32_t subgroup, const View& view) {
  Book& book = books_[subgroup];
  note_holders(subgroup, view);
  if (subgroup_at(view, subgroup).log_holders.empty() || !book.have.empty()) return;
  report_.hit(Probe::log_away);
  const View* const before = history_.right_before(view.id);
  // Those that found by force are not to wait for one that has it.
  if (before == nullptr || views::era_of(view.id) > views::era_of(before->id)) return give_up_behind_holders(subgroup, view);
  const std::vector<LogHolder>& holders = subgroup_at(*before, subgroup).log_holders;
  const auto has_it = [&](const LogHolder& holder) {
    return before->rank_of(holder.node) && !has_lost(holder, subgroup);
  };
  const auto there = std::ranges::find_if(holders, has_it);
  if (there == holders.end()) return;
  violate("D2", *history_.process_of(view.incarnations.front()), subgroup,
          "founded without anybody who has it, though node " + std::to_string(there->node.value()) +
              " was in the view before");
}

// Those that were left behind go by the holders that they know of. What others had logged since is lost, as they were told.
void LogBooks::give_up_behind_holders(std::uint32_t subgroup, const View& first) {
  const View* const before = history_.earlier_than(first.id);
  const auto has_a_part = [&](NodeId node) { return before->rank_of(node).has_value(); };
  if (before == nullptr || std::ranges::any_of(first.members, has_a_part)) return;
  Book& book = books_[subgroup];
  std::uint64_t kept = 0;
  for (const LogHolder& each : subgroup_at(first, subgroup).log_holders) {
    if (!has_lost(each, subgroup)) kept = std::max(kept, common(log_of_(each.node.value(), subgroup).now, book.log));
  }
  book.reported = std::min(book.reported, kept);
}

// None of those that found by force is one of those that had everything, which are gone for good.
bool LogBooks::is_without_holder(std::uint32_t subgroup, const View& first) const {
  const View* const before = history_.earlier_than(first.id);
  if (before == nullptr || views::era_of(first.id) <= views::era_of(before->id)) return false;
  return std::ranges::none_of(subgroup_at(*before, subgroup).log_holders, [&](const LogHolder& holder) {
    return first.rank_of(holder.node).has_value() && !has_lost(holder, subgroup);
  });
}

// D2: such founders go on with the longest log of theirs, and what was reported beyond is lost, as they were told. All that
// any of them has of the one log is in it, unless some was dropped before of which one of them has not heard.
void LogBooks::check_longest(std::uint32_t process, std::uint32_t subgroup, const View& first) {
  Book& book = books_[subgroup];
  if (book.have.empty()) return;
  const LogContent& taken = log_of_(history_.node_of(book.have.front()), subgroup).now;
  std::uint64_t kept = 0;
  for (const NodeId node : first.members) {
    const LogContent& own = log_of_(node.value(), subgroup).now;
    if (own.is_cut_short()) continue;
    kept = std::max(kept, common(own, book.log));
    if (own.entries.size() <= taken.entries.size()) continue;
    violate("D2", process, subgroup,
            "founded by force, and not with the longest log, that of node " + std::to_string(node.value()));
  }
  const std::uint64_t same = common(taken, book.log);
  if (same < kept && !book.dropped)
    violate("D2", process, subgroup,
            "founded by force with " + std::to_string(same) + " messages of " + std::to_string(kept) + " that one has");
  book.reported = std::min(book.reported, same);
}

void LogBooks::on_adopted(std::uint32_t subgroup, ViewId view, std::uint32_t node) {
  const NodeLog& log = log_of_(node, subgroup);
  books_[subgroup].adopted = Adoption{view, std::min(log.durable, common(log.now, books_[subgroup].log))};
}

// As much as was said, and only right behind the view in which it was.
void LogBooks::give_up(Book& book, const View& view, std::uint64_t same) const {
  const auto adopted = std::exchange(book.adopted, std::nullopt);
  const View* const before = history_.right_before(view.id);
  const bool behind = adopted && (history_.is_first(view.id) || (before != nullptr && before->id == adopted->view));
  if (!behind || same >= book.reported || same < adopted->durable) return;
  book.reported = same;
  report_.hit(Probe::log_adopted);
}

// D2, D5: a first view goes on from a log that has whatever was reported.
void LogBooks::begin(std::uint32_t process, std::uint32_t subgroup, const View& view) {
  Book& book = books_[subgroup];
  LogContent now;
  if (!book.have.empty()) now = log_of_(history_.node_of(book.have.front()), subgroup).now;
  const std::uint64_t same = common(now, book.log);
  give_up(book, view, same);
  if (same < book.reported) {
    return violate("D2", process, subgroup,
                   "begins with " + std::to_string(now.entries.size()) + " messages, the first " + std::to_string(same) +
                       " of them as before, though " + std::to_string(book.reported) + " had been reported durable");
  }
  if (!now.entries.empty()) report_.hit(Probe::all_stopped_with_logs);
  if (same < book.log.size()) report_.hit(Probe::log_tail_dropped);
  book.dropped |= same < book.log.size();
  // Messages before its beginning are unknown here, as they are to it.
  if (same < now.begin.version) {
    book.log.assign(now.begin.version, nullptr);
    book.begin = now.begin;
  } else if (now.begin.version < book.begin.version) {
    book.begin = now.begin;
  }
  const LogEntries former = std::exchange(book.log, {});
  book.next.clear();
  book.skipped.clear();
  for (std::uint64_t version = 0; version < now.entries.size(); ++version) {
    const auto& entry = version < now.begin.version ? former[version] : now.entries[version];
    Digest before = book.begin.link;
    if (version > book.begin.version) before = book.log.back()->link;
    extend_anew(book, entry, before);
  }
  book.began_with = now.entries.size();
}

void LogBooks::extend_anew(Book& book, const std::shared_ptr<const LogEntry>& entry, const Digest& before) {
  if (!entry) return book.log.push_back(nullptr);
  const MessageHead head = head_of(entry->payload);
  book.next[head.stream()] = head.counter() + 1;
  LogEntry own = *entry;
  own.link = link_behind(before, *entry);
  book.log.push_back(std::make_shared<const LogEntry>(std::move(own)));
}

// D1: who begins with the state in its first view has the log as it is there.
void LogBooks::check_beginning(std::uint32_t process, std::uint32_t subgroup) {
  const Book& book = books_[subgroup];
  const LogContent& own = log_of_(history_.node_of(process), subgroup).now;
  const std::uint64_t least = std::min<std::uint64_t>(book.began_with, book.log.size());
  const std::uint64_t size = own.entries.size();
  if (size >= least && common(own, book.log) == size) return;
  violate("D1", process, subgroup,
          "begins with " + std::to_string(size) + " messages, others with " + std::to_string(least));
}

// D9: an object can be made of a log that begins late. One that is on its way may end before its checkpoint still.
void LogBooks::check_checkpoint(std::uint32_t process, std::uint32_t subgroup, bool whole) {
  const LogContent& log = log_of_(history_.node_of(process), subgroup).now;
  if (!plan_.subgroups[subgroup].object || log.begin.version == 0) return;
  const std::string where = "begins at " + std::to_string(log.begin.version) + ", and its checkpoint ";
  if (!log.checkpoint) return violate("D9", process, subgroup, where + "is missing");
  const std::uint64_t version = log.checkpoint->version;
  const bool there = version <= log.entries.size();
  if (version < log.begin.version || (whole && !there)) {
    violate("D9", process, subgroup, where + "is at " + std::to_string(version) + " of " +
                                         std::to_string(log.entries.size()));
  } else if (there && log.link_at(version) != log.checkpoint->link) {
    violate("D9", process, subgroup, where + "at " + std::to_string(version) + " has another link");
  }
}

void LogBooks::on_open(std::uint32_t process) {
  for (std::uint32_t s = 0; s < books_.size(); ++s) check_checkpoint(process, s, false);
}

void LogBooks::on_loaded(std::uint32_t process, std::uint32_t subgroup) { check_checkpoint(process, subgroup, true); }

// D7: it lacks what the log lacks, and nothing of the rest goes before the state.
void LogBooks::on_state(std::uint32_t process, std::uint32_t subgroup) {
  check_checkpoint(process, subgroup, true);
  if (report_.failed()) return;
  const LogContent& log = log_of_(history_.node_of(process), subgroup).now;
  std::uint64_t& given = reader(process, subgroup).given;
  if (given >= log.begin.version)
    return violate("D7", process, subgroup, "its application is given a state, and had " + std::to_string(given));
  given = log.checkpoint->version;
}

// A log that begins later, at its start or since another node's took its place, has no more for the application.
std::uint64_t LogBooks::given(std::uint32_t process, std::uint32_t subgroup) {
  if (plan_.subgroups[subgroup].object) return reader(process, subgroup).given;
  return std::max(reader(process, subgroup).given, log_of_(history_.node_of(process), subgroup).now.begin.version);
}

// D7
void LogBooks::on_given(std::uint32_t process, std::uint32_t subgroup, std::uint64_t version,
                        std::span<const std::byte> payload) {
  const std::uint64_t next = given(process, subgroup);
  if (version != next) {
    return violate("D7", process, subgroup, "its application is given message " + std::to_string(version) + ", and " +
                                                std::to_string(next) + " is the next");
  }
  reader(process, subgroup).given = version + 1;
  const Book& book = books_[subgroup];
  if (is_past(process, book) || (version < book.log.size() && !book.log[version])) return;
  if (version >= book.log.size() || !std::ranges::equal(book.log[version]->payload, payload))
    violate("D7", process, subgroup,
            "its application is given another message " + std::to_string(version) + " than the log has");
}

// D8: every member has it on its disk, or died, and lost that since.
void LogBooks::on_durable(std::uint32_t process, std::uint32_t subgroup, std::uint64_t version) {
  Reader& here = reader(process, subgroup);
  Book& book = books_[subgroup];
  report_.hit(Probe::durable_told);
  if (version <= here.told)
    violate("D8", process, subgroup, "told of " + std::to_string(version) + " behind " + std::to_string(here.told));
  here.told = version;
  if (version > book.log.size())
    return violate("D8", process, subgroup, "told of " + std::to_string(version) + " of " + std::to_string(book.log.size()));
  const View& view = *history_.view(*history_.view_of(process));
  for (const NodeId node : subgroup_at(view, subgroup).members) {
    const NodeLog& log = log_of_(node.value(), subgroup);
    const std::uint64_t has = std::min(log.durable, common(log.now, book.log));
    if (has >= version || has_lost({node, view.incarnations[view.rank_of(node)->value()]}, subgroup)) continue;
    return violate("D8", process, subgroup, "told that " + std::to_string(version) + " are durable, but node " +
                                                std::to_string(node.value()) + " has " + std::to_string(has));
  }
  book.reported = std::max(book.reported, version);
}

std::uint64_t LogBooks::owed(const Stream& stream) {
  const Book& book = books_[stream.subgroup];
  const auto stream_id = static_cast<std::uint32_t>(&stream - history_.streams().data());
  const auto next = book.next.find(stream_id);
  const std::uint64_t has = next == book.next.end() ? 0 : next->second;
  return stream.committed - std::min(stream.committed, has);
}

// M8
void LogBooks::check_left(std::uint32_t process, const std::vector<bool>& loading) {
  const View* const view = history_.view_of(process) ? history_.view(*history_.view_of(process)) : nullptr;
  for (std::uint32_t s = 0; view != nullptr && s < books_.size(); ++s) {
    const bool member = subgroup_at(*view, s).member_position(NodeId(history_.node_of(process))).has_value();
    if (!plan_.subgroups[s].logged || loading[s] || !member || is_past(process, books_[s])) continue;
    std::uint64_t all = 0;
    for (const Stream& stream : history_.streams()) {
      if (stream.process == process && stream.subgroup == s) all += owed(stream);
    }
    if (all > history_.dropped(process, s))
      violate("M8", process, s, "left before " + std::to_string(all) + " of its messages were delivered");
  }
}

std::optional<LogBooks::Incomplete> LogBooks::incomplete(const std::vector<std::uint32_t>& core) {
  if (core.empty()) return std::nullopt;
  const View& view = *history_.view(*history_.view_of(core.front()));
  for (std::uint32_t s = 0; s < books_.size(); ++s) {
    if (!plan_.subgroups[s].logged) continue;
    if (auto found = incomplete(core, s, subgroup_at(view, s))) return found;
  }
  return std::nullopt;
}

// One that has the log for all, on a disk that never was lost, in a view that speaks of logs. A layout that moves members
// may leave it out.
std::optional<std::uint32_t> LogBooks::holder_in(const std::vector<std::uint32_t>& core, std::uint32_t subgroup,
                                                 const SubgroupView& view) const {
  const View& all = *history_.view(*history_.view_of(core.front()));
  if (all.roster.version < views::logs_return_since || plan_.subgroups[subgroup].moves) return std::nullopt;
  const auto holder = std::ranges::find_if(core, [&](std::uint32_t process) {
    const auto there = std::ranges::find(view.log_holders, NodeId(history_.node_of(process)), &LogHolder::node);
    return there != view.log_holders.end() && !has_lost(*there, subgroup);
  });
  return holder == core.end() ? std::nullopt : std::optional(*holder);
}

// L1, M8, D7, L2: one that has the log for all lets the subgroup go on; all that is sent is in the log, and that is at all
// applications, durable.
std::optional<LogBooks::Incomplete> LogBooks::incomplete(const std::vector<std::uint32_t>& core, std::uint32_t subgroup,
                                                         const SubgroupView& view) {
  const Book& book = books_[subgroup];
  const auto of = [&](std::uint32_t process) {
    return "node " + std::to_string(history_.node_of(process)) + ", log of subgroup " + std::to_string(subgroup) + " of " +
           std::to_string(book.log.size()) + ": ";
  };
  const bool away = is_away(view);
  // A layout that moves members may move those out that have it.
  const bool has_it = !plan_.subgroups[subgroup].moves && std::ranges::any_of(book.have, [&](std::uint32_t process) {
    return std::ranges::find(core, process) != core.end();
  });
  if (away && has_it) return Incomplete{"L1", of(core.front()) + "nobody has it, but one that founded"};
  if (const auto holder = holder_in(core, subgroup, view); away && holder)
    return Incomplete{"L1", of(*holder) + "nobody has it, but this one, which is back"};
  for (const Stream& stream : history_.streams()) {
    const bool here = std::ranges::find(core, stream.process) != core.end();
    if (!here || stream.subgroup != subgroup || !view.member_position(NodeId(history_.node_of(stream.process)))) continue;
    if (owed(stream) > history_.dropped(stream.process, subgroup))
      return Incomplete{"M8", of(stream.process) + "lacks " + std::to_string(owed(stream)) + " messages of a thread"};
  }
  for (const std::uint32_t process : core) {
    if (!view.member_position(NodeId(history_.node_of(process)))) continue;
    const Reader& here = reader(process, subgroup);
    if (given(process, subgroup) != book.log.size())
      return Incomplete{"D7", of(process) + "its application has " + std::to_string(given(process, subgroup))};
    if (here.told != book.log.size())
      return Incomplete{"L2", of(process) + "its application was told that " + std::to_string(here.told) + " are durable"};
  }
  return std::nullopt;
}

}  // namespace spindrift::sim
