// `spindrift log verify --keys` over signed journals, and over those that somebody wrote anew so that nothing else is amiss.
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "../group/signed_fixture.hpp"
#include "../store/forged_journal.hpp"
#include "command.hpp"
#include "exit_code.hpp"

using namespace spindrift;
using namespace spindrift::test;
using namespace spindrift::tools;
using Catch::Matchers::Contains;
using nlohmann::json;
using spindrift::store::EntryKind;
using spindrift::store::ForgedEntry;

namespace {

constexpr SubgroupId orders(0);

/// The journal of node 1 of the group "g", in two runs, as a copy that a third party got.
struct SignedCopy {
  group::JournalHost host;
  group::GroupKeys keys{host.place.above};
  std::string copy = host.place.above + "/copy";
  std::string authority = host.place.above + "/authority.crt";

  SignedCopy() {
    std::filesystem::copy(keys.public_directory() + "/authority.crt", authority);
    sign(0, 10);
    sign(10, 20);
    std::filesystem::copy(host.place.of(NodeId(1)), copy);
    std::filesystem::permissions(copy, std::filesystem::perms::owner_all);
  }
  void sign(std::uint64_t first, std::uint64_t end) const {
    const auto journal = value_or_throw(group::open_signing(host.place, 1, keys.key(1), {{orders, "orders"}}));
    for (std::uint64_t i = first; i < end; ++i) {
      const std::string text = "message " + std::to_string(i);
      const store::EntryHead head{EntryKind::message, orders, NodeId(2), ViewId(7), SequenceNumber(i), 1};
      journal->append(head, std::as_bytes(std::span(text)));
    }
    value_or_throw(journal->close());
  }
  void forge(const std::function<void(std::vector<ForgedEntry>&)>& edit) const { store::forge(copy, edit); }
  [[nodiscard]] CommandResult verify(std::vector<std::string> more = {}) const {
    std::vector<std::string> words{"log", "verify", "--journal", copy};
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  }
  [[nodiscard]] CommandResult prove() const { return verify({"--keys", authority}); }
  [[nodiscard]] json proof() const { return json::parse(verify({"--keys", authority, "--json"}).output)["proof"]; }
  /// Nothing is amiss but for the signatures.
  void check_whole() const {
    const CommandResult whole = verify();
    CHECK(whole.code == 0);
    CHECK_THAT(whole.output, Contains("nothing is damaged"));
  }
};

/// That journal, of which one message is damaged at the node, and not in the copy.
struct DamagedSigned : SignedCopy {
  std::string directory = host.place.of(NodeId(1));
  std::string config = host.place.above + "/g.cfg";

  DamagedSigned() {
    std::ofstream(config) << "[SPINDRIFT]\ngroup_name = " << host.place.group << "\nmembers = 0, 1, 2\n[PERS]\nfile_path = "
                          << host.place.above << "\n[LAYOUT]\njson_layout = '[{\"name\": \"orders\"}]'\n";
  }
  void damage(const std::string& text) const {
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
      std::ifstream from(entry.path(), std::ios::binary);
      const std::string bytes{std::istreambuf_iterator<char>(from), {}};
      const std::size_t at = bytes.find(text);
      if (at == std::string::npos) continue;
      std::fstream to(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
      to.seekp(static_cast<std::streamoff>(at));
      to << 'M';
    }
  }
  [[nodiscard]] CommandResult repair() const {
    return run({"log", "repair", "--config", config, "--id", "1", "--from", copy, "--write"});
  }
};

bool is_signature(const ForgedEntry& entry) { return entry.head.kind == EntryKind::signature; }

}  // namespace

TEST_CASE_METHOD(SignedCopy, "a copy of a signed log is proved by the authority's certificate alone") {
  const CommandResult proved = prove();
  CHECK(proved.code == 0);
  CHECK_THAT(proved.output, Contains("log of orders: ends at version 20") && !Contains("place 0") &&
                                Contains("log of orders: proved for versions [0, 20) by spindrift://g/1") &&
                                Contains("log of orders: SHA-256 of versions [0, 20): ") &&
                                Contains("no list of revoked certificates was given") &&
                                Contains("\nwhat is signed is as it was signed\n"));
  const json document = proof();
  CHECK(document["ok"] == true);
  CHECK(document["logs"][0]["proved"] == json::parse(R"([{"first": 0, "end": 20}])"));
  CHECK(document["logs"][0]["problems"].empty());
  CHECK(document["signers"][0]["identity"] == "spindrift://g/1");
  CHECK(json::parse(verify({"--json"}).output)["proof"].is_null());
}

