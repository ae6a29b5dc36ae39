// Lists of revoked certificates that peers hand on: the newest of each authority is in force, wherever it came from.
#include "tls_fixture.hpp"

#include <spindrift/fabric/tls/issuing.hpp>
#include <spindrift/fabric/tls/revocation_lists.hpp>

using namespace spindrift;
using namespace spindrift::fabric::tls;
using namespace spindrift::fabric::tls::test;

namespace {

using std::filesystem::perms;
using Bytes = std::vector<std::byte>;

/// Two nodes, and lists of their authority that are in no file.
struct Lists : TwoNodes {
  KeyPair signer{value_or_throw(private_key_in(text_of(directory.path() + "/keys/authority/authority.key"))),
                 std::move(value_or_throw(certificates_in(text_of(bundle(0) + "/" + authority_file))).front())};

  [[nodiscard]] std::string serial(std::uint32_t node) const {
    return serial_of(*value_or_throw(certificates_in(text_of(bundle(node) + "/" + certificate_file))).front());
  }
  [[nodiscard]] RevocationLists list(std::uint64_t number, const std::vector<std::string>& serials,
                                     std::chrono::sys_seconds from = started() - std::chrono::hours(1)) const {
    return list_of(signer, number, serials, from);
  }
  [[nodiscard]] static RevocationLists list_of(const KeyPair& authority, std::uint64_t number,
                                               const std::vector<std::string>& serials, std::chrono::sys_seconds from) {
    std::vector<Revocation> entries;
    for (const std::string& serial : serials) entries.push_back({serial, started()});
    RevocationLists lists;
    lists.push_back(value_or_throw(make_revocations(authority, entries, number, from)));
    return lists;
  }
  [[nodiscard]] Bytes bytes(std::uint64_t number, const std::vector<std::string>& serials) const {
    return value_or_throw(bytes_of(list(number, serials)));
  }
};

}  // namespace

TEST_CASE("lists that a peer hands on are in force if they are newer, and an older one changes nothing") {
  const Lists keys;
  const auto one = keys.credentials(0), other = keys.credentials(1);
  const Handshake handshake = shake(*other, *one);
  REQUIRE(handshake.succeeded());
  const std::uint64_t before = one->revision();
  const Bytes newer = keys.bytes(7, {keys.serial(1)});
  CHECK(value_or_throw(one->take_lists(newer)));
  CHECK(one->revision() > before);
  CHECK(*one->lists() == newer);
  CHECK_FALSE(one->recheck(*handshake.called));
  CHECK_FALSE(shake(*other, *one).succeeded());
  CHECK_FALSE(one->revoked());
  const std::uint64_t after = one->revision();
  for (const Bytes& stale : {newer, keys.bytes(7, {}), keys.bytes(6, {}), Bytes{}}) {
    CHECK_FALSE(value_or_throw(one->take_lists(stale)));
    CHECK(*one->lists() == newer);
    CHECK(one->revision() == after);
  }
}

TEST_CASE_METHOD(Lists, "each change of keys and lists is taken once, by whichever thread asks first") {
  const auto one = credentials(0);
  const KeyChange nothing = one->take_change();
  CHECK(nothing.before.revoked == nothing.now.revoked);
  CHECK(nothing.before.own.serial == nothing.now.own.serial);
  REQUIRE(value_or_throw(one->take_lists(bytes(7, {serial(1)}))));
  value_or_throw(authority.rotate(member(0), this_year()));
  REQUIRE(value_or_throw(one->reload()));
  const KeyChange both = one->take_change();
  CHECK(both.before.revoked.empty());
  CHECK(both.now.revoked == std::set<std::string>{serial(1)});
  CHECK(both.before.own.serial == nothing.now.own.serial);
  CHECK(both.now.own.serial == serial(0));
  const KeyChange after = one->take_change();
  CHECK(after.before.revoked == both.now.revoked);
  CHECK(after.before.own.serial == both.now.own.serial);
}

TEST_CASE_METHOD(Lists, "an older list in the files takes back nothing of what a peer has handed on") {
  const auto one = credentials(0);
  const Bytes newer = bytes(7, {serial(1)});
  REQUIRE(value_or_throw(one->take_lists(newer)));
  value_or_throw(authority.rotate(member(0), this_year()));  // with a list of number 1
  CHECK(value_or_throw(one->reload()));
  CHECK(*one->lists() == newer);
  CHECK_FALSE(shake(*credentials(1), *one).succeeded());
  replace_file(bundle(0) + "/" + revoked_file, value_or_throw(pem_of(*list(8, {}).front())), perms::owner_read);
  CHECK(value_or_throw(one->reload()));
  CHECK(shake(*credentials(1), *one).succeeded());
}

TEST_CASE_METHOD(Lists,
                 "a node hears from files and from peers that its own certificate is revoked, and is good with a new one") {
  const auto one = credentials(0);
  SECTION("from a peer") { CHECK(value_or_throw(one->take_lists(bytes(7, {serial(0)})))); }
  SECTION("from the files") {
    replace_file(bundle(0) + "/" + revoked_file, value_or_throw(pem_of(*list(7, {serial(0)}).front())), perms::owner_read);
    CHECK_FALSE(one->reload());  // the keys are no good; the list is
  }
  CHECK(one->revoked());
  CHECK(*one->lists() == bytes(7, {serial(0)}));
  value_or_throw(authority.rotate(member(0), this_year()));
  CHECK(value_or_throw(one->reload()));
  CHECK_FALSE(one->revoked());
  CHECK(*one->lists() == bytes(7, {value_or_throw(read_index(directory.path() + "/keys")).issued[0].serial}));
}

TEST_CASE("forged lists and what is none are the peer's fault, and nothing of them is taken") {
  const Lists keys;
  const auto one = keys.credentials(0);
  const auto before = one->lists();
  const Bytes good = keys.bytes(7, {keys.serial(1)});
  Bytes forged = good, cut = good, padded = good;
  forged.back() ^= std::byte{1};
  cut.pop_back();
  padded.push_back(std::byte{});
  for (const Bytes& bad : {forged, cut, padded, Bytes(50, std::byte{0x30})}) {
    const auto taken = one->take_lists(bad);
    REQUIRE_FALSE(taken);
    CHECK(taken.error().kind() == ErrorKind::refused);
    CHECK(one->lists() == before);
  }
}

TEST_CASE_METHOD(Lists, "lists of an authority that this node does not know pass it by") {
  const auto one = credentials(0);
  const auto before = one->lists();
  const KeyPair namesake = value_or_throw(make_authority("orders", this_year()));
  CHECK_FALSE(value_or_throw(one->take_lists(value_or_throw(bytes_of(list_of(namesake, 9, {serial(1)}, started()))))));
  CHECK(one->lists() == before);
}

TEST_CASE_METHOD(Lists, "a list by which no certificate would hold is not taken, and not the peer's fault") {
  const auto one = credentials(0);
  const auto before = one->lists();
  const auto taken = one->take_lists(value_or_throw(bytes_of(list(9, {serial(1)}, started() + std::chrono::hours(24)))));
  REQUIRE_FALSE(taken);
  CHECK(taken.error().kind() == ErrorKind::bad_config);
  CHECK(taken.error().to_string().find("not yet valid") != std::string::npos);
  CHECK(one->lists() == before);
}
