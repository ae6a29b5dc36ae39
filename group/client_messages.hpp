// The messages of a client and a member over a call: a request, and its answer. Both ends check here, once, what the other
// one sent. (docs/protocol.md, "Clients outside of the group")
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <spindrift/core/result.hpp>
#include <spindrift/group/client_session.hpp>
#include <spindrift/group/observation.hpp>

namespace spindrift::clients {

/// The form of requests and answers; another release may have another one.
inline constexpr std::uint32_t form = 2;
/// The type of all calls.
inline constexpr std::uint8_t call_type = 1;
inline constexpr std::size_t subgroup_bytes_max = 255;  ///< of a name
inline constexpr std::size_t words_bytes_max = 1000;    ///< of the sentence in an answer
inline constexpr std::size_t members_max = 1024;        ///< in an answer
inline constexpr std::size_t address_bytes_max = 300;   ///< of one

/// The numbers travel.
enum class Ask : std::uint32_t {
  members = 1,        ///< the addresses at which members of the subgroup listen for clients
  open = 2,           ///< a session
  close = 3,          ///< the session's end
  update = 4,         ///< a method that changes the object, once
  query = 5,          ///< a method that changes nothing, of this member's replica, now
  ordered_query = 6,  ///< the same at a place in the order
  query_after = 7,    ///< as `query`, where this replica has applied all up to a place, else as `ordered_query`
};
inline constexpr std::uint32_t ask_last = 7;

/// Words that an ask has no use for are 0, and there are arguments for methods alone.
struct CallerRequest {
  Ask ask = Ask::members;
  std::uint32_t method = 0;  ///< its place in the list
  std::uint64_t digest = 0;  ///< of the list of methods; not of `members`
  ClientRequest of{};        ///< of `update`; of `close` the session alone
  MessagePlace after{};      ///< of `query_after`
  std::string_view subgroup;
  std::span<const std::byte> arguments;
};

[[nodiscard]] inline bool has_method(Ask ask) noexcept { return ask >= Ask::update; }

/// `subgroup` and `arguments` stay in place. Errors: bad_input (what no client of this form sends).
[[nodiscard]] Result<CallerRequest> decode_request(std::span<const std::byte> bytes);
[[nodiscard]] std::size_t request_bytes(const CallerRequest& request) noexcept;
/// Into as many bytes as `request_bytes` says.
void encode(const CallerRequest& request, std::span<std::byte> to);

/// The numbers travel.
enum class CallerOutcome : std::uint32_t {
  returned = 0,  ///< of a method the bytes of the result; of `open` the session; of `members` their addresses
  threw = 1,     ///< the bytes of the exception
  refused = 2,   ///< by the object's table of clients: the number of the ClientRefusal

  // All below have a sentence. These were not carried out by this request:
  overloaded = 3,      ///< worth another attempt here, later
  elsewhere = 4,       ///< worth an attempt at another member
  unknown = 5,         ///< the group has no such subgroup
  other_methods = 6,   ///< the list of methods differs from the member's
  bad_request = 7,     ///< no client of this release sends it, or the arguments cannot be read
  too_large = 8,       ///< the arguments are larger than a message of the subgroup may be
  unsupported = 9,     ///< the group speaks an earlier version of the protocol
  // And this one may have been:
  interrupted = 10,  ///< the member's part in it ended: worth an attempt at another member

  // Not carried out either:
  forbidden = 11,  ///< the client has no right to it at this member
};
inline constexpr std::uint32_t outcome_last = 11;

struct MemberAnswer {
  CallerOutcome outcome = CallerOutcome::returned;
  std::vector<std::byte> bytes;
  /// The message that carried the request, or the last one that a query has seen, of a method that returned or threw. Zeros:
  /// it is not known.
  MessagePlace place{};
};

/// With a sentence, which is cut if it is too long.
[[nodiscard]] MemberAnswer answer_of(CallerOutcome outcome, std::string_view words);
/// The sentence of an answer that has one, printable.
[[nodiscard]] std::string words_of(const MemberAnswer& answer);
[[nodiscard]] MemberAnswer refusal_of(ClientRefusal why);
[[nodiscard]] std::size_t answer_bytes(const MemberAnswer& answer) noexcept;
/// Into as many bytes as `answer_bytes` says.
void encode(const MemberAnswer& answer, std::span<std::byte> to);

/// An answer as it came; `bytes` stay in place.
struct HeardAnswer {
  CallerOutcome outcome = CallerOutcome::returned;
  std::span<const std::byte> bytes;
  MessagePlace place{};     ///< as in MemberAnswer
  ClientRefusal refusal{};  ///< of `refused`
  std::string words;        ///< printable; of those that have a sentence
};
/// Errors: bad_input (what no member of this form sends).
[[nodiscard]] Result<HeardAnswer> decode_answer(std::span<const std::byte> bytes);

/// Addresses are "host:port".
[[nodiscard]] std::vector<std::byte> encode_members(std::span<const std::string> addresses);
/// Errors: bad_input, also for what is no such address.
[[nodiscard]] Result<std::vector<std::string>> decode_members(std::span<const std::byte> bytes);
/// Errors: bad_input.
[[nodiscard]] Result<ClientSessionId> decode_session(std::span<const std::byte> bytes);

}  // namespace spindrift::clients
