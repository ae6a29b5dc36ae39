// The client table's rules, said once more and without a thought to their cost.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <spindrift/group/client_table.hpp>

namespace spindrift {

/// So small that everything runs full.
inline constexpr replicated::ClientLimits reference_limits{
    .sessions = 3, .open = 4, .result_bytes = 12, .session_bytes = 20, .bytes = 48};

struct Random {
  std::uint64_t state;
  std::uint64_t word() {
    std::uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111eb;
    return z ^ (z >> 31U);
  }
  std::uint64_t below(std::uint64_t bound) { return word() % bound; }
};

class ClientReference {
 public:
  struct Verdict {
    replicated::ClientVerdict::Kind kind{};
    ClientRefusal why{};
    std::string answer{};
  };

  void open(const ClientSessionId& id) {
    if (sessions_.size() == reference_limits.sessions) end_oldest();
    sessions_.push_back({id, ++now_});
  }
  void close(const ClientSessionId& id) {
    std::erase_if(sessions_, [&](const Session& session) { return session.id == id; });
  }
  Verdict judge(const ClientRequest& request, std::uint32_t method) {
    using Kind = replicated::ClientVerdict::Kind;
    Session* const session = find(request.session);
    if (session == nullptr) return {Kind::refused, ClientRefusal::over};
    session->used = ++now_;
    session->settled = std::max(session->settled, request.settled);
    if (request.number < session->settled) return {Kind::refused, ClientRefusal::settled};
    if (request.number >= session->settled + reference_limits.open) return {Kind::refused, ClientRefusal::ahead};
    const auto kept = session->kept.find(request.number);
    if (kept == session->kept.end()) {
      const bool first = request.number == session->settled;
      if (bytes_of(*session) >= reference_limits.session_bytes && !first) return {Kind::refused, ClientRefusal::full};
      return {Kind::fresh, {}};
    }
    if (kept->second.method != method) return {Kind::refused, ClientRefusal::other_method};
    return {Kind::repeated, {}, kept->second.answer};
  }
  void keep(const ClientRequest& request, std::uint32_t method, const std::string& answer) {
    const std::string thrown = "threw ";
    const std::size_t bytes = answer.size() - (answer.starts_with(thrown) ? thrown.size() : 0);
    const bool fits = bytes <= reference_limits.result_bytes;
    find(request.session)->kept[request.number] = {method, fits ? answer : "too large", fits ? bytes : 0};
    while (bytes_of_all() > reference_limits.bytes) end_heaviest_but(request.session);
  }

 private:
  struct Kept {
    std::uint32_t method = 0;
    std::string answer{};
    std::size_t bytes = 0;
  };
  struct Session {
    ClientSessionId id{};
    std::uint64_t used = 0;
    std::uint64_t settled = 0;
    std::map<std::uint64_t, Kept> kept{};  // nothing is ever taken out
  };

  Session* find(const ClientSessionId& id) {
    const auto found = std::ranges::find(sessions_, id, &Session::id);
    return found == sessions_.end() ? nullptr : &*found;
  }
  static std::size_t bytes_of(const Session& session) {
    std::size_t bytes = 0;
    for (const auto& [number, kept] : session.kept) bytes += number < session.settled ? 0 : kept.bytes;
    return bytes;
  }
  [[nodiscard]] std::size_t bytes_of_all() const {
    std::size_t bytes = 0;
    for (const Session& session : sessions_) bytes += bytes_of(session);
    return bytes;
  }
  void end_heaviest_but(const ClientSessionId& asks) {
    const Session* heaviest = nullptr;
    for (const Session& each : sessions_) {
      if (each.id == asks) continue;
      const auto more = [&] { return bytes_of(each) > bytes_of(*heaviest); };
      const auto older = [&] { return bytes_of(each) == bytes_of(*heaviest) && each.used < heaviest->used; };
      if (heaviest == nullptr || more() || older()) heaviest = &each;
    }
    close(ClientSessionId(heaviest->id));
  }
  void end_oldest() { sessions_.erase(std::ranges::min_element(sessions_, {}, &Session::used)); }

  std::vector<Session> sessions_;
  std::uint64_t now_ = 0;
};

}  // namespace spindrift
