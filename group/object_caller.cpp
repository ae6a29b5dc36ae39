// Steps of a client: what is sent to which member, and when.
#include <spindrift/group/object_caller.hpp>

#include <algorithm>
#include <utility>

#include <spindrift/core/check.hpp>

namespace spindrift::clients {
namespace {

/// So many requests of a session may be open, from the first one that is not settled on: a limit of the object's table.
constexpr std::uint64_t open_max = 64;
constexpr unsigned doublings_max = 16;

}  // namespace

ObjectCaller::ObjectCaller(std::string subgroup, std::uint64_t digest, MemberChoice members, const CallerOptions& options)
    : subgroup_(std::move(subgroup)), digest_(digest), options_(options), members_(std::move(members)) {}

void ObjectCaller::add(Wanted wanted) {
  CHECK(has_method(wanted.ask) && wanted.ticket != 0);
  const std::uint64_t ticket = wanted.ticket;
  expiry_ = std::min(expiry_, wanted.deadline);
  const bool fresh = items_.emplace(ticket, Item{std::move(wanted)}).second;
  CHECK(fresh);
}

bool ObjectCaller::closed() const noexcept {
  return closing_ && items_.empty() && session_.state == Session::State::none && ended_.empty();
}

void ObjectCaller::on_connected(Time now) {
  if (connection_.state != Connection::State::connecting) return;
  connection_.state = Connection::State::connected;
  connection_.members_at = now;
}

void ObjectCaller::on_lost(Error why, Time now) {
  if (connection_.state == Connection::State::none) return;
  if (connection_.state == Connection::State::connected)
    why = Error(ErrorKind::member_lost, "the connection is over").because(std::move(why));
  leave(std::move(why), now);
  connection_.hang_up = false;
  if (!members_.all_refuse()) return;
  const Error& refusal = *members_.reason_of_all();
  end(Error(refusal.kind(), "no member lets this client in: " + members_.reasons()).fix(refusal.fix()));
}

Duration ObjectCaller::pause(unsigned before) const noexcept {
  return std::min(options_.pause_max, options_.pause_first * (1U << std::min(before, doublings_max)));
}

// Nobody answers the attempts that are under way any more: those of updates leave their requests doubtful.
void ObjectCaller::leave(Error why, Time now) {
  for (auto& [ticket, item] : items_) {
    if (!std::exchange(item.under_way, false)) continue;
    if (item.wanted.ask == Ask::update) item.doubtful = true;
  }
  attempts_.clear();
  if (session_.state == Session::State::opening) session_.state = Session::State::none;
  if (closing_ && items_.empty()) session_.state = Session::State::none;  // nobody waits for its end
  connection_.hang_up = connection_.state != Connection::State::none;
  connection_.state = Connection::State::none;
  connection_.not_before = now;
  if (members_.next(std::move(why))) connection_.not_before = now + pause(connection_.pauses++);
}

void ObjectCaller::leave(const std::string& why, Time now) { leave(Error(ErrorKind::member_lost, why), now); }

// The members' reasons say more than what a member answered before it was left.
Error ObjectCaller::unanswered(const Item& item) const {
  const bool perhaps = item.wanted.ask == Ask::update && (item.doubtful || item.under_way);
  Error why(ErrorKind::timed_out, std::string("a request was not answered before its time was over; it ") +
                                      (perhaps ? "may have been carried out" : "was not carried out"));
  const Error* const all = members_.reason_of_all();
  std::string fix = "see whether the group is there and has a majority: spindrift group status; or give requests more time";
  if (all != nullptr && !all->fix().empty()) fix = all->fix();
  std::string reason = members_.reasons();
  if (reason.empty()) reason = item.reason;
  if (reason.empty() && connection_.state != Connection::State::none) {
    reason = members_.now() + ": no answer came so far";
    if (connection_.state == Connection::State::connecting) fix = reach_fix;
  }
  Error placed = std::move(why).at(place()).fix(std::move(fix));
  return reason.empty() ? placed : std::move(placed).because(Error(ErrorKind::member_lost, reason));
}

// An attempt stays when its request has ended: a member that answers nothing is found by it.
void ObjectCaller::expire(Time now) {
  if (now < expiry_) return;
  for (auto at = items_.begin(); at != items_.end();) {
    const Item item = now < at->second.wanted.deadline ? Item{} : at->second;
    if (item.wanted.ticket == 0) {
      ++at;
      continue;
    }
    ++at;
    fail(item, unanswered(item));
  }
  expiry_ = never;
  for (const auto& [ticket, item] : items_) expiry_ = std::min(expiry_, item.wanted.deadline);
}

void ObjectCaller::find_retry(Time now) {
  if (now < retry_) return;
  retry_ = never;
  for (const auto& [ticket, item] : items_) {
    if (!item.under_way && item.retry_at > now) retry_ = std::min(retry_, item.retry_at);
  }
}

bool ObjectCaller::is_silent(Time now) const {
  return std::any_of(attempts_.begin(), attempts_.end(),
                     [&](const auto& each) { return now >= patience_.late(each.second.ask, each.second.sent); });
}

bool ObjectCaller::wants_session() const {
  return std::any_of(items_.begin(), items_.end(), [](const auto& each) { return each.second.wanted.ask == Ask::update; });
}

CallerStep ObjectCaller::step(Time now) {
  CallerStep step;
  expire(now);
  find_retry(now);
  if (connection_.state == Connection::State::connecting && now - connection_.since >= options_.connect_within)
    leave(Error(ErrorKind::member_lost, "no connection came to be in time").fix(std::string(reach_fix)), now);
  if (connection_.state == Connection::State::connected && is_silent(now)) {
    leave("no answer came in time", now);
    patience_.in_vain();
  }
  judge_old();
  step.hang_up = std::exchange(connection_.hang_up, false);
  connect(step, now);
  if (connection_.state == Connection::State::connected) send(step, now);
  step.ended = std::exchange(ended_, {});
  step.due = due(now);
  return step;
}

void ObjectCaller::connect(CallerStep& step, Time now) {
  const bool wanted = !items_.empty() || (closing_ && session_.state == Session::State::open);
  if (connection_.state != Connection::State::none || !wanted || now < connection_.not_before) return;
  connection_.state = Connection::State::connecting;
  connection_.since = now;
  patience_.begin();
  step.connect = members_.now();
}

void ObjectCaller::send(CallerStep& step, Time now) {
  CallerRequest request{.digest = digest_, .subgroup = subgroup_, .arguments = {}};
  const bool idle = items_.empty() && !closing_;
  if (!idle && now >= connection_.members_at) {
    connection_.members_at = now + options_.members_every;
    send_attempt(step, {.ask = Ask::members, .subgroup = subgroup_, .arguments = {}}, 0, now);
  }
  if (session_.state == Session::State::none && now >= session_.retry_at && wants_session()) {
    session_.state = Session::State::opening;
    request.ask = Ask::open;
    send_attempt(step, request, 0, now);
  }
  for (auto& [ticket, item] : items_) {
    if (attempts_.size() >= options_.under_way) break;
    if (item.under_way || now < item.retry_at) continue;
    request.of = {};
    request.after = item.wanted.after;
    if (item.wanted.ask == Ask::update) {
      if (!give_number(item)) continue;
      request.of = {session_.id, *item.number, session_.settled()};
    }
    request.ask = item.wanted.ask;
    request.method = item.wanted.method;
    request.arguments = item.wanted.arguments;
    item.under_way = true;
    send_attempt(step, request, ticket, now);
  }
  if (closing_ && items_.empty() && session_.state == Session::State::open && attempts_.empty()) {
    request.ask = Ask::close;
    request.method = 0;
    request.after = {};
    request.of = {session_.id, 0, 0};
    request.arguments = {};
    send_attempt(step, request, 0, now);
  }
}

void ObjectCaller::send_attempt(CallerStep& step, const CallerRequest& request, std::uint64_t ticket, Time now) {
  const std::uint64_t number = ++attempts_made_;
  attempts_.emplace(number, Attempt{request.ask, ticket, now});
  std::vector<std::byte> bytes(request_bytes(request));
  encode(request, bytes);
  step.send.push_back({number, std::move(bytes)});
}

// Those of a session that is over have been judged before.
bool ObjectCaller::give_number(Item& item) {
  if (session_.state != Session::State::open) return false;
  if (item.number) return item.generation == session_.generation;
  if (session_.next_number - session_.settled() >= open_max) return false;
  item.number = session_.next_number++;
  item.generation = session_.generation;
  session_.open.insert(*item.number);
  numbered_.insert(item.wanted.ticket);
  return true;
}

Time ObjectCaller::due(Time now) const {
  Time due = items_.empty() ? never : std::min(expiry_, retry_);
  const bool wanted = !items_.empty() || (closing_ && session_.state == Session::State::open);
  switch (connection_.state) {
    case Connection::State::none: return wanted ? std::min(due, connection_.not_before) : due;
    case Connection::State::connecting: return std::min(due, connection_.since + options_.connect_within);
    case Connection::State::connected: break;
  }
  for (const auto& [number, attempt] : attempts_) due = std::min(due, patience_.late(attempt.ask, attempt.sent));
  if (wanted) due = std::min(due, connection_.members_at);
  if (session_.retry_at > now && wants_session()) due = std::min(due, session_.retry_at);
  return due;
}

}  // namespace spindrift::clients
