// Rights of a peer, and the first reason for which its connection ends.
#include <spindrift/fabric/connected/connection.hpp>

#include <utility>

namespace spindrift::fabric::connected {

Result<Exposure> Connection::grant(RegionKey key, OwnRegion& region, Access access) {
  SPINDRIFT_TRY_ASSIGN(auto right, give_right(region, access));
  granted.emplace(right.remote_key, Grant{key, &region, access, std::move(right.registration)});
  ++region.granted;
  return Exposure{key, right.remote_key, right.address, region.memory.size(), access};
}

OwnRegion* Connection::revoke(std::uint64_t remote_key) {
  const auto at = granted.find(remote_key);
  if (at == granted.end()) return nullptr;
  OwnRegion* const region = at->second.memory;
  granted.erase(at);
  --region->granted;
  return region;
}

void Connection::take_rights_back() {
  for (auto& [key, grant] : granted) {
    grant.right.reset();
    if (grant.access == Access::write) {
      grant.memory->fenced = true;
      fenced_.push_back(grant.memory);
    } else {
      --grant.memory->granted;
    }
  }
  granted.clear();
}

void Connection::revoke_all() {
  take_rights_back();
  for (OwnRegion* const region : std::exchange(fenced_, {})) --region->granted;
}

void Connection::send_sealed(std::span<const std::byte> message, bool signaled, std::uint64_t context) {
  if (session == nullptr) return send(message, signaled, context);
  if (auto sealed = session->say(message); !sealed) return break_down(sealed.error().to_string());
  carry_session(signaled, context);
}

void Connection::carry_session(bool signaled, std::uint64_t context) {
  const auto carriers = session->take_carriers();
  for (std::size_t i = 0; i < carriers.size(); ++i) send(carriers[i], signaled && i + 1 == carriers.size(), context);
}

void Connection::break_down(std::string why) {
  if (!broken_) broken_ = std::move(why);
}

}  // namespace spindrift::fabric::connected
