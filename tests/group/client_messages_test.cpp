// Messages of clients and members: as they were written they are read again, and nothing else is taken.
#include <catch2/catch.hpp>

#include <cstring>
#include <string>
#include <vector>

#include <spindrift/group/client_messages.hpp>

using namespace spindrift;
using namespace spindrift::clients;

namespace {

std::vector<std::byte> bytes_of(const CallerRequest& request) {
  std::vector<std::byte> bytes(request_bytes(request));
  encode(request, bytes);
  return bytes;
}
std::vector<std::byte> bytes_of(const MemberAnswer& answer) {
  std::vector<std::byte> bytes(answer_bytes(answer));
  encode(answer, bytes);
  return bytes;
}
/// With another word of 4 bytes there.
std::vector<std::byte> with(std::vector<std::byte> bytes, std::size_t at, std::uint32_t word) {
  std::memcpy(bytes.data() + at, &word, sizeof word);
  return bytes;
}

const std::vector<std::byte> some(5, std::byte{7});

CallerRequest update() {
  CallerRequest request;
  request.ask = Ask::update;
  request.method = 2;
  request.digest = 77;
  request.of = {{3, 4}, 6, 5};
  request.subgroup = "ledger";
  request.arguments = some;
  return request;
}

// Places in a request's head.
constexpr std::size_t form_at = 0, ask_at = 4, digest_at = 8, session_at = 16, number_at = 32, settled_at = 40;
constexpr std::size_t method_at = 48, subgroup_bytes_at = 52, after_at = 56, head_bytes = 72;
// And in an answer's.
constexpr std::size_t view_at = 8, sequence_at = 16, answer_head_bytes = 24;

}  // namespace

TEST_CASE("a request is read as it was written") {
  const auto bytes = bytes_of(update());
  CHECK(bytes.size() == head_bytes + 6 + 5);
  const auto read = decode_request(bytes);
  REQUIRE(read);
  CHECK(read->ask == Ask::update);
  CHECK(read->method == 2);
  CHECK(read->digest == 77);
  CHECK(read->of.session == ClientSessionId{3, 4});
  CHECK(read->of.number == 6);
  CHECK(read->of.settled == 5);
  CHECK(read->subgroup == "ledger");
  CHECK(std::ranges::equal(read->arguments, some));
  CallerRequest query = update();
  query.ask = Ask::query_after;
  query.of = {};
  query.after = {ViewId(8), SequenceNumber(9)};
  REQUIRE(decode_request(bytes_of(query)));
  CHECK(decode_request(bytes_of(query))->after == query.after);
}

TEST_CASE("a request that is cut off anywhere in its head or its subgroup is none") {
  const auto bytes = bytes_of(update());
  for (std::size_t size = 0; size < head_bytes + 6; ++size) CHECK_FALSE(decode_request(std::span(bytes).first(size)));
  CHECK(decode_request(std::span(bytes).first(head_bytes + 6)));
}

TEST_CASE("a request of another form, for nothing known or of no subgroup is none") {
  const auto bytes = bytes_of(update());
  CHECK_FALSE(decode_request(with(bytes, form_at, form + 1)));
  CHECK_FALSE(decode_request(with(bytes, ask_at, 0)));
  CHECK_FALSE(decode_request(with(bytes, ask_at, ask_last + 1)));
  CHECK_FALSE(decode_request(with(bytes, subgroup_bytes_at, 0)));
  CHECK_FALSE(decode_request(with(bytes, subgroup_bytes_at, 12)));
  std::vector<std::byte> longer = bytes;
  longer.resize(1000);
  CHECK(decode_request(with(longer, subgroup_bytes_at, subgroup_bytes_max)));
  CHECK_FALSE(decode_request(with(longer, subgroup_bytes_at, subgroup_bytes_max + 1)));
}

TEST_CASE("a request says nothing that it has no use for") {
  CallerRequest request;
  request.subgroup = "ledger";
  for (std::uint32_t ask = 1; ask <= ask_last; ++ask) {
    request.ask = Ask{ask};
    const auto bytes = bytes_of(request);
    CHECK(decode_request(bytes));
    const bool session = request.ask == Ask::close || request.ask == Ask::update;
    CHECK(decode_request(with(bytes, digest_at, 1)).ok() == (request.ask != Ask::members));
    CHECK(decode_request(with(bytes, session_at, 1)).ok() == session);
    CHECK(decode_request(with(bytes, session_at + 8, 1)).ok() == session);
    CHECK(decode_request(with(bytes, number_at, 1)).ok() == (request.ask == Ask::update));
    CHECK(decode_request(with(bytes, settled_at, 1)).ok() == (request.ask == Ask::update));
    CHECK(decode_request(with(bytes, method_at, 1)).ok() == has_method(request.ask));
    CHECK(decode_request(with(bytes, after_at, 1)).ok() == (request.ask == Ask::query_after));
    CHECK(decode_request(with(bytes, after_at + 8, 1)).ok() == (request.ask == Ask::query_after));
    std::vector<std::byte> more = bytes;
    more.push_back({});
    CHECK(decode_request(more).ok() == has_method(request.ask));
  }
}

