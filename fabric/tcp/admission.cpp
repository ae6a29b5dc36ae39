// Counting callers.
#include <spindrift/fabric/tcp/admission.hpp>

#include <netinet/in.h>

#include <algorithm>
#include <cstring>

namespace spindrift::fabric::tcp {

Source Source::of(const connected::SocketAddress& from) noexcept {
  Source source;
  if (from.storage.ss_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &from.storage, sizeof v4);
    source.low = v4.sin_addr.s_addr;
  } else if (from.storage.ss_family == AF_INET6) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, &from.storage, sizeof v6);
    std::memcpy(&source.high, &v6.sin6_addr, sizeof source.high);
    source.low = UINT64_MAX;  // no IPv4 address
  }
  return source;
}

double Admission::calls_left(const Caller& caller, Time now) const noexcept {
  const double seconds = std::chrono::duration<double>(now - caller.counted).count();
  return std::min<double>(limits_.calls_at_once, caller.calls_left + seconds * limits_.calls_per_second);
}

// A source that has rested long enough is as good as new, so nothing is lost with its counts.
void Admission::forget_rested(Time now) {
  std::erase_if(callers_, [&](const auto& each) {
    return each.second.pending == 0 && calls_left(each.second, now) >= limits_.calls_at_once;
  });
}

Admission::Verdict Admission::enter(const Source& source, Time now) {
  const Verdict found = verdict(source, now);
  if (found != Verdict::admitted) ++turned_away_;
  return found;
}

Admission::Verdict Admission::verdict(const Source& source, Time now) {
  if (callers_.size() >= sources_max) forget_rested(now);
  if (callers_.size() >= sources_max && !callers_.contains(source)) return Verdict::turned_away;
  const auto [at, fresh] = callers_.try_emplace(source);
  Caller& caller = at->second;
  if (fresh) caller = {0, static_cast<double>(limits_.calls_at_once), now};
  caller = {caller.pending, calls_left(caller, now), now};
  if (caller.pending >= limits_.pending_per_source || caller.calls_left < 1) return Verdict::turned_away;
  if (pending_ >= limits_.pending_max) return Verdict::crowded;
  caller.calls_left -= 1;
  ++caller.pending;
  ++pending_;
  return Verdict::admitted;
}

std::size_t Admission::pending_of(const Source& source) const noexcept {
  const auto at = callers_.find(source);
  return at == callers_.end() ? 0 : at->second.pending;
}

void Admission::leave(const Source& source) {
  const auto at = callers_.find(source);
  if (at == callers_.end() || at->second.pending == 0) return;
  --at->second.pending;
  --pending_;
}

}  // namespace spindrift::fabric::tcp
