// The contents of a certificate, read once and checked: its identity, its serial number, from when to when it holds. And the
// text form (PEM) of certificates, lists of revoked ones, and keys.
#pragma once

#include <chrono>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <spindrift/core/audit.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/fabric/tls/identity.hpp>
#include <spindrift/fabric/tls/openssl.hpp>

namespace spindrift::fabric::tls {

/// From when to when a certificate holds, both ends included.
struct Validity {
  std::chrono::sys_seconds from;
  std::chrono::sys_seconds until;
};

/// Whether it is time to replace one: less than a third of its time is left, and less than two weeks; or none.
[[nodiscard]] constexpr bool is_to_be_replaced(const Validity& validity, std::chrono::sys_seconds now) noexcept {
  const std::chrono::seconds left = validity.until - now;
  return left < (validity.until - validity.from) / 3 && left < std::chrono::days(14);
}
/// "2026-11-24 01:42:07 UTC"
[[nodiscard]] std::string time_text(std::chrono::sys_seconds time);
/// Errors: bad_input if it is no time that there is.
[[nodiscard]] Result<std::chrono::sys_seconds> time_of(const ASN1_TIME& time);

/// The one URI of our scheme among the certificate's subject alternative names; other names beside it do not matter, nor
/// does the subject. The certificate need not be verified. Errors: bad_input: none, more than one, or a malformed one.
[[nodiscard]] Result<Identity> identity_of(const X509& certificate);
/// Errors: bad_input.
[[nodiscard]] Result<Validity> validity_of(const X509& certificate);
/// In hexadecimal digits, as `openssl x509 -serial` prints it; what a revocation names.
[[nodiscard]] std::string serial_of(const X509& certificate);
/// Those that a list revokes, in the same form.
[[nodiscard]] std::set<std::string> serials_in(const X509_CRL& list);
/// For logs, of certificates that nobody has verified: the identity that it claims, else its subject's first 100 characters;
/// printable whatever it holds.
[[nodiscard]] std::string claim_of(const X509& certificate);

/// SHA-256 over all of it, in hexadecimal digits.
[[nodiscard]] std::string fingerprint_of(const X509& certificate);
/// For the audit: what is above.
[[nodiscard]] ShownCertificate shown_by(const X509& certificate);

/// Every certificate of a text in PEM, in its order; at least one. Errors: bad_input.
[[nodiscard]] Result<std::vector<Owned<X509>>> certificates_in(std::string_view pem);
/// Every list of revoked certificates, at least one. Errors: bad_input.
[[nodiscard]] Result<std::vector<Owned<X509_CRL>>> revocations_in(std::string_view pem);
/// The private key of a text in PEM; one behind a passphrase is refused. Errors: bad_input.
[[nodiscard]] Result<Owned<EVP_PKEY>> private_key_in(std::string_view pem);

}  // namespace spindrift::fabric::tls