TEST_CASE("an answer is read as it was written, its sentence without what cannot be printed") {
  const MessagePlace place{ViewId(3), SequenceNumber(4)};
  for (const auto outcome : {CallerOutcome::returned, CallerOutcome::threw}) {
    const auto result = bytes_of(MemberAnswer{outcome, some, place});
    REQUIRE(decode_answer(result));
    CHECK(std::ranges::equal(decode_answer(result)->bytes, some));
    CHECK(decode_answer(result)->place == place);
  }
  const auto refusal = bytes_of(refusal_of(ClientRefusal::full));
  REQUIRE(decode_answer(refusal));
  CHECK(decode_answer(refusal)->outcome == CallerOutcome::refused);
  CHECK(decode_answer(refusal)->refusal == ClientRefusal::full);
  const auto words = bytes_of(answer_of(CallerOutcome::elsewhere, "not\x1bhere"));
  REQUIRE(decode_answer(words));
  CHECK(decode_answer(words)->words == "not?here");
  CHECK(answer_of(CallerOutcome::elsewhere, std::string(5000, 'x')).bytes.size() == words_bytes_max);
}

TEST_CASE("an answer that no member gives is none") {
  const auto good = bytes_of(MemberAnswer{CallerOutcome::returned, some, {}});
  for (std::size_t size = 0; size < answer_head_bytes; ++size) CHECK_FALSE(decode_answer(std::span(good).first(size)));
  CHECK_FALSE(decode_answer(with(good, 0, form + 1)));
  CHECK_FALSE(decode_answer(with(good, 4, outcome_last + 1)));
  const auto refusal = bytes_of(refusal_of(ClientRefusal::other_method));
  CHECK(decode_answer(refusal));
  const auto unknown = static_cast<std::uint32_t>(ClientRefusal::other_method) + 1;
  CHECK_FALSE(decode_answer(with(refusal, answer_head_bytes, unknown)));
  CHECK_FALSE(decode_answer(with(refusal, view_at, 1)));
  CHECK_FALSE(decode_answer(with(refusal, sequence_at, 1)));
  CHECK_FALSE(decode_answer(std::span(refusal).first(refusal.size() - 1)));
  std::vector<std::byte> longer = refusal;
  longer.push_back({});
  CHECK_FALSE(decode_answer(longer));
  std::vector<std::byte> words = bytes_of(answer_of(CallerOutcome::overloaded, std::string(words_bytes_max, 'x')));
  CHECK(decode_answer(words));
  words.push_back({});
  CHECK_FALSE(decode_answer(words));
}

TEST_CASE("addresses of members are read again if they are some, and within their bounds") {
  const std::vector<std::string> addresses{"10.0.0.1:7600", "[::1]:7600", "bank-2.example:7600"};
  CHECK(*decode_members(encode_members(addresses)) == addresses);
  CHECK(decode_members(encode_members({}))->empty());
  for (const char* wrong : {"", "nowhere", "10.0.0.1:0", "10.0.0.1:99999", "a:1,b:2", " a:1", "a:1\n", "0.0.0.0:7600"}) {
    INFO(wrong);
    CHECK_FALSE(decode_members(encode_members(std::vector<std::string>{wrong})));
  }
  const auto bytes = encode_members(addresses);
  for (std::size_t size = 0; size < bytes.size(); ++size) CHECK_FALSE(decode_members(std::span(bytes).first(size)));
  CHECK_FALSE(decode_members(with(bytes, 0, members_max + 1)));
  CHECK_FALSE(decode_members(with(bytes, 0, 2)));
  CHECK_FALSE(decode_members(with(bytes, 4, address_bytes_max + 1)));
}

TEST_CASE("a session that was opened has a number, and nothing behind its words") {
  std::vector<std::byte> bytes(16);
  CHECK_FALSE(decode_session(bytes));
  bytes = with(bytes, 0, 9);
  REQUIRE(decode_session(bytes));
  CHECK(decode_session(bytes)->number == 9);
  bytes.push_back({});
  CHECK_FALSE(decode_session(bytes));
}
