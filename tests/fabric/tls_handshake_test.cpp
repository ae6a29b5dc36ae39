// Handshakes between credentials: who gets in, who does not, and what a reload changes.
#include "tls_fixture.hpp"

#include <openssl/err.h>
#include <openssl/pem.h>

using namespace spindrift;
using namespace spindrift::fabric::tls;
using namespace spindrift::fabric::tls::test;
using std::filesystem::perms;

namespace {

bool says(const Error& error, std::string_view text) { return error.to_string().find(text) != std::string::npos; }

/// Anybody's session: with a certificate or without, checking nothing.
Owned<SSL> session_of(const SSL_METHOD* method, const KeyPair* pair, bool with_protocol = true) {
  const Owned<SSL_CTX> context(SSL_CTX_new(method));
  if (pair != nullptr) {
    REQUIRE(SSL_CTX_use_certificate(context.get(), pair->certificate.get()) == 1);
    REQUIRE(SSL_CTX_use_PrivateKey(context.get(), pair->key.get()) == 1);
  }
  if (with_protocol) {
    const std::string offered = std::string(1, static_cast<char>(protocol_name.size())) + std::string(protocol_name);
    SSL_CTX_set_alpn_protos(context.get(), reinterpret_cast<const unsigned char*>(offered.data()),
                            static_cast<unsigned int>(offered.size()));
  }
  return Owned<SSL>(SSL_new(context.get()));
}

/// Why the called node refuses such a caller.
Error refusal(const Credentials& called, Owned<SSL> caller) {
  const Handshake handshake(std::move(caller), value_or_throw(called.new_session()));
  REQUIRE(handshake.called_outcome != 1);
  CHECK_FALSE(called.peer_identity(*handshake.called));
  const Error error = handshake_error(*handshake.called);
  CHECK(error.kind() == ErrorKind::refused);
  return error;
}

KeyPair pair_of(const TwoNodes& group, std::uint32_t node) {
  auto key = value_or_throw(private_key_in(text_of(group.bundle(node) + "/" + key_file)));
  auto chain = value_or_throw(certificates_in(text_of(group.bundle(node) + "/" + certificate_file)));
  return {std::move(key), std::move(chain.front())};
}

}  // namespace

TEST_CASE("two nodes of a group prove themselves to each other, over TLS 1.3, with a cipher of ours") {
  const TwoNodes group;
  const auto one = group.credentials(0), other = group.credentials(1);
  const Handshake handshake = shake(*one, *other);
  REQUIRE(handshake.succeeded());
  CHECK(*one->peer_identity(*handshake.caller) == member(1));
  CHECK(*other->peer_identity(*handshake.called) == member(0));
  CHECK(std::string_view(SSL_get_version(handshake.caller.get())) == "TLSv1.3");
  CHECK(SSL_get_negotiated_group(handshake.caller.get()) == NID_X25519);
  CHECK_FALSE(SSL_session_reused(handshake.called.get()));
}

TEST_CASE("whoever shows no certificate is refused") {
  const TwoNodes group;
  CHECK(says(refusal(*group.credentials(0), session_of(TLS_client_method(), nullptr)), "did not return a certificate"));
}

TEST_CASE("a certificate that signs itself is refused, and the error says whose it claims to be") {
  const TwoNodes group;
  const KeyPair fake = value_or_throw(make_authority("orders", this_year()));
  const KeyPair forged = value_or_throw(issue_certificate(fake, member(1), this_year()));
  const Error error = refusal(*group.credentials(0), session_of(TLS_client_method(), &forged));
  CHECK(says(error, "it claims to be spindrift://orders/1"));
  CHECK(says(error, serial_of(*forged.certificate)));
  CHECK(says(refusal(*group.credentials(0), session_of(TLS_client_method(), &fake)), "refused: self-signed certificate"));
}

TEST_CASE("another group's node is refused, and refuses") {
  const TwoNodes group, others("trades");
  const Handshake handshake = shake(*others.credentials(1), *group.credentials(0));
  CHECK_FALSE(handshake.succeeded());
  CHECK(handshake.caller_outcome != 1);
  CHECK(says(handshake_error(*handshake.caller), "it claims to be spindrift://orders/0"));
}

