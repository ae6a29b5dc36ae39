// Sessions in the order of their last use, and the bytes of the whole table.
#include <spindrift/group/client_table.hpp>

#include <algorithm>
#include <string>
#include <utility>

#include <spindrift/core/bytes.hpp>
#include <spindrift/core/check.hpp>

namespace spindrift::replicated {
namespace {

using Kind = ClientVerdict::Kind;

ClientVerdict refused(ClientRefusal why) { return {Kind::refused, why, nullptr}; }

/// The form of saved tables.
constexpr std::uint64_t table_form = 1;

struct TableHead {
  std::uint64_t form;
  std::uint64_t opened;
  std::uint64_t sessions;
};
struct SessionHead {
  ClientSessionId id;
  std::uint64_t settled;
  std::uint64_t kept;
};
struct ResultHead {
  std::uint64_t number;
  std::uint32_t method;
  std::uint32_t kind;
  std::uint64_t bytes;
};

}  // namespace

ClientSessionId ClientTable::open(std::uint64_t word) {
  while (sessions_.size() >= limits_.sessions) end(sessions_.begin());
  sessions_.push_back({.id = {++opened_, word}});
  by_number_[opened_] = std::prev(sessions_.end());
  return sessions_.back().id;
}

void ClientTable::close(const ClientSessionId& session) {
  if (const auto found = find(session); found != sessions_.end()) end(found);
}

ClientVerdict ClientTable::judge(const ClientRequest& request, std::uint32_t method) {
  const auto found = find(request.session);
  if (found == sessions_.end()) return refused(ClientRefusal::over);
  Session& session = *found;
  sessions_.splice(sessions_.end(), sessions_, found);
  settle(session, request.settled);
  if (request.number < session.settled) return refused(ClientRefusal::settled);
  if (request.number - session.settled >= limits_.open) return refused(ClientRefusal::ahead);
  if (const auto kept = session.kept.find(request.number); kept != session.kept.end()) {
    if (kept->second.method != method) return refused(ClientRefusal::other_method);
    return {Kind::repeated, {}, &kept->second};
  }
  // The first one is carried out in any case: without its result a client could settle nothing.
  const bool first = request.number == session.settled;
  if (session.bytes >= limits_.session_bytes && !first) return refused(ClientRefusal::full);
  return {};
}

void ClientTable::keep(const ClientRequest& request, std::uint32_t method, bool threw, std::span<const std::byte> result) {
  const auto found = find(request.session);
  CHECK(found != sessions_.end());
  KeptResult kept{method, threw ? KeptResult::Kind::threw : KeptResult::Kind::returned, {}};
  if (result.size() > limits_.result_bytes) {
    kept.kind = KeptResult::Kind::too_large;
  } else {
    kept.bytes.assign(result.begin(), result.end());
  }
  found->bytes += kept.bytes.size();
  bytes_ += kept.bytes.size();
  const bool fresh = found->kept.emplace(request.number, std::move(kept)).second;
  CHECK(fresh);
  while (bytes_ > limits_.bytes) end(heaviest_but(found));
}

// Sessions that keep little would free little, and their clients settle what they have. The one that asks has to
// answer with its result, and alone is within the bound.
ClientTable::Sessions::iterator ClientTable::heaviest_but(Sessions::iterator asks) {
  CHECK(asks == std::prev(sessions_.end()) && sessions_.size() > 1);
  return std::ranges::max_element(sessions_.begin(), asks, {}, &Session::bytes);
}

ClientTable::Sessions::iterator ClientTable::find(const ClientSessionId& id) {
  const auto found = by_number_.find(id.number);
  return found == by_number_.end() || found->second->id != id ? sessions_.end() : found->second;
}

void ClientTable::settle(Session& session, std::uint64_t below) {
  if (below <= session.settled) return;
  session.settled = below;
  const auto first_open = session.kept.lower_bound(below);
  for (auto kept = session.kept.begin(); kept != first_open; ++kept) {
    session.bytes -= kept->second.bytes.size();
    bytes_ -= kept->second.bytes.size();
  }
  session.kept.erase(session.kept.begin(), first_open);
}

void ClientTable::end(Sessions::iterator session) {
  bytes_ -= session->bytes;
  by_number_.erase(session->id.number);
  sessions_.erase(session);
}

void ClientTable::save(std::vector<std::byte>& to) const {
  ByteWriter writer(std::move(to));
  writer.put(TableHead{table_form, opened_, sessions_.size()});
  for (const Session& session : sessions_) {
    writer.put(SessionHead{session.id, session.settled, session.kept.size()});
    for (const auto& [number, kept] : session.kept) {
      writer.put(ResultHead{number, kept.method, static_cast<std::uint32_t>(kept.kind), kept.bytes.size()});
      writer.put_bytes(kept.bytes);
    }
  }
  to = writer.take();
}

/// Reads a table, and looks whether a table can be so.
class ClientTable::Loading {
 public:
  Loading(std::span<const std::byte> from, const ClientLimits& limits, const PlaceNow& place_now)
      : reader_(from), limits_(limits), place_now_(place_now), table_(limits) {}