TEST_CASE_METHOD(SignedCopy, "a byte of a message that was changed so that all checksums and links fit is found") {
  forge([](auto& entries) { store::message_of(entries, 12).payload.front() ^= std::byte{1}; });
  check_whole();
  const CommandResult judged = prove();
  CHECK(judged.code == number(ExitCode::failure));
  CHECK_THAT(judged.output, Contains(") are not those that were signed") && Contains("the logs are not proved"));
  const json document = proof();
  CHECK(document["ok"] == false);
  CHECK(document["logs"][0]["problems"][0]["kind"] == "altered");
}

TEST_CASE_METHOD(SignedCopy, "a sender, a place in the order and a view that were changed are found") {
  SECTION("a sender") { forge([](auto& entries) { store::message_of(entries, 3).head.sender = NodeId(0); }); }
  SECTION("two messages that changed places") {
    forge([](auto& entries) {
      std::swap(store::message_of(entries, 3).payload, store::message_of(entries, 4).payload);
    });
  }
  SECTION("a view") { forge([](auto& entries) { store::message_of(entries, 3).head.view = ViewId(8); }); }
  check_whole();
  CHECK(prove().code == number(ExitCode::failure));
}

TEST_CASE_METHOD(SignedCopy, "messages behind the last signature are told as not proved, and no error") {
  forge([](auto& entries) {
    const ForgedEntry message = store::last_of(entries, EntryKind::message);
    entries.push_back(message);
  });
  const CommandResult proved = prove();
  CHECK(proved.code == 0);
  CHECK_THAT(proved.output, Contains("proved for versions [0, 20)") &&
                                Contains("log of orders: not proved for versions [20, 21)"));
}

TEST_CASE_METHOD(SignedCopy, "a signature that was removed leaves its messages without a proof") {
  SECTION("the last: what is behind the one before it") {
    forge([](auto& entries) {
      std::uint64_t end = 0;
      for (const ForgedEntry& entry : entries) {
        if (is_signature(entry)) end = std::max(end, group::read_signature(entry.payload)->chain.version.value());
      }
      std::erase_if(entries, [&](const ForgedEntry& entry) {
        return is_signature(entry) && group::read_signature(entry.payload)->chain.version.value() == end;
      });
    });
    CHECK(proof()["logs"][0]["proved"][0]["end"] < 20);
    CHECK_THAT(prove().output, Contains("log of orders: not proved for versions ["));
  }
  SECTION("all: nothing is proved") {
    forge([](auto& entries) { std::erase_if(entries, is_signature); });
    check_whole();
    const CommandResult judged = prove();
    CHECK(judged.code == number(ExitCode::failure));
    CHECK_THAT(judged.output, Contains("no signature that counts proves anything of it"));
  }
}

TEST_CASE_METHOD(SignedCopy, "a log whose last messages were cut off in front of their signature lacks them") {
  forge([](auto& entries) {
    std::erase_if(entries, [](const ForgedEntry& entry) {
      return entry.head.kind == EntryKind::message && entry.version.value() >= 15;
    });
  });
  check_whole();
  const CommandResult judged = prove();
  CHECK(judged.code == number(ExitCode::failure));
  CHECK_THAT(judged.output, Contains("log of orders: messages [15, 20) are missing"));
}

TEST_CASE_METHOD(SignedCopy, "a journal that was signed anew with a key of somebody else proves nothing") {
  group::JournalHost elsewhere;
  std::optional<group::GroupKeys> others;
  std::optional<fabric::tls::SigningKey> key;
  SECTION("of another authority of the same name") {
    others.emplace(elsewhere.place.above);
    key.emplace(others->key(1));
  }
  SECTION("of another node of the group") { key.emplace(keys.key(2)); }
  forge([&](auto& entries) {
    store::message_of(entries, 12).payload.front() ^= std::byte{1};
    group::LogChainer chainer;
    group::LogChain chain = chainer.begin({"g", "orders"}, {});
    std::erase_if(entries, is_signature);
    for (const ForgedEntry& entry : entries) chainer.add(chain, entry.head, entry.payload);
    const std::chrono::nanoseconds now = group::GroupKeys::now().time_since_epoch();
    group::LogSignature forged{NodeId(1), orders, "orders", chain, static_cast<std::uint64_t>(now.count())};
    forged.certificates.assign(key->certificates().begin(), key->certificates().end());
    forged.signature = value_or_throw(key->sign(group::signed_text("g", forged)));
    entries.push_back({{EntryKind::signature, store::no_subgroup, NodeId(1), ViewId(0), SequenceNumber(0), 1}, {},
                       group::payload_of(forged)});
  });
  check_whole();
  const CommandResult judged = prove();
  CHECK(judged.code == number(ExitCode::failure));
  CHECK_THAT(judged.output, Contains("does not count: its certificate is") && Contains("the logs are not proved"));
  CHECK(proof()["logs"][0]["proved"].empty());
  CHECK(proof()["logs"][0]["problems"][0]["kind"] == "unknown");
}

