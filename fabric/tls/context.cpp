// Sets OpenSSL up. What the system's openssl.cnf says about TLS has no effect on what is set here.
#include <spindrift/fabric/tls/context.hpp>

#include <openssl/err.h>
#include <openssl/ssl.h>

#if defined(__aarch64__)
#include <sys/auxv.h>
#endif

#include <cstring>

namespace spindrift::fabric::tls {
namespace {

constexpr const char* refused_as_revoked = "the other end refused this node, whose certificate it holds for revoked";

constexpr const char* ciphers_with_aes = "TLS_AES_256_GCM_SHA384:TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256";
constexpr const char* ciphers_without_aes = "TLS_CHACHA20_POLY1305_SHA256:TLS_AES_256_GCM_SHA384:TLS_AES_128_GCM_SHA256";
// The most that a stranger may make us hold before it is verified: a few RSA certificates.
constexpr long chain_bytes_max = 32 * 1024;
constexpr int chain_depth_max = 4;
constexpr int security_level = 2;  // 112 bits: RSA from 2048 bits on, no SHA-1

bool cpu_has_aes() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("aes") != 0 && __builtin_cpu_supports("pclmul") != 0;
#elif defined(__aarch64__)
  constexpr unsigned long aes = 1UL << 3U;  // HWCAP_AES
  return (getauxval(AT_HWCAP) & aes) != 0;
#else
  return false;
#endif
}

void free_shown(void*, void* shown, CRYPTO_EX_DATA*, int, long, void*) { delete static_cast<ShownCertificate*>(shown); }

/// The index at which a session keeps what a refused certificate claimed.
int claim_index() {
  static const int index = SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, free_shown);
  return index;
}

/// Keeps what is refused for handshake_error: OpenSSL forgets the certificate.
int verify_peer(int so_far, X509_STORE_CTX* verification) {
  const int accepted = accept_unlisted_issuers(so_far, verification);
  if (accepted == 1) return accepted;
  auto* session = static_cast<SSL*>(X509_STORE_CTX_get_ex_data(verification, SSL_get_ex_data_X509_STORE_CTX_idx()));
  const X509* certificate = X509_STORE_CTX_get0_cert(verification);
  if (session == nullptr || certificate == nullptr || SSL_get_ex_data(session, claim_index()) != nullptr) return accepted;
  auto claim = std::make_unique<ShownCertificate>(shown_by(*certificate));
  if (SSL_set_ex_data(session, claim_index(), claim.get()) == 1) static_cast<void>(claim.release());
  return accepted;
}

/// In the form of ALPN: its length before each name.
std::string offered_protocols() {
  return std::string(1, static_cast<char>(protocol_name.size())) + std::string(protocol_name);
}

int choose_protocol(SSL*, const unsigned char** chosen, unsigned char* length, const unsigned char* offered,
                    unsigned int size, void*) {
  static const std::string ours = offered_protocols();
  unsigned char* found = nullptr;
  const int outcome = SSL_select_next_proto(&found, length, reinterpret_cast<const unsigned char*>(ours.data()),
                                            static_cast<unsigned int>(ours.size()), offered, size);
  *chosen = found;
  return outcome == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

bool set_protocol(SSL_CTX& context) {
  const std::string offered = offered_protocols();
  SSL_CTX_set_alpn_select_cb(&context, choose_protocol, nullptr);
  const bool offering = SSL_CTX_set_alpn_protos(&context, reinterpret_cast<const unsigned char*>(offered.data()),
                                                static_cast<unsigned int>(offered.size())) == 0;  // unlike all others
  return offering && SSL_CTX_set_min_proto_version(&context, TLS1_3_VERSION) == 1 &&
         SSL_CTX_set_max_proto_version(&context, TLS1_3_VERSION) == 1;
}

bool set_ciphers(SSL_CTX& context) {
  SSL_CTX_set_security_level(&context, security_level);
  // A caller that puts ChaCha first has no AES in its CPU, which costs it more than ChaCha costs us.
  SSL_CTX_set_options(&context, SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA | SSL_OP_NO_COMPRESSION);
  return SSL_CTX_set_ciphersuites(&context, cpu_has_aes() ? ciphers_with_aes : ciphers_without_aes) == 1 &&
         SSL_CTX_set1_groups_list(&context, "X25519") == 1;
}

/// A resumed session would pass by the verification, and with that by the list of revoked certificates.
bool forbid_resumption(SSL_CTX& context) {
  SSL_CTX_set_options(&context, SSL_OP_NO_TICKET);
  SSL_CTX_set_session_cache_mode(&context, SSL_SESS_CACHE_OFF);
  return SSL_CTX_set_num_tickets(&context, 0) == 1 && SSL_CTX_set_max_early_data(&context, 0) == 1;
}

bool set_proof(SSL_CTX& context, const Bundle& bundle) {
  bool good = SSL_CTX_use_certificate(&context, bundle.chain.front().get()) == 1 &&
              SSL_CTX_use_PrivateKey(&context, bundle.key.get()) == 1;
  for (std::size_t i = 1; i < bundle.chain.size(); ++i)
    good = good && SSL_CTX_add1_chain_cert(&context, bundle.chain[i].get()) == 1;
  // A chain that is not sent is not built from the trusted certificates either: authority.crt is known to all.
  SSL_CTX_set_mode(&context, SSL_MODE_NO_AUTO_CHAIN);
  return good;
}

void demand_proof(SSL_CTX& context, Owned<X509_STORE> trust) {
  SSL_CTX_set_cert_store(&context, trust.release());
  SSL_CTX_set_verify(&context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, verify_peer);
  SSL_CTX_set_verify_depth(&context, chain_depth_max);
  SSL_CTX_set_max_cert_list(&context, chain_bytes_max);
}

Error not_proven(std::string what) {
  return Error(ErrorKind::refused, std::move(what)).fix("let both nodes run the same version, with keys of the same group");
}

}  // namespace

