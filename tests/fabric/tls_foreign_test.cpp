// Certificates that others have issued: other kinds of keys, authorities between, other names beside ours; and authorities
// that take each other's place.
#include "tls_fixture.hpp"

#include <openssl/ec.h>
#include <openssl/rsa.h>

#include <utility>
#include <vector>

using namespace spindrift;
using namespace spindrift::fabric::tls;
using namespace spindrift::fabric::tls::test;
using std::filesystem::perms;

namespace {

using Extensions = std::vector<std::pair<int, std::string>>;

const Extensions of_authority{{NID_basic_constraints, "critical,CA:TRUE"}, {NID_key_usage, "critical,keyCertSign,cRLSign"},
                              {NID_subject_key_identifier, "hash"}};

Extensions of_node(const std::string& names, const std::string& usages = "clientAuth,serverAuth") {
  return {{NID_key_usage, "critical,digitalSignature"}, {NID_ext_key_usage, usages}, {NID_subject_alt_name, names}};
}

Owned<EVP_PKEY> rsa(std::size_t bits = 2048) { return Owned<EVP_PKEY>(EVP_RSA_gen(bits)); }
Owned<EVP_PKEY> ecdsa() { return Owned<EVP_PKEY>(EVP_EC_gen("P-256")); }

/// Signed by the issuer, or by itself if there is none.
KeyPair certify(Owned<EVP_PKEY> key, const char* name, const Extensions& extensions, const KeyPair* issuer = nullptr) {
  static long serial = 1;
  Owned<X509> certificate(X509_new());
  X509& made = *certificate;
  X509_set_version(&made, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(&made), ++serial);
  X509_gmtime_adj(X509_getm_notBefore(&made), -3600);
  X509_gmtime_adj(X509_getm_notAfter(&made), 3600);
  X509_set_pubkey(&made, key.get());
  X509_NAME_add_entry_by_txt(X509_get_subject_name(&made), "CN", MBSTRING_UTF8, reinterpret_cast<const unsigned char*>(name),
                             -1, -1, 0);
  X509& signer = issuer != nullptr ? *issuer->certificate : made;
  X509_set_issuer_name(&made, X509_get_subject_name(&signer));
  for (const auto& [kind, value] : extensions) {
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, &signer, &made, nullptr, nullptr, 0);
    const Owned<X509_EXTENSION> extension(X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str()));
    REQUIRE(extension != nullptr);
    X509_add_ext(&made, extension.get(), -1);
  }
  EVP_PKEY* const signing = issuer != nullptr ? issuer->key.get() : key.get();
  REQUIRE(X509_sign(&made, signing, EVP_PKEY_get_base_id(signing) == EVP_PKEY_ED25519 ? nullptr : EVP_sha256()) > 0);
  return {std::move(key), std::move(certificate)};
}

std::string pem(const KeyPair& pair) { return value_or_throw(pem_of(*pair.certificate)); }

/// A list by an authority with an Ed25519 key, for that is what make_revocations signs with.
std::string list_of(const KeyPair& authority, const std::vector<Revocation>& entries) {
  return value_or_throw(pem_of(*value_or_throw(make_revocations(authority, entries, 1, now()))));
}

/// A bundle as an administrator puts it together.
struct Files {
  TemporaryDirectory directory;

