// The table of clients: what is judged how, what is kept, and what a table from elsewhere may say.
#include <catch2/catch.hpp>

#include <cstring>
#include <string>
#include <vector>

#include <spindrift/core/bytes.hpp>
#include <spindrift/group/client_table.hpp>

#include "client_world.hpp"
#include "group_fixture.hpp"

using namespace spindrift;
using replicated::ClientVerdict;
using replicated::ClientTable;
using replicated::KeptResult;
using Kind = ClientVerdict::Kind;

namespace {

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

/// A request that is fresh is carried out, and returns that text.
ClientVerdict carry_out(ClientTable& table, const ClientRequest& request, const std::string& result = "done",
                          std::uint32_t method = 0) {
  const ClientVerdict judged = table.judge(request, method);
  if (judged.kind == Kind::fresh) table.keep(request, method, false, bytes_of(result));
  return judged;
}
std::optional<ClientRefusal> refusal(const ClientVerdict& judged) {
  return judged.kind == Kind::refused ? std::optional(judged.why) : std::nullopt;
}

std::vector<std::byte> saved(const ClientTable& table) {
  std::vector<std::byte> bytes;
  table.save(bytes);
  return bytes;
}
bool loads(const std::vector<std::byte>& bytes, std::uint32_t methods = 3) {
  ClientTable table;
  const auto place = [&](std::uint32_t method) { return method < methods ? std::optional(method) : std::nullopt; };
  return bool(table.load(bytes, place));
}
/// With the eight bytes there replaced.
std::vector<std::byte> with(std::vector<std::byte> bytes, std::size_t at, std::uint64_t value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
  return bytes;
}

}  // namespace

TEST_CASE("a request is carried out once, and its result is kept until it is settled") {
  ClientTable table;
  const ClientSessionId session = table.open(7);
  CHECK(session == ClientSessionId{1, 7});
  CHECK(carry_out(table, {session, 0, 0}, "first").kind == Kind::fresh);
  CHECK(carry_out(table, {session, 2, 0}, "third").kind == Kind::fresh);
  const ClientVerdict again = table.judge({session, 0, 0}, 0);
  REQUIRE(again.kind == Kind::repeated);
  CHECK(again.kept->kind == KeptResult::Kind::returned);
  CHECK(std::ranges::equal(again.kept->bytes, bytes_of("first")));
  CHECK(refusal(table.judge({session, 0, 0}, 1)) == ClientRefusal::other_method);
  CHECK(table.bytes() == 10);
  CHECK(carry_out(table, {session, 1, 1}, "second").kind == Kind::fresh);
  CHECK(table.bytes() == 11);
  CHECK(refusal(table.judge({session, 0, 0}, 0)) == ClientRefusal::settled);
  CHECK(table.judge({session, 1, 1}, 0).kind == Kind::repeated);
  CHECK(table.judge({session, 2, 2}, 0).kind == Kind::repeated);
  CHECK(refusal(table.judge({session, 1, 1}, 0)) == ClientRefusal::settled);
}

TEST_CASE("a session of the same number with another word is another one, and so is one that was closed") {
  ClientTable table;
  const ClientSessionId session = table.open(7);
  CHECK(refusal(table.judge({{session.number, 8}, 0, 0}, 0)) == ClientRefusal::over);
  table.close({session.number, 8});
  CHECK(table.sessions() == 1);
  CHECK(carry_out(table, {session, 0, 0}).kind == Kind::fresh);
  table.close(session);
  table.close(session);
  CHECK(refusal(table.judge({session, 0, 0}, 0)) == ClientRefusal::over);
  CHECK(table.sessions() == 0);
  CHECK(table.bytes() == 0);
  CHECK(table.open(7).number == 2);
}

TEST_CASE("a table that is full ends the session that was used the longest ago, and no other") {
  ClientTable table(reference_limits);
  const ClientSessionId first = table.open(1);
  const ClientSessionId second = table.open(2);
  const ClientSessionId third = table.open(3);
  CHECK(carry_out(table, {first, 0, 0}).kind == Kind::fresh);
  const ClientSessionId fourth = table.open(4);
  CHECK(refusal(table.judge({second, 0, 0}, 0)) == ClientRefusal::over);
  CHECK(table.judge({first, 0, 0}, 0).kind == Kind::repeated);
  CHECK(table.judge({third, 0, 0}, 0).kind == Kind::fresh);
  CHECK(table.judge({fourth, 0, 0}, 0).kind == Kind::fresh);
}

