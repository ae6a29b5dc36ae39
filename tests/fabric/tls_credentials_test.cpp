// The keys that a process takes for its own proof, and those that it refuses before it starts.
#include "tls_fixture.hpp"

#include <openssl/crypto.h>
#include <sys/stat.h>

using namespace spindrift;
using namespace spindrift::fabric::tls;
using namespace spindrift::fabric::tls::test;
using std::filesystem::perms;

namespace {

constexpr perms secret = perms::owner_read;
constexpr perms shown = perms::owner_read | perms::group_read | perms::others_read;

/// Why node 0's bundle is not taken; every such error says where, and what to do.
Error refusal(const TwoNodes& group, std::uint32_t self = 0, std::string_view name = "orders") {
  const auto loaded = Credentials::load(group.bundle(0), name, NodeId(self));
  REQUIRE_FALSE(loaded);
  const Error error = loaded.error();
  CAPTURE(error.to_string());
  CHECK(error.place().starts_with(group.bundle(0)));
  CHECK(error.to_string().find("; fix: ") != std::string::npos);
  return error;
}
bool says(const Error& error, std::string_view text) { return error.to_string().find(text) != std::string::npos; }

}  // namespace

TEST_CASE("a node loads the bundle that its authority made") {
  const TwoNodes group;
  const auto credentials = Credentials::load(group.bundle(1), "orders", NodeId(1));
  REQUIRE(credentials);
  CHECK((*credentials)->identity() == member(1));
  CHECK((*credentials)->validity().until == this_year().until);
  CHECK_FALSE(value_or_throw((*credentials)->reload()));
}

TEST_CASE("of all roles a fabric takes members alone, and says which role the others have") {
  TwoNodes group;
  const auto credentials = group.credentials(0);
  for (const Role role : {Role::observer, Role::client, Role::admin}) {
    const Identity other = value_or_throw(Identity::of_role("orders", role, "1"));
    const auto admitted = credentials->admit_member(other, NodeId(1));
    REQUIRE_FALSE(admitted);
    CHECK(says(admitted.error(), "has the role " + std::string(to_string(role))));
    // Nor does a process start as a member by such a bundle.
    REQUIRE(group.authority.add(other, this_year()));
    const auto loaded = Credentials::load(group.authority.bundle_directory(other), "orders", NodeId(1));
    REQUIRE_FALSE(loaded);
    CHECK(says(loaded.error(), other.uri()));
  }
  CHECK(credentials->admit_member(member(1), NodeId(1)));
}

TEST_CASE("a private key lies in memory that is kept out of core dumps") {
  const TwoNodes group;
  const std::size_t before = CRYPTO_secure_used();
  const auto credentials = group.credentials(0);
  CHECK(CRYPTO_secure_malloc_initialized() == 1);
  CHECK(CRYPTO_secure_used() > before);
}

TEST_CASE("the text of a private key is left out of core dumps") {
  SecretText text = value_or_throw(SecretText::of_size(100));
  const auto address = reinterpret_cast<std::uintptr_t>(text.data());
  std::ifstream maps("/proc/self/smaps");
  std::string flags;
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    unsigned long from = 0, to = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &from, &to) == 2) inside = from <= address && address < to;
    if (inside && line.starts_with("VmFlags:")) flags = line + " ";
  }
  CAPTURE(flags);
  CHECK(flags.find(" dd ") != std::string::npos);
}

TEST_CASE("keys that are not there are refused with what makes them") {
  const TwoNodes group;
  const auto nowhere = Credentials::load(group.directory.path() + "/nowhere", "orders", NodeId(0));
  REQUIRE_FALSE(nowhere);
  CHECK(nowhere.error().kind() == ErrorKind::bad_config);
  CHECK(says(nowhere.error(), "spindrift keys"));
  for (const char* name : {authority_file, certificate_file, key_file}) {
    const TwoNodes incomplete;
    std::filesystem::remove(incomplete.bundle(0) + "/" + name);
    const Error error = refusal(incomplete);
    CHECK(error.place() == incomplete.bundle(0) + "/" + name);
    CHECK(says(error, "missing"));
  }
}

TEST_CASE("a private key that others could read is refused") {
  for (const auto mode : {0440, 0404, 0600 | 0020, 0700, 0000 | 0444}) {
    const TwoNodes group;
    REQUIRE(::chmod((group.bundle(0) + "/" + key_file).c_str(), static_cast<mode_t>(mode)) == 0);
    const Error error = refusal(group);
    CHECK(error.kind() == ErrorKind::bad_config);
    CHECK(error.place() == group.bundle(0) + "/" + key_file);
  }
  const TwoNodes group;
  REQUIRE(::chmod((group.bundle(0) + "/" + key_file).c_str(), 0600) == 0);
  CHECK(Credentials::load(group.bundle(0), "orders", NodeId(0)));
}

TEST_CASE("what others could have written is refused") {
  for (const char* name : {"", authority_file, certificate_file, revoked_file}) {
    const TwoNodes group;
    REQUIRE(::chmod((group.bundle(0) + "/" + name).c_str(), 0775) == 0);
    CHECK(says(refusal(group), "others than its owner may write"));
  }
}

TEST_CASE("keys below a directory in which others could replace them are refused") {
  const TwoNodes group;
  REQUIRE(::chmod(group.directory.path().c_str(), 0777) == 0);
  const auto loaded = Credentials::load(group.bundle(0), "orders", NodeId(0));
  REQUIRE_FALSE(loaded);
  CHECK(loaded.error().kind() == ErrorKind::bad_config);
  CHECK(loaded.error().place() == group.directory.path());
  REQUIRE(::chmod(group.directory.path().c_str(), 0700) == 0);
  CHECK(Credentials::load(group.bundle(0), "orders", NodeId(0)));
}

