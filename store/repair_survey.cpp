// Behind a hole each log goes on somewhere: with its next entry that can be read, or with the end that the next segment's
// head says. What lies between that and its last known end was in the hole. If all of this together is as much as the hole
// had entries, nothing else was there.
#include <spindrift/store/repair_survey.hpp>

#include <algorithm>
#include <map>
#include <utility>

#include <spindrift/store/format.hpp>
#include <spindrift/store/reserve.hpp>
#include <spindrift/store/scan.hpp>
#include <spindrift/store/segment_file.hpp>

namespace spindrift::store {
namespace {

std::string text_of(JournalPosition first, JournalPosition end) {
  const std::string from = std::to_string(first.value());
  return end.value() == first.value() + 1 ? "entry " + from : "entries " + from + " to " + std::to_string(end.value() - 1);
}

std::string text_of(SubgroupId subgroup) { return "subgroup " + std::to_string(subgroup.value()); }

Error refusal(const std::string& place, const std::string& why) {
  return Error(ErrorKind::bad_input, why)
      .at(place)
      .fix("copy the directory; if this node may forget which view of the group it was in last, and others have the logs "
           "that it has, have it forget both, which deletes the directory: spindrift group forget --config FILE NODE");
}

class LossSurvey {
 public:
  LossSurvey(Storage& storage, RepairPlan& plan) : storage_(storage), plan_(plan) {}

  Result<void> run() {
    if (!check_damages()) return {};
    const auto& segments = plan_.findings.segments;
    end_ = segments.front().head.first;
    ends_ = segments.front().ends;
    for (std::size_t i = 0; i < segments.size(); ++i) {
      const FoundSegment& segment = segments[i];
      if (end_ < segment.head.first) begin_place(segments[i - 1].head.seal.number + 1, 0, segment.head.first);
      settle_at(segment.ends);
      SPINDRIFT_TRY(walk(segment));
    }
    settle(false);
    SPINDRIFT_TRY(look_into_reserve());
    refuse_unsuperseded();
    return {};
  }

 private:
  /// Nothing can be said of entries that are not between others that are known.
  bool check_damages() {
    const JournalFindings& findings = plan_.findings;
    for (const Damage& damage : findings.damages) {
      if (!loses_entries(damage.kind)) continue;
      if (findings.segments.empty() || damage.first < findings.first()) {
        refuse(damage.place, "the beginning of the journal is lost: nothing before it says where its logs began");
      } else if (damage.first == damage.end) {
        refuse(damage.place, "from entry " + std::to_string(damage.first.value()) +
                                 " on nobody knows how many entries are lost: nothing behind says what they were, and the "
                                 "last promises of this node may be among them");
      }
    }
    return plan_.refusals.empty() && !findings.segments.empty();
  }

  void refuse(const std::string& place, const std::string& why) { plan_.refusals.push_back(refusal(place, why)); }

  void begin_place(std::uint64_t segment, std::uint64_t at, JournalPosition end) {
    const std::string place = storage_.place(segment_name(segment)) + ":" + std::to_string(at);
    plan_.places.push_back({place, end_, end});
    lost_ += end.value() - end_.value();
    end_ = end;
  }

  Result<void> walk(const FoundSegment& segment) {
    const std::uint64_t number = segment.head.seal.number;
    SPINDRIFT_TRY_ASSIGN(const auto file, storage_.open(segment_name(number)));
    SPINDRIFT_TRY_ASSIGN(const Blocks blocks, read_blocks(*file, 0, segment.head.bytes));
    const auto note_entry = [&](const FoundEntry& found, std::uint64_t, const Hole* hole) {
      if (hole != nullptr) begin_place(number, hole->at, hole->end);
      note(found);
    };
    const SegmentScan scan = walk_segment({segment.head, segment.ends, blocks}, segment.end, note_entry);
    if (scan.end < segment.end) begin_place(number, scan.used, segment.end);
    return {};
  }

  /// Places before which the log was known last; all that there are: it is known now.
  [[nodiscard]] std::size_t known_at(SubgroupId subgroup) const {
    const auto known = known_at_.find(subgroup);
    return known == known_at_.end() ? settled_ : known->second;
  }

  void note(const FoundEntry& found) {
    const SubgroupId subgroup = found.entry.head.subgroup;
    end_ = JournalPosition(found.entry.position.value() + 1);
    if (known_at(subgroup) < plan_.places.size()) {
      // A base makes void what lay before it in its log, be it lost or not.
      if (found.entry.head.kind == EntryKind::base) void_ = true;
      else explain(subgroup, found.entry.version, found.link_before);
    }
    ends_.set(found.end);
    known_at_[subgroup] = plan_.places.size();
    if (found.entry.head.kind != EntryKind::view) return;
    newest_view_ = found.entry.position;
    for (DamagedPlace& place : plan_.places) {
      if (place.own != 0 && !place.superseded_by) place.superseded_by = found.entry.position;
    }
  }

