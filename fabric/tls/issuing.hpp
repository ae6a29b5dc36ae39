// Making keys, certificates and lists of revoked certificates: values in, PEM out, no files.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include <spindrift/core/result.hpp>
#include <spindrift/fabric/tls/certificate.hpp>
#include <spindrift/fabric/tls/identity.hpp>
#include <spindrift/fabric/tls/key_files.hpp>
#include <spindrift/fabric/tls/openssl.hpp>

namespace spindrift::fabric::tls {

/// A certificate and the private key that it is about.
struct KeyPair {
  Owned<EVP_PKEY> key;
  Owned<X509> certificate;
};

/// An authority for one group, signed by itself: Ed25519; may sign certificates of holders and lists of revoked ones, and
/// no further authorities. Errors: resource.
[[nodiscard]] Result<KeyPair> make_authority(std::string_view group, const Validity& validity);
/// A new Ed25519 key, with a certificate of that identity for both directions of connections; its serial number is random,
/// of 16 bytes. Errors: resource.
[[nodiscard]] Result<KeyPair> issue_certificate(const KeyPair& authority, const Identity& identity,
                                                const Validity& validity);

/// One entry of a list of revoked certificates.
struct Revocation {
  std::string serial;  ///< in hexadecimal digits, as serial_of has it
  std::chrono::sys_seconds at;
};
/// A list that holds from then on, without an end: a process that has none newer goes by this one. `number` grows with each
/// list. Errors: bad_input if a serial number is none, resource.
[[nodiscard]] Result<Owned<X509_CRL>> make_revocations(const KeyPair& authority, const std::vector<Revocation>& entries,
                                                       std::uint64_t number, std::chrono::sys_seconds from);

/// In PEM. Errors: resource.
[[nodiscard]] Result<std::string> pem_of(const X509& certificate);
[[nodiscard]] Result<std::string> pem_of(const X509_CRL& list);
[[nodiscard]] Result<SecretText> pem_of(const EVP_PKEY& key);

}  // namespace spindrift::fabric::tls
