// Places twice as far apart replace those of an index that has too many.
#include <spindrift/group/log_index.hpp>

#include <algorithm>

namespace spindrift::group {
namespace {

constexpr std::size_t places_max = 512;
constexpr std::uint64_t ns_per_ms = 1'000'000;

}  // namespace

void LogIndex::note(store::JournalPosition position, std::uint64_t payload_bytes, std::uint64_t time) {
  if (bytes_ - places_.back().bytes >= spacing_) {
    places_.push_back({end_, position, bytes_, time});
    if (places_.size() > places_max) thin_out();
  }
  ++end_;
  bytes_ += HistoryBounds::bytes_of(payload_bytes);
}

void LogIndex::thin_out() {
  spacing_ *= 2;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < places_.size(); i += 2) places_[kept++] = places_[i];
  places_.resize(kept);
}

// A message that one of the bounds leaves out is not kept, whatever the others say.
bool LogIndex::may_begin_at(const IndexedPlace& place, const HistoryBounds& bounds, std::uint64_t now) const noexcept {
  const bool enough_messages = bounds.messages != 0 && end_ - place.version >= bounds.messages;
  const bool enough_bytes = bounds.bytes != 0 && bytes_ - place.bytes >= bounds.bytes;
  const bool old_enough = bounds.age_ms != 0 && place.time + bounds.age_ms * ns_per_ms <= now;
  return enough_messages || enough_bytes || old_enough;
}

const IndexedPlace& LogIndex::kept_from(const HistoryBounds& bounds, std::uint64_t limit, std::uint64_t now) const {
  const auto kept = std::find_if_not(places_.begin() + 1, places_.end(), [&](const IndexedPlace& place) {
    return place.version <= limit && may_begin_at(place, bounds, now);
  });
  return *(kept - 1);
}

bool LogIndex::trim(const HistoryBounds& bounds, std::uint64_t limit, std::uint64_t now) {
  return begin_at(kept_from(bounds, limit, now));
}

bool LogIndex::trim_below(std::uint64_t limit) {
  const auto behind = std::ranges::upper_bound(places_.begin() + 1, places_.end(), limit, {}, &IndexedPlace::version);
  return begin_at(*(behind - 1));
}

bool LogIndex::begin_at(const IndexedPlace& place) {
  const auto first = places_.begin() + (&place - places_.data());
  if (first == places_.begin()) return false;
  places_.erase(places_.begin(), first);
  return true;
}

}  // namespace spindrift::group