  [[nodiscard]] Result<ClientTable> table() && {
    const auto head = reader_.get<TableHead>();
    if (head.form != table_form || head.sessions > limits_.sessions) return broken("its form or its size is unknown here");
    table_.opened_ = head.opened;
    for (std::uint64_t i = 0; i < head.sessions && reader_.ok(); ++i) {
      if (!take_session()) return broken("a session or a result in it cannot be so");
    }
    if (!reader_.complete()) return broken("it is cut off, or followed by something else");
    if (table_.bytes_ > limits_.bytes) return broken("it keeps more than a table may");
    return std::move(table_);
  }

 private:
  static Error broken(const std::string& why) {
    return Error(ErrorKind::bad_input, "the table of a replicated object's clients cannot be read: " + why);
  }

  [[nodiscard]] bool take_session() {
    const auto head = reader_.get<SessionHead>();
    if (head.id.number == 0 || head.id.number > table_.opened_ || head.kept > limits_.open) return false;
    table_.sessions_.push_back({.id = head.id, .settled = head.settled});
    const auto last = std::prev(table_.sessions_.end());
    if (!table_.by_number_.emplace(head.id.number, last).second) return false;
    for (std::uint64_t i = 0; i < head.kept; ++i) {
      if (!take_result(*last)) return false;
    }
    table_.bytes_ += last->bytes;
    return last->bytes <= limits_.session_bytes + 2 * limits_.result_bytes;
  }

  [[nodiscard]] bool take_result(Session& session) {
    const auto head = reader_.get<ResultHead>();
    const bool open = head.number >= session.settled && head.number - session.settled < limits_.open;
    const bool in_order = session.kept.empty() || session.kept.rbegin()->first < head.number;
    const KeptResult::Kind kind{head.kind};
    const bool known = kind <= KeptResult::Kind::too_large && (kind != KeptResult::Kind::too_large || head.bytes == 0);
    if (!open || !in_order || !known || head.bytes > limits_.result_bytes) return false;
    const auto method = place_now_(head.method);
    if (!method) return false;
    const auto bytes = reader_.get_bytes(head.bytes);
    if (!reader_.ok()) return false;
    session.kept.emplace(head.number, KeptResult{*method, kind, {bytes.begin(), bytes.end()}});
    session.bytes += bytes.size();
    return true;
  }

  ByteReader reader_;
  const ClientLimits& limits_;
  const PlaceNow& place_now_;
  ClientTable table_;
};

Result<void> ClientTable::load(std::span<const std::byte> from, const PlaceNow& place_now) {
  SPINDRIFT_TRY_ASSIGN(*this, Loading(from, limits_, place_now).table());
  return {};
}

}  // namespace spindrift::replicated