Result<Owned<SSL_CTX>> make_context(const Bundle& bundle) {
  SPINDRIFT_TRY_ASSIGN(Owned<X509_STORE> trust, trust_of(bundle));
  Owned<SSL_CTX> context(SSL_CTX_new(TLS_method()));
  if (context == nullptr || !set_protocol(*context) || !set_ciphers(*context) || !forbid_resumption(*context))
    return openssl_error(ErrorKind::resource, "OpenSSL cannot be set up for TLS 1.3");
  if (!set_proof(*context, bundle)) {
    return openssl_error(ErrorKind::bad_config, "OpenSSL does not take the certificate and its key")
        .at(bundle.directory + "/" + certificate_file)
        .fix("use keys of Ed25519, ECDSA, or RSA with 2048 bits or more, signed with SHA-256 or better");
  }
  demand_proof(*context, std::move(trust));
  return context;
}

Result<void> check_session(const SSL& session) {
  const unsigned char* protocol = nullptr;
  unsigned int length = 0;
  SSL_get0_alpn_selected(&session, &protocol, &length);
  if (SSL_version(&session) != TLS1_3_VERSION) return not_proven("the session is not of TLS 1.3");
  if (std::string_view(reinterpret_cast<const char*>(protocol), length) != protocol_name)
    return not_proven("the peer does not offer the protocol " + std::string(protocol_name));
  if (SSL_session_reused(&session) != 0) return not_proven("the session is a resumed one");
  if (SSL_get_verify_result(&session) != X509_V_OK || SSL_get0_peer_certificate(&session) == nullptr)
    return not_proven("the peer has shown no certificate that holds");
  return {};
}

Error reading_error() {
  const int reason = ERR_GET_REASON(ERR_peek_error());
  const bool told = reason >= SSL_AD_REASON_OFFSET;
  Error cause(ErrorKind::refused, openssl_complaint());
  if (!told)
    return Error(ErrorKind::refused, "what came is not what was sent, or not in its order").because(std::move(cause));
  const bool revoked = reason == SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED;
  return Error(ErrorKind::refused, revoked ? refused_as_revoked : "the other end refused this node")
      .because(std::move(cause))
      .fix("see there why (the log of that node), and compare spindrift keys show of both");
}

std::optional<ShownCertificate> shown_by_peer(const SSL& session) {
  if (const auto* refused = static_cast<const ShownCertificate*>(SSL_get_ex_data(&session, claim_index()))) return *refused;
  if (const X509* accepted = SSL_get0_peer_certificate(&session)) return shown_by(*accepted);
  return std::nullopt;
}

bool tells_revocation(const Error& reading) { return reading.message() == refused_as_revoked; }

Error handshake_error(const SSL& session) {
  const long verdict = SSL_get_verify_result(&session);
  const auto* claim = static_cast<const ShownCertificate*>(SSL_get_ex_data(&session, claim_index()));
  if (claim == nullptr || verdict == X509_V_OK) return openssl_error(ErrorKind::refused, "the TLS handshake failed");
  ERR_clear_error();
  const char* const fix = verdict == X509_V_ERR_CERT_REVOKED ? "give the node a new certificate, if it is to come back"
                          : verdict == X509_V_ERR_CERT_HAS_EXPIRED || verdict == X509_V_ERR_CERT_NOT_YET_VALID
                              ? "compare the clocks of both hosts; rotate the key of the node if the certificate is old"
                              : "give both nodes keys of one authority";
  const std::string reason = X509_verify_cert_error_string(verdict);
  return Error(ErrorKind::refused, "the peer's certificate is refused: " + reason)
      .because(Error(ErrorKind::refused, "it claims to be " + claim->identity + ", serial number " + claim->serial))
      .fix(fix);
}

}  // namespace spindrift::fabric::tls