TEST_CASE("a request too far ahead is refused, and carried out when what is before it is settled") {
  ClientTable table;
  const ClientSessionId session = table.open(1);
  CHECK(refusal(table.judge({session, 64, 0}, 0)) == ClientRefusal::ahead);
  CHECK(carry_out(table, {session, 63, 0}).kind == Kind::fresh);
  CHECK(carry_out(table, {session, 64, 1}).kind == Kind::fresh);
  const std::uint64_t last = ~std::uint64_t{0};
  CHECK(carry_out(table, {session, last, last}).kind == Kind::fresh);
  CHECK(table.judge({session, last, last}, 0).kind == Kind::repeated);
}

TEST_CASE("results beyond their bounds are not kept, and hold up the session that has them, but for its first request") {
  const replicated::ClientLimits limits{.sessions = 4, .open = 8, .result_bytes = 10, .session_bytes = 20, .bytes = 50};
  ClientTable table(limits);
  const ClientSessionId session = table.open(1);
  CHECK(carry_out(table, {session, 1, 0}, std::string(11, 'x')).kind == Kind::fresh);
  const ClientVerdict again = table.judge({session, 1, 0}, 0);
  REQUIRE(again.kind == Kind::repeated);
  CHECK(again.kept->kind == KeptResult::Kind::too_large);
  CHECK(table.bytes() == 0);
  CHECK(carry_out(table, {session, 2, 0}, std::string(10, 'x')).kind == Kind::fresh);
  CHECK(carry_out(table, {session, 3, 0}, std::string(10, 'x')).kind == Kind::fresh);
  CHECK(refusal(table.judge({session, 4, 0}, 0)) == ClientRefusal::full);
  CHECK(carry_out(table, {session, 0, 0}, std::string(10, 'x')).kind == Kind::fresh);
  CHECK(table.bytes() == 30);

  const ClientSessionId other = table.open(2);
  CHECK(carry_out(table, {other, 0, 0}, std::string(10, 'x')).kind == Kind::fresh);
  CHECK(carry_out(table, {other, 1, 0}, std::string(10, 'x')).kind == Kind::fresh);
  CHECK(table.sessions() == 2);
  CHECK(carry_out(table, {other, 2, 2}, "").kind == Kind::fresh);
  CHECK(carry_out(table, {other, 3, 2}, std::string(10, 'x')).kind == Kind::fresh);
  CHECK(carry_out(table, {other, 4, 2}, std::string(10, 'x')).kind == Kind::fresh);
  CHECK(table.bytes() == 50);
  const ClientSessionId third = table.open(3);
  CHECK(carry_out(table, {third, 0, 0}, "x").kind == Kind::fresh);
  CHECK(refusal(table.judge({session, 1, 0}, 0)) == ClientRefusal::over);
  CHECK(table.sessions() == 2);
  CHECK(table.bytes() == 21);
}

TEST_CASE("a table that keeps too many bytes ends a session that keeps the most, and none that keeps little") {
  ClientTable table({.sessions = 8, .open = 8, .result_bytes = 10, .session_bytes = 20, .bytes = 50});
  const ClientSessionId small = table.open(1);
  const ClientSessionId older = table.open(2);
  const ClientSessionId newer = table.open(3);
  const ClientSessionId last = table.open(4);
  CHECK(carry_out(table, {small, 0, 0}, "x").kind == Kind::fresh);
  for (const ClientSessionId& session : {older, newer}) {
    CHECK(carry_out(table, {session, 0, 0}, std::string(10, 'x')).kind == Kind::fresh);
    CHECK(carry_out(table, {session, 1, 0}, std::string(10, 'x')).kind == Kind::fresh);
  }
  CHECK(carry_out(table, {last, 0, 0}, std::string(10, 'x')).kind == Kind::fresh);
  CHECK(table.bytes() == 31);
  CHECK(table.judge({last, 0, 0}, 0).kind == Kind::repeated);
  CHECK(refusal(table.judge({older, 0, 0}, 0)) == ClientRefusal::over);
  CHECK(table.judge({newer, 0, 0}, 0).kind == Kind::repeated);
  CHECK(table.judge({small, 0, 0}, 0).kind == Kind::repeated);
}

