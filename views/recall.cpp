// The last view, majorities of it, and what can be shown never to have been decided.
#include <spindrift/views/recall.hpp>

#include <algorithm>
#include <utility>

namespace spindrift::views {
namespace {

/// The views that matter: the last that is known to be decided, and all that may have been decided since.
class Lineage {
 public:
  explicit Lineage(std::span<const Remembering> here) : here_(here) {
    for (const Remembering& each : here) {
      note_last(each.said.own.last);
      note_last(each.said.beside);
    }
    for (const Remembering& each : here) note_roster(each);
    for (const Remembering& each : here) note_accepted(each.said.own);
    std::erase_if(open_, [&](const RecordedView* view) { return is_void(*view); });
  }

  [[nodiscard]] Recalled conclude() const {
    Recalled recalled;
    recalled.next = next_;
    recalled.contested = contested_;
    for (const Remembering& each : here_) recalled.have.push_back({each.who, each.said.own.logs_since(), each.said.logs});
    std::vector<const RecordedView*> needed = open_;
    if (last_ != nullptr && !last_->members.empty()) needed.push_back(last_);
    if (needed.empty()) {
      if (last_ != nullptr) recalled.logs = logs_in(*last_);
      return recalled;
    }
    for (const RecordedView* const view : needed) {
      if (LastView awaited = count(*view); !awaited.has_majority()) recalled.awaited.push_back(std::move(awaited));
    }
    std::ranges::sort(recalled.awaited, {}, &LastView::id);
    const RecordedView& latest = **std::ranges::max_element(needed, is_earlier);
    note_logs(latest, recalled);
    if (std::optional<Recalled> before = before_foundings(recalled, needed)) recalled = *std::move(before);
    recalled.roster = latest.roster;
    recalled.left_behind = std::ranges::none_of(here_, [&](const Remembering& each) {
      return std::ranges::any_of(needed, [&](const RecordedView* view) { return counts(each, *view); });
    });
    recalled.founders = founders_after(latest, recalled.left_behind);
    for (const Join& each : latest.members) recalled.members.push_back(each.node);
    return recalled;
  }

