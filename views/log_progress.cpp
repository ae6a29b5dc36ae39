// Runs of messages, and frontiers over them.
#include <spindrift/views/log_progress.hpp>

#include <algorithm>

namespace spindrift::views {

void LogProgress::begin_view(const View& view) {
  if (logs_ == nullptr) return;
  logged_.resize(view.subgroups.size());
  for (std::uint32_t s = 0; s < view.subgroups.size(); ++s) {
    const SubgroupView& subgroup = view.subgroups[s];
    std::optional<Logged>& logged = logged_[s];
    if (subgroup.storage != SubgroupStorage::logged || subgroup.dropped) {
      logged.reset();
      continue;
    }
    const std::uint64_t everywhere = logged ? logged->everywhere : 0;
    logged = Logged{.begun = end(SubgroupId(s)), .everywhere = everywhere};
  }
}

std::span<const Delivery> LogProgress::append(SubgroupId id, std::span<const Delivery> batch) {
  std::uint64_t version = end(id);
  batch_.assign(batch.begin(), batch.end());
  for (Delivery& each : batch_) each.version = version++;
  logs_->append(id, batch_);
  logged_[id.value()]->runs.push_back({batch.back().sequence.value() + 1, version});
  return batch_;
}

std::uint64_t LogProgress::persisted(SubgroupId id, std::uint64_t delivered) const {
  const Logged& logged = *logged_[id.value()];
  const std::uint64_t durable = logs_->durable(id);
  if (durable < logged.begun) return 0;
  if (logged.runs.empty() || logged.runs.back().version_end <= durable) return delivered + 1;
  const auto first = std::ranges::upper_bound(logged.runs, durable, {}, &Run::version_end);
  return first == logged.runs.begin() ? 1 : std::prev(first)->sequence_end + 1;
}

std::optional<std::uint64_t> LogProgress::durable_everywhere(SubgroupId id, std::uint64_t word) {
  if (word == 0) return std::nullopt;
  Logged& logged = *logged_[id.value()];
  std::uint64_t version = std::max(logged.everywhere, logged.begun);
  while (!logged.runs.empty() && logged.runs.front().sequence_end < word) {
    version = logged.runs.front().version_end;
    logged.runs.pop_front();
  }
  if (version == logged.everywhere) return std::nullopt;
  logged.everywhere = version;
  return version;
}

}  // namespace spindrift::views
