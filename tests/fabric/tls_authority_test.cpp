// An authority's certificates, its files, and what it remembers.
#include "tls_fixture.hpp"

#include <sys/stat.h>

#include <set>

using namespace spindrift;
using namespace spindrift::fabric::tls;
using namespace spindrift::fabric::tls::test;

namespace {

unsigned mode_of(const std::string& path) {
  struct stat found{};
  REQUIRE(::stat(path.c_str(), &found) == 0);
  return found.st_mode & 07777U;
}
/// In the order of the alphabet, with a blank behind each.
std::string names_in(const std::string& directory) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) names.insert(entry.path().filename().string());
  std::string line;
  for (const std::string& name : names) line += name + " ";
  return line;
}

}  // namespace

TEST_CASE("an authority's certificate may sign holders and lists, and no further authority") {
  const KeyPair authority = value_or_throw(make_authority("orders", this_year()));
  X509& certificate = *authority.certificate;
  CHECK(EVP_PKEY_get_base_id(authority.key.get()) == EVP_PKEY_ED25519);
  CHECK(X509_self_signed(&certificate, 1) == 1);
  CHECK(X509_check_ca(&certificate) == 1);
  CHECK(X509_get_pathlen(&certificate) == 0);
  CHECK(X509_get_key_usage(&certificate) == (X509v3_KU_KEY_CERT_SIGN | X509v3_KU_CRL_SIGN));
}

TEST_CASE("an issued certificate holds one identity, for both directions of a connection") {
  const KeyPair authority = value_or_throw(make_authority("orders", this_year()));
  const Validity validity = this_year();
  const KeyPair issued = value_or_throw(issue_certificate(authority, member(7), validity));
  const X509& certificate = *issued.certificate;
  CHECK(*identity_of(certificate) == member(7));
  CHECK(X509_get_extended_key_usage(issued.certificate.get()) == (XKU_SSL_CLIENT | XKU_SSL_SERVER));
  CHECK(X509_check_ca(issued.certificate.get()) == 0);
  CHECK(validity_of(certificate)->from == validity.from);
  CHECK(validity_of(certificate)->until == validity.until);
  CHECK(serial_of(certificate).size() == 32);
  CHECK(X509_verify(issued.certificate.get(), authority.key.get()) == 1);
}

TEST_CASE("a certificate is to be replaced in the last third of its time, two weeks before its end at the earliest") {
  using std::chrono::days;
  using std::chrono::hours;
  const std::chrono::sys_seconds begin = now();
  const Validity year{begin, begin + days(365)};
  CHECK_FALSE(is_to_be_replaced(year, begin + days(350)));
  CHECK(is_to_be_replaced(year, begin + days(352)));
  CHECK(is_to_be_replaced(year, begin + days(400)));
  const Validity day{begin, begin + hours(24)};
  CHECK_FALSE(is_to_be_replaced(day, begin + hours(15)));
  CHECK(is_to_be_replaced(day, begin + hours(17)));
}

TEST_CASE("the files of an authority and a bundle are for their owner, and nothing else lies beside them") {
  const TwoNodes group;
  const std::string authority = group.directory.path() + "/keys/authority";
  CHECK(mode_of(group.directory.path() + "/keys") == 0700);
  CHECK(mode_of(authority) == 0700);
  CHECK(mode_of(authority + "/authority.key") == 0400);
  CHECK(names_in(authority) == "authority.crt authority.key issued.json revoked.crl ");
  CHECK(mode_of(group.bundle(0)) == 0700);
  CHECK(mode_of(group.bundle(0) + "/node.key") == 0400);
  CHECK(names_in(group.bundle(0)) == "authority.crt node.crt node.key revoked.crl ");
}

TEST_CASE("keys are never overwritten unless that is asked for") {
  TwoNodes group;
  const std::string key = text_of(group.bundle(0) + "/node.key");
  CHECK(group.authority.add(member(0), this_year()).error().kind() == ErrorKind::bad_argument);
  std::filesystem::create_directory(group.bundle(5));
  replace_file(group.bundle(5) + "/node.key", "somebody's", std::filesystem::perms::owner_read);
  CHECK(group.authority.add(member(5), this_year()).error().place() == group.bundle(5));
  CHECK(text_of(group.bundle(5) + "/node.key") == "somebody's");
  CHECK(text_of(group.bundle(0) + "/node.key") == key);
  CHECK(group.authority.issued().size() == 2);
}