 private:
  // Those of an open founding that are here went into no view of it, so where they are half of it nothing was delivered
  // there. And one by force may go by logs that lack what others have who are here by now.
  [[nodiscard]] std::optional<Recalled> before_foundings(const Recalled& recalled,
                                                         std::vector<const RecordedView*> needed) const {
    std::erase_if(needed, [&](const RecordedView* view) {
      return view != last_ && view->founded && 2 * count(*view).here.size() >= view->members.size();
    });
    if (needed.empty()) return std::nullopt;
    Recalled before = recalled;
    note_logs(**std::ranges::max_element(needed, is_earlier), before);
    if (before.state == Recalled::State::waits && recalled.awaited.empty()) return std::nullopt;
    return before;
  }
  /// By that view.
  void note_logs(const RecordedView& view, Recalled& recalled) const {
    recalled.logs = logs_in(view);
    recalled.without.clear();
    if (recalled.awaited.empty()) note_logs_without_holder(view, recalled);
    recalled.forked = forked_logs(recalled.logs, recalled.have);
    const bool waits = !recalled.awaited.empty() || !recalled.without.empty() || !recalled.forked.empty();
    recalled.state = waits ? Recalled::State::waits : Recalled::State::enough;
  }
  // A node that got the log in the course of the view says so, and nobody else does.
  [[nodiscard]] std::vector<RecordedLog> logs_in(const RecordedView& latest) const {
    std::vector<RecordedLog> logs = latest.logs;
    for (const Remembering& each : here_) {
      const auto& own = each.said.own.last;
      if (!own || own->id != latest.id || own->members != latest.members) continue;
      for (RecordedLog& log : logs) {
        const auto said = std::ranges::find(own->logs, log.subgroup, &RecordedLog::subgroup);
        if (said == own->logs.end()) continue;
        const auto itself = std::ranges::find(said->holders, each.who.node, &LogHolder::node);
        if (itself == said->holders.end()) continue;
        const auto known = std::ranges::find(log.holders, each.who.node, &LogHolder::node);
        if (known == log.holders.end()) log.holders.push_back(*itself);
        else known->incarnation = std::max(known->incarnation, itself->incarnation);
      }
    }
    return logs;
  }
  // One that no node of the view has is not waited for: those that found could not be told of it. Nor is a node that is here
  // and has lost its disk since: it will never have it.
  void note_logs_without_holder(const RecordedView& latest, Recalled& recalled) const {
    for (const RecordedLog& log : recalled.logs) {
      const auto is_here = [&](const LogHolder& holder) {
        return std::ranges::any_of(here_, [&](const Remembering& each) {
          return is_kept(holder, each.who.node, each.said.own.logs_since()) && has_a_part(each);
        });
      };
      const auto may_come = [&](const LogHolder& holder) {
        const auto has_lost = [&](const Remembering& each) {
          return each.who.node == holder.node && each.said.own.logs_since() > holder.incarnation;
        };
        return incarnation_in(latest, holder.node).has_value() && std::ranges::none_of(here_, has_lost);
      };
      const bool waits = std::ranges::any_of(log.holders, may_come) && std::ranges::none_of(log.holders, is_here);
      if (!waits) continue;
      RecordedLog& without = recalled.without.emplace_back(log);
      std::erase_if(without.holders, [&](const LogHolder& holder) { return !may_come(holder); });
    }
  }
  // As they were in the latest view, whose first member asked last if it is a founding: so the same one asks again.
  [[nodiscard]] std::vector<Join> founders_after(const RecordedView& latest, bool left_behind) const {
    std::vector<Join> founders;
    for (const Remembering& each : here_) {
      if (has_a_part(each) || (left_behind && was_left_behind(each, latest))) founders.push_back(each.who);
    }
    const auto place = [&](const Join& who) {
      const auto at = std::ranges::find(latest.members, who.node, &Join::node);
      return std::pair(at - latest.members.begin(), who.node);
    };
    std::ranges::sort(founders, {}, place);
    return founders;
  }
  // Two foundings may have one id: that of the lower nodes is taken for the later one, by all that know both. And of one
  // view, who is not to be in it may know all but its roster.
  static bool is_earlier(const RecordedView* a, const RecordedView* b) {
    if (a->id != b->id) return a->id < b->id;
    if (!std::ranges::equal(a->members, b->members, {}, &Join::node, &Join::node))
      return std::ranges::lexicographical_compare(b->members, a->members, {}, &Join::node, &Join::node);
    return a->roster.nodes.empty() && !b->roster.nodes.empty();
  }
  void note_id(const RecordedView& view) {
    const ViewId behind(view.id.value() + 1);
    if (behind > next_) {
      next_ = behind;
      latest_ = &view;
      contested_ = false;
    } else if (behind == next_ && !same_nodes(*latest_, view)) {
      contested_ = true;
    }
  }
  void note_last(const std::optional<RecordedView>& view) {
    if (!view) return;
    note_id(*view);
    if (last_ == nullptr || last_->id < view->id) last_ = &*view;
  }
  // A node that is not in the last view may remember it without its roster. Its members have accepted it with that, and
  // others that are not in it may know all of it.
  void note_roster(const Remembering& process) {
    if (last_ == nullptr || !last_->roster.nodes.empty()) return;
    const auto is_last = [this](const RecordedView& view) { return view.id == last_->id && view.members == last_->members; };
    const ViewRecord& own = process.said.own;
    if (own.last && is_last(*own.last)) last_ = &*own.last;
    if (!incarnation_in(*last_, process.who.node)) return;
    if (const auto at = std::ranges::find_if(own.accepted, is_last); at != own.accepted.end()) last_ = &*at;
  }
  void note_accepted(const ViewRecord& record) {
    for (const RecordedView& view : record.accepted) {
      note_id(view);
      if (last_ != nullptr && view.id <= last_->id) continue;
      accepted_.push_back(&view);
      if (!view.members.empty()) open_.push_back(&view);  // nobody goes on from one without members
    }
  }

  /// Whether the roster of the next view may be any of those that are known, and admits that node.
  [[nodiscard]] bool is_admitted(NodeId node) const {
    const auto admits = [node](const RecordedView* view) { return view->roster.nodes.empty() || view->roster.admits(node); };
    return (last_ == nullptr || last_->members.empty() || admits(last_)) && std::ranges::all_of(accepted_, admits);
  }
  /// Whether the process speaks for that member: it has all that its node has accepted since the view was made.
  [[nodiscard]] bool counts(const Remembering& process, const RecordedView& view) const {
    const auto incarnation = incarnation_in(view, process.who.node);
    return incarnation && process.said.own.since <= *incarnation && is_admitted(process.who.node);
  }
  /// All of them found, also those by which a view is shown never to have been decided: with their promise they accept no
  /// other founding from then on.
  [[nodiscard]] bool has_a_part(const Remembering& process) const {
    return (last_ != nullptr && counts(process, *last_)) ||
           std::ranges::any_of(accepted_, [&](const RecordedView* view) { return counts(process, *view); });
  }

