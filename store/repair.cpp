// A repaired journal is written as any is, by appending: what is left in its order, and in front of what follows a hole the
// messages that were in it. Nothing of the damaged one is changed, so a crash leaves at worst an unfinished new one.
#include <spindrift/store/repair.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <spindrift/core/check.hpp>
#include <spindrift/store/batch.hpp>
#include <spindrift/store/checkpoint.hpp>
#include <spindrift/store/journal.hpp>
#include <spindrift/store/repair_sources.hpp>
#include <spindrift/store/repair_survey.hpp>

namespace spindrift::store {
namespace {

/// So many bytes are written at once.
constexpr std::uint64_t batch_bytes = std::uint64_t{1} << 20U;

using EntrySink = std::function<Result<void>(const Entry&)>;

/// The entries that the repaired journal has, in order, by the plan.
class RepairedEntries {
 public:
  RepairedEntries(Storage& own, const RepairPlan& plan, std::span<Storage* const> sources, const EntrySink& sink)
      : own_(own), plan_(plan), messages_(sources), sink_(sink) {}

  Result<void> run() {
    const JournalFindings& findings = plan_.findings;
    next_ = findings.first();
    SPINDRIFT_TRY(visit_entries(own_, findings, findings.first(), [this](const Entry& entry) {
      done_ = take(entry);
      return static_cast<bool>(done_);
    }));
    SPINDRIFT_TRY(std::move(done_));
    SPINDRIFT_TRY(fill_before(findings.end, ~std::uint64_t{0}));
    if (plan_.reserved.empty()) return {};
    const ViewId view = findings.ends.of(no_subgroup).view;
    return give({{}, {}, {EntryKind::view, no_subgroup, plan_.owner.node, view, SequenceNumber(0), time_}, plan_.reserved});
  }

 private:
  Result<void> take(const Entry& entry) {
    SPINDRIFT_TRY(fill_before(entry.position, entry.head.time));
    if (is_rest_of_checkpoint(entry)) return {};
    return give(entry);
  }

  /// The messages of all places before that position. Times do not go back within a journal, and are each node's own.
  Result<void> fill_before(JournalPosition position, std::uint64_t latest) {
    for (; place_ < plan_.places.size() && plan_.places[place_].end <= position; ++place_) {
      const DamagedPlace& place = plan_.places[place_];
      if (place.own != 0) torn_until_ = place.own_end;
      if (place.end <= torn_until_) whole_.clear();
      for (const LackingMessages& lacking : place.messages) {
        for (const StoredMessage& from : lacking.from) {
          SPINDRIFT_TRY_ASSIGN(Entry message, messages_.read(from));
          message.head.time = std::clamp(message.head.time, time_, std::max(time_, latest));
          SPINDRIFT_TRY(give(message));
        }
      }
    }
    return {};
  }

  /// Behind a hole that may have had pieces of checkpoints, what was begun before it is not gone on with: the piece that is
  /// there next may be one of a second checkpoint as of the same version, whose first piece is lost.
  bool is_rest_of_checkpoint(const Entry& entry) {
    if (entry.head.kind != EntryKind::checkpoint || place_ == 0) return false;
    const auto piece = checkpoint_piece(entry.payload);
    if (!piece) return false;
    if (piece->offset == 0) whole_.insert(piece->subgroup);
    return torn_until_ != JournalPosition(0) && !whole_.contains(piece->subgroup);
  }

  Result<void> give(Entry entry) {
    entry.position = next_;
    next_ = JournalPosition(next_.value() + 1);
    time_ = entry.head.time;
    return sink_(entry);
  }

