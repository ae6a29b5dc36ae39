// The answers of members, and their consequences at a client.
#include <algorithm>
#include <utility>

#include <spindrift/group/object_caller.hpp>

namespace spindrift::clients {
namespace {

ErrorKind kind_of(CallerOutcome outcome) {
  switch (outcome) {
    case CallerOutcome::unknown:
    case CallerOutcome::bad_request: return ErrorKind::bad_argument;
    case CallerOutcome::other_methods:
    case CallerOutcome::forbidden: return ErrorKind::refused;
    case CallerOutcome::too_large: return ErrorKind::resource;
    default: return ErrorKind::unsupported;
  }
}

std::string fix_of(CallerOutcome outcome) {
  switch (outcome) {
    case CallerOutcome::unknown: return "name a subgroup of the group's layout: spindrift group subgroups lists them";
    case CallerOutcome::other_methods: return "build the client and the members with the same Methods of the object";
    case CallerOutcome::too_large:
      return "send or return less: arguments fit into a message of the subgroup, which max_smc_payload_size bounds";
    case CallerOutcome::forbidden: return "give the client that right at all members: [SPINDRIFT] client_rights";
    case CallerOutcome::unsupported: return "run this release at all members";
    default: return "build the client and the members from the same release";
  }
}

}  // namespace

std::string ObjectCaller::place() const { return "subgroup " + subgroup_ + " by the member at " + members_.now(); }

Error ObjectCaller::failure_of(const HeardAnswer& answer, bool doubtful) const {
  const std::string before = doubtful ? "; an earlier attempt may have been carried out" : "";
  return Error(kind_of(answer.outcome), answer.words + before).at(place()).fix(fix_of(answer.outcome));
}

void ObjectCaller::finish(const Item& item, Ended::Kind kind, std::span<const std::byte> bytes) {
  ended_.push_back({item.wanted.ticket, kind, {bytes.begin(), bytes.end()}, {}, nullptr});
  if (item.number && item.generation == session_.generation) session_.open.erase(*item.number);
  const std::uint64_t ticket = item.wanted.ticket;  // `item` may be in there
  numbered_.erase(ticket);
  items_.erase(ticket);
}

void ObjectCaller::fail(const Item& item, std::exception_ptr why) {
  finish(item, Ended::Kind::failed, {});
  ended_.back().why = std::move(why);
}
void ObjectCaller::fail(const Item& item, const Error& why) { fail(item, std::make_exception_ptr(Exception(why))); }

void ObjectCaller::end(const Error& why) {
  while (!items_.empty()) {
    const Item item = items_.begin()->second;
    const bool perhaps = item.wanted.ask == Ask::update && (item.doubtful || item.under_way);
    fail(item, Error(why.kind(), why.message() + (perhaps ? "; the request may have been carried out" : ""))
                   .at(place())
                   .fix(why.fix()));
  }
}

void ObjectCaller::retry(Item& item, const std::string& why, Time now) {
  item.reason = why;
  item.retry_at = now + pause(item.pauses++);
  retry_ = std::min(retry_, item.retry_at);
}

// Requests that have been made in it and are doubtful will not be known any more; the others go on in the next one.
void ObjectCaller::end_session() {
  session_.state = Session::State::none;
  ++session_.generation;
  session_.next_number = 0;
  session_.open.clear();
}

void ObjectCaller::judge_old() {
  for (auto at = numbered_.begin(); at != numbered_.end();) {
    Item& item = items_.at(*at);
    const auto numbered = at++;
    if (item.generation == session_.generation || item.under_way) continue;
    if (item.doubtful) {
      const ClientRequest of{session_.id, *item.number, 0};
      fail(item, std::make_exception_ptr(replicated::client_refused(ClientRefusal::over, of, subgroup_)));
    } else {
      item.number.reset();
      numbered_.erase(numbered);
    }
  }
}

void ObjectCaller::on_answer(std::uint64_t number, rpc::CallStatus status, std::span<const std::byte> bytes, Time now) {
  const auto found = attempts_.find(number);
  if (found == attempts_.end()) return;
  const Attempt attempt = found->second;
  attempts_.erase(found);
  if (const auto item = items_.find(attempt.ticket); item != items_.end()) item->second.under_way = false;
  if (status != rpc::CallStatus::answered) return on_no_answer(attempt, status, now);
  const auto answer = decode_answer(bytes);
  if (!answer) {
    on_no_answer(attempt, rpc::CallStatus::peer_lost, now);
    return leave(answer.error().to_string(), now);
  }
  // Any member says who there is, whatever else it is good for.
  if (answer->outcome <= CallerOutcome::refused && attempt.ask != Ask::members) {
    members_.good();
    connection_.pauses = 0;
    patience_.heard(attempt.ask, attempt.sent, now);
  }
  if (attempt.ask == Ask::members) return on_members(*answer, now);
  if (attempt.ask == Ask::open) return on_session(*answer, now);
  if (attempt.ask == Ask::close) {
    session_.state = Session::State::none;
    return;
  }
  if (const auto item = items_.find(attempt.ticket); item != items_.end()) on_item_answer(item->second, *answer, now);
}

void ObjectCaller::on_members(const HeardAnswer& answer, Time now) {
  if (answer.outcome == CallerOutcome::unknown || answer.outcome == CallerOutcome::forbidden)
    return end(failure_of(answer, false));
  if (answer.outcome != CallerOutcome::returned) return;
  const auto members = decode_members(answer.bytes);
  if (!members) return leave(members.error().to_string(), now);
  members_.learn(*members);
}

void ObjectCaller::on_session(const HeardAnswer& answer, Time now) {
  session_.state = Session::State::none;
  switch (answer.outcome) {
    case CallerOutcome::returned: {
      const auto session = decode_session(answer.bytes);
      if (!session) return leave(session.error().to_string(), now);
      session_.state = Session::State::open;
      session_.id = *session;
      session_.pauses = 0;
      return;
    }
    case CallerOutcome::overloaded: session_.retry_at = now + pause(session_.pauses++); return;
    case CallerOutcome::elsewhere:
    case CallerOutcome::interrupted: return leave(answer.words, now);
    case CallerOutcome::threw:
    case CallerOutcome::refused: return leave("a member opens no session, and does not say why", now);
    default: break;
  }
  for (auto at = items_.begin(); at != items_.end();) {
    const Item& item = at->second;
    ++at;
    if (item.wanted.ask == Ask::update) fail(item, failure_of(answer, item.doubtful));
  }
}

void ObjectCaller::on_item_answer(Item& item, const HeardAnswer& answer, Time now) {
  switch (answer.outcome) {
    case CallerOutcome::returned: return on_result(item, Ended::Kind::returned, answer);
    case CallerOutcome::threw: return on_result(item, Ended::Kind::threw, answer);
    case CallerOutcome::refused: return on_refusal(item, answer.refusal, now);
    case CallerOutcome::overloaded: return retry(item, answer.words, now);
    case CallerOutcome::interrupted:
      item.doubtful = item.doubtful || item.wanted.ask == Ask::update;
      [[fallthrough]];
    case CallerOutcome::elsewhere: return leave(answer.words, now);
    default: return fail(item, failure_of(answer, item.doubtful));
  }
}

// A member that has not applied all up to the place answers in the order, behind all that was there.
void ObjectCaller::on_result(const Item& item, Ended::Kind kind, const HeardAnswer& answer) {
  if (item.wanted.ask == Ask::query_after && answer.place < item.wanted.after) {
    return fail(item, Error(ErrorKind::refused,
                            "the group has begun anew, and does not have the place that this query is to come after")
                          .at(place())
                          .fix("forget that place, and what was read before: the object may lack what was there"));
  }
  finish(item, kind, answer.bytes);
  ended_.back().place = answer.place;
}

void ObjectCaller::on_refusal(Item& item, ClientRefusal why, Time now) {
  if (!item.number) return leave("a member refuses a request that is of no session", now);
  switch (why) {
    case ClientRefusal::over:
      if (item.generation == session_.generation) end_session();
      return judge_old();
    case ClientRefusal::full:
    case ClientRefusal::ahead: return retry(item, "too much of the session is not settled", now);
    default: break;
  }
  const ClientRequest of{session_.id, *item.number, 0};
  fail(item, std::make_exception_ptr(replicated::client_refused(why, of, subgroup_)));
}

// The call has ended without a word of the member.
void ObjectCaller::on_no_answer(const Attempt& attempt, rpc::CallStatus status, Time now) {
  if (attempt.ask == Ask::open) {
    session_.state = Session::State::none;
    session_.retry_at = now + pause(session_.pauses++);
  }
  if (attempt.ask == Ask::close) session_.state = Session::State::none;
  const auto found = items_.find(attempt.ticket);
  if (found == items_.end()) return;
  Item& item = found->second;
  const std::string how = "the call was " + std::string(to_string(status));
  const bool update = item.wanted.ask == Ask::update;
  switch (status) {
    case rpc::CallStatus::overloaded: return retry(item, how, now);
    case rpc::CallStatus::unhandled:
      return fail(item, Error(ErrorKind::unsupported, "nobody there takes requests of clients, or any of that size")
                            .at(place())
                            .fix("give the members' addresses with their client_port, and send less at once"));
    case rpc::CallStatus::too_large:
      return fail(item, Error(ErrorKind::resource, std::string("the result is larger than this client takes") +
                                                       (update ? "; the request was carried out" : ""))
                            .at(place())
                            .fix("raise result_bytes_max of the client's options"));
    default: break;
  }
  item.doubtful = item.doubtful || update;
  retry(item, how, now);
}

}  // namespace spindrift::clients
