// `spindrift keys`, as those run it who make a group's keys.
#include <sys/stat.h>

#include <filesystem>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <spindrift/fabric/tls/credentials.hpp>

#include "command.hpp"
#include "exit_code.hpp"

using namespace spindrift;
using namespace spindrift::test;
using namespace spindrift::tools;
using Catch::Matchers::Contains;
using nlohmann::json;

namespace {

struct KeysFixture {
  Directory directory;
  std::string keys = directory.path() + "/keys";

  [[nodiscard]] CommandResult spindrift_keys(std::vector<std::string> words) const {
    const bool shows = words.front() == "show";
    words.insert(words.begin(), "keys");
    if (!shows) words.insert(words.end(), {"--dir", keys});
    return run(words);
  }
  [[nodiscard]] json shown(const std::string& place) const {
    const CommandResult result = spindrift_keys({"show", place, "--json"});
    return json::parse(result.output);
  }
  [[nodiscard]] bool loads(std::uint32_t node) const {
    return fabric::tls::Credentials::load(keys + "/" + std::to_string(node), "orders", NodeId(node)).ok();
  }
};

}  // namespace

TEST_CASE_METHOD(KeysFixture, "one command makes an authority and a bundle for each node, and says what goes where") {
  const CommandResult made = spindrift_keys({"init", "orders", "--nodes", "0,1"});
  CHECK(made.code == 0);
  CHECK(made.errors.empty());
  CHECK_THAT(made.output, Contains("spindrift://orders/1: serial number ") && Contains(keys + "/authority") &&
                              Contains("tar -cC " + keys + " 1 | ssh HOST"));
  CHECK(loads(0));
  CHECK(loads(1));
}

TEST_CASE_METHOD(KeysFixture, "the copy that the command prints makes a bundle that its node takes") {
  REQUIRE(spindrift_keys({"init", "orders", "--nodes", "0,1"}).code == 0);
  const std::string there = directory.path() + "/there";
  // The printed command works without ssh and to another place; once more, over files that nobody may write.
  const std::string copy = "tar -cC " + keys + " 1 | sh -c 'mkdir -p " + there + " && tar -xpC " + there + "'";
  for (int time = 0; time < 2; ++time) {
    CHECK(Command({"-c", copy}, "/bin/sh").finish().code == 0);
    CHECK(fabric::tls::Credentials::load(there + "/1", "orders", NodeId(1)).ok());
  }
}

TEST_CASE_METHOD(KeysFixture, "keys are added, rotated, revoked and shown") {
  REQUIRE(spindrift_keys({"init", "orders"}).code == 0);
  REQUIRE(spindrift_keys({"add", "orders", "--nodes", "2", "--observer", "dashboard", "--days", "10"}).code == 0);
  REQUIRE(spindrift_keys({"rotate", "orders", "--nodes", "2"}).code == 0);
  json all = shown(keys);
  CHECK(all["group"] == "orders");
  REQUIRE(all["certificates"].size() == 3);
  CHECK(all["certificates"][1]["identity"] == "spindrift://orders/observer/dashboard");
  CHECK(all["certificates"][1]["role"] == "observer");
  CHECK(all["certificates"][0]["state"] == "valid, 10 days left");
  CHECK(all["certificates"][2]["state"] == "valid, 365 days left");
  const std::string newest = all["certificates"][2]["serial"];
  CHECK(shown(keys + "/2")["certificates"][0]["serial"] == newest);

  const CommandResult revoked = spindrift_keys({"revoke", "orders", "--serial", all["certificates"][0]["serial"]});
  CHECK(revoked.code == 0);
  CHECK_THAT(revoked.output, Contains("revoked 1 certificate\n") && Contains("revoked.crl | ssh HOST"));
  CHECK(loads(2));
  CHECK(spindrift_keys({"revoke", "orders", "--nodes", "2"}).code == 0);
  CHECK_FALSE(loads(2));
  all = shown(keys);
  CHECK_FALSE(all["certificates"][0]["revoked"].is_null());
  CHECK(all["certificates"][1]["revoked"].is_null());
  const CommandResult table = spindrift_keys({"show", keys});
  CHECK(table.code == 0);
  CHECK_THAT(table.output, Contains("identity") && Contains(newest) && Contains("revoked 20"));
}

TEST_CASE_METHOD(KeysFixture, "a key of each role is made, and shown with it") {
  REQUIRE(spindrift_keys({"init", "orders"}).code == 0);
  const std::vector<std::pair<std::string, std::string>> roles{
      {"member", "7"}, {"observer", "dashboard"}, {"client", "frontend"}, {"admin", "operations"}};
  for (const auto& [role, name] : roles) {
    const std::string identity = "spindrift://orders/" + (role == "member" ? name : role + "/" + name);
    const std::string bundle = role == "member" ? name : role + "-" + name;
    const CommandResult made = spindrift_keys({"add", "orders", role == "member" ? "--nodes" : "--" + role, name});
    CHECK(made.code == 0);
    CHECK_THAT(made.output, Contains(identity + ": serial number ") && Contains("tar -cC " + keys + " " + bundle + " |"));
    const json certificate = shown(keys + "/" + bundle)["certificates"][0];
    CHECK(certificate["identity"] == identity);
    CHECK(certificate["role"] == role);
  }
}