  Storage& own_;
  const RepairPlan& plan_;
  MessageReader messages_;
  const EntrySink& sink_;
  Result<void> done_;
  JournalPosition next_;
  std::size_t place_ = 0;          // the next one
  JournalPosition torn_until_;     // entries of the node's own may be lost before it; 0: nowhere
  std::set<SubgroupId> whole_;     // a checkpoint of it has begun since
  std::uint64_t time_ = 0;         // of the last entry
};

Result<void> compose(Storage& own, const RepairPlan& plan, std::span<Storage* const> sources, const EntrySink& sink) {
  return RepairedEntries(own, plan, sources, sink).run();
}

// ---- plan

/// The version with which each log begins, as it is left.
std::map<SubgroupId, LogVersion> beginnings(const LogEnds& ends) {
  std::map<SubgroupId, LogVersion> all;
  for (const LogEnd& end : ends.all()) all[end.subgroup] = end.version;
  all.erase(no_subgroup);
  return all;
}

/// A log that is trimmed makes its object of a checkpoint, so none of its pieces may be among what is lost.
Result<void> refuse_lost_checkpoints(Storage& own, RepairPlan& plan, std::span<Storage* const> sources) {
  const auto& segments = plan.findings.segments;
  const auto torn = std::ranges::find_if(plan.places, [](const DamagedPlace& place) { return place.own != 0; });
  const bool has_any = std::ranges::any_of(
      segments, [](const FoundSegment& segment) { return segment.head.format >= SegmentFormat::third; });
  if (torn == plan.places.end() || !has_any) return {};
  CheckpointLedger ledger;
  ledger.begin(segments.front().ends);
  auto begins = beginnings(segments.front().ends);
  SPINDRIFT_TRY(compose(own, plan, sources, [&](const Entry& entry) {
    ledger.note(entry);
    if (entry.head.kind == EntryKind::base) begins[entry.head.subgroup] = entry.version;
    return Result<void>();
  }));
  for (const auto& [subgroup, begin] : begins) {
    const Checkpoint* const checkpoint = ledger.of(subgroup);
    if (begin == LogVersion(0) || (checkpoint != nullptr && checkpoint->version >= begin)) continue;
    plan.refusals.push_back(
        Error(ErrorKind::bad_input, "the log of subgroup " + std::to_string(subgroup.value()) + " begins with version " +
                                        std::to_string(begin.value()) +
                                        ", and the checkpoint that it needs may have been among what is lost")
            .at(torn->place)
            .fix("copy the directory; if others have the log, have this node forget, which deletes it: spindrift group "
                 "forget --config FILE NODE"));
  }
  return {};
}

// ---- write

Result<void> clear(Storage& fresh) {
  SPINDRIFT_TRY_ASSIGN(const auto names, fresh.names());
  for (const std::string& name : names) {
    if (is_journal_file(name)) SPINDRIFT_TRY(fresh.remove(name));
  }
  return fresh.sync_names();
}

/// Begins it where the damaged one begins, as if what lies before were trimmed away.
Result<Journal> begin_journal(Storage& fresh, const RepairPlan& plan, const Digest& name) {
  JournalFindings nothing;
  nothing.end = plan.findings.first();
  nothing.ends = plan.findings.segments.front().ends;
  JournalOptions options{.prepared_bytes = 0};
  std::uint64_t incarnation = 0;
  for (const FoundSegment& segment : plan.findings.segments) {
    options.format = std::max(options.format, segment.head.format);
    incarnation = std::max(incarnation, segment.head.seal.incarnation);
  }
  return Journal::open(fresh, nothing, {plan.owner, incarnation + 1}, name, options);
}

void append(Batch& batch, const Entry& entry) {
  if (entry.head.kind != EntryKind::base) return batch.append(entry.head, entry.payload);
  const LogEnd end = end_behind({}, entry.head, entry.version, entry.payload);
  batch.append_base(end, entry.head.time);
}

/// Its links are computed anew, message by message: where they are those of before at the end, all is.
Result<void> check(Storage& fresh, const RepairPlan& plan) {
  SPINDRIFT_TRY_ASSIGN(const JournalFindings written, examine(fresh, plan.owner));
  bool same = written.damages.empty();
  for (const LogEnd& end : plan.findings.ends.all())
    same = same && (end.subgroup == no_subgroup || written.ends.of(end.subgroup) == end);
  if (same) return {};
  return Error(ErrorKind::bad_input, "the repaired journal is not the one that was to be written; it takes no place")
      .at(fresh.place(segment_name(0)))
      .fix("repair again, from a journal that nobody writes meanwhile; if it stays so, keep both, and report it");
}

}  // namespace

Result<RepairPlan> plan_repair(Storage& own, const JournalOwner& owner, std::span<Storage* const> sources) {
  RepairPlan plan;
  plan.owner = owner;
  SPINDRIFT_TRY_ASSIGN(plan.findings, examine(own, owner));
  if (!plan.needed()) return plan;
  SPINDRIFT_TRY(survey_losses(own, plan));
  RepairSources others(sources);
  SPINDRIFT_TRY(others.read(plan));
  for (DamagedPlace& place : plan.places) {
    for (LackingMessages& lacking : place.messages) {
      if (auto why = others.find(lacking, place.place)) plan.refusals.push_back(*std::move(why));
    }
  }
  if (plan.refusals.empty()) SPINDRIFT_TRY(refuse_lost_checkpoints(own, plan, sources));
  return plan;
}

Result<void> write_repaired(Storage& own, const RepairPlan& plan, std::span<Storage* const> sources, Storage& fresh,
                            const Digest& name) {
  CHECK(plan.possible());
  SPINDRIFT_TRY(clear(fresh));
  SPINDRIFT_TRY_ASSIGN(Journal journal, begin_journal(fresh, plan, name));
  Batch batch;
  SPINDRIFT_TRY(compose(own, plan, sources, [&](const Entry& entry) -> Result<void> {
    append(batch, entry);
    if (batch.bytes() < batch_bytes) return {};
    return journal.commit(batch);
  }));
  SPINDRIFT_TRY(journal.commit(batch));
  SPINDRIFT_TRY(journal.close());
  return check(fresh, plan);
}

}  // namespace spindrift::store