TEST_CASE("there is one authority in a directory, and one process at a time uses it") {
  TwoNodes group;
  const std::string keys = group.directory.path() + "/keys";
  const std::string key = text_of(keys + "/authority/authority.key");
  const auto busy = Authority::open(keys);
  REQUIRE_FALSE(busy);
  CHECK(busy.error().kind() == ErrorKind::resource);
  { const Authority closed = std::move(group.authority); }
  const auto second = Authority::create(keys, "orders", this_year());
  REQUIRE_FALSE(second);
  CHECK(second.error().kind() == ErrorKind::bad_argument);
  CHECK(text_of(keys + "/authority/authority.key") == key);
  const auto opened = Authority::open(keys);
  REQUIRE(opened);
  CHECK(opened->group() == "orders");
  CHECK(opened->issued().size() == 2);
}

TEST_CASE("what an authority does is on disk when it says so") {
  TwoNodes group;
  const std::string keys = group.directory.path() + "/keys";
  REQUIRE(group.authority.add(*Identity::of_role("orders", Role::client, "frontend"), this_year()));
  REQUIRE(group.authority.rotate(member(1), this_year()));
  REQUIRE(*group.authority.revoke(member(1), now()) == 2);
  const AuthorityIndex index = value_or_throw(read_index(keys));
  REQUIRE(index.issued.size() == 4);
  CHECK(index.issued[2].identity.uri() == "spindrift://orders/client/frontend");
  CHECK_FALSE(index.issued[0].revoked);
  CHECK(index.issued[1].revoked);
  CHECK(index.issued[3].revoked);
  CHECK(index.issued[1].serial != index.issued[3].serial);
  CHECK(AuthorityIndex::parse(index.to_json())->to_json() == index.to_json());
  for (const std::string& place : {keys + "/authority", keys + "/0", keys + "/client-frontend"}) {
    const auto lists = value_or_throw(revocations_in(text_of(place + "/revoked.crl")));
    CHECK(sk_X509_REVOKED_num(X509_CRL_get_REVOKED(lists.front().get())) == 2);
  }
}

TEST_CASE("what an authority has not issued is neither rotated nor revoked") {
  TwoNodes group;
  CHECK(group.authority.rotate(member(9), this_year()).error().kind() == ErrorKind::bad_argument);
  CHECK(group.authority.revoke(member(9), now()).error().kind() == ErrorKind::bad_argument);
  CHECK(group.authority.revoke("00", now()).error().kind() == ErrorKind::bad_argument);
  CHECK(group.authority.add(member(9, "trades"), this_year()).error().kind() == ErrorKind::bad_argument);
  REQUIRE(group.authority.revoke(member(1), now()));
  CHECK_FALSE(group.authority.revoke(member(1), now()));
}

TEST_CASE("a bundle that was moved to its host is made again when its key is rotated") {
  TwoNodes group;
  std::filesystem::remove_all(group.bundle(1));
  REQUIRE(group.authority.revoke(member(1), now()));
  CHECK_FALSE(std::filesystem::exists(group.bundle(1)));
  REQUIRE(group.authority.rotate(member(1), this_year()));
  CHECK(Credentials::load(group.bundle(1), "orders", NodeId(1)));
}

TEST_CASE("a rotation that cannot be written leaves the old pair, and nothing beside it") {
  TwoNodes group;
  const std::string in_the_way = group.bundle(1) + "/.node.crt.new";
  std::filesystem::create_directory(in_the_way);
  const std::string key = text_of(group.bundle(1) + "/node.key");
  CHECK_FALSE(group.authority.rotate(member(1), this_year()));
  CHECK(text_of(group.bundle(1) + "/node.key") == key);
  CHECK(Credentials::load(group.bundle(1), "orders", NodeId(1)));
  std::filesystem::remove(in_the_way);
  CHECK(names_in(group.bundle(1)) == "authority.crt node.crt node.key revoked.crl ");
  REQUIRE(group.authority.rotate(member(1), this_year()));
  CHECK(text_of(group.bundle(1) + "/node.key") != key);
  CHECK(Credentials::load(group.bundle(1), "orders", NodeId(1)));
}

TEST_CASE("a broken index is refused with its place") {
  TwoNodes group;
  const std::string keys = group.directory.path() + "/keys";
  { const Authority closed = std::move(group.authority); }
  for (const char* text : {"", "{}", "[]", R"({"group": "orders", "lists": 1, "issued": [{}]})",
                           R"({"group": "orders", "lists": 1, "issued": [{"identity": "x"}]})"}) {
    replace_file(keys + "/authority/issued.json", text, std::filesystem::perms::owner_read);
    const auto opened = Authority::open(keys);
    REQUIRE_FALSE(opened);
    CHECK(opened.error().kind() == ErrorKind::bad_input);
    CHECK(opened.error().place() == keys + "/authority/issued.json");
  }
}
