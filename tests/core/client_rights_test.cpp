// Rights of clients: what is written, and what it allows.
#include <catch2/catch.hpp>

#include <spindrift/core/config/client_rights.hpp>

using namespace spindrift;
using config::ClientRights;
using Right = ClientRights::Right;

TEST_CASE("without an entry every client may do all, with some what one of them allows") {
  for (const char* none : {"", "  "}) {
    const auto all = ClientRights::parse(none);
    REQUIRE(all);
    CHECK_FALSE(all->bounded());
    CHECK(all->allow("", "ledger", Right::update));
  }
  const auto rights = ClientRights::parse("teller@ledger:update, auditor@*:query,*@prices:query");
  REQUIRE(rights);
  CHECK(rights->bounded());
  CHECK(rights->allow("teller", "ledger", Right::update));
  CHECK(rights->allow("teller", "ledger", Right::query));
  CHECK_FALSE(rights->allow("teller", "ledger2", Right::query));
  CHECK_FALSE(rights->allow("tellers", "ledger", Right::update));
  CHECK(rights->allow("auditor", "anything", Right::query));
  CHECK_FALSE(rights->allow("auditor", "ledger", Right::update));
  CHECK(rights->allow("", "prices", Right::query));
  CHECK_FALSE(rights->allow("", "prices", Right::update));
  CHECK_FALSE(rights->allow("", "ledger", Right::query));
  CHECK_FALSE(rights->allow("*", "ledger", Right::query));
}

TEST_CASE("what is no right is refused with the entry and what to write") {
  for (const char* wrong : {"teller", "teller@ledger", "teller:update", "@ledger:update", "teller@:update", "teller@ledger:",
                            "teller@ledger:all", "teller@ledger:update,", "a b@ledger:query", "t*@ledger:query",
                            "teller@ledger:query:update", "teller@a@b:query"}) {
    INFO(wrong);
    const auto rights = ClientRights::parse(wrong);
    REQUIRE_FALSE(rights.ok());
    CHECK(rights.error().kind() == ErrorKind::bad_input);
    CHECK_FALSE(rights.error().fix().empty());
  }
}
