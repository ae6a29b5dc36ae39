// A bundle: the directory by which one process proves itself, with the files authority.crt (whom it trusts), node.crt (its
// certificate, and behind it those between it and the authority, if any), node.key (its private key) and, where there is
// one, revoked.crl (which certificates no longer count).
#pragma once

#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <spindrift/core/result.hpp>
#include <spindrift/fabric/tls/certificate.hpp>
#include <spindrift/fabric/tls/identity.hpp>
#include <spindrift/fabric/tls/key_files.hpp>
#include <spindrift/fabric/tls/openssl.hpp>

namespace spindrift::fabric::tls {

inline constexpr const char* authority_file = "authority.crt";
inline constexpr const char* certificate_file = "node.crt";
inline constexpr const char* key_file = "node.key";
inline constexpr const char* revoked_file = "revoked.crl";

/// The contents of a bundle's files. Move-only; the private key lies in protected memory.
struct Bundle {
  std::string directory;
  std::vector<Owned<X509>> authorities;  ///< at least one
  std::vector<Owned<X509>> chain;        ///< its own certificate first
  Owned<EVP_PKEY> key;
  std::vector<Owned<X509_CRL>> revoked;  ///< empty: there is no list

  [[nodiscard]] const X509& certificate() const noexcept { return *chain.front(); }
};

/// As the files were when somebody looked: equal stamps, same content. In the order of the names above.
using BundleStamp = std::array<std::optional<FileStamp>, 4>;
/// Errors: as KeyDirectory::open.
[[nodiscard]] Result<BundleStamp> stamp_of(const std::string& directory);

/// Reads the files, and checks owners, modes and forms. Errors: bad_config, resource.
[[nodiscard]] Result<Bundle> read_bundle(const std::string& directory);

/// The same with other lists.
[[nodiscard]] Bundle with_lists(const Bundle& bundle, std::vector<Owned<X509_CRL>> revoked);

/// The trust of a bundle, for verifying others' certificates: its authorities, and its lists of revoked certificates. With
/// a list, a certificate must be on the list of its issuer or not; one of an authority between counts as good if its issuer
/// has no list there. Errors: resource.
[[nodiscard]] Result<Owned<X509_STORE>> trust_of(const Bundle& bundle);
/// The verdict on the first of these certificates, to which the others may lead, as OpenSSL counts them: X509_V_OK,
/// X509_V_ERR_CERT_REVOKED, …. `purpose`: X509_PURPOSE_SSL_CLIENT of one that called, X509_PURPOSE_SSL_SERVER of one that
/// was called. `at`: when it has to be valid; nothing: at any time.
[[nodiscard]] int verdict_on(const std::vector<Owned<X509>>& chain, X509_STORE& trust, int purpose,
                             std::optional<std::chrono::sys_seconds> at);
/// For X509_STORE_CTX_set_verify_cb and SSL_CTX_set_verify: lets that exception pass. Returns 1 to go on.
int accept_unlisted_issuers(int so_far, X509_STORE_CTX* verification);

/// The verdict of a peer with the same authorities and lists on this process's certificate, as OpenSSL counts them:
/// X509_V_OK, X509_V_ERR_CERT_REVOKED, …. Errors: resource.
[[nodiscard]] Result<int> own_verdict(const Bundle& bundle, std::chrono::sys_seconds now);
/// The error of a node that others must not take any more. `place`: whose certificate it is, or where.
[[nodiscard]] Error own_certificate_revoked(std::string place);
/// Since when its certificate is revoked, as its own lists have it; nothing: it is not.
[[nodiscard]] std::optional<std::chrono::sys_seconds> revoked_since(const Bundle& bundle);
/// The identity of its certificate. Errors: bad_config, with the file and what to do.
[[nodiscard]] Result<Identity> identity_in(const Bundle& bundle);

/// Whether a process can prove by this bundle that it is `wanted`: it is the certificate's identity, the key is the
/// certificate's, and peers with the same authorities and lists would accept it at `now`, no matter which called the other.
/// Errors: bad_config, each with the file and what to do; refused: that certificate is revoked.
[[nodiscard]] Result<void> check_bundle(const Bundle& bundle, const Identity& wanted, std::chrono::sys_seconds now);

}  // namespace spindrift::fabric::tls
