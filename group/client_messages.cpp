// Requests and answers as bytes.
#include <spindrift/group/client_messages.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

#include <spindrift/core/bytes.hpp>
#include <spindrift/core/check.hpp>
#include <spindrift/core/config/addresses.hpp>

namespace spindrift::clients {
namespace {

struct RequestHead {
  std::uint32_t form;
  std::uint32_t ask;
  std::uint64_t digest;
  ClientRequest of;
  std::uint32_t method;
  std::uint32_t subgroup_bytes;
  std::uint64_t after_view;
  std::uint64_t after_sequence;
};
static_assert(sizeof(RequestHead) == 72);

struct AnswerHead {
  std::uint32_t form;
  std::uint32_t outcome;
  std::uint64_t view;
  std::uint64_t sequence;
};
static_assert(sizeof(AnswerHead) == 24);

constexpr auto refusal_last = static_cast<std::uint32_t>(ClientRefusal::other_method);

Error bad(const char* who, const std::string& what) {
  return Error(ErrorKind::bad_input,
               std::string(who) + " sent what none of form " + std::to_string(form) + " does: " + what);
}
Error bad_request(const std::string& what) { return bad("a client", what); }
Error bad_answer(const std::string& what) { return bad("a member", what); }

bool can_be_called(const std::string& address) {
  if (std::any_of(address.begin(), address.end(), [](char each) { return each <= ' ' || each > '~'; })) return false;
  auto parsed = config::parse_host_port(address);
  return parsed && config::is_callable(*std::move(parsed));
}

/// The words of the head that are of use to an ask, and no others.
bool has_its_words(Ask ask, const RequestHead& head, std::size_t arguments) {
  const bool session = ask == Ask::close || ask == Ask::update;
  const bool number = ask == Ask::update;
  if (!session && head.of.session != ClientSessionId{}) return false;
  if (!number && (head.of.number != 0 || head.of.settled != 0)) return false;
  if (!has_method(ask) && (head.method != 0 || arguments != 0)) return false;
  if (ask != Ask::query_after && (head.after_view != 0 || head.after_sequence != 0)) return false;
  return ask != Ask::members || head.digest == 0;
}

}  // namespace

Result<CallerRequest> decode_request(std::span<const std::byte> bytes) {
  ByteReader reader(bytes);
  const auto head = reader.get<RequestHead>();
  if (!reader.ok()) return bad_request("it is cut off");
  if (head.form != form) return bad_request("it is of form " + std::to_string(head.form));
  if (head.ask == 0 || head.ask > ask_last) return bad_request("it asks for nothing known");
  if (head.subgroup_bytes == 0 || head.subgroup_bytes > subgroup_bytes_max) return bad_request("it names no subgroup");
  const auto name = reader.get_bytes(head.subgroup_bytes);
  if (!reader.ok()) return bad_request("its subgroup is cut off");
  CallerRequest request;
  request.ask = Ask{head.ask};
  if (!has_its_words(request.ask, head, reader.rest().size())) return bad_request("it says more than such a request has");
  request.method = head.method;
  request.digest = head.digest;
  request.of = head.of;
  request.after = {ViewId(head.after_view), SequenceNumber(head.after_sequence)};
  request.subgroup = {reinterpret_cast<const char*>(name.data()), name.size()};
  request.arguments = reader.rest();
  return request;
}

std::size_t request_bytes(const CallerRequest& request) noexcept {
  return sizeof(RequestHead) + request.subgroup.size() + request.arguments.size();
}

void encode(const CallerRequest& request, std::span<std::byte> to) {
  CHECK(to.size() == request_bytes(request) && request.subgroup.size() <= subgroup_bytes_max);
  const auto head = field_bytes(RequestHead{form, static_cast<std::uint32_t>(request.ask), request.digest, request.of,
                                            request.method, static_cast<std::uint32_t>(request.subgroup.size()),
                                            request.after.view.value(), request.after.sequence.value()});
  const auto name = std::as_bytes(std::span(request.subgroup));
  auto at = std::copy(head.begin(), head.end(), to.begin());
  at = std::copy(name.begin(), name.end(), at);
  std::copy(request.arguments.begin(), request.arguments.end(), at);
}

MemberAnswer answer_of(CallerOutcome outcome, std::string_view words) {
  CHECK(outcome >= CallerOutcome::overloaded);
  return {outcome, ByteWriter().put_text(words, words_bytes_max).take(), {}};
}

std::string words_of(const MemberAnswer& answer) {
  CHECK(answer.outcome >= CallerOutcome::overloaded);
  return printable(answer.bytes);
}

MemberAnswer refusal_of(ClientRefusal why) {
  const auto bytes = field_bytes(static_cast<std::uint32_t>(why));
  return {CallerOutcome::refused, {bytes.begin(), bytes.end()}, {}};
}

std::size_t answer_bytes(const MemberAnswer& answer) noexcept { return sizeof(AnswerHead) + answer.bytes.size(); }

void encode(const MemberAnswer& answer, std::span<std::byte> to) {
  CHECK(to.size() == answer_bytes(answer));
  const auto head = field_bytes(AnswerHead{form, static_cast<std::uint32_t>(answer.outcome), answer.place.view.value(),
                                           answer.place.sequence.value()});
  std::copy(answer.bytes.begin(), answer.bytes.end(), std::copy(head.begin(), head.end(), to.begin()));
}

Result<HeardAnswer> decode_answer(std::span<const std::byte> bytes) {
  ByteReader reader(bytes);
  const auto head = reader.get<AnswerHead>();
  if (!reader.ok()) return bad_answer("it is cut off");
  if (head.form != form) return bad_answer("it is of form " + std::to_string(head.form));
  if (head.outcome > outcome_last) return bad_answer("it says nothing known");
  const MessagePlace place{ViewId(head.view), SequenceNumber(head.sequence)};
  if (head.outcome > static_cast<std::uint32_t>(CallerOutcome::threw) && place != MessagePlace{})
    return bad_answer("nothing was carried out at its place");
  HeardAnswer answer{CallerOutcome{head.outcome}, reader.rest(), place, {}, {}};
  if (answer.outcome == CallerOutcome::refused) {
    const auto why = reader.get<std::uint32_t>();
    if (!reader.complete() || why > refusal_last) return bad_answer("it refuses for no known reason");
    answer.refusal = static_cast<ClientRefusal>(why);
  } else if (answer.outcome >= CallerOutcome::overloaded) {
    if (answer.bytes.size() > words_bytes_max) return bad_answer("its sentence is too long");
    answer.words = printable(answer.bytes);
  }
  return answer;
}

std::vector<std::byte> encode_members(std::span<const std::string> addresses) {
  const std::size_t count = std::min(addresses.size(), members_max);
  ByteWriter writer;
  writer.put(static_cast<std::uint32_t>(count));
  for (const std::string& address : addresses.first(count)) {
    CHECK(address.size() <= address_bytes_max);
    writer.put(static_cast<std::uint32_t>(address.size())).put_text(address, address.size());
  }
  return writer.take();
}

Result<std::vector<std::string>> decode_members(std::span<const std::byte> bytes) {
  ByteReader reader(bytes);
  const auto count = reader.get<std::uint32_t>();
  if (!reader.ok() || count > members_max) return bad_answer("it names no members, or too many");
  std::vector<std::string> addresses;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto size = reader.get<std::uint32_t>();
    if (size > address_bytes_max) return bad_answer("an address in it is too long");
    const auto text = reader.get_bytes(size);
    if (!reader.ok()) return bad_answer("an address in it is cut off");
    std::string address(reinterpret_cast<const char*>(text.data()), text.size());
    if (!can_be_called(address)) return bad_answer("an address in it is none");
    addresses.push_back(std::move(address));
  }
  if (!reader.complete()) return bad_answer("there is more behind the addresses");
  return addresses;
}

Result<ClientSessionId> decode_session(std::span<const std::byte> bytes) {
  ByteReader reader(bytes);
  const auto session = reader.get<ClientSessionId>();
  if (!reader.complete() || session.number == 0) return bad_answer("it opens no session");
  return session;
}

}  // namespace spindrift::clients
