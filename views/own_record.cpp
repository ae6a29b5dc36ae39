// Stores before it changes: the record here is never ahead of the memory.
#include <spindrift/views/own_record.hpp>

#include <utility>

#include <spindrift/core/check.hpp>

namespace spindrift::views {

Result<void> OwnRecord::begin(std::uint64_t incarnation) {
  if (memory_ == nullptr) return {};
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
  ViewRecord record;
  record.since = record_.since;
  RecordedView& last = record.last.emplace();
  last.id = view.id;
  for (std::size_t i = 0; i < view.members.size(); ++i) last.members.push_back({view.members[i], view.incarnations[i]});
  last.roster = view.roster;
  return store(std::move(record));
}

void OwnRecord::part(RecordedView next, ViewRecord::Standing standing) {
  ViewRecord record;
  record.since = record_.since;
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