  /// The log goes on with that version, behind that link.
  void explain(SubgroupId subgroup, LogVersion version, const Digest& link) {
    const LogEnd known = ends_.of(subgroup);
    DamagedPlace& place = plan_.places[known_at(subgroup)];
    if (version < known.version) {
      return refuse(place.place, "the log of " + text_of(subgroup) + " goes on with version " +
                                     std::to_string(version.value()) + " behind version " +
                                     std::to_string(known.version.value()) +
                                     ": an entry is lost that says where it begins anew");
    }
    const std::uint64_t count = version.value() - known.version.value();
    explained_ += count;
    if (subgroup == no_subgroup) {
      place.own += count;
      place.own_end = plan_.places.back().end;
    } else if (count != 0) {
      place.messages.push_back({subgroup, known.version, version, known.link, link});
    } else if (link != known.link) {
      refuse(place.place, "the log of " + text_of(subgroup) + " is another behind " + text_of(place.first, place.end) +
                              " than before: an entry is lost that says where it begins anew");
    }
  }

  /// A segment's head says where all logs end.
  void settle_at(const LogEnds& ends) {
    if (plan_.places.size() > settled_) {
      LogEnds all = ends_;
      for (const LogEnd& end : ends.all()) all.set(end);
      for (const LogEnd& each : all.all()) {
        if (known_at(each.subgroup) == plan_.places.size()) continue;
        const LogEnd end = ends.of(each.subgroup);
        explain(each.subgroup, end.version, end.link);
      }
    }
    settle(true);
    ends_ = ends;
  }

  /// All that was lost since the last time has to be explained: by what, the refusal says as far as anybody knows.
  /// `all_known`: no log goes on elsewhere than was seen.
  void settle(bool all_known) {
    const bool superseded = void_ && all_known && lost_ > explained_;
    if (lost_ != explained_ && !superseded) {
      const DamagedPlace& first = plan_.places[settled_];
      const DamagedPlace& last = plan_.places.back();
      refuse(first.place, text_of(first.first, last.end) + ": " + std::to_string(lost_) + " lost, of which what is left " +
                              "implies " + std::to_string(explained_) + ", and nothing behind says what the others were: " +
                              "the last messages of a log, promises of this node, or where a log begins anew");
    }
    lost_ = explained_ = 0;
    void_ = false;
    settled_ = plan_.places.size();
    known_at_.clear();
  }

  /// A record that is in the reserve alone is newer than all entries of earlier positions, and than no other.
  Result<void> look_into_reserve() {
    const SegmentHead& newest = plan_.findings.segments.back().head;
    auto reserved = Reserve::read(storage_, newest.seal.journal);
    if (!reserved && reserved.error().kind() == ErrorKind::resource) return std::move(reserved).error();
    if (!reserved) {
      plan_.refusals.push_back(std::move(reserved).error());
      return {};
    }
    const auto& record = *reserved;
    if (!record || (newest_view_ && *newest_view_ >= record->position)) return {};
    plan_.reserved = record->bytes;
    for (DamagedPlace& place : plan_.places) {
      const bool open = place.own != 0 && !place.superseded_by;
      if (open && place.own_end <= record->position) place.superseded_by = record->position;
    }
    return {};
  }

  void refuse_unsuperseded() {
    for (const DamagedPlace& place : plan_.places) {
      if (place.own == 0 || place.superseded_by) continue;
      refuse(place.place, "of " + text_of(place.first, place.own_end) + " " + std::to_string(place.own) +
                              " were no messages, and no record of views is behind them: this node's last promise may have "
                              "been there, and nobody else knows what it promised");
    }
  }

  Storage& storage_;
  RepairPlan& plan_;
  JournalPosition end_;  // of what was looked at
  LogEnds ends_;         // of logs, as far as they are known there
  std::size_t settled_ = 0;                     // so many places are explained, or refused
  std::map<SubgroupId, std::size_t> known_at_;  // the count of places by then; none: settled_
  std::uint64_t lost_ = 0;                      // entries, since
  std::uint64_t explained_ = 0;
  bool void_ = false;                           // a log has begun anew since
  std::optional<JournalPosition> newest_view_;
};

}  // namespace

Result<void> survey_losses(Storage& storage, RepairPlan& plan) { return LossSurvey(storage, plan).run(); }

}  // namespace spindrift::store