TEST_CASE("a table that is loaded is the one that was saved, with the places that its methods have now") {
  ClientTable table;
  const ClientSessionId closed = table.open(1);
  const ClientSessionId session = table.open(2);
  table.close(closed);
  CHECK(carry_out(table, {session, 5, 4}, "result", 2).kind == Kind::fresh);
  CHECK_FALSE(table.untouched());
  ClientTable other;
  CHECK(other.untouched());
  CHECK(other.load(saved(table), [](std::uint32_t method) { return std::optional(method + 1); }));
  const ClientVerdict again = other.judge({session, 5, 4}, 3);
  REQUIRE(again.kind == Kind::repeated);
  CHECK(std::ranges::equal(again.kept->bytes, bytes_of("result")));
  CHECK(refusal(other.judge({session, 3, 3}, 0)) == ClientRefusal::settled);
  CHECK(refusal(other.judge({session, 68, 3}, 0)) == ClientRefusal::ahead);
  CHECK(other.open(1).number == 3);
  CHECK(other.bytes() == 6);
}

TEST_CASE("no cut and no change of a saved table makes another one that no table can be") {
  ClientTable table;
  const ClientSessionId session = table.open(2);
  CHECK(carry_out(table, {session, 5, 4}, "result12", 1).kind == Kind::fresh);
  CHECK(carry_out(table, {session, 6, 4}, "", 2).kind == Kind::fresh);
  const std::vector<std::byte> good = saved(table);
  CHECK(loads(good));
  CHECK_FALSE(loads(good, 2));
  for (std::size_t size = 0; size < good.size(); ++size) CHECK_FALSE(loads({good.begin(), good.begin() + long(size)}));
  std::vector<std::byte> more = good;
  more.push_back({});
  CHECK_FALSE(loads(more));
  const std::uint64_t most = ~std::uint64_t{0};
  CHECK_FALSE(loads(with(good, 0, 2)));         // the form
  CHECK_FALSE(loads(with(good, 8, 0)));         // how many were opened
  CHECK_FALSE(loads(with(good, 16, 2)));        // sessions
  CHECK_FALSE(loads(with(good, 16, most)));
  CHECK_FALSE(loads(with(good, 24, 0)));        // the session's number
  CHECK_FALSE(loads(with(good, 40, 6)));        // what is settled
  CHECK_FALSE(loads(with(good, 48, most)));     // results
  CHECK_FALSE(loads(with(good, 56, 6)));        // a result's number
  CHECK_FALSE(loads(with(good, 56, 4 + 64)));
  CHECK_FALSE(loads(with(good, 64, std::uint64_t{3} << 32U)));  // its kind
  CHECK_FALSE(loads(with(good, 64, std::uint64_t{2} << 32U)));  // too large, and there all the same
  CHECK_FALSE(loads(with(good, 72, 64 * 1024 + 1)));            // its size
  CHECK_FALSE(loads(with(good, 72, most)));
}

TEST_CASE("a table from elsewhere with two sessions of one number, or with too much in it, is refused") {
  ClientTable table;
  const ClientSessionId first = table.open(1);
  const ClientSessionId second = table.open(1);
  const std::vector<std::byte> good = saved(table);
  CHECK(loads(good));
  CHECK_FALSE(loads(with(good, 24, second.number)));
  for (const ClientSessionId& session : {first, second}) {
    for (std::uint64_t number = 0; number < 5; ++number)
      static_cast<void>(carry_out(table, {session, number, 0}, std::string(60 * 1024, 'x')));
  }
  const std::vector<std::byte> large = saved(table);
  CHECK(loads(large));
  ClientTable smaller({.sessions = 2, .bytes = 590 * 1024});
  const auto same = [](std::uint32_t method) { return std::optional(method); };
  const auto refused = smaller.load(large, same);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind() == ErrorKind::bad_input);
  CHECK(smaller.untouched());
  CHECK_FALSE(ClientTable({.session_bytes = 170 * 1024}).load(large, same));
}

TEST_CASE("clients whose members die have each request carried out once, and the same answers, in all worlds") {
  for (std::uint64_t seed = 1; seed <= 20'000 / SPINDRIFT_WORLDS_SHARE; ++seed) {
    std::string violation;
    try {
      ClientWorld(seed).run();
    } catch (const std::runtime_error& found) {
      violation = "seed " + std::to_string(seed) + ": " + found.what();
    }
    REQUIRE(violation == "");
  }
}