  Files(const std::string& authorities, const KeyPair& node, const std::string& between, const std::string& revoked = {}) {
    constexpr auto mode = perms::owner_read | perms::owner_write;
    replace_file(directory.path() + "/authority.crt", authorities, mode);
    replace_file(directory.path() + "/node.crt", pem(node) + between, mode);
    replace_file(directory.path() + "/node.key", value_or_throw(pem_of(*node.key)).view(), mode);
    if (!revoked.empty()) replace_file(directory.path() + "/revoked.crl", revoked, mode);
  }
  [[nodiscard]] Result<std::shared_ptr<Credentials>> load(std::uint32_t node) const {
    return Credentials::load(directory.path(), "orders", NodeId(node));
  }
  [[nodiscard]] std::string complaint(std::uint32_t node) const {
    const auto loaded = load(node);
    return loaded ? "none" : loaded.error().to_string();
  }
};

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("nodes with RSA and ECDSA keys, one by an authority between, know each other beside other names") {
  const KeyPair root = certify(rsa(), "root", of_authority);
  const KeyPair between = certify(ecdsa(), "between", of_authority, &root);
  const KeyPair one = certify(ecdsa(), "one", of_node("DNS:one.example,URI:https://x/,URI:spindrift://orders/0"), &between);
  const KeyPair other = certify(rsa(), "other", of_node("IP:10.0.0.1,URI:spindrift://orders/1"), &root);
  const Files first(pem(root), one, pem(between)), second(pem(root), other, "");
  const auto a = value_or_throw(first.load(0)), b = value_or_throw(second.load(1));
  for (const auto& [caller, called] : {std::pair(a, b), std::pair(b, a)}) {
    const Handshake handshake = shake(*caller, *called);
    REQUIRE(handshake.succeeded());
    CHECK(*caller->peer_identity(*handshake.caller) == called->identity());
    CHECK(*called->peer_identity(*handshake.called) == caller->identity());
  }
}

TEST_CASE("an authority between may be all that is trusted") {
  const KeyPair root = certify(ecdsa(), "root", of_authority);
  const KeyPair between = certify(ecdsa(), "between", of_authority, &root);
  const KeyPair one = certify(ecdsa(), "one", of_node("URI:spindrift://orders/0"), &between);
  const KeyPair other = certify(ecdsa(), "other", of_node("URI:spindrift://orders/1"), &root);
  CHECK(Files(pem(between), one, "").load(0));
  CHECK(has(Files(pem(between), other, "").complaint(1), "peers with the same"));
}

TEST_CASE("a chain whose authority between is missing is refused at start, not by each peer") {
  const KeyPair root = certify(ecdsa(), "root", of_authority);
  const KeyPair between = certify(ecdsa(), "between", of_authority, &root);
  const KeyPair one = certify(ecdsa(), "one", of_node("URI:spindrift://orders/0"), &between);
  CHECK(has(Files(pem(root), one, "").complaint(0), "unable to get local issuer certificate"));
}

TEST_CASE("a certificate without exactly one identity, or not for both directions, is refused at start") {
  const KeyPair root = certify(ecdsa(), "root", of_authority);
  const auto complaint = [&](const Extensions& extensions) {
    return Files(pem(root), certify(ecdsa(), "spindrift://orders/0", extensions, &root), "").complaint(0);
  };
  CHECK(has(complaint({}), "no subject alternative names"));
  CHECK(has(complaint(of_node("DNS:orders,URI:https://orders/0")), "has no identity"));
  CHECK(has(complaint(of_node("URI:spindrift://orders/0,URI:spindrift://orders/1")), "more than one identity"));
  CHECK(has(complaint(of_node("URI:spindrift://orders/0,URI:SPINDRIFT:other")), "more than one identity"));
  CHECK(has(complaint(of_node("URI:spindrift://orders/00")), "no node id"));
  CHECK(has(complaint(of_node("URI:spindrift://orders/0", "serverAuth")), "suitable certificate purpose"));
  CHECK(has(complaint(of_node("URI:spindrift://orders/0", "clientAuth")), "suitable certificate purpose"));
  CHECK(complaint(of_node("URI:spindrift://orders/0")) == "none");
}

TEST_CASE("keys that are too weak are refused") {
  const KeyPair root = certify(ecdsa(), "root", of_authority);
  const Files weak(pem(root), certify(rsa(1024), "weak", of_node("URI:spindrift://orders/0"), &root), "");
  CHECK(has(weak.complaint(0), "too small"));
}

