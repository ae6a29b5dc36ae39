// Loading, reloading and judging by what was loaded.
#include <spindrift/fabric/tls/credentials.hpp>

#include <openssl/err.h>

#include <chrono>
#include <utility>

#include <fmt/format.h>

namespace spindrift::fabric::tls {
namespace {

Error not_admitted(const Identity& peer, std::string why, std::string fix) {
  return Error(ErrorKind::refused, fmt::format("{} is not admitted: {}", peer.uri(), why)).fix(std::move(fix));
}

}  // namespace

Result<std::shared_ptr<Credentials>> Credentials::load(const std::string& directory, std::string_view group, NodeId self) {
  protect_private_keys();
  SPINDRIFT_TRY_ASSIGN(Identity identity, Identity::of_member(group, self));
  SPINDRIFT_TRY_ASSIGN(Loaded loaded, read(directory, identity));
  return std::shared_ptr<Credentials>(new Credentials(directory, std::move(identity), std::move(loaded)));
}

Result<Credentials::Loaded> Credentials::read(const std::string& directory, const Identity& identity) {
  // Before the files are read: one that changes meanwhile is read again by the next reload.
  SPINDRIFT_TRY_ASSIGN(const BundleStamp stamp, stamp_of(directory));
  SPINDRIFT_TRY_ASSIGN(const Bundle bundle, read_bundle(directory));
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  SPINDRIFT_TRY(check_bundle(bundle, identity, now));
  SPINDRIFT_TRY_ASSIGN(const Validity validity, validity_of(bundle.certificate()));
  SPINDRIFT_TRY_ASSIGN(Owned<SSL_CTX> context, make_context(bundle));
  return Loaded{std::shared_ptr<SSL_CTX>(std::move(context)), stamp, validity, !bundle.revoked.empty()};
}

Credentials::Loaded Credentials::loaded() const {
  const std::lock_guard lock(mutex_);
  return loaded_;
}

Result<Owned<SSL>> Credentials::new_session() const {
  Owned<SSL> session(SSL_new(context().get()));
  if (session == nullptr) return openssl_error(ErrorKind::resource, "there is no memory for a TLS session");
  return session;
}

std::shared_ptr<SSL_CTX> Credentials::context() const { return loaded().context; }

Validity Credentials::validity() const { return loaded().validity; }

Result<Identity> Credentials::peer_identity(const SSL& session) const {
  SPINDRIFT_TRY(check_session(session));
  return identity_of(*SSL_get0_peer_certificate(&session));
}

Result<void> Credentials::admit_member(const Identity& peer, NodeId claimed) const {
  if (peer.group != identity_.group) {
    return not_admitted(peer, fmt::format("this is the group {}", identity_.group),
                        "let each group listen at addresses of its own, and have an authority of its own");
  }
  if (peer.role != Role::member) {
    return not_admitted(peer, fmt::format("it is no member, but has the role {}", to_string(peer.role)),
                        "make it a key as a member: spindrift keys add GROUP --nodes ID");
  }
  const auto node = peer.node();
  if (!node || *node != claimed) {
    return not_admitted(peer, fmt::format("it says that it is node {}", claimed.value()),
                        "correct addresses, or local_id and keys of that node");
  }
  if (node == identity_.node())
    return not_admitted(peer, "that is this node", "give each node a key of its own, and look who has copied this one");
  return {};
}

Result<bool> Credentials::reload() {
  const Loaded before = loaded();
  SPINDRIFT_TRY_ASSIGN(const BundleStamp stamp, stamp_of(directory_));
  if (stamp == before.stamp) return false;
  SPINDRIFT_TRY_ASSIGN(Loaded now, read(directory_, identity_));
  if (before.has_revocations && !now.has_revocations) {
    return Error(ErrorKind::bad_config, "the list of revoked certificates is gone, so the keys before stay in use")
        .at(directory_ + "/" + revoked_file)
        .fix("copy the file anew from where the authority is, or restart the node if it is to go without");
  }
  const std::lock_guard lock(mutex_);
  loaded_ = std::move(now);
  return true;
}

Result<void> Credentials::recheck(const SSL& session) const {
  const std::shared_ptr<SSL_CTX> today = context();
  X509* const certificate = SSL_get0_peer_certificate(&session);
  const Owned<X509_STORE_CTX> verification(X509_STORE_CTX_new());
  if (certificate == nullptr || verification == nullptr ||
      X509_STORE_CTX_init(verification.get(), SSL_CTX_get_cert_store(today.get()), certificate,
                          SSL_get_peer_cert_chain(&session)) != 1) {
    return openssl_error(ErrorKind::refused, "the peer's certificate cannot be looked at again");
  }
  X509_STORE_CTX_set_flags(verification.get(), X509_V_FLAG_NO_CHECK_TIME);
  X509_STORE_CTX_set_verify_cb(verification.get(), accept_unlisted_issuers);
  const bool accepted = X509_verify_cert(verification.get()) == 1;
  const int verdict = X509_STORE_CTX_get_error(verification.get());
  ERR_clear_error();
  if (accepted) return {};
  return Error(ErrorKind::refused, fmt::format("the certificate of {}, serial number {}, no longer holds: {}",
                                               claim_of(*certificate), serial_of(*certificate),
                                               X509_verify_cert_error_string(verdict)))
      .fix("give the node a new certificate, if it is to come back");
}

}  // namespace spindrift::fabric::tls
