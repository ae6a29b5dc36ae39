// Lists of pairs by caller, by message and by age.
#include <spindrift/kernel/listener.hpp>

#include <algorithm>
#include <utility>

namespace spindrift::kernel {

std::optional<PairId> Listener::find(const CallerId& caller) const {
  const auto known = accepted_.find(caller);
  return known == accepted_.end() ? std::nullopt : std::optional(known->second);
}

void Listener::accept(const CallerId& caller, PairId pair) {
  accepted_.emplace(caller, pair);
  newcomers_.push_back(pair);
}

void Listener::close(const CallerId& caller, PairId pair, bool heard) {
  accepted_.erase(caller);
  if (heard) heard_.add(caller);
  std::erase(ready_, pair);
  std::erase(newcomers_, pair);
}

bool PendingCalls::add(PendingCall call) {
  const bool waits =
      std::any_of(calls_.begin(), calls_.end(), [&](const PendingCall& other) { return other.caller() == call.caller(); });
  if (waits) return true;
  if (calls_.size() == most) return false;
  calls_.push_back(std::move(call));
  return true;
}

std::vector<PendingCall> PendingCalls::take() { return std::exchange(calls_, {}); }

}  // namespace spindrift::kernel
