// Patience that follows how long a member takes.
#include <spindrift/group/member_patience.hpp>

namespace spindrift::clients {

// A query may be ordered where the replica is not there yet; then it has what was before it in the order behind it.
std::size_t MemberPatience::line_of(Ask ask) noexcept {
  return static_cast<std::size_t>(ask == Ask::query || ask == Ask::query_after ? Line::replica : Line::order);
}

Time MemberPatience::since(Ask ask, Time sent) const noexcept { return std::max(sent, heard_[line_of(ask)]); }

void MemberPatience::heard(Ask ask, Time sent, Time now) noexcept {
  const Duration took = now - since(ask, sent);
  heard_[line_of(ask)] = now;
  unsigned kept = 0;
  while (kept < doublings_ && least_ * (1U << kept) < 2 * took) ++kept;
  doublings_ = kept;
}

}  // namespace spindrift::clients
