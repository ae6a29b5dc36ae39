// Stores before it changes: the record here is never ahead of the memory.
#include <spindrift/views/own_record.hpp>

#include <algorithm>
#include <utility>

#include <spindrift/core/check.hpp>

namespace spindrift::views {
namespace {

/// Says that much of the node's processes, and of no view.
ViewRecord first_of(const ViewRecord& record) {
  ViewRecord first;
  first.since = record.since;
  first.logs_from = record.logs_from;
  return first;
}

}  // namespace

Result<void> OwnRecord::begin(std::uint64_t incarnation, std::vector<KnownLog> logs) {
  if (memory_ == nullptr) return {};
  logs_ = std::move(logs);
  SPINDRIFT_TRY_ASSIGN(auto known, memory_->load());
  if (known) {
    CHECK(known->since < incarnation);
    record_ = *std::move(known);
    return {};
  }
  record_.since = incarnation;
  return memory_->store(record_);
}

bool OwnRecord::store(ViewRecord record) {
  if (memory_ == nullptr) return true;
  if (failure_) return false;
  if (auto stored = memory_->store(record); !stored) {
    failure_ = std::move(stored).error();
    return false;
  }
  record_ = std::move(record);
  return true;
}

bool OwnRecord::accept_decree(RecordedView next) {
  ViewRecord record = record_;
  record.accepted = {std::move(next)};
  return store(std::move(record));
}

bool OwnRecord::accept_founding(RecordedView first) {
  ViewRecord record = record_;
  return record.accept(std::move(first)) && store(std::move(record));
}

bool OwnRecord::install(const View& view) {
  ViewRecord record = first_of(record_);
  record.last = recorded(view);
  being_entered_ = &view;
  const bool stored = store(std::move(record));
  being_entered_ = nullptr;
  return stored;
}

bool OwnRecord::note_log(SubgroupId subgroup, NodeId self) {
  ViewRecord record = record_;
  if (!record.last) return true;
  const auto log = std::ranges::find(record.last->logs, subgroup, &RecordedLog::subgroup);
  const auto incarnation = incarnation_in(*record.last, self);
  if (log == record.last->logs.end() || !incarnation) return true;
  const LogHolder holder{self, *incarnation};
  if (std::ranges::find(log->holders, holder) != log->holders.end()) return true;
  std::erase_if(log->holders, [self](const LogHolder& each) { return each.node == self; });
  log->holders.push_back(holder);
  return store(std::move(record));
}

void OwnRecord::part(RecordedView next, ViewRecord::Standing standing) {
  ViewRecord record = first_of(record_);
  record.last = std::move(next);
  record.standing = standing;
  static_cast<void>(store(std::move(record)));
}

void OwnRecord::note_removal() {
  ViewRecord record = record_;
  record.standing = ViewRecord::Standing::removed;
  static_cast<void>(store(std::move(record)));
}

void OwnRecord::note_overtaken(std::uint64_t incarnation) {
  ViewRecord record = record_;
  record.standing = ViewRecord::Standing::removed;
  // Peers of releases without logs read a record as long as it says nothing of any.
  const auto has_logs = [](const RecordedView& view) { return !view.logs.empty(); };
  const bool logged = (record.last && has_logs(*record.last)) || std::ranges::any_of(record.accepted, has_logs);
  if (logged || !logs_.empty()) record.logs_from = record.logs_since();
  record.since = incarnation + 1;
  static_cast<void>(store(std::move(record)));
}

void OwnRecord::close() {
  if (memory_ != nullptr) memory_->close();
}

std::vector<OwnRecord::Neighbor> OwnRecord::neighbors() {
  if (memory_ == nullptr || !beside_ || failure_) return {};
  auto all = memory_->neighbors();
  if (all) return std::move(all).value();
  failure_ = std::move(all).error();
  return {};
}

}  // namespace spindrift::views