TEST_CASE_METHOD(KeysFixture, "a bundle beside the authority that does not fit is shown as that, the others as they are") {
  namespace files = std::filesystem;
  REQUIRE(spindrift_keys({"init", "orders", "--nodes", "0,1"}).code == 0);
  files::remove(keys + "/0/node.key");
  files::copy_file(keys + "/1/node.key", keys + "/0/node.key");
  const CommandResult result = spindrift_keys({"show", keys});
  CHECK(result.code == number(ExitCode::usage));
  CHECK_THAT(result.output, Contains("unfit") && Contains("valid, 365 days left"));
  CHECK_THAT(result.errors, Contains(keys + "/0/node.key"));
  const json all = shown(keys)["certificates"];
  CHECK(all[0]["state"] == "unfit");
  CHECK(all[1]["state"] == "valid, 365 days left");
  files::remove_all(keys + "/0");  // it is on another host, as it should be
  CHECK(spindrift_keys({"show", keys}).code == 0);
}

TEST_CASE_METHOD(KeysFixture, "an authority's key that others may read is told of where keys are shown") {
  REQUIRE(spindrift_keys({"init", "orders", "--nodes", "0"}).code == 0);
  REQUIRE(::chmod((keys + "/authority/authority.key").c_str(), 0644) == 0);
  const CommandResult result = spindrift_keys({"show", keys});
  CHECK(result.code == number(ExitCode::usage));
  CHECK_THAT(result.output, Contains("valid, 365 days left"));
  CHECK_THAT(result.errors, Contains("authority.key") && Contains("others may have read the private key"));
}

TEST_CASE_METHOD(KeysFixture, "a bundle that peers would refuse is shown with the reason, and a code") {
  REQUIRE(spindrift_keys({"init", "orders", "--nodes", "0"}).code == 0);
  CHECK(spindrift_keys({"show", keys + "/0"}).code == 0);
  REQUIRE(spindrift_keys({"revoke", "orders", "--nodes", "0"}).code == 0);
  const CommandResult shown_bundle = spindrift_keys({"show", keys + "/0"});
  CHECK(shown_bundle.code == number(ExitCode::refused));
  CHECK_THAT(shown_bundle.output, Contains("spindrift://orders/0") && Contains("revoked 20") && !Contains("valid, "));
  CHECK_THAT(shown_bundle.errors, Contains("certificate is revoked; fix: give the node a new certificate"));
}

TEST_CASE_METHOD(KeysFixture, "what cannot be is refused before anything is written, with what to do") {
  const auto refused = [&](std::vector<std::string> words, const char* says) {
    const CommandResult result = spindrift_keys(std::move(words));
    CHECK(result.code == number(ExitCode::usage));
    CHECK_THAT(result.errors, Contains(says));
    CHECK(result.output.empty());
  };
  refused({"init", "Orders", "--nodes", "0"}, "no name of a group");
  refused({"init", "orders", "--nodes", "4294967295"}, "no node id");
  refused({"init", "orders", "--client", "../x"}, "no name of an identity");
  refused({"add", "orders", "--nodes", "0"}, "spindrift keys init");
  refused({"show", keys}, "spindrift keys init");
  refused({"init", "orders", "--nodes", "0,0"}, "spindrift://orders/0 is named twice");
  refused({"init", "orders", "--nodes", "0", "--days", "5000"}, "fix: give --days 3650 or fewer");
  struct stat found{};
  CHECK(::stat(keys.c_str(), &found) != 0);

  REQUIRE(spindrift_keys({"init", "orders", "--nodes", "0"}).code == 0);
  refused({"init", "orders", "--nodes", "1"}, "fix: use spindrift keys add");
  refused({"add", "orders", "--nodes", "0"}, "fix: use spindrift keys rotate");
  refused({"add", "orders"}, "nobody is named");
  refused({"add", "orders", "--nodes", "5,0,6"}, "spindrift://orders/0 has a key already");
  refused({"add", "orders", "--nodes", "5", "--days", "3651"}, "the authority that signs it ends ");
  refused({"rotate", "orders", "--nodes", "0,5"}, "spindrift://orders/5 has no key");
  refused({"rotate", "orders", "--nodes", "0", "--days", "3651"}, "the authority that signs it ends ");
  refused({"revoke", "orders", "--nodes", "0,5"}, "there is no certificate of spindrift://orders/5 that is not revoked");
  refused({"add", "trades", "--nodes", "1"}, "these are the keys of the group orders");
  refused({"rotate", "orders", "--nodes", "1"}, "fix: use spindrift keys add");
  refused({"revoke", "orders", "--nodes", "1"}, "fix: look with spindrift keys show");
  CHECK(shown(keys)["certificates"].size() == 1);
  CHECK(loads(0));
}