TEST_CASE_METHOD(SignedCopy, "a signature that its key has not made, or none at all, is told") {
  SECTION("a bit of it") {
    forge([](auto& entries) {
      auto& payload = store::last_of(entries, EntryKind::signature).payload;
      payload[70] ^= std::byte{1};
    });
    CHECK_THAT(prove().output, Contains("does not count: the key that it names has not made it"));
  }
  SECTION("a part of it") {
    forge([](auto& entries) { store::last_of(entries, EntryKind::signature).payload.resize(9); });
    CHECK_THAT(prove().output, Contains("entries that should be signatures, and are none: 1"));
  }
  check_whole();
  CHECK(prove().code == number(ExitCode::failure));
}

TEST_CASE_METHOD(SignedCopy, "a key that was revoked proves nothing to who has the list, in a file or a directory") {
  value_or_throw(keys.authority.revoke(keys.member(1), group::GroupKeys::now()));
  CHECK(prove().code == 0);  // this one has no list
  const CommandResult by_directory = verify({"--keys", keys.public_directory()});
  CHECK(by_directory.code == number(ExitCode::failure));
  CHECK_THAT(by_directory.output, Contains("does not count: its certificate is revoked"));
  std::ofstream(authority, std::ios::app) << std::ifstream(keys.public_directory() + "/revoked.crl").rdbuf();
  CHECK(prove().code == number(ExitCode::failure));
}

TEST_CASE_METHOD(SignedCopy, "what is no authority's certificate, and what is no journal, is refused") {
  const std::string other = host.place.above + "/other";
  std::ofstream(other) << "no certificate\n";
  const CommandResult no_keys = verify({"--keys", other});
  CHECK(no_keys.code == number(ExitCode::usage));
  CHECK_THAT(no_keys.errors, Contains(other + ": there is no certificate in it") && Contains("fix: name the authority's"));
  const std::string pipe = host.place.above + "/pipe";  // nobody writes into it
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const CommandResult waits = verify({"--keys", pipe});
  CHECK(waits.code == number(ExitCode::usage));
  CHECK_THAT(waits.errors, Contains(pipe + ": it is no regular file") && Contains("fix: name the authority's"));
  std::filesystem::create_directory(host.place.above + "/empty");
  std::filesystem::permissions(host.place.above + "/empty", std::filesystem::perms::owner_all);
  const CommandResult no_journal = run({"log", "verify", "--journal", host.place.above + "/empty", "--keys", authority});
  CHECK(no_journal.code == number(ExitCode::resource));
  CHECK_THAT(no_journal.errors, Contains("there is no journal in it"));
  const CommandResult neither = run({"log", "verify"});
  CHECK(neither.code == number(ExitCode::usage));
  CHECK_THAT(neither.errors, Contains("neither it nor --journal is given"));
}

TEST_CASE_METHOD(DamagedSigned, "a signed log that is repaired is proved as before") {
  damage("message 3");
  const CommandResult repaired = repair();
  CHECK(repaired.code == 0);
  CHECK_THAT(repaired.output, Contains("log of orders: messages [3, 4): found"));
  std::filesystem::remove_all(copy);
  std::filesystem::copy(directory, copy);
  std::filesystem::permissions(copy, std::filesystem::perms::owner_all);
  CHECK(prove().code == 0);
  CHECK_THAT(prove().output, Contains("proved for versions [0, 20) by spindrift://g/1"));
}

TEST_CASE_METHOD(DamagedSigned, "a log is not repaired into one that its node has not signed, be all links as they should") {
  forge([](auto& entries) { store::message_of(entries, 12).payload.front() ^= std::byte{1}; });
  std::filesystem::remove_all(directory);
  std::filesystem::copy(copy, directory);
  std::filesystem::permissions(directory, std::filesystem::perms::owner_all);
  damage("message 3");
  const CommandResult refused = repair();
  CHECK(refused.code == number(ExitCode::refused));
  CHECK_THAT(refused.errors, Contains("are not those that this node has signed; nothing was replaced"));
  CHECK_FALSE(std::filesystem::exists(directory + ".damaged-1"));
}

TEST_CASE_METHOD(DamagedSigned, "a lost signature cannot be told from a promise, where no record of views is behind it") {
  damage("orders");  // each signature names the subgroup
  const CommandResult refused = repair();
  CHECK(refused.code == number(ExitCode::failure));
  CHECK_THAT(refused.output, Contains("nothing was repaired"));
}
