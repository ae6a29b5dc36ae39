// A replica's traffic: requests in the order, answers back to their callers.
#include <spindrift/group/replicated_core.hpp>

#include <algorithm>
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include <spindrift/core/bytes.hpp>
#include <spindrift/core/log.hpp>
#include <spindrift/group/replicated_error.hpp>
#include <spindrift/group/reply_memory.hpp>

namespace spindrift {
using Outcome = replicated::AnswerOutcome;

namespace {

template <WireField Head>
void put_head(std::span<std::byte> message, const Head& head) {
  const auto bytes = field_bytes(head);
  std::copy(bytes.begin(), bytes.end(), message.begin());
}

template <WireField Head>
Head take_head(std::span<const std::byte> message) {
  const auto head = field_at_front<Head>(message);
  if (!head) throw replicated::BadBytes("it is cut off");
  return *head;
}

// A member of a view has been delivered everything of those before it.
replicated::CallPlace place_of(const Delivery& delivery, ViewId present, const ReplicaChannel& channel) {
  replicated::CallPlace place{MessagePlace::of(delivery), delivery.sequence};
  if (delivery.view < present) place.sequence.reset();
  if (channel.logged()) place.version = delivery.version;
  return place;
}

// A subgroup without enough members is empty: what its members had stays as it is.
replicated::ReplicaState::Stage stage_with(std::span<const NodeId> members, bool loading, NodeId self,
                                           replicated::ReplicaState::Stage before) {
  using Stage = replicated::ReplicaState::Stage;
  if (loading) return Stage::loading;
  if (members.empty()) return before;
  return std::find(members.begin(), members.end(), self) == members.end() ? Stage::outside : Stage::here;
}

Error log_of_other_methods(const Delivery& first, const ReplicaChannel& channel) {
  return Error(ErrorKind::refused, "node " + std::to_string(channel.self().value()) +
                                       " cannot make the replicated object of subgroup " + channel.subgroup() +
                                       " from its log: version " + std::to_string(first.version) + ", of node " +
                                       std::to_string(first.sender.value()) +
                                       ", is no call of this program's Methods")
      .fix("name the list of the program that wrote it in FormerMethods, and run that at all members; or run that program");
}

/// Why a query of the same methods is not answered. Outcome::returned: it is.
Outcome hindrance(replicated::ReplicaState::Stage stage) noexcept {
  using Stage = replicated::ReplicaState::Stage;
  switch (stage) {
    case Stage::here: return Outcome::returned;
    case Stage::outside: return Outcome::outside;
    case Stage::loading:
    case Stage::given_up: break;
  }
  return Outcome::not_loaded;
}

/// A message that is no call of any list that is known here; says the whole reason.
class UnknownCall : public replicated::BadBytes {
 public:
  using BadBytes::BadBytes;
};

}  // namespace

ReplicaChannel::~ReplicaChannel() = default;

ReplicaBase::ReplicaBase(ReplicaChannel& channel, replicated::MethodLists lists)
    : channel_(channel),
      lists_(std::move(lists)),
      handlers_(channel.handler_threads()),
      state_(channel.handler_threads(), channel.subgroup()) {}

ReplicaBase::~ReplicaBase() {
  on_end(Error(ErrorKind::group_closed, "the group of this replicated object has ended"));
}

Error ReplicaBase::no_way_to_travel() const {
  return Error(ErrorKind::unsupported, "node " + std::to_string(channel_.self().value()) +
                                           " cannot get the state of the replicated object in subgroup " +
                                           channel_.subgroup() + ": its type gives no way to save and load it")
      .fix("give the type `template <class Archive> void serialize(Archive&)`, or save(std::ostream&) const and "
           "load(std::istream&), at all members");
}

// A state in which no session was ever opened is as it was before there were any.
std::vector<std::byte> ReplicaBase::begin_state(StateForm form) const {
  const std::uint64_t clients = clients_.untouched() ? 0 : clients_follow;
  const auto head = field_bytes(StateHead{lists_.digest, static_cast<std::uint64_t>(form) | clients});
  std::vector<std::byte> state(head.begin(), head.end());
  if (clients != 0) clients_.save(state);
  return state;
}

Result<std::span<const std::byte>> ReplicaBase::open_state(std::span<const std::byte> state, StateForm own) {
  const auto head = field_at_front<StateHead>(state);
  if (!head) return Error(ErrorKind::bad_input, "the state of a replicated object is cut off");
  // A checkpoint may be of an earlier program, as may the calls behind it; who runs beside this one has its list.
  const bool other_methods = channel_.logged() ? !lists_.knows(head->digest) : head->digest != lists_.digest;
  if (!other_methods && own == StateForm::none) return no_way_to_travel();
  if (other_methods || (head->form & ~clients_follow) != static_cast<std::uint64_t>(own)) {
    const std::string who = channel_.logged() ? "the members that made its checkpoint " : "the members that have its state ";
    return Error(ErrorKind::refused, "node " + std::to_string(channel_.self().value()) +
                                         " cannot join in the replicated object of subgroup " + channel_.subgroup() + ": " +
                                         who +
                                         (other_methods ? "list other Methods" : "save it in another form, or not at all"))
        .fix(channel_.logged() ? "name the list of the program that made it in FormerMethods"
                               : "run the same program at all members");
  }
  if ((head->form & clients_follow) != 0) return clients_.load(state.subspan(sizeof *head), lists_, head->digest);
  clients_.clear();
  return state.subspan(sizeof *head);
}

void ReplicaBase::require_membership() const {
  if (state_.stage() != replicated::ReplicaState::Stage::outside) return;
  throw Exception(Error(ErrorKind::bad_argument, "node " + std::to_string(channel_.self().value()) +
                                                     " is not in subgroup " + channel_.subgroup() +
                                                     " now, and its replica is not kept up")
                      .fix("query at a member of the subgroup, or let the layout put this node into it"));
}

void ReplicaBase::start(std::vector<std::byte>& message, std::uint32_t method, Ask ask,
                        const std::shared_ptr<replicated::ReplicatedCall>& call) {
  state_.await_loaded({});
  const std::uint64_t id = calls_.add(call);
  put_head(message, Request{lists_.digest, id, method, ask});
  try {
    channel_.send_ordered(message);
  } catch (...) {
    calls_.drop(id);
    throw;
  }
}

void ReplicaBase::start_at(std::vector<std::byte>& message, std::uint32_t method, NodeId of,
                           const std::shared_ptr<replicated::ReplicatedCall>& call) {
  state_.await_loaded({});
  const auto id = calls_.add_at(call, of);
  if (!id) {
    call->on_delivery(std::span(&of, 1));
    static_cast<void>(call->on_refusal(of, replicated::refusal_error(Outcome::outside, of, channel_.subgroup())));
    return;
  }
  put_head(message, Request{lists_.digest, *id, method, Ask::one});
  put_head(std::span(message).subspan(sizeof(Request)), Place{of.value()});
  try {
    channel_.send_ordered(message);
  } catch (...) {
    calls_.drop(*id);
    throw;
  }
}

void ReplicaBase::start_query(std::vector<std::byte>& message, std::uint32_t method, std::optional<NodeId> of,
                              const std::shared_ptr<replicated::ReplicatedCall>& call) {
  state_.await_loaded({});
  if (const std::size_t most = channel_.private_bytes_max(); message.size() > most) {
    throw Exception(Error(ErrorKind::bad_argument, "the arguments of a query of subgroup " + channel_.subgroup() + " take " +
                                                       std::to_string(message.size() - sizeof(Request)) +
                                                       " bytes, and a private message has room for " +
                                                       std::to_string(most - sizeof(Request)))
                        .fix("query in parts, or by ordered_query, which takes arguments of max_smc_payload_size"));
  }
  const replicated::OpenCalls::Queried queried = calls_.add_query(call, of);
  if (of && queried.members.empty()) {
    static_cast<void>(call->on_refusal(*of, replicated::refusal_error(Outcome::outside, *of, channel_.subgroup())));
    return;
  }
  put_head(message, Request{lists_.digest, queried.id, method, Ask::direct});
  try {
    for (const NodeId member : queried.members) channel_.send_query(member, message);
  } catch (...) {
    calls_.drop(queried.id);
    throw;
  }
}

void ReplicaBase::on_delivery(std::span<const Delivery> batch) {
  for (const Delivery& delivery : batch) {
    if (state_.stage() == replicated::ReplicaState::Stage::given_up) return;
    const replicated::ReplicaProgress::Message message(progress_, delivery.version);
    try {
      deliver(delivery);
    } catch (const UnknownCall& call) {
      channel_.accuse(delivery.sender, call.what());
    } catch (const replicated::BadBytes& bad) {
      channel_.accuse(delivery.sender, std::string("a replicated call that nobody can have made: ") + bad.what());
    }
    place_.advance(MessagePlace::of(delivery));
  }
}

// A member that still runs a former program calls what this one has, too, and runs its own calls: they are in the log, where
// they come again. It cannot run those of this program, though, and says so of whoever makes them.
void ReplicaBase::deliver(const Delivery& delivery) {
  const auto front = field_at_front<Request>(delivery.payload);
  if (!front || !front->is_ordered()) {
    throw UnknownCall("it sent a message that is no replicated call in subgroup " + channel_.subgroup() +
                      ", whose messages are those of a replicated object");
  }
  auto request = take_head<Request>(delivery.payload);
  const auto method = lists_.place(request.digest, request.method);
  if (!method) {
    throw UnknownCall("it runs another version of the program: it made a replicated call in subgroup " +
                      channel_.subgroup() + " of a list of Methods that is not known here");
  }
  request.method = *method;
  if (request.has_method() && request.method >= lists_.count)
    throw replicated::BadBytes("it is of a method that is not in the list");

  const auto arguments = delivery.payload.subspan(sizeof request);
  if (request.ask == Ask::one) {
    deliver_at(delivery, request, arguments);
  } else if (delivery.sender == channel_.self()) {
    apply_own(delivery, request, arguments);
  } else if (request.ask != Ask::own) {
    if (request.ask == Ask::all && !members_.answers(channel_.self(), delivery.view)) request.ask = Ask::apply;
    apply(delivery.sender, request, arguments);
  }
}

// Impossible bytes, which no replica ran when they were delivered, none runs when they come again.
void ReplicaBase::on_replay(std::span<const Delivery> batch) {
  for (const Delivery& delivery : batch) {
    if (state_.stage() == replicated::ReplicaState::Stage::given_up) return;
    const replicated::ReplicaProgress::Message message(progress_, delivery.version);
    try {
      replay(delivery);
    } catch (const replicated::BadBytes&) {
      continue;
    }
  }
}

// A call of this very process is in a log that comes to it if it was out of the subgroup meanwhile. A call of a list that is
// not known here was run by those who know it, and an object that is made without it would be another than theirs.
void ReplicaBase::replay(const Delivery& delivery) {
  const auto request = field_at_front<Request>(delivery.payload);
  if (!request || !request->is_ordered()) {
    log::warn(log::Room::group, "a message of the log is no call of an object, and was none when it came",
              {{"subgroup", channel_.subgroup()}, {"version", delivery.version}, {"sender", delivery.sender.value()}});
    return;
  }
  const auto method = lists_.place(request->digest, request->method);
  if (!method) return give_up(log_of_other_methods(delivery, channel_));
  if (delivery.sender == channel_.self() && calls_.find(request->call)) return deliver(delivery);
  Request again = *request;
  again.method = *method;
  const bool changes = request->ask == Ask::all || request->ask == Ask::apply || request->is_of_client();
  if (!changes || (again.has_method() && (*method >= lists_.count || is_query(*method)))) return;
  apply_here(again, delivery.payload.subspan(sizeof again), nullptr);
}

// A member that has gone since the call was made will not answer, nor one that got the state since it was delivered; one
// that has come in its place before that does.
void ReplicaBase::deliver_at(const Delivery& delivery, const Request& request, std::span<const std::byte> arguments) {
  const auto place = take_head<Place>(arguments);
  if (place > std::numeric_limits<NodeId::representation>::max()) throw replicated::BadBytes("it is for no node");
  if (!is_query(request.method)) throw replicated::BadBytes("it would change one replica alone");
  const NodeId of(static_cast<NodeId::representation>(place));
  arguments = arguments.subspan(sizeof place);
  if (delivery.sender != channel_.self()) {
    if (of == channel_.self() && members_.answers(of, delivery.view)) apply(delivery.sender, request, arguments);
    return;
  }
  if (of == channel_.self()) return apply_own(delivery, request, arguments);
  const std::shared_ptr<replicated::ReplicatedCall> call = calls_.find(request.call);
  calls_.on_delivery(request.call, place_of(delivery, members_.view(), channel_), std::span(&of, 1));
  if (!call || members_.answers(of, delivery.view)) return;
  call->on_view(members_.nodes(), std::span(&of, 1));
  calls_.forget_if_done(request.call);
}

void ReplicaBase::apply_own(const Delivery& delivery, const Request& request, std::span<const std::byte> arguments) {
  const std::shared_ptr<replicated::ReplicatedCall> call = calls_.find(request.call);
  try {
    apply_here(request, arguments, call.get());
  } catch (const replicated::BadBytes& bad) {
    if (call) call->on_end(Error(ErrorKind::bad_argument, std::string("the arguments cannot be read again: ") + bad.what()));
    calls_.drop(request.call);
    throw;
  }
  std::vector<NodeId> others;
  if (request.ask == Ask::all) {
    std::copy_if(members_.nodes().begin(), members_.nodes().end(), std::back_inserter(others),
                 [&](NodeId node) { return node != channel_.self() && members_.answers(node, delivery.view); });
  }
  place_.advance(MessagePlace::of(delivery));  // ahead of the answer, whose caller may ask for this place
  calls_.on_delivery(request.call, place_of(delivery, members_.view(), channel_), others);
}

void ReplicaBase::apply(NodeId caller, const Request& request, std::span<const std::byte> arguments) {
  if (request.ask == Ask::apply || request.is_of_client()) return apply_here(request, arguments, nullptr);
  replicated::begin_reply(reply_, sizeof(Reply));
  const Outcome outcome = run(request.method, arguments, nullptr, &reply_) ? Outcome::threw : Outcome::returned;
  send_reply(caller, Reply{request.digest, request.call, static_cast<std::uint64_t>(outcome), 0});
}

// Runs what no private answer follows, and what clients ask for.
void ReplicaBase::apply_here(const Request& request, std::span<const std::byte> arguments, replicated::ReplicatedCall* own) {
  switch (request.ask) {
    case Ask::open: return clients_.open(arguments, own);
    case Ask::close: return clients_.close(arguments, own);
    case Ask::once: break;
    default:
      if (own == nullptr || !own->keeps_bytes()) return static_cast<void>(run(request.method, arguments, own, nullptr));
      replicated::begin_reply(reply_, 0);
      const bool threw = run(request.method, arguments, nullptr, &reply_);
      return own->on_own_result(channel_.self(), threw, reply_);
  }
  if (is_query(request.method)) throw replicated::BadBytes("a client's request changes nothing");
  const ClientRequest asked = replicated::ClientCalls::request(arguments);
  if (!clients_.begins(asked, request.method, own)) return;
  replicated::begin_reply(reply_, 0);
  const bool threw = run(request.method, arguments.subspan(sizeof asked), nullptr, &reply_);
  clients_.carried_out(asked, request.method, threw, reply_, own);
}

std::optional<std::vector<std::byte>> ReplicaBase::refusal(std::span<const std::byte> query, Outcome outcome) {
  const auto request = field_at_front<Request>(query);
  if (!request) return std::nullopt;
  const auto reply = field_bytes(Reply{request->digest, request->call, static_cast<std::uint64_t>(outcome), 0});
  return std::vector<std::byte>(reply.begin(), reply.end());
}

// A query whose answer would wait with too many others waits here, where it needs less memory.
void ReplicaBase::on_query(NodeId from, std::span<const std::byte> message) {
  if (waiting_.empty() && !channel_.crowded()) return answer_query(from, message);
  if (waiting_.add(from, message)) return;
  if (const auto reply = refusal(message, Outcome::too_many)) channel_.send_private(from, *reply);
}

void ReplicaBase::answer_waiting() {
  while (!waiting_.empty() && !channel_.crowded()) {
    const replicated::WaitingQueries::Query query = waiting_.take();
    answer_query(query.from, query.message);
  }
}

void ReplicaBase::answer_query(NodeId caller, std::span<const std::byte> message) {
  try {
    const auto request = take_head<Request>(message);
    if (request.ask != Ask::direct) throw replicated::BadBytes("it asks for nothing known");
    const bool known = request.digest == lists_.digest;
    const Outcome outcome = known ? hindrance(state_.stage()) : Outcome::other_methods;
    if (replicated::is_refusal(outcome)) {
      channel_.send_private(caller, *refusal(message, outcome));
      return;
    }
    if (request.method >= lists_.count || !is_query(request.method)) {
      throw replicated::BadBytes("it is of a method that is not in the list, or changes the object");
    }
    apply(caller, request, message.subspan(sizeof request));
  } catch (const replicated::BadBytes& bad) {
    channel_.accuse(caller, std::string("a query that nobody can have made: ") + bad.what());
  }
}

// `reply_` is space for a head, then the whole answer. Each piece gets its head where the one before was sent from.
void ReplicaBase::send_reply(NodeId caller, Reply head) {
  if (reply_.size() - sizeof(Reply) > replicated::answer_bytes_max) {
    const Exception too_long(Error(ErrorKind::unsupported, "the result of " + std::to_string(reply_.size() - sizeof(Reply)) +
                                                               " bytes is larger than an answer may be"));
    head.outcome = static_cast<std::uint64_t>(Outcome::threw);
    reply_.resize(sizeof(Reply));
    replicated::put_exception(reply_, std::make_exception_ptr(too_long));
  }
  const std::size_t piece_max = channel_.private_bytes_max() - sizeof(Reply);
  const std::span<std::byte> all = reply_;
  std::size_t sent = 0;
  do {
    const std::size_t piece = std::min(piece_max, all.size() - sizeof(Reply) - sent);
    const std::span<std::byte> message = all.subspan(sent, sizeof(Reply) + piece);
    sent += piece;
    head.left = all.size() - sizeof(Reply) - sent;
    put_head(message, head);
    channel_.send_private(caller, message);
  } while (head.left > 0);
}

void ReplicaBase::on_private(NodeId from, std::span<const std::byte> message) {
  if (state_.stage() == replicated::ReplicaState::Stage::given_up) return;
  try {
    take_reply(from, message);
  } catch (const replicated::BadBytes& bad) {
    channel_.accuse(from, std::string("an answer that no replica can have given: ") + bad.what());
  }
}

void ReplicaBase::take_reply(NodeId from, std::span<const std::byte> message) {
  const auto reply = take_head<Reply>(message);
  if (reply.digest != lists_.digest) throw replicated::BadBytes("it answers a call of another list of Methods");
  if (reply.outcome > static_cast<std::uint64_t>(replicated::outcome_last)) {
    throw replicated::BadBytes("it neither returned nor threw, and was not refused");
  }
  const Outcome outcome{reply.outcome};
  const std::span<const std::byte> bytes = message.subspan(sizeof reply);
  const bool refused = replicated::is_refusal(outcome);
  if (refused && (reply.left > 0 || !bytes.empty())) throw replicated::BadBytes("a refusal has bytes");
  // Late answers of a lost replica meet no call, and neither do those to a former incarnation of this node.
  const std::shared_ptr<replicated::ReplicatedCall> call = calls_.find(reply.call);
  if (!call || !members_.contains(from)) return;
  const bool wanted = refused
                          ? call->on_refusal(from, replicated::refusal_error(outcome, from, channel_.subgroup()))
                          : call->on_answer(from, outcome == Outcome::threw, reply.left, bytes);
  if (!wanted) throw replicated::BadBytes("nobody asked for it, or it came before");
  calls_.forget_if_done(reply.call);
}

void ReplicaBase::begin(const replicated::ReplicaMembers& members, bool loading) {
  members_ = members;
  calls_.begin(members.nodes());
  state_.set(stage_with(members.nodes(), loading, channel_.self(), replicated::ReplicaState::Stage::outside));
}

void ReplicaBase::give_up(const Error& why) {
  state_.give_up(why);
  calls_.on_end(why);
}

void ReplicaBase::on_view(const replicated::ReplicaMembers& members, bool loading, std::span<const NodeId> anew) {
  state_.set(stage_with(members.nodes(), loading, channel_.self(), state_.stage()));
  members_ = members;
  calls_.on_view(members.nodes(), anew);
}

void ReplicaBase::on_stable(SequenceNumber frontier) { calls_.on_stable(frontier); }

void ReplicaBase::on_end(const Error& why) {
  state_.end(why);
  calls_.on_end(why);
}

}  // namespace spindrift