TEST_CASE("a file of another user is refused") {
  if (::geteuid() != 0) return;  // only root gives files away
  for (const char* name : {"", authority_file, key_file}) {
    const TwoNodes group;
    REQUIRE(::chown((group.bundle(0) + "/" + name).c_str(), 65534, 65534) == 0);
    CHECK(says(refusal(group), "belongs to user 65534"));
  }
}

TEST_CASE("what is no ordinary file is refused and not waited for") {
  const TwoNodes group;
  const std::string path = group.bundle(0) + "/" + key_file;
  std::filesystem::remove(path);
  REQUIRE(::mkfifo(path.c_str(), 0400) == 0);
  CHECK(says(refusal(group), "no ordinary file"));
}

TEST_CASE("garbage in place of keys is refused by the file that holds it") {
  const std::string half = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";
  for (const char* name : {authority_file, certificate_file, key_file, revoked_file}) {
    for (const std::string& garbage : {std::string(), std::string("hello"), std::string(2000, '\0'), half,
                                       std::string("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n")}) {
      const TwoNodes group;
      const std::string path = group.bundle(0) + "/" + name;
      replace_file(path, garbage, name == std::string_view(key_file) ? secret : shown);
      const auto loaded = Credentials::load(group.bundle(0), "orders", NodeId(0));
      REQUIRE_FALSE(loaded);
      CHECK(loaded.error().kind() == ErrorKind::bad_config);
      CHECK_FALSE(loaded.error().fix().empty());
      CHECK(loaded.error().place() == path);
    }
  }
}

TEST_CASE("a file of absurd size is not read") {
  const TwoNodes group;
  const std::string path = group.bundle(0) + "/" + key_file;
  replace_file(path, std::string(20'000, 'x'), secret);
  CHECK(says(refusal(group), "it has 20000 bytes"));
}

TEST_CASE("another node's bundle, and another group's, are refused with both names") {
  const TwoNodes group;
  CHECK(says(refusal(group, 1), "the certificate is that of spindrift://orders/0, not of spindrift://orders/1"));
  CHECK(says(refusal(group, 0, "trades"), "not of spindrift://trades/0"));
}

TEST_CASE("a certificate whose time has not come or is over is refused with the dates") {
  const TwoNodes old("orders", last_year());
  const Error expired = refusal(old);
  CHECK(says(expired, "has expired"));
  CHECK(says(expired, time_text(last_year().from)));
  CHECK(says(expired, "clock"));
  const TwoNodes early("orders", next_year());
  CHECK(says(refusal(early), "not valid yet"));
  CHECK(says(refusal(early), time_text(next_year().until)));
}

TEST_CASE("a private key of another certificate is refused") {
  const TwoNodes group;
  replace_file(group.bundle(0) + "/" + key_file, text_of(group.bundle(1) + "/" + key_file), secret);
  CHECK(says(refusal(group), "the private key is not that of node.crt"));
}

TEST_CASE("a certificate of another authority of the same name is refused") {
  const TwoNodes group;
  const TwoNodes impostor;
  replace_file(group.bundle(0) + "/" + authority_file, text_of(impostor.bundle(0) + "/" + authority_file), shown);
  CHECK(says(refusal(group), "peers with the same"));
}

TEST_CASE("a node whose own certificate is revoked does not start") {
  TwoNodes group;
  REQUIRE(group.authority.revoke(member(0), now()));
  const auto refused = Credentials::load(group.bundle(0), "orders", NodeId(0));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind() == ErrorKind::refused);
  CHECK(says(refused.error(), "node.crt: this node's certificate is revoked; fix: give the node a new certificate"));
  CHECK(Credentials::load(group.bundle(1), "orders", NodeId(1)));
}

TEST_CASE("a private key behind a passphrase is refused without asking for it") {
  const TwoNodes group;
  const auto pair = value_or_throw(make_authority("orders", this_year()));
  const Owned<BIO> text(BIO_new(BIO_s_mem()));
  char passphrase[] = "secret";
  REQUIRE(PEM_write_bio_PKCS8PrivateKey(text.get(), pair.key.get(), EVP_aes_128_cbc(), passphrase, 6, nullptr, nullptr) ==
          1);
  char* bytes = nullptr;
  const auto size = static_cast<std::size_t>(BIO_get_mem_data(text.get(), &bytes));
  replace_file(group.bundle(0) + "/" + key_file, {bytes, size}, secret);
  CHECK(says(refusal(group), "passphrase"));
}

TEST_CASE("only a member of this group, with the id that it claims, is admitted") {
  const TwoNodes group;
  const auto credentials = group.credentials(0);
  CHECK(credentials->admit_member(member(1), NodeId(1)));
  const Identity observer = *Identity::of_role("orders", Role::observer, "1");
  for (const auto& [peer, claimed] : {std::pair(member(1), 2U), std::pair(member(1, "trades"), 1U), std::pair(observer, 1U),
                                      std::pair(member(0), 0U)}) {
    const auto admitted = credentials->admit_member(peer, NodeId(claimed));
    REQUIRE_FALSE(admitted);
    CHECK(admitted.error().kind() == ErrorKind::refused);
    CHECK(says(admitted.error(), peer.uri()));
    CHECK_FALSE(admitted.error().fix().empty());
    CHECK(says(admitted.error(), "no member") == (peer.role != Role::member));
  }
}