TEST_CASE("an expired certificate is refused, and one whose time has not come") {
  TwoNodes group;
  REQUIRE(group.authority.add(member(2), last_year()));
  REQUIRE(group.authority.add(member(3), next_year()));
  const KeyPair expired = pair_of(group, 2), early = pair_of(group, 3);
  CHECK(says(refusal(*group.credentials(0), session_of(TLS_client_method(), &expired)), "has expired"));
  CHECK(says(refusal(*group.credentials(0), session_of(TLS_client_method(), &early)), "not yet valid"));
}

TEST_CASE("older versions of TLS, and callers that do not speak our protocol, are refused") {
  const TwoNodes group;
  const KeyPair good = pair_of(group, 1);
  const auto called = group.credentials(0);
  Owned<SSL> old = session_of(TLS_client_method(), &good);
  SSL_set_max_proto_version(old.get(), TLS1_2_VERSION);
  CHECK(says(refusal(*called, std::move(old)), "unsupported protocol"));

  const Handshake silent(session_of(TLS_client_method(), &good, false), value_or_throw(called->new_session()));
  const auto peer = called->peer_identity(*silent.called);
  REQUIRE_FALSE(peer);
  CHECK(says(peer.error(), "does not offer the protocol"));

  Owned<SSL> web = session_of(TLS_client_method(), &good, false);
  SSL_set_alpn_protos(web.get(), reinterpret_cast<const unsigned char*>("\x02h2"), 3);
  CHECK(says(refusal(*called, std::move(web)), "no application protocol"));
}

TEST_CASE("no session is resumed, whatever a caller keeps of the last one") {
  const TwoNodes group;
  const auto one = group.credentials(0), other = group.credentials(1);
  const Handshake first = shake(*one, *other);
  REQUIRE(first.succeeded());
  char byte = 0;
  SSL_read(first.caller.get(), &byte, 1);  // would take in tickets that come behind the handshake
  SSL_SESSION* const kept = SSL_get1_session(first.caller.get());
  REQUIRE(kept != nullptr);
  CHECK_FALSE(SSL_SESSION_has_ticket(kept));
  Owned<SSL> again = value_or_throw(one->new_session());
  SSL_set_session(again.get(), kept);
  const Handshake second(std::move(again), value_or_throw(other->new_session()));
  SSL_SESSION_free(kept);
  CHECK_FALSE(SSL_session_reused(second.called.get()));
}

TEST_CASE("a revoked node is refused from the next connection on, and its connections do not pass a second look") {
  TwoNodes group;
  const auto one = group.credentials(0), other = group.credentials(1);
  const Handshake before = shake(*other, *one);
  REQUIRE(before.succeeded());
  CHECK(one->recheck(*before.called));
  CHECK_FALSE(value_or_throw(one->reload()));

  REQUIRE(*group.authority.revoke(member(1), now()) == 1);
  CHECK(value_or_throw(one->reload()));
  CHECK_FALSE(value_or_throw(one->reload()));
  const auto again = one->recheck(*before.called);
  REQUIRE_FALSE(again);
  CHECK(says(again.error(), "spindrift://orders/1"));
  CHECK(says(again.error(), "revoked"));
  const Handshake after = shake(*other, *one);
  CHECK(after.called_outcome != 1);
  CHECK(says(handshake_error(*after.called), "certificate revoked"));
  CHECK_FALSE(other->reload());  // its own is revoked; it goes on with what it has
}