TEST_CASE_METHOD(KeysFixture, "an authority is not made beside keys that it would have to overwrite") {
  REQUIRE(spindrift_keys({"init", "orders", "--nodes", "1"}).code == 0);
  REQUIRE(Command({"-rf", keys + "/authority"}, "/bin/rm").finish().code == 0);
  const CommandResult again = spindrift_keys({"init", "orders", "--nodes", "0,1"});
  CHECK(again.code == number(ExitCode::usage));
  CHECK_THAT(again.errors,
             Contains("keys that this authority knows nothing of") && Contains("fix: move the directory away"));
  CHECK(spindrift_keys({"init", "orders", "--nodes", "0"}).code == 0);  // nothing was made
}

TEST_CASE_METHOD(KeysFixture, "an authority signs for as long as it has left itself, and no longer") {
  CHECK(spindrift_keys({"init", "orders", "--nodes", "0", "--days", "3650"}).code == 0);
  CHECK(loads(0));
}

TEST_CASE_METHOD(KeysFixture, "the group's name may stand behind options") {
  CHECK(run({"keys", "init", "--nodes", "0,1", "orders", "--dir", keys}).code == 0);
  CHECK(run({"keys", "add", "--dir", keys, "--observer", "one", "--observer", "two", "orders"}).code == 0);
  CHECK(shown(keys)["certificates"].size() == 4);
}

TEST_CASE_METHOD(KeysFixture, "show takes --dir, and the authority's own directory") {
  REQUIRE(spindrift_keys({"init", "orders", "--nodes", "0"}).code == 0);
  for (const auto& words :
       std::vector<std::vector<std::string>>{{"orders", "--dir", keys}, {keys + "/authority"}, {keys + "/"}}) {
    std::vector<std::string> show{"keys", "show"};
    show.insert(show.end(), words.begin(), words.end());
    const CommandResult result = run(show);
    CHECK(result.code == 0);
    CHECK_THAT(result.output, Contains("spindrift://orders/0"));
  }
  CHECK_THAT(run({"keys", "show", "trades", "--dir", keys}).errors, Contains("these are the keys of the group orders"));
  CHECK(run({"keys", "show", keys, "--dir", keys}).code == number(ExitCode::usage));
  CHECK_THAT(run({"keys", "init", "orders", "--dir", ""}).errors, Contains("--dir: it names no directory"));
}

TEST_CASE_METHOD(KeysFixture, "only keys that still count are said to stay good") {
  REQUIRE(spindrift_keys({"init", "orders", "--nodes", "0"}).code == 0);
  CHECK_THAT(spindrift_keys({"rotate", "orders", "--nodes", "0"}).output, Contains("The keys before stay good"));
  REQUIRE(spindrift_keys({"revoke", "orders", "--nodes", "0"}).code == 0);
  CHECK_THAT(spindrift_keys({"rotate", "orders", "--nodes", "0"}).output, !Contains("stay good"));
}

TEST_CASE_METHOD(KeysFixture, "a bundle whose certificate is none is wrong as all that is wrong with keys") {
  REQUIRE(spindrift_keys({"init", "orders", "--nodes", "0"}).code == 0);
  const std::string certificate = keys + "/0/node.crt";
  REQUIRE(::chmod(certificate.c_str(), 0600) == 0);
  directory.file("keys/0/node.crt", "no certificate\n");
  const CommandResult bundle = spindrift_keys({"show", keys + "/0"});
  CHECK(bundle.code == number(ExitCode::usage));
  CHECK_THAT(bundle.errors, Contains(certificate + ": ") && Contains("fix: copy all files"));
}

TEST_CASE_METHOD(KeysFixture, "without --dir, keys lie below the home directory, where members look for them") {
  const auto at_home = [&](const std::string& words) {
    return Command({"-c", "HOME=" + directory.path() + " " + SPINDRIFT_COMMAND + " keys " + words}, "/bin/sh").finish();
  };
  CHECK(at_home("init orders --nodes 0").code == 0);
  CHECK(fabric::tls::Credentials::load(directory.path() + "/.spindrift/orders/0", "orders", NodeId(0)).ok());
  const CommandResult shown_at_home = at_home("show orders");
  CHECK(shown_at_home.code == 0);
  CHECK_THAT(shown_at_home.output, Contains("spindrift://orders/0"));
}