  /// Whether its node was in the group, has kept what it knew of that, and is in the roster that is gone on from. One that
  /// a later view has overtaken has kept nothing.
  [[nodiscard]] bool was_left_behind(const Remembering& process, const RecordedView& latest) const {
    const auto& last = process.said.own.last;
    if (!last || last->members.empty() || latest.roster.nodes.empty() || !is_admitted(process.who.node)) return false;
    const auto incarnation = incarnation_in(*last, process.who.node);
    return !incarnation || process.said.own.since <= *incarnation;
  }

  // A decree is decided by a majority of the view before, a founding by all that it names.
  [[nodiscard]] bool is_void(const RecordedView& view) const {
    if (last_ == nullptr || last_->members.empty()) return false;
    const auto refuses = [&](const Remembering& process) {
      return std::ranges::none_of(process.said.own.accepted,
                                  [&](const RecordedView& each) { return same_nodes(each, view); });
    };
    if (view.founded) {
      return std::ranges::any_of(here_, [&](const Remembering& each) { return counts(each, view) && refuses(each); });
    }
    if (view.id.value() != last_->id.value() + 1) return false;
    const auto refusals = static_cast<std::size_t>(std::ranges::count_if(
        here_, [&](const Remembering& each) { return counts(each, *last_) && refuses(each); }));
    return 2 * (last_->members.size() - refusals) <= last_->members.size();
  }

  [[nodiscard]] LastView count(const RecordedView& view) const {
    LastView awaited{view.id, {}, {}, {}};
    for (const Join& member : view.members) {
      awaited.nodes.push_back(member.node);
      const auto at = std::ranges::find(here_, member.node, [](const Remembering& each) { return each.who.node; });
      if (at != here_.end()) (counts(*at, view) ? awaited.here : awaited.forgetful).push_back(member.node);
    }
    return awaited;
  }

  std::span<const Remembering> here_;
  const RecordedView* last_ = nullptr;
  std::vector<const RecordedView*> accepted_;  // later ones
  std::vector<const RecordedView*> open_;      // those of them that may have been decided
  ViewId next_;
  const RecordedView* latest_ = nullptr;  // of the id before that, if there is one
  bool contested_ = false;
};

std::vector<NodeLogs> logs_of_founders(const Recalled& recalled) {
  std::vector<NodeId> nodes;
  for (const Join& each : recalled.founders) nodes.push_back(each.node);
  return logs_of(recalled.have, nodes);
}

}  // namespace

Recalled recall(std::span<const Remembering> here) { return Lineage(here).conclude(); }

std::vector<FirstLog> logs_by_force(const Recalled& recalled) {
  const std::vector<NodeLogs> founders = logs_of_founders(recalled);
  return first_logs(without_lost(recalled.logs, recalled.have, founders), founders);
}

std::vector<ForkedLog> forked_by_force(const Recalled& recalled) {
  const std::vector<NodeLogs> founders = logs_of_founders(recalled);
  return forked_logs(without_lost(recalled.logs, recalled.have, founders), founders);
}

Remembered remembered(const ViewRecord& own, std::span<const ViewMemory::Neighbor> neighbors) {
  Remembered said{own, {}};
  for (const ViewMemory::Neighbor& each : neighbors) {
    const auto& latest = said.beside ? said.beside : own.last;
    if (each.record.last && (!latest || latest->id < each.record.last->id)) said.beside = each.record.last;
  }
  return said;
}

std::uint64_t digest_of(const Remembered& said) {
  if (said.own.empty() && !said.beside && said.logs.empty()) return 0;
  ByteWriter writer;
  put_record(writer, said.own);
  if (said.beside) put_view(writer, *said.beside);
  for (const KnownLog& each : said.logs) writer.put(each.subgroup, each.end.version, each.end.link.words);
  const std::vector<std::byte> bytes = writer.take();
  return spindrift::digest_of(std::span<const std::byte>(bytes)).words[0] | 1;
}

}  // namespace spindrift::views