TEST_CASE("a peer that holds this node's certificate for revoked is remembered until there is another") {
  TwoNodes group;
  const auto one = group.credentials(0), other = group.credentials(1);
  REQUIRE(*group.authority.revoke(member(1), now()) == 1);
  REQUIRE(value_or_throw(one->reload()));
  const Handshake refused = shake(*other, *one);
  REQUIRE(refused.caller_outcome == 1);
  ERR_clear_error();
  std::byte none{};
  std::size_t count = 0;
  REQUIRE(SSL_read_ex(refused.caller.get(), &none, 1, &count) == 0);
  const Error told = reading_error();
  CHECK(says(told, "holds for revoked"));
  other->note_refusal(NodeId(7), Error(ErrorKind::refused, "the other end refused this node"));
  CHECK(other->who_say_revoked().empty());
  CHECK(says(other->refusal_of(NodeId(7)).value(), "the other end refused this node"));
  other->note_call(NodeId(7), std::nullopt);
  CHECK_FALSE(other->refusal_of(NodeId(7)));
  other->note_call(NodeId(7), told);
  CHECK(other->who_say_revoked().empty());  // it has not proved who it is
  other->note_call(NodeId(8), Error(ErrorKind::timed_out, "nobody answers"));
  CHECK_FALSE(other->refusal_of(NodeId(8)));
  other->note_refusal(NodeId(0), told);
  CHECK(other->who_say_revoked() == std::set<NodeId>{NodeId(0)});
  REQUIRE(group.authority.rotate(member(1), this_year()));
  REQUIRE(value_or_throw(other->reload()));
  CHECK(other->who_say_revoked().empty());
  CHECK_FALSE(other->refusal_of(NodeId(7)));
}

TEST_CASE("a rotated key is used from the next connection on, and peers take both until one is revoked") {
  TwoNodes group;
  const auto one = group.credentials(0), other = group.credentials(1);
  const KeyPair old = pair_of(group, 1);
  const Handshake before = shake(*other, *one);
  REQUIRE(group.authority.rotate(member(1), this_year()));
  REQUIRE(value_or_throw(other->reload()));
  const Handshake after = shake(*other, *one);
  REQUIRE(after.succeeded());
  CHECK(serial_of(*SSL_get0_peer_certificate(after.called.get())) != serial_of(*old.certificate));
  CHECK(one->recheck(*before.called));
  CHECK(Handshake(session_of(TLS_client_method(), &old), value_or_throw(one->new_session())).called_outcome == 1);

  REQUIRE(*group.authority.revoke(serial_of(*old.certificate), now()) == 1);
  REQUIRE(value_or_throw(one->reload()));
  CHECK_FALSE(one->recheck(*before.called));
  CHECK(one->recheck(*after.called));
  CHECK(says(refusal(*one, session_of(TLS_client_method(), &old)), "certificate revoked"));
}

TEST_CASE("files that do not fit together leave the keys as they were until they do") {
  TwoNodes group;
  const auto one = group.credentials(0), other = group.credentials(1);
  const std::string certificate = text_of(group.bundle(1) + "/" + certificate_file);
  REQUIRE(group.authority.rotate(member(1), this_year()));
  const std::string rotated = text_of(group.bundle(1) + "/" + certificate_file);
  const auto shown = perms::owner_read;
  replace_file(group.bundle(1) + "/" + certificate_file, certificate, shown);
  CHECK_FALSE(other->reload());
  CHECK_FALSE(other->reload());
  CHECK(shake(*other, *one).succeeded());
  replace_file(group.bundle(1) + "/" + certificate_file, rotated, shown);
  CHECK(value_or_throw(other->reload()));
  CHECK(shake(*other, *one).succeeded());
}

TEST_CASE("a list of revoked certificates that vanishes is missed") {
  const TwoNodes group;
  const auto one = group.credentials(0);
  std::filesystem::remove(group.bundle(0) + "/" + revoked_file);
  const auto reloaded = one->reload();
  REQUIRE_FALSE(reloaded);
  CHECK(says(reloaded.error(), "the list of revoked certificates is gone"));
}

TEST_CASE("a connection outlives the end of its peer's certificate, which is no revocation") {
  TwoNodes group;
  REQUIRE(group.authority.add(member(2), last_year()));
  const auto one = group.credentials(0);
  const KeyPair expired = pair_of(group, 2);
  // As if it had connected while it held.
  Owned<SSL> called = value_or_throw(one->new_session());
  X509_VERIFY_PARAM_set_flags(SSL_get0_param(called.get()), X509_V_FLAG_NO_CHECK_TIME);
  const Handshake handshake(session_of(TLS_client_method(), &expired), std::move(called));
  REQUIRE(handshake.called_outcome == 1);
  CHECK(one->recheck(*handshake.called));
  CHECK(says(refusal(*one, session_of(TLS_client_method(), &expired)), "has expired"));
}
