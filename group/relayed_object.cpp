// Judging what clients ask of a replica, and making calls of it.
#include <spindrift/group/relayed_object.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include <spindrift/core/bytes.hpp>
#include <spindrift/group/call_head.hpp>
#include <spindrift/group/client_calls.hpp>
#include <spindrift/group/relayed_call.hpp>

namespace spindrift::replicated {
namespace {

using clients::Ask;
using clients::CallerOutcome;
using clients::MemberAnswer;

bool changes(Ask ask) noexcept { return ask != Ask::query && ask != Ask::ordered_query && ask != Ask::query_after; }

CallAsk call_ask(Ask ask) noexcept {
  switch (ask) {
    case Ask::open: return CallAsk::open;
    case Ask::close: return CallAsk::close;
    case Ask::update: return CallAsk::once;
    default: return CallAsk::own;
  }
}

void append(std::vector<std::byte>& to, std::span<const std::byte> bytes) {
  to.insert(to.end(), bytes.begin(), bytes.end());
}

}  // namespace

MemberAnswer RelayedObject::answer(CallerOutcome outcome, const std::string& words) const {
  return clients::answer_of(outcome, "node " + std::to_string(parts_.channel.self().value()) +
                                         ", replicated object of subgroup " + parts_.channel.subgroup() + ": " + words);
}

std::shared_ptr<RelayedCall> RelayedObject::make_call(Ask ask, std::function<void()> on_answer) const {
  const CallWay way = parts_.channel.logged() && changes(ask) ? CallWay::logged : CallWay::ordered;
  return std::make_shared<RelayedCall>(parts_.channel.handler_threads(), way, std::move(on_answer));
}

std::optional<MemberAnswer> RelayedObject::hindrance_of(const clients::CallerRequest& request) const {
  using Stage = ReplicaState::Stage;
  if (request.digest != parts_.lists.digest)
    return answer(CallerOutcome::other_methods, "the client's program lists other Methods than the member's");
  switch (parts_.state.stage()) {
    case Stage::here: break;
    case Stage::outside: return answer(CallerOutcome::elsewhere, "the node is not in the subgroup now");
    case Stage::loading: return answer(CallerOutcome::elsewhere, "the node gets the object's state");
    case Stage::given_up: return answer(CallerOutcome::elsewhere, "the node could not take the object's state");
  }
  if (!clients::has_method(request.ask)) return std::nullopt;
  if (request.method >= parts_.lists.count) return answer(CallerOutcome::bad_request, "the method is not in the list");
  if (parts_.methods.is_query(request.method) == changes(request.ask)) {
    return answer(CallerOutcome::bad_request,
                  changes(request.ask) ? "the method changes nothing" : "the method would change the object");
  }
  if (!parts_.methods.are_arguments(request.method, request.arguments))
    return answer(CallerOutcome::bad_request, "the arguments cannot be read");
  if (request.ask == Ask::update && request.of.number < request.of.settled)
    return clients::refusal_of(ClientRefusal::settled);
  return std::nullopt;
}

/// With a head, but for the call's number.
std::vector<std::byte> RelayedObject::message_of(const clients::CallerRequest& request) const {
  const auto head = field_bytes(ReplicatedCallHead{parts_.lists.digest, 0, request.method, call_ask(request.ask)});
  std::vector<std::byte> message(head.begin(), head.end());
  if (request.ask == Ask::open) append(message, field_bytes(new_session_word(parts_.channel)));
  if (request.ask == Ask::close) append(message, field_bytes(request.of.session));
  if (request.ask == Ask::update) append(message, field_bytes(request.of));
  append(message, request.arguments);
  return message;
}

std::optional<MemberAnswer> RelayedObject::begin(const clients::CallerRequest& request,
                                                 const std::shared_ptr<RelayedCall>& call) {
  if (auto hindrance = hindrance_of(request)) return hindrance;
  std::optional<std::uint64_t> id;
  std::optional<MemberAnswer> unsent;
  try {
    std::vector<std::byte> message = message_of(request);
    if (const std::size_t most = parts_.channel.ordered_bytes_max(); message.size() > most) {
      return answer(CallerOutcome::too_large, "the arguments make a message of " + std::to_string(message.size()) +
                                                  " bytes, and the subgroup takes " + std::to_string(most));
    }
    id = parts_.calls.add(call);
    const auto number = field_bytes(*id);
    std::copy(number.begin(), number.end(), message.begin() + offsetof(ReplicatedCallHead, call));
    if (parts_.channel.try_send_ordered(message)) return std::nullopt;
    unsent = answer(CallerOutcome::overloaded, "the subgroup takes nothing now: its window is full, or its view changes");
  } catch (const Exception& why) {
    const bool unsupported = why.error().kind() == ErrorKind::unsupported;
    unsent = answer(unsupported ? CallerOutcome::unsupported : CallerOutcome::elsewhere, why.error().to_string());
  }
  if (id) parts_.calls.drop(*id);
  return unsent;
}

MemberAnswer RelayedObject::read(const clients::CallerRequest& request) const {
  if (auto hindrance = hindrance_of(request)) return *std::move(hindrance);
  try {
    MemberAnswer read;
    read.place = parts_.place.now();
    const bool threw = parts_.methods.read_bytes(request.method, request.arguments, read.bytes);
    read.outcome = threw ? CallerOutcome::threw : CallerOutcome::returned;
    return read;
  } catch (const std::exception& unread) {
    return answer(CallerOutcome::bad_request, unread.what());
  }
}

}  // namespace spindrift::replicated
