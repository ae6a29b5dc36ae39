// Judging requests of clients.
#include <spindrift/group/client_requests.hpp>

#include <utility>

#include <spindrift/core/bytes.hpp>

namespace spindrift::group {
namespace {

using clients::Ask;
using clients::CallerOutcome;

TakenRequest answered(clients::MemberAnswer answer) { return {std::move(answer), nullptr, std::nullopt}; }

/// Sessions are for updates; who may do anything with a subgroup's object may know the members that have it.
config::ClientRights::Right right_for(Ask ask) noexcept {
  using enum config::ClientRights::Right;
  return ask == Ask::open || ask == Ask::close || ask == Ask::update ? update : query;
}

bool may(const RequestOrigin& origin, const clients::CallerRequest& request) noexcept {
  return origin.is_member || origin.rights.allow(origin.client, request.subgroup, right_for(request.ask));
}

/// The same whether there is such a subgroup or not.
TakenRequest forbidden(const OfferedObjects& objects, const RequestOrigin& origin, const clients::CallerRequest& request,
                       const std::string& subgroup) {
  const bool update = right_for(request.ask) == config::ClientRights::Right::update;
  const std::string who = origin.client.empty() ? "a client without a key" : "client " + origin.client;
  return answered(clients::answer_of(CallerOutcome::forbidden, objects.name() + ": " + who + " has no right to " +
                                                                   (update ? "update" : "query") + " in subgroup " +
                                                                   subgroup));
}

}  // namespace

ClientQuery::ClientQuery(const replicated::RelayedObject& object, std::span<const std::byte> bytes)
    : object_(&object), bytes_(bytes.begin(), bytes.end()), request_(*clients::decode_request(bytes_)) {}

TakenRequest take_request(const OfferedObjects& objects, const RequestOrigin& origin, std::span<const std::byte> bytes,
                          std::function<void()> on_answer) {
  const auto request = clients::decode_request(bytes);
  if (!request) return answered(clients::answer_of(CallerOutcome::bad_request, request.error().message()));
  const std::string subgroup = printable(std::as_bytes(std::span(request->subgroup)));
  if (!may(origin, *request)) return forbidden(objects, origin, *request, subgroup);
  const OfferedObjects::Found found = objects.find(request->subgroup);
  if (!found.known)
    return answered(clients::answer_of(CallerOutcome::unknown, objects.name() + ": the group has no subgroup " + subgroup));
  if (request->ask == Ask::members)
    return answered({CallerOutcome::returned, clients::encode_members(objects.members(request->subgroup))});
  if (found.object == nullptr) {
    const std::string words = objects.name() + " offers no replicated object of subgroup " + subgroup + ", or not yet";
    return answered(clients::answer_of(CallerOutcome::elsewhere, words));
  }
  if (request->ask == Ask::query || (request->ask == Ask::query_after && found.object->has(request->after))) {
    if (auto hindrance = found.object->hindrance_of(*request)) return answered(*std::move(hindrance));
    return {std::nullopt, nullptr, ClientQuery(*found.object, bytes)};
  }
  auto call = found.object->make_call(request->ask, std::move(on_answer));
  if (auto hindrance = found.object->begin(*request, call)) return answered(*std::move(hindrance));
  return {std::nullopt, std::move(call), std::nullopt};
}

}  // namespace spindrift::group