TEST_CASE("a node cannot issue other nodes' certificates with its own key") {
  const TwoNodes group;
  const auto called = group.credentials(0);
  auto key = value_or_throw(private_key_in(text_of(group.bundle(1) + "/" + key_file)));
  auto chain = value_or_throw(certificates_in(text_of(group.bundle(1) + "/" + certificate_file)));
  const KeyPair node{std::move(key), std::move(chain.front())};
  const KeyPair forged = value_or_throw(issue_certificate(node, member(7), this_year()));
  const Owned<SSL_CTX> context(SSL_CTX_new(TLS_client_method()));
  SSL_CTX_use_certificate(context.get(), forged.certificate.get());
  SSL_CTX_use_PrivateKey(context.get(), forged.key.get());
  SSL_CTX_add1_chain_cert(context.get(), node.certificate.get());
  SSL_CTX_set_alpn_protos(context.get(), reinterpret_cast<const unsigned char*>("\x0bspindrift/1"), 12);
  const Handshake handshake(Owned<SSL>(SSL_new(context.get())), value_or_throw(called->new_session()));
  CHECK(handshake.called_outcome != 1);
  CHECK(has(handshake_error(*handshake.called).to_string(), "invalid CA certificate"));
}

TEST_CASE("if there are lists, each node's issuer must have one, and an authority between is looked up if its issuer has") {
  const KeyPair stranger = value_or_throw(make_authority("orders", this_year()));
  const KeyPair wide = certify(Owned<EVP_PKEY>(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519")), "wide", of_authority);
  const KeyPair between = certify(Owned<EVP_PKEY>(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519")), "between", of_authority,
                                  &wide);
  const KeyPair node = certify(ecdsa(), "node", of_node("URI:spindrift://orders/0"), &between);
  const auto complaint = [&](const std::string& lists) { return Files(pem(wide), node, pem(between), lists).complaint(0); };
  CHECK(complaint(list_of(between, {})) == "none");
  CHECK(complaint(list_of(between, {}) + list_of(wide, {})) == "none");
  CHECK(has(complaint(list_of(wide, {})), "unable to get certificate CRL"));
  CHECK(has(complaint(list_of(stranger, {})), "unable to get certificate CRL"));
  CHECK(has(complaint(list_of(between, {{serial_of(*node.certificate), now()}})), "this node's certificate is revoked"));
  const std::string without_between = list_of(wide, {{serial_of(*between.certificate), now()}});
  CHECK(has(complaint(list_of(between, {}) + without_between), "certificate revoked"));
}

TEST_CASE("a list that another has signed is none") {
  const TwoNodes group;
  const KeyPair impostor = value_or_throw(make_authority("orders", this_year()));
  replace_file(group.bundle(0) + "/revoked.crl", list_of(impostor, {}), perms::owner_read);
  const auto loaded = Credentials::load(group.bundle(0), "orders", NodeId(0));
  REQUIRE_FALSE(loaded);
  CHECK(has(loaded.error().to_string(), "CRL"));
}

TEST_CASE("two authorities trusted side by side let one take the other's place") {
  const KeyPair old = value_or_throw(make_authority("orders", this_year()));
  const KeyPair next = value_or_throw(make_authority("orders", this_year()));
  const KeyPair one = value_or_throw(issue_certificate(old, member(0), this_year()));
  const KeyPair other = value_or_throw(issue_certificate(next, member(1), this_year()));
  const std::string both = pem(old) + pem(next), lists = list_of(old, {}) + list_of(next, {});
  const Files first(both, one, "", lists), second(both, other, "", lists);
  const auto a = value_or_throw(first.load(0)), b = value_or_throw(second.load(1));
  const Handshake handshake = shake(*a, *b);
  REQUIRE(handshake.succeeded());
  CHECK(a->recheck(*handshake.caller));
  replace_file(first.directory.path() + "/authority.crt", pem(old), perms::owner_read);
  REQUIRE(value_or_throw(a->reload()));
  CHECK_FALSE(a->recheck(*handshake.caller));
  CHECK_FALSE(shake(*a, *b).succeeded());
}
