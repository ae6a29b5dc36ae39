// The end of what was applied, as readers of other threads get it whole.
#include <spindrift/group/replica_place.hpp>

namespace spindrift::replicated {

void ReplicaPlace::advance(const MessagePlace& applied) noexcept {
  if (applied_.delivered > 0 && applied_.last == applied) return;
  applied_ = {applied_.delivered + 1, applied};
  end_.write(applied_, [] {});
}

group::FeedEnd ReplicaPlace::read() const noexcept {
  while (true) {
    if (const auto end = end_.read()) return *end;
  }
}

MessagePlace ReplicaPlace::now() const noexcept { return read().last; }

bool ReplicaPlace::has(const MessagePlace& place) const noexcept {
  const group::FeedEnd applied = read();
  return applied.delivered > 0 && place <= applied.last;
}

}  // namespace spindrift::replicated
